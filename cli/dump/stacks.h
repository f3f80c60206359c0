#pragma once
/*
 * Call stacks of a dump as text, each symbolised once. Not thread-safe.
 */
#include "core/store/read/trace.h"

struct stacks;

/* @all: include the functions of the recorder. NULL if out of memory. */
struct stacks *stacks_new(struct trace *trace, bool all);

/* Accepts NULL. */
void stacks_free(struct stacks *stacks);

/* Functions of a call stack, innermost first: "to_rts+0x1f (app.c:20)". */
struct stack {
	char **functions;
	size_t n;
	char *brief; /* "to_rts (app.c:20) < main (app.c:66)" */
	/* has functions of the Python interpreter: functions in Python are not recorded */
	bool python;
};

/* NULL if there is none, or if out of memory. Borrowed. */
const struct stack *stacks_find(struct stacks *stacks, uint32_t stack);
