/*
 * What a number is in each turn of its statement
 */
#include "cli/emit/turns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

const char *turns_variable(size_t depth)
{
	static const char *const names[TURNS_DEEP] = { "i", "j", "k", "l", "m", "o" };

	return names[depth < TURNS_DEEP ? depth : TURNS_DEEP - 1];
}

/* The loops' variables in each turn. */
struct indexes {
	int64_t *at; /* depth of them for each turn */
	size_t n, most;
	size_t runs[TURNS_DEEP]; /* how often each loop was run so far */
	int64_t now[TURNS_DEEP];
};

static void count_through(const struct nest *nest, size_t depth, struct indexes *indexes)
{
	const struct node *loop;
	size_t rounds;

	if (depth == nest->depth) {
		for (size_t d = 0; d < nest->depth && indexes->n < indexes->most; d++)
			indexes->at[indexes->n * nest->depth + d] = indexes->now[d];
		indexes->n += indexes->n < indexes->most;
		return;
	}
	loop = nest->loops[depth];
	rounds = indexes->runs[depth] < loop->nrounds ? loop->rounds[indexes->runs[depth]] : 0;
	indexes->runs[depth]++;
	for (size_t i = 0; i < rounds; i++) {
		indexes->now[depth] = (int64_t)i;
		count_through(nest, depth + 1, indexes);
	}
}

/* What the number grows by where only variable @d has become 1; 0 where that never is. */
static int64_t find_step(const struct indexes *indexes, size_t depth, size_t d,
			 const int64_t *values)
{
	for (size_t i = 0; i < indexes->n; i++) {
		const int64_t *at = indexes->at + i * depth;
		bool alone = at[d] == 1;

		for (size_t other = 0; alone && other < depth; other++)
			alone = other == d || !at[other];
		if (alone)
			return (int64_t)((uint64_t)values[i] - (uint64_t)values[0]);
	}
	return 0;
}

static bool is_linear(const struct indexes *indexes, size_t depth, const int64_t *values,
		      struct turns *turns)
{
	turns->base = values[0];
	for (size_t d = 0; d < depth; d++)
		turns->step[d] = find_step(indexes, depth, d, values);
	for (size_t i = 0; i < indexes->n; i++) {
		uint64_t value = (uint64_t)turns->base;

		for (size_t d = 0; d < depth; d++)
			value += (uint64_t)turns->step[d] * (uint64_t)indexes->at[i * depth + d];
		if (value != (uint64_t)values[i])
			return false;
	}
	return true;
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

int turns_fit(const struct nest *nest, const int64_t *values, size_t n, struct turns *ret_turns)
{
	struct turns turns = { .how = TURNS_LINEAR, .base = values[0] };
	struct indexes indexes = { .most = n };
	size_t i = 1;

	while (i < n && values[i] == values[0])
		i++;
	if (i < n) {
		indexes.at = calloc(n * (nest->depth + 1), sizeof(*indexes.at));
		if (!indexes.at)
			return -ENOMEM;
		count_through(nest, 0, &indexes);
		if (!is_linear(&indexes, nest->depth, values, &turns)) {
			turns.how = TURNS_TABLE;
			turns.period = find_period(values, n);
		}
		free(indexes.at);
	}
	*ret_turns = turns;
	return 0;
}

void turns_add_steps(const struct turns *turns, const struct nest *nest, struct text *text,
		     bool first)
{
	for (size_t d = 0; d < nest->depth; d++) {
		int64_t step = turns->step[d];

		if (!step)
			continue;
		if (!first)
			text_addf(text, step < 0 ? " - " : " + ");
		else if (step < 0)
			text_addf(text, "-");
		first = false;
		if (step != 1 && step != -1)
			text_addf(text, "%" PRIu64 " * ", (uint64_t)(step < 0 ? -step : step));
		text_addf(text, "%s", turns_variable(d));
	}
}
