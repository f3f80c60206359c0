#pragma once
/*
 * Numbers of a thread that no event has: the recorder used them itself, between two posts or polls.
 *
 * Statements are numbered without these, so that the numbers in a loop are regular. A thread that
 * has many is numbered as it was recorded. All zero: there are none. Not thread-safe.
 */
#include <stdint.h>

struct trace_event;

enum { SKIPS_MOST = 8 };

struct skips {
	unsigned int n; /* more than SKIPS_MOST: ignored */
	uint64_t last;  /* the last event if it was a post or a poll, else 0 */
	uint64_t at[SKIPS_MOST];
};

/* Note the numbers between the last event of the thread and @event. */
void skips_learn(struct skips *skips, const struct trace_event *event);

/* Number @n of an event without the skipped numbers before it; and back. */
uint64_t skips_subtract(const struct skips *skips, uint64_t n);
uint64_t skips_add_back(const struct skips *skips, uint64_t n);

/* How many numbers are skipped. */
unsigned int skips_count(const struct skips *skips);
