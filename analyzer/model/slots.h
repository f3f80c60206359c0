#pragma once
/*
 * RDMA WRITEs to the slots of a ring in the peer's memory, and the messages that return slots.
 *
 *	WRITE to	s0 s1 s2 s3  s0 s1 ...		period 4
 *	polled		          m1    m2 		each message of the peer returns one slot
 *
 * That a message returns one slot is known at the end, if there were as many as WRITEs, and never
 * many fewer. Messages with immediate data or more bytes than a credit has are something else: then
 * nothing is reported.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/model/moment.h"

struct queue;
struct trace_event;
struct wc;

enum { SLOTS_MAX = 64 };

struct slots {
	uint64_t writes;
	uint64_t addrs[SLOTS_MAX]; /* of the first period */
	uint32_t period;           /* 0: not known yet */
	bool irregular;            /* there is no ring, or the peer also sends other messages */
	uint64_t returned;         /* messages that returned a slot */
	uint64_t ahead;            /* the largest number of slots that were not returned yet */
	/* WRITEs to a slot that had not been returned; if there was one, the first is: */
	uint64_t over;
	struct moment first;
	/* written, before: number of WRITEs and of messages until then */
	uint64_t addr, written, before;
};

/* @event has posted @taken requests to @sends, the send queue of a queue pair. */
void slots_note_post(struct queue *sends, const struct trace_event *event, uint32_t taken);

/* A message, @wc, was polled on the queue pair of @sends, which may be NULL. */
void slots_note_message(struct queue *sends, const struct wc *wc);
