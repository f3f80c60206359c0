#pragma once
/*
 * The reading side of one ring, which the program's threads use one after the
 * other. Nothing in it is trusted: events are read from our own copy, each word
 * of the head once, and its owner once, when the ring is added. Damaged parts
 * are stepped over. One thread.
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
	uint64_t ticks;   /* when it was made */
	uint64_t dropped; /* as it was told last */
	bool over;        /* its thread is gone: ends as soon as it is empty */
	uint64_t stuck;   /* bytes that wait by the tail, if that is impossible; else 0 */
	bool damaged;     /* and that was reported */
	bool foreign;     /* of another PID namespace: its pid and tid mean nothing here */
};

/* Take over @ring, number @index of its session. */
void feed_init(struct feed *feed, const struct ring *ring, uint32_t index);

/* The head as it is now, for the writer, with the owner that it had when it was added. */
void feed_read_head(const struct feed *feed, struct ring_head *ret_head);

/* Write what the thread has lost so far. Returns 0 or -errno of the writer. */
int feed_tell_lost(struct feed *feed, struct writer *writer);

/* How full it is, in percent, rounded up; 0: there is nothing to be read. */
int feed_fill(const struct feed *feed);

/*
 * Store again how far the ring is read, if the program has overwritten that: it
 * would wait for ever.
 */
void feed_mend(struct feed *feed);

/* Ticks of the next event; 0: it cannot be read; UINT64_MAX: there is none. */
uint64_t feed_next(struct feed *feed);

/*
 * Read a share of it, and no event that is later than @until, in ticks. Returns 0 or -errno of the
 * writer; @ret_empty: that was all of it.
 */
int feed_drain(struct feed *feed, struct writer *writer, uint64_t until, bool *ret_empty);

/* At the end: count what could not be read as damage. Returns 0 or -errno of the writer. */
int feed_tell_stuck(struct feed *feed, struct writer *writer);

/* Has its thread ended or vanished, and has everything been read? */
bool feed_ended(const struct feed *feed);

/* Has its thread gone without closing the ring: killed, or ended by exec or _exit? */
bool feed_gone(const struct feed *feed);
