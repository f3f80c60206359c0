#pragma once
/*
 * Requests for a connection that were sent before anybody listened.
 *
 * Networks are slow, and devices patient: such a request was heard. Here, what listens does so
 * before it is sent, if nothing speaks against it.
 */
#include "core/base/map.h"
#include "core/store/read/trace.h"

/* An event in its place. */
struct entry {
	const struct trace_event *event, *origin;
	uint64_t key;
};

/*
 * Of @count ordered events, the last of which is a rdma_listen(): the place of the first
 * rdma_connect() that @heard says it heard, and before which what its thread did from there on may
 * come as well. @count if there is none.
 */
unsigned int order_find_unheard(const struct entry *events, unsigned int count,
				const struct map *heard);
