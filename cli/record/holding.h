#pragma once
/*
 * Events that stay in their rings until they are committed, so that a process which takes over from
 * a killed recorder can read them again. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/record/feed.h"

struct holding {
	bool on;
	struct feed *ended; /* feeds that have ended, perhaps after the last commit */
	size_t nended, marked;
	uint64_t commits; /* of the writer, at the last release */
};

/* Accepts a zeroed @holding. */
void holding_fini(struct holding *holding);

/* All that was read of the rings is about to be committed. */
void holding_mark_positions(struct holding *holding, struct feed *feeds, unsigned int n);

/* Give the program the space of all events committed since the last call. */
void holding_release(struct holding *holding, struct feed *feeds, unsigned int n,
		     struct writer *writer, int at);

/* The same; commits first if the program would soon wait for space. 0 or -errno. */
int holding_commit(struct holding *holding, struct feed *feeds, unsigned int n,
		   struct writer *writer, int at);

/* The feed has ended: close and remove its ring, in session @at, now or when that is committed. */
void holding_end_feed(struct holding *holding, struct feed *feed, int at);
