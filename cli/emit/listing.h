#pragma once
/*
 * A thread's statements as text: loops, and numbers that depend on the loop variables.
 *
 * Not thread-safe.
 */
#include "cli/emit/loops.h"
#include "cli/emit/repeated.h"
#include "cli/emit/skips.h"

struct listing {
	const struct texts *texts;
	const char *thread;        /* the thread number of its events, "3" for 3:N */
	const struct skips *skips; /* of the thread */
	/* adds lines in place of OBJECT_KEPT and an object's number; @index: "[i]" */
	void (*kept)(void *of, uint32_t object, const char *index, struct text *text);
	void *of;
	struct repeated_texts *repeated; /* NULL: nothing becomes a macro */
	struct text text;                /* the body of the function */
	struct text before;              /* variables and tables, before the body */
	unsigned int ntables, nturns;    /* turn1, turn2... must be declared */
	bool *named;                     /* by text: does it contain its event's name? */
	/* by text: most frequent number of events from the previous one to its own, in a loop */
	int64_t *steps;
	struct map
		written; /* tables, by a hash of their contents: position in `before` and number */
	bool has_loops;  /* uses at() */
	bool has_steps;  /* uses next() */
	bool has_waits;  /* waits for messages */
};

/* Adds to listing->text and listing->before. 0 or -ENOMEM. */
int listing_add(struct listing *listing, const struct block *block);
