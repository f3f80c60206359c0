#pragma once
/*
 * The value of a statement's number in each of its iterations, as a C expression.
 *
 * Not thread-safe.
 */
#include "cli/emit/loops.h"

enum { LOOP_EXPR_DEEP = LOOPS_DEEP };

/* The loops around a statement, the outermost first. */
struct nest {
	const struct node *loops[LOOP_EXPR_DEEP];
	size_t depth;
};

/* The variables of loops: "i", "j"... */
const char *loop_expr_variable(size_t depth);

/* Forms of the numbers of a statement. */
enum loop_expr_kind {
	LOOP_EXPR_LINEAR, /* base + the sum of step * variable */
	LOOP_EXPR_TABLE,  /* table[turn % period] */
};

struct loop_expr {
	enum loop_expr_kind how;
	int64_t base, step[LOOP_EXPR_DEEP];
	size_t period;
};

/*
 * Find an expression for @values, one for each of @n iterations of a statement in @nest.
 * *@ret_table is the table it needs, @ret_expr->period elements to be freed; else NULL. 0 or
 * -ENOMEM.
 */
int loop_expr_fit(const struct nest *nest, const struct numbers *values, size_t n,
		  struct loop_expr *ret_expr, int64_t **ret_table);

/* Can @values be expressed without a table? */
bool loop_expr_is_linear(const struct nest *nest, const struct numbers *values, size_t n);

/* Append "64 * i + 8 * j" to @text; nothing if there is only the base. */
void loop_expr_add_steps(const struct loop_expr *expr, const struct nest *nest, struct text *text,
			 bool first);
