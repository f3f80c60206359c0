#pragma once
/*
 * Words that several queue pairs use by compare-and-swap, and that are also written by RDMA WRITE.
 *
 * Atomics are atomic to each other only: a device may carry out a WRITE between the read and the
 * write-back of an atomic, which undoes it. A queue pair that writes a word that it swapped before
 * releases a lock; it is the only one in doubt if others take turns with it.
 *
 * Both ends must be in the trace, so that words of different processes are not mistaken for one.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/model/moment.h"

struct model;
struct queue;
struct trace_event;

enum { SWAPPED_HABIT = 3 };

struct swapped {
	uint64_t addr;       /* of the peer's memory */
	uint32_t process;    /* the peer; 0: this entry is not used */
	uint32_t last;       /* object: the queue pair of the last compare-and-swap */
	uint64_t turns;      /* how often that was another one than before */
	uint32_t other;      /* object: one of the others */
	uint64_t written;    /* by queue pairs that had swapped it */
	uint32_t writer;     /* object: the last of them that did so SWAPPED_HABIT times */
	bool shared;         /* two that existed at once did */
	struct moment swap;  /* of the first of them */
	struct moment write; /* likewise */
	bool reported;
};

/* @event has posted to @queue, the send queue of a queue pair. */
void swapped_posted(struct model *model, const struct trace_event *event, struct queue *queue,
		    uint32_t taken);

void swapped_fini(struct model *model);
