#pragma once
/*
 * Bytes that requests of different queues have in common.
 *
 *	SEND on QP1, receive on QP2	in its buffer: the message may be sent instead
 *	receive on QP2, SEND on QP1	the same
 *	WRITE_WITH_IMM, another		to the same bytes of the peer, on the same queue pair or on
 *					others, before the peer has polled the first one's receive
 *	WRITE on QP1, WRITE on QP2	to the same bytes of the peer, from different buffers, while
 *					the first one is outstanding
 *
 * Only requests with the same address are compared, of which the latest is remembered: so a
 * comparison costs the same with one queue and with thousands. The first pair found is stored with
 * the queue of the later request (overlap.h).
 *
 * Not thread-safe.
 */
struct model;
struct queue;

/* The last request of @queue has been pushed. */
void crossing_check_request(struct model *model, struct queue *queue);

void crossing_fini(struct model *model);
