#pragma once
/*
 * Where a verb is called, for rules with at=, which name a function, a file or a line of the call
 * stack.
 *
 * Names come from the debug information of the program's files, by libdw, which is loaded only if a
 * rule has at=. Any thread; not while a lock of the recorder is held.
 */
#include <stdbool.h>

enum { PLACES_FRAMES = 48 };

struct places {
	void *frames[PLACES_FRAMES]; /* return addresses, innermost first */
	int n;
};

/* Called when the process starts. Without libdw, rules with at= never apply. */
void places_load(void);

/* Get the call stack of this thread. */
void places_unwind(struct places *ret_places);

/* Does a place of the call stack match @at, of struct fault_rule? */
bool places_match(const struct places *places, const char *at);
