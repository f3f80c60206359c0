#pragma once
/*
 * Messages of unreliable queue pairs that found no receive: the sender is not notified.
 *
 * Each message takes a receive, so more messages than receives are messages lost. Only of queue
 * pairs with a receive queue of their own, both ends in the trace.
 *
 * One thread.
 */
#include "analyzer/model/lives.h"

struct model;
struct queue;

/* The request at @at of @queue, of a UD queue pair, completes: it and those before it were sent. */
void unreceived_sent(struct model *model, uint32_t process, const struct queue *queue, uint32_t at);

struct unreceived {
	uint64_t sent, receives; /* messages to it, and receives posted in all */
};

/* @qp, of type UC or UD, ends. False: not known, or all were received. */
bool unreceived_find(struct model *model, const struct life *qp, struct unreceived *ret);
