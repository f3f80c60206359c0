#pragma once
/*
 * Rings that are expected: a number was given out, but its file does not exist yet.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/ring.h"
#include "core/wire/session.h"

/* Takes the ring, unless it returns -errno. */
typedef int ring_search_take(void *arg, const struct ring *ring, uint32_t index);

struct ring_search {
	const struct session *session;
	int at; /* the session's directory */
	ring_search_take *take;
	void *arg;
	uint32_t *missing; /* numbers of rings that do not exist yet, sorted */
	unsigned int nmissing;
	size_t size;
	uint64_t given_at; /* CLOCK_MONOTONIC: when the last of these numbers was assigned */
	uint32_t known;    /* all numbers below it are missing, or were taken */
	uint32_t opened;   /* number of rings opened so far */
	bool leftover;     /* the session's processes are all dead */
};

/* @session and @at are borrowed until ring_search_fini(). */
void ring_search_init(struct ring_search *search, const struct session *session, int at,
		      ring_search_take *take, void *arg);

void ring_search_fini(struct ring_search *search);

/* Take the rings of a directory to which no process adds any more. Returns 0 or -errno. */
int ring_search_leftover(struct ring_search *search);

/* Were numbers given out since the last ring_search_new_rings()? */
bool ring_search_waiting(const struct ring_search *search);

/*
 * If so, look for these rings and all that are still missing. Returns 0 or -errno, as do the next
 * two functions.
 */
int ring_search_new_rings(struct ring_search *search);

/* Search again for all that are missing. */
int ring_search_missing(struct ring_search *search);

/*
 * As ring_search_missing(), unless the last ring number was assigned so long ago that its ring will
 * never be created.
 */
int ring_search_recent(struct ring_search *search);

/* The number of missing rings whose file exists but cannot be read, with the @path of the first. */
uint32_t ring_search_unreadable(const struct ring_search *search, char path[SESSION_PATH + 16]);
