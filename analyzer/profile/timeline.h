#pragma once
/*
 * A run over time, in a bounded number of bins: posts, completions, latencies and queue depths.
 *
 * The bins cover the time from the first post to the last completion: whenever a time is after the
 * last bin, the width doubles and two bins become one. The same calls as in a profile (profile.h)
 * are counted. Times are ns.
 *
 * Not thread-safe.
 */
#include "analyzer/profile/lanes.h"
#include "analyzer/profile/profile.h"
#include "core/store/read/trace.h"

enum {
	TIMELINE_BINS = 2048,
	TIMELINE_CLASSES = 112, /* of latencies: 4 for each power of two, from 128 ns to 34 s */
	TIMELINE_QUEUES = 64,   /* queues whose depth is recorded: the first ones used */
};

struct timeline_bin {
	uint64_t requests, bytes; /* of send queues */
	uint64_t receives;        /* receives that were posted */
	uint64_t completions, errors;
	uint32_t doorbells; /* posts to send queues */
};

/* Outstanding requests of a queue in a bin. */
struct timeline_depth {
	uint32_t least, most; /* least > most: no change in that bin */
};

struct timeline_queue {
	uint32_t object;
	bool send;
	bool unsure;   /* struct queue had a doubt at some time */
	uint32_t room; /* 0: not known */
	uint64_t requests;
	struct timeline_depth depth[TIMELINE_BINS];
};

/* Requests of one opcode that completed in a bin, by latency. */
struct timeline_heat {
	uint32_t n[TIMELINE_BINS][TIMELINE_CLASSES];
};

struct timeline {
	int64_t begin; /* of the first bin; -1: nothing was posted or completed */
	int64_t width; /* of a bin */
	size_t nbins;  /* up to the last one that is not empty */
	uint32_t one_of;
	struct timeline_bin bins[TIMELINE_BINS];
	struct timeline_heat *heat[PROFILE_OPCODES]; /* NULL: none */
	struct timeline_queue *queues;
	size_t nqueues;
	bool more; /* there were more queues */
};

/* For timing.c; pass.h creates a complete one. NULL if out of memory. */
struct timeline *timeline_new(uint32_t one_of);

/* Accepts NULL. */
void timeline_free(struct timeline *timeline);

/* The queue of @object, added if there is room: 1, 0 or -ENOMEM. Valid until the next call. */
int timeline_queue(struct timeline *timeline, uint32_t object, bool send,
		   struct timeline_queue **ret_queue);
void timeline_note_depth(struct timeline_queue *queue, size_t bin, uint32_t depth);

/* The bin of @time; older bins become wider if needed. */
size_t timeline_bin_of(struct timeline *timeline, int64_t time);

/* The class of a latency, and the smallest latency of a class. */
unsigned int timeline_class_of(int64_t ns);
int64_t timeline_class_from(unsigned int class);
