#pragma once
/*
 * WRITEs that nothing announces in order.
 *
 *	QP1 WRITE ... QP2 SEND		two queue pairs have no order: the message may come first
 *	QP1 WRITE ... QP2 WRITE flag	the same, if the receiver polls the flag in memory
 *	WRITE data, WRITE flag		with IBV_ACCESS_RELAXED_ORDERING: so may the flag
 *
 * Stored with the queue that writes, and judged when it ends: only then is it known that it never
 * sent a message itself.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/model/moment.h"

struct key;
struct model;
struct queue;
struct trace_event;
struct wr;

struct unordered {
	uint64_t batches;          /* batches of WRITEs, each after a request on another queue */
	uint64_t nfollowed;        /* batches that a message on another queue followed */
	struct moment write, send; /* the first time */
	uint32_t other;            /* object: the queue pair of the message */
	uint64_t small;            /* WRITEs of at most 64 bytes */
	uint32_t beside;           /* object: the queue pair that was written to before; 0: none */
	struct unordered_raised {
		uint64_t n; /* small WRITEs on another queue that followed a WRITE on this queue */
		struct moment write, flag; /* the first time */
		uint32_t length;           /* bytes of the flag */
		uint32_t other;            /* object: the queue pair of the flag */
	} raised;
	struct unordered_flag {
		uint64_t n; /* small WRITEs, each after a larger one */
		struct moment first;
		/* bytes of the first small WRITE, and of the WRITE before it */
		uint32_t length, before;
		uint32_t region; /* object: the region of the first small WRITE */
		uint64_t last;   /* bytes of the last WRITE */
	} flag;
};

/* The last request of @event was posted to the send queue @queue, the one before to @before. */
void unordered_note_post(struct model *model, struct queue *queue, struct queue *before,
			 const struct trace_event *event);

/* The last request of @event, a WRITE, was posted to @queue. */
void unordered_note_flag(struct model *model, struct queue *queue, const struct trace_event *event);

/* @wr writes @length bytes to the region of @key, which has relaxed ordering. */
void unordered_note_write(struct queue *queue, const struct trace_event *event, const struct wr *wr,
			  const struct key *key, uint64_t length);
