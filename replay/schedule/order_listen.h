#pragma once
/*
 * Connection requests that were sent before their listener existed.
 *
 * Networks are slow, and devices retry: such a request was received nevertheless. The replay calls
 * rdma_listen() before it sends the request, unless another dependency prevents that.
 */
#include "core/base/map.h"
#include "core/store/read/trace.h"

/* An event in the order. */
struct entry {
	const struct trace_event *event, *origin;
	uint64_t key;
	bool stops; /* a request of the post failed, which stops its queue pair */
};

/*
 * In @count ordered events, the last of which is an rdma_listen(): the index of the first
 * rdma_connect() whose request the listener got (@heard), if the events of the listening thread may
 * be moved before that rdma_connect(). @count if there is none.
 */
unsigned int order_find_unheard(const struct entry *events, unsigned int count,
				const struct map *heard);
