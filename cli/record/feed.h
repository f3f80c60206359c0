#pragma once
/*
 * A ring that is read: one thread of the program after the other.
 *
 * Nothing in it is trusted: events are read from the reader's own copy, of the
 * head each word once, and who it is of is asked once, when it is taken in. What
 * is damaged in it is stepped over. One thread.
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
	uint64_t stuck;   /* so much waits by the tail, which cannot be; 0: it can */
	bool damaged;     /* as was said */
	bool foreign;     /* of another PID namespace: its pid and tid mean nothing here */
};

/* Take in @ring, number @index of its session: it is the feed's from now on. */
void feed_init(struct feed *feed, const struct ring *ring, uint32_t index);

/* The head by now, for the writer: whose it is stays what it was. */
void feed_read_head(const struct feed *feed, struct ring_head *ret_head);

/* Write what the thread has lost by now. Returns 0 or -errno of the writer. */
int feed_tell_lost(struct feed *feed, struct writer *writer);

/* How full it is, in percent, rounded up; 0: there is nothing to be read. */
int feed_fill(const struct feed *feed);

/*
 * Say again how far it is read, if the program has written over that: it would
 * wait for room for ever.
 */
void feed_mend(struct feed *feed);

/* Read a share of it. Returns 0 or -errno of the writer; @ret_empty: that was all of it. */
int feed_drain(struct feed *feed, struct writer *writer, bool *ret_empty);

/* Has its thread said goodbye, or is gone, and all of it been read? */
bool feed_ended(const struct feed *feed);

/* Is its thread gone without a goodbye: killed, or ended by exec or _exit? */
bool feed_gone(const struct feed *feed);
