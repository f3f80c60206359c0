/*
 * The lines around an event, thread by thread
 */
#include "cli/dump/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add_threads(struct window *w, uint32_t thread)
{
	size_t n = (size_t)thread + 1;
	struct window_thread *threads;

	if (n <= w->nthreads)
		return 0;
	n += n / 2;
	threads = reallocarray(w->threads, n, sizeof(*threads));
	if (!threads)
		return -ENOMEM;
	memset(threads + w->nthreads, 0, (n - w->nthreads) * sizeof(*threads));
	w->threads = threads;
	w->nthreads = n;
	return 0;
}

int window_count(struct window *w, uint32_t thread, bool event)
{
	int err = add_threads(w, thread);

	if (err)
		return err;
	if (event)
		w->found = true;
	else
		w->threads[thread].before += !w->found;
	w->threads[thread].lines += !event;
	return 0;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

bool window_is_full(const struct window *w)
{
	bool full = w->found;

	for (size_t i = 0; i < w->nthreads && full; i++)
		full = !w->threads[i].lines ||
		       w->threads[i].lines - w->threads[i].before >= w->context;
	return full;
}

uint64_t window_size(const struct window *w)
{
	uint64_t size = w->found;

	for (size_t i = 0; i < w->nthreads; i++) {
		const struct window_thread *t = &w->threads[i];

		size += least_of(t->before, w->context) +
			least_of(t->lines - t->before, w->context);
	}
	return size;
}

bool window_has(struct window *w, uint32_t thread, bool event)
{
	struct window_thread *t = thread < w->nthreads ? &w->threads[thread] : NULL;
	uint64_t nth;

	if (event || !t)
		return event;
	nth = t->passed++;
	return nth < t->lines && nth + w->context >= t->before && nth < t->before + w->context;
}

void window_fini(struct window *w)
{
	free(w->threads);
	*w = (struct window){ 0 };
}
