#pragma once
/*
 * The lines around an event: of each thread a number of lines before it and after it, so that a
 * thread that polls does not hide the others.
 *
 * In a first pass lines are counted, until all threads seen have enough; in a second one,
 * window_has() tells for each line, in the same order, whether it is printed. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct window {
	uint32_t context; /* lines of a thread before the event; after it */
	bool found;       /* has the event been passed? */
	/* by thread of the trace: lines before the event; all lines; those passed so far */
	struct window_thread {
		uint64_t before, lines, passed;
	} * threads;
	size_t nthreads;
};

/* Count a line of @thread; @event: it is the line of the event, in addition. 0 or -ENOMEM. */
int window_count(struct window *window, uint32_t thread, bool event);

/* Have all threads that were counted enough lines after the event? */
bool window_is_full(const struct window *window);

/* The number of lines in the window, including the event's line. */
uint64_t window_size(const struct window *window);

/* Is the next line, of @thread, in the window? Call it once for each counted line. */
bool window_has(struct window *window, uint32_t thread, bool event);

void window_fini(struct window *window);
