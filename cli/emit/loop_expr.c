/* A number of a statement in loops, as an expression of the loop variables */
#include "cli/emit/loop_expr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

const char *loop_expr_variable(size_t depth)
{
	static const char *const names[LOOP_EXPR_DEEP] = { "i", "j", "k", "l", "m", "o" };

	return names[depth < LOOP_EXPR_DEEP ? depth : LOOP_EXPR_DEEP - 1];
}

/* The loop variables, one iteration after the other, and the values of these iterations. */
struct loop_expr_search {
	const struct nest *nest;
	const struct numbers *values;
	struct numbers_at value, rounds[LOOP_EXPR_DEEP];
	size_t left; /* expr */
	uint64_t variables[LOOP_EXPR_DEEP];
	bool known[LOOP_EXPR_DEEP]; /* the steps */
	struct loop_expr *expr;
};

/* The index of the variable that is 1, if all others are 0; else the depth. */
static size_t find_first(const struct loop_expr_search *fit)
{
	size_t alone = fit->nest->depth;

	for (size_t d = 0; d < fit->nest->depth; d++) {
		if (!fit->variables[d])
			continue;
		if (fit->variables[d] != 1 || alone < fit->nest->depth)
			return fit->nest->depth;
		alone = d;
	}
	return alone;
}

/*
 * Does the value of this iteration follow from the steps? A variable's step is the difference from
 * the base in the iteration where only that variable is 1, which comes before all others where it
 * is 1; 0 if there is none.
 */
static bool fits_iteration(struct loop_expr_search *fit)
{
	struct loop_expr *expr = fit->expr;
	uint64_t sum = (uint64_t)expr->base;
	size_t first = find_first(fit);
	int64_t value = 0;

	numbers_next(fit->values, &fit->value, &value);
	if (first < fit->nest->depth && !fit->known[first]) {
		expr->step[first] = (int64_t)((uint64_t)value - sum);
		fit->known[first] = true;
	}
	for (size_t d = 0; d < fit->nest->depth; d++)
		sum += (uint64_t)expr->step[d] * fit->variables[d];
	return sum == (uint64_t)value;
}

static bool fit_loop(struct loop_expr_search *fit, size_t depth)
{
	int64_t rounds = 0;

	if (!fit->left)
		return true;
	if (depth == fit->nest->depth) {
		fit->left--;
		return fits_iteration(fit);
	}
	numbers_next(&fit->nest->loops[depth]->rounds, &fit->rounds[depth], &rounds);
	for (int64_t i = 0; i < rounds; i++) {
		fit->variables[depth] = (uint64_t)i;
		if (!fit_loop(fit, depth + 1))
			return false;
	}
	return true;
}

static bool find_steps(const struct nest *nest, const struct numbers *values, size_t n,
		       struct loop_expr *expr)
{
	const struct run *run = &values->last;

	*expr = (struct loop_expr){ .how = LOOP_EXPR_LINEAR, .base = numbers_first(values) };
	if (numbers_is_run(values) && (!run->step || nest->depth == 1)) {
		expr->step[0] = run->step;
		return true;
	}
	return fit_loop(
		&(struct loop_expr_search){
			.nest = nest, .values = values, .left = n, .expr = expr },
		0);
}

bool loop_expr_is_linear(const struct nest *nest, const struct numbers *values, size_t n)
{
	return find_steps(nest, values, n, &(struct loop_expr){ 0 });
}

static size_t find_period(const int64_t *values, size_t n)
{
	size_t tried = 0;

	for (size_t period = 1; period <= n / 2 && tried < 64; period++) {
		size_t i = period;

		if (values[period] != values[0])
			continue;
		tried++;
		while (i < n && values[i] == values[i - period])
			i++;
		if (i == n)
			return period;
	}
	return n;
}

int loop_expr_fit(const struct nest *nest, const struct numbers *values, size_t n,
		  struct loop_expr *ret_expr, int64_t **ret_table)
{
	struct numbers_at at = { 0 };
	int64_t *table = NULL;

	if (!find_steps(nest, values, n, ret_expr)) {
		table = calloc(n, sizeof(*table));
		if (!table)
			return -ENOMEM;
		for (size_t i = 0; i < n; i++)
			numbers_next(values, &at, &table[i]);
		ret_expr->how = LOOP_EXPR_TABLE;
		ret_expr->period = find_period(table, n);
	}
	*ret_table = table;
	return 0;
}

/* May a multiple of the step be too large for a signed number? Between random wr_ids it is. */
static bool is_large(int64_t step)
{
	return step > INT32_MAX || step < INT32_MIN;
}

void loop_expr_add_steps(const struct loop_expr *expr, const struct nest *nest, struct text *text,
			 bool first)
{
	for (size_t d = 0; d < nest->depth; d++) {
		int64_t step = expr->step[d];

		if (!step)
			continue;
		if (!first)
			text_addf(text, step < 0 ? " - " : " + ");
		else if (step < 0)
			text_addf(text, "-");
		first = false;
		if (step != 1 && step != -1)
			text_addf(text, "%" PRIu64 "%s * ",
				  step < 0 ? -(uint64_t)step : (uint64_t)step,
				  is_large(step) ? "u" : "");
		text_addf(text, "%s", loop_expr_variable(d));
	}
}
