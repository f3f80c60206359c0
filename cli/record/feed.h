#pragma once
/*
 * The reading side of one ring, which threads of the program use one after the other. Nothing in it
 * is trusted: events are read from a copy, each word of the head once, and its owner once, when the
 * ring is added. Damaged parts are skipped. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/store/write/writer.h"
#include "core/wire/ring.h"

struct feed {
	struct ring ring;
	uint32_t index;
	uint32_t thread; /* of the trace */
	pid_t pid;
	uint64_t image;
	uint64_t ticks;   /* ticks at which the ring was created */
	uint64_t dropped; /* the number that was reported last */
	bool over;        /* its thread has ended: the ring ends as soon as it is empty */
	uint64_t stuck;   /* bytes that remain because the tail is impossible; else 0 */
	bool damaged;     /* the ring is damaged, which was reported */
	/* with ring.holds the program gets the space of events after they are committed */
	uint64_t freed;  /* the position up to which the writer may overwrite the ring */
	uint64_t marked; /* the position up to which feed_release() frees the ring */
	bool foreign;    /* of another PID namespace: its pid and tid are not valid in this one */
};

/* Take over @ring, number @index of its session. */
void feed_init(struct feed *feed, const struct ring *ring, uint32_t index);

/* The current head, for the writer, with the owner that it had when the ring was added. */
void feed_read_head(const struct feed *feed, struct ring_head *ret_head);

/* Write the losses of the thread so far. Returns 0 or -errno of the writer. */
int feed_report_lost(struct feed *feed, struct writer *writer);

/* The fill level in percent, rounded up; 0: there is nothing to read. */
int feed_fill(const struct feed *feed);

/* Store the read position again if the program has overwritten it: it would wait forever. */
void feed_repair_head(struct feed *feed);

/* With ring.holds: how much of the ring was read but not released, in percent. */
int feed_percent_held(const struct feed *feed);

/* All events read so far are about to be committed; they are committed, so their space is free. */
void feed_mark_position(struct feed *feed);
void feed_release(struct feed *feed);

/* Ticks of the next event; 0: it cannot be read; UINT64_MAX: none. */
uint64_t feed_next(struct feed *feed);

/*
 * Read a share of the ring, but no event later than @until, in ticks. Returns 0 or -errno of the
 * writer; @ret_empty: nothing is left.
 */
int feed_drain(struct feed *feed, struct writer *writer, uint64_t until, bool *ret_empty);

/* At the end: count the unreadable rest as damage. Returns 0 or -errno of the writer. */
int feed_report_stuck(struct feed *feed, struct writer *writer);

/* Has its thread ended or vanished, and has everything been read? */
bool feed_has_ended(const struct feed *feed);

/* Has its thread ended without closing the ring: killed, or ended by exec or _exit? */
bool feed_has_lost_thread(const struct feed *feed);
