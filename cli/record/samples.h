#pragma once
/*
 * What each thread does, sampled ten times a second at no cost to the program: whether it records
 * events, polls in vain or calls no verb; and, in the last case, its state in the kernel.
 *
 * A row of table `sample` is written when a change has been seen in two samples in a row. Not
 * thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

#include "cli/record/feed.h"

enum {
	SAMPLES_NS = 100000000, /* between two samples */
	/* for a thread without verbs, /proc is read in one of this many samples */
	SAMPLES_LOOK = 16,
	SAMPLES_ROWS = 500, /* of a thread */
	SAMPLES_WCHAN = 40,
};

/* The last sample of a thread. */
struct sample_seen {
	const char *doing; /* "verbs", "polls", "nothing"; NULL: it was not sampled yet */
	char state;        /* as in proc(5); 0: not looked at, or not readable */
	char wchan[SAMPLES_WCHAN];
};

struct sample_thread {
	uint64_t tail, empty; /* counters of its ring, in the last sample */
	struct sample_seen written, seen;
	int64_t since;      /* the time of the trace when @seen was first seen */
	unsigned int quiet; /* samples since the thread did something */
	unsigned int rows;
};

struct samples {
	struct sample_thread *threads; /* by thread of the trace */
	size_t n;
	uint64_t taken;     /* CLOCK_MONOTONIC of the last sample */
	unsigned int looks; /* how often /proc was read for the thread */
};

/* Take a sample of @feeds if it is time. @now: of the trace, ns. 0 or -errno of the writer. */
int samples_sample_all(struct samples *samples, const struct feed *feeds, unsigned int nfeeds,
		       struct writer *writer, int64_t now);

/* The thread of @feed has ended: was it active after the last sample? 0 or -errno of the writer. */
int samples_end(struct samples *samples, const struct feed *feed, struct writer *writer,
		int64_t now);

void samples_fini(struct samples *samples);

/* The state and wait channel of a thread: the part of samples_sample_all() that reads /proc. */
void samples_read_proc(pid_t pid, pid_t tid, struct sample_seen *ret_seen);
