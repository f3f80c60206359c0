#pragma once
/*
 * The completion vectors of CQs whose events a process waits for, by context.
 *
 * A vector is an interrupt. It matters only for CQs with a channel, and only once events
 * came.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"

enum { VECTORS_EVENTS = 8 }; /* events of a CQ after which it counts as used by events */

struct model;

struct vectors {
	uint32_t process;
	uint64_t context;
	int64_t available; /* of the device; 0: not known */
	int64_t vector;    /* of the first CQ */
	bool several;      /* another CQ has another vector, or an unknown one */
	/* threads: CQs whose first event another thread retrieved than that of the CQ before */
	uint32_t cqs, threads;
	uint32_t thread; /* the thread that retrieved the first event of the last CQ */
	char last[LIFE_NAME];
	struct moment created; /* of the last CQ */
	struct vectors *next;
};

/* @thread retrieved an event of @cq. 0 or -ENOMEM. */
int vectors_note_event(struct model *model, struct life *cq, uint32_t thread);

/* The vectors of @process after @vectors; NULL: the first; returns NULL after the last. */
const struct vectors *vectors_next(const struct model *model, uint32_t process,
				   const struct vectors *vectors);

/* @process has ended; 0: drop all. */
void vectors_forget(struct model *model, uint32_t process);
