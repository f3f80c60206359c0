#pragma once
/*
 * Messages of unreliable queue pairs that found no receive: the sender is not notified.
 *
 * Each message takes a receive, so more messages than receives are messages lost; a receive that
 * was posted UNRECEIVED_NS after a message had completed comes too late for it. Only queue pairs
 * with their own receive queue, and with both ends in the trace, are examined.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"

struct model;
struct queue;
struct trace_event;

enum { UNRECEIVED_NS = 10000000 }; /* a network may take that long */

/*
 * The request at @at of @queue, of a UD or UC queue pair, completes: it and those before it were
 * sent.
 */
void unreceived_note_send(struct model *model, const struct trace_event *event,
			  const struct queue *queue, uint32_t at);

/* @qp->lacking is not 0, and @taken receives were posted to it. */
void unreceived_note_post(struct life *qp, const struct trace_event *event, uint32_t taken);

struct unreceived {
	uint64_t sent, receives; /* messages to the queue pair, and all receives posted to it */
	uint64_t lost;           /* lost messages, at least */
	int64_t late;            /* how much too late the next receive was; 0: none came */
};

/* @qp, of type UC or UD, ends. False: not known, or all were received. */
bool unreceived_find(struct model *model, const struct life *qp, struct unreceived *ret);
