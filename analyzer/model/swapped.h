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

enum { SWAPPED_HABIT = 3, SWAPPED_SPINS = 100 };

struct swapped {
	uint64_t addr;       /* of the peer's memory */
	uint32_t process;    /* the peer; 0: this entry is not used */
	uint32_t last;       /* object: the queue pair of the last compare-and-swap */
	uint64_t turns;      /* how often that was another one than before */
	uint32_t other;      /* object: one of the other queue pairs */
	uint64_t written;    /* RDMA WRITEs by queue pairs that had swapped the word */
	uint32_t writer;     /* object: the last of them that did so SWAPPED_HABIT times */
	bool shared;         /* two that existed at once did */
	struct moment swap;  /* of the first of them */
	struct moment write; /* likewise */
	bool reported;
	struct moment at, before; /* the last compare-and-swap; that of another queue pair before */
	/* the last queue pair that did nothing else than swap it, SWAPPED_SPINS times or more */
	struct swapped_spin {
		uint32_t process; /* 0: none */
		uint32_t qp;      /* object */
		uint64_t n;
		int64_t since, until;
	} spin;
};

/* @event has posted to @queue, the send queue of a queue pair. */
void swapped_note_post(struct model *model, const struct trace_event *event, struct queue *queue,
		       uint32_t taken);

/* The word that @process spun on when it made its last post; NULL: none. */
const struct swapped *swapped_find_spin(const struct model *model, uint32_t process);

void swapped_fini(struct model *model);
