#pragma once
/*
 * A sequence of numbers, compressed: arithmetic progressions, and repetitions with or without an
 * increment, are stored once.
 *
 * All zero: empty. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* value, value + step, ...: `count` of them */
struct run {
	int64_t value, step;
	uint64_t count;
};

struct numbers {
	struct run last; /* count 0: the sequence is empty */
	struct earlier_runs *earlier;
};

/* 0 or -ENOMEM. */
int numbers_push(struct numbers *numbers, int64_t value);
int numbers_push_run(struct numbers *numbers, struct run run);
int numbers_append(struct numbers *numbers, const struct numbers *more);
void numbers_fini(struct numbers *numbers);

/* Bytes beyond the struct itself. */
size_t numbers_size(const struct numbers *numbers);

/* The first number; the sequence must not be empty. */
int64_t numbers_first(const struct numbers *numbers);

/* Is the sequence a single run? */
static inline bool numbers_is_run(const struct numbers *numbers)
{
	return !numbers->earlier;
}

enum { NUMBERS_DEEP = 3 }; /* nesting depth of repetitions */

/* A position in a sequence, which must not change meanwhile; zeroed: the beginning. */
struct numbers_at {
	struct run run;
	uint64_t done; /* of this run */
	size_t next;   /* of the runs */
	uint64_t more; /* the sum of the increments of the repetitions around it */
	unsigned int depth;
	struct numbers_round {
		size_t of;
		uint64_t done;
	} rounds[NUMBERS_DEEP];
};

/* false at the end */
bool numbers_next_run(const struct numbers *numbers, struct numbers_at *at);

static inline bool numbers_next(const struct numbers *numbers, struct numbers_at *at,
				int64_t *ret_value)
{
	if (at->done == at->run.count && !numbers_next_run(numbers, at))
		return false;
	*ret_value = (int64_t)((uint64_t)at->run.value + (uint64_t)at->run.step * at->done++);
	return true;
}
