#pragma once
/*
 * The value of a statement's number in each of its iterations, as a C expression.
 *
 * Not thread-safe.
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

/* Forms of the numbers of a statement. */
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
 * Find an expression for @values, one for each of @n iterations of a statement in @nest.
 * *@ret_table is the table it needs, @ret_turns->period elements to be freed; else NULL. 0 or
 * -ENOMEM.
 */
int turns_fit(const struct nest *nest, const struct numbers *values, size_t n,
	      struct turns *ret_turns, int64_t **ret_table);

/* Can @values be expressed without a table? */
bool turns_are_linear(const struct nest *nest, const struct numbers *values, size_t n);

/* Append "64 * i + 8 * j" to @text; nothing if there is only the base. */
void turns_add_steps(const struct turns *turns, const struct nest *nest, struct text *text,
		     bool first);
