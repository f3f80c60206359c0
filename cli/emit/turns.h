#pragma once
/*
 * What a number of a statement is in each of its turns, as an expression of C.
 *
 * One thread.
 */
#include "cli/emit/loops.h"

enum { TURNS_DEEP = LOOPS_DEEP };

/* The loops around a statement, the outermost first. */
struct nest {
	const struct node *loops[TURNS_DEEP];
	size_t depth;
};

/* The variables of loops: "i", "j"... */
const char *turns_variable(size_t depth);

/* How the numbers of a statement may be written. */
enum turns_how {
	TURNS_LINEAR, /* base + the sum of step * variable */
	TURNS_TABLE,  /* table[turn % period] */
};

struct turns {
	enum turns_how how;
	int64_t base, step[TURNS_DEEP];
	size_t period;
};

/*
 * Find how @values, one for each of @n turns of a statement in @nest, may be written. *@ret_table
 * are those of a table, to be freed, @ret_turns->period of them; else NULL. 0 or -ENOMEM.
 */
int turns_fit(const struct nest *nest, const struct numbers *values, size_t n,
	      struct turns *ret_turns, int64_t **ret_table);

/* Do they have no table? */
bool turns_are_linear(const struct nest *nest, const struct numbers *values, size_t n);

/* "64 * i + 8 * j", after what comes before; nothing where it is base alone. */
void turns_add_steps(const struct turns *turns, const struct nest *nest, struct text *text,
		     bool first);
