#pragma once
/*
 * A thread's statements as text: loops, and numbers that depend on their variables.
 *
 * One thread.
 */
#include "cli/emit/loops.h"

struct listing {
	const struct texts *texts;
	const char *thread; /* "3" of its events 3:N, fit for a string */
	/* what stands in for OBJECT_KEPT and the number of an object; adds lines. @index: "[i]" */
	void (*kept)(void *of, uint32_t object, const char *index, struct text *text);
	void *of;
	struct text text;             /* what the function does */
	struct text before;           /* variables and tables, before that */
	unsigned int ntables, nturns; /* turn1, turn2... are to be declared */
	bool *named;                  /* by text: it names its event */
	int64_t *steps; /* by text: to its event from the one before, in a loop that counts */
	struct map
		written; /* tables, by a hash of what they have: its place in `before` and number */
	bool has_loops;  /* uses at() */
	bool has_steps;  /* uses next(), */
	bool has_waits;  /* and the one of what comes */
};

/* Adds to listing->text and listing->before. 0 or -ENOMEM. */
int listing_add(struct listing *listing, const struct block *block);
