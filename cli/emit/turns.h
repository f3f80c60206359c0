#pragma once
/*
 * What a number of a statement is in each of its turns, as an expression of C.
 *
 * One thread.
 */
#include "cli/emit/loops.h"

enum { TURNS_DEEP = 6 };

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
 * Find how @values, one for each turn of a statement in @nest, may be written. 0 or -ENOMEM.
 */
int turns_fit(const struct nest *nest, const int64_t *values, size_t n, struct turns *ret_turns);

/* "64 * i + 8 * j", after what comes before; nothing where it is base alone. */
void turns_add_steps(const struct turns *turns, const struct nest *nest, struct text *text,
		     bool first);
