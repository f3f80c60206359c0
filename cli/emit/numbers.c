/*
 * Sequences of numbers
 *
 * A sequence is stored as runs, the last in place, those before it in an array. Runs that occur
 * several times in a row, each time with a constant added, are stored once, with a repetition after
 * them:
 *
 * 	0 1 9 9 10 11 19 19 20 21 29 29 7                 the numbers
 * 	(0 +1 x2) (9 +0 x2) (these 2, 2 times more, +10)  the earlier runs
 * 	(7 x1)                                            the last
 *
 * The repeated runs may contain repetitions, of runs within them alone.
 */
#include "cli/emit/numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { REPEATED_RUNS = 64 }; /* longer sequences are not searched for */

struct earlier_runs {
	size_t n, size;
	struct run at[];
};

/*
 * A run whose count has this bit is a repetition: the count is the number of runs before it
 * (including repetitions) that are repeated `step` times more, each time with `value` added.
 */
#define REPETITION  (1ull << 63)
#define DEPTH_SHIFT 32 /* the count also has the depth of nested repetitions */

static bool is_repetition(const struct run *run)
{
	return run->count & REPETITION;
}

static size_t count_repeated(const struct run *repetition)
{
	return (uint32_t)repetition->count;
}

static unsigned int count_depth(const struct run *run)
{
	return is_repetition(run) ? (unsigned int)((run->count & ~REPETITION) >> DEPTH_SHIFT) : 0;
}

/* Are the @n runs at @b equal to those at @a, with @more added? */
static bool are_same(const struct run *a, const struct run *b, size_t n, uint64_t more)
{
	while (n--) {
		uint64_t here = is_repetition(&a[n]) ? 0 : more;

		if (a[n].step != b[n].step || a[n].count != b[n].count ||
		    (uint64_t)a[n].value + here != (uint64_t)b[n].value)
			return false;
	}
	return true;
}

/* If the runs after a repetition are another round of it, count this round. */
static bool count_if_repeated(struct earlier_runs *e)
{
	for (size_t n = 1; n <= REPEATED_RUNS && n < e->n; n++) {
		struct run *repetition = &e->at[e->n - n - 1];

		if (!is_repetition(repetition) || count_repeated(repetition) != n ||
		    !are_same(repetition - n, repetition + 1, n,
			      (uint64_t)repetition->value * ((uint64_t)repetition->step + 1)))
			continue;
		repetition->step++;
		e->n -= n;
		return true;
	}
	return false;
}

/* The depth of nested repetitions in these runs; NUMBERS_DEEP if one reaches before them. */
static unsigned int find_depth(const struct run *runs, size_t n)
{
	unsigned int most = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned int depth = count_depth(&runs[i]);

		if (depth && count_repeated(&runs[i]) > i)
			return NUMBERS_DEEP;
		most = depth > most ? depth : most;
	}
	return most;
}

/* Make a repetition of the last runs if they occur three times in a row. */
static bool find_repetition(struct earlier_runs *e)
{
	for (size_t n = 1; n <= REPEATED_RUNS && n <= e->n / 3; n++) {
		const struct run *last = e->at + e->n - n;
		uint64_t more = (uint64_t)last->value - (uint64_t)last[-(ssize_t)n].value;
		unsigned int depth;

		if (is_repetition(last) || !are_same(last - n, last, n, more) ||
		    !are_same(last - 2 * n, last - n, n, more))
			continue;
		depth = find_depth(last, n);
		if (depth == NUMBERS_DEEP)
			continue;
		e->n -= 2 * n;
		e->at[e->n++] =
			(struct run){ (int64_t)more, 2,
				      REPETITION | (uint64_t)(depth + 1) << DEPTH_SHIFT | n };
		return true;
	}
	return false;
}

/* The last run has ended. */
static int store_last_run(struct numbers *numbers)
{
	struct earlier_runs *e = numbers->earlier;

	if (!e || e->n == e->size) {
		size_t size = e ? 2 * e->size : 4;
		struct earlier_runs *more = realloc(e, sizeof(*e) + size * sizeof(*e->at));

		if (!more)
			return -ENOMEM;
		if (!e)
			memset(more, 0, sizeof(*more));
		numbers->earlier = e = more;
		e->size = size;
	}
	e->at[e->n++] = numbers->last;
	while (count_if_repeated(e) || find_repetition(e))
		continue;
	return 0;
}

int numbers_push_run(struct numbers *numbers, struct run run)
{
	struct run *last = &numbers->last;

	while (run.count) {
		uint64_t step = (uint64_t)run.value - (uint64_t)last->value;

		if (!last->count) {
			*last = run;
			if (run.count == 1)
				last->step = 0;
			return 0;
		}
		if (last->count == 1) {
			last->step = (int64_t)step;
		} else if (step != (uint64_t)last->step * last->count) {
			int err = store_last_run(numbers);

			if (err)
				return err;
			last->count = 0;
			continue;
		}
		if (run.count == 1 || run.step == last->step) {
			last->count += run.count;
			return 0;
		}
		last->count++; /* only the first of the run */
		run.count--;
		run.value = (int64_t)((uint64_t)run.value + (uint64_t)run.step);
	}
	return 0;
}

int numbers_push(struct numbers *numbers, int64_t value)
{
	return numbers_push_run(numbers, (struct run){ .value = value, .count = 1 });
}

int numbers_append(struct numbers *numbers, const struct numbers *more)
{
	struct numbers_at at = { 0 };
	int err = 0;

	while (!err && numbers_next_run(more, &at))
		err = numbers_push_run(numbers, at.run);
	return err;
}

void numbers_fini(struct numbers *numbers)
{
	free(numbers->earlier);
	*numbers = (struct numbers){ 0 };
}

size_t numbers_size(const struct numbers *numbers)
{
	const struct earlier_runs *e = numbers->earlier;

	return e ? sizeof(*e) + e->size * sizeof(*e->at) : 0;
}

int64_t numbers_first(const struct numbers *numbers)
{
	return numbers->earlier ? numbers->earlier->at[0].value : numbers->last.value;
}

/* At @repetition: repeat, or continue. */
static void follow_repetition(struct numbers_at *at, const struct run *repetition)
{
	struct numbers_round *round = at->depth ? &at->rounds[at->depth - 1] : NULL;

	if (!round || round->of != at->next) {
		round = &at->rounds[at->depth++];
		*round = (struct numbers_round){ .of = at->next };
	}
	if (round->done < (uint64_t)repetition->step) {
		round->done++;
		at->more += (uint64_t)repetition->value;
		at->next -= count_repeated(repetition);
	} else {
		at->more -= (uint64_t)repetition->value * round->done;
		at->depth--;
		at->next++;
	}
}

bool numbers_next_run(const struct numbers *numbers, struct numbers_at *at)
{
	const struct earlier_runs *e = numbers->earlier;
	size_t n = e ? e->n : 0;

	at->done = 0;
	while (at->next < n && is_repetition(&e->at[at->next]))
		follow_repetition(at, &e->at[at->next]);
	at->run = at->next < n    ? e->at[at->next]
		  : at->next == n ? numbers->last
				  : (struct run){ 0 };
	at->run.value = (int64_t)((uint64_t)at->run.value + at->more);
	at->next += at->run.count != 0;
	return at->run.count;
}
