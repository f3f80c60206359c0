#pragma once
/*
 * Requests for which no response came for much longer than their queue pair waits for one.
 *
 * A completion may be in its CQ long before it is polled. It is not in the CQ while empty polls
 * find nothing, each of which takes some time, nor while a thread sleeps until the CQ's event
 * comes. Only the time that one of the two proves counts.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/model/lives.h"

struct model;
struct model_complete;
struct trace_event;

struct no_response {
	int64_t took; /* from the post to the poll */
	/* the longest time after which the request is sent again if no response comes */
	int64_t most;
	int64_t slept;  /* how long a thread waited for the event of its CQ; 0: it did not */
	uint64_t empty; /* if it is 0: the empty polls of the thread that polled the completion */
};

/* ibv_req_notify_cq() was called for @cq; an event of @cq came. Both accept NULL. */
void no_response_note_armed(struct life *cq, const struct trace_event *event);
void no_response_note_event(struct life *cq, const struct trace_event *event);

/* @cq (NULL: not known) was polled; all completions of the poll were passed. */
void no_response_note_poll(struct model *model, const struct trace_event *event, struct life *cq);

/*
 * Did no response come, to the request of @complete or to any other of its process, for longer than
 * the queue pair's timeout, the peer's RNR timer and the bytes in flight explain?
 */
bool no_response_find(struct model *model, const struct model_complete *complete,
		      struct no_response *ret_slow);
