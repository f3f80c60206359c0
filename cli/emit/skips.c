/*
 * Numbers of a thread that no event has
 */
#include "cli/emit/skips.h"

#include "core/store/read/trace.h"

void skips_learn(struct skips *skips, const struct trace_event *event)
{
	bool data = event->kind == TRACE_POST || event->kind == TRACE_POLL;

	for (uint64_t n = skips->last + 1; data && skips->last && n < event->id.n; n++) {
		if (skips->n < SKIPS_MOST)
			skips->at[skips->n] = n;
		if (++skips->n > SKIPS_MOST)
			return;
	}
	skips->last = data ? event->id.n : 0;
}

unsigned int skips_count(const struct skips *skips)
{
	return skips->n <= SKIPS_MOST ? skips->n : 0;
}

uint64_t skips_subtract(const struct skips *skips, uint64_t n)
{
	unsigned int before = 0;

	while (before < skips_count(skips) && skips->at[before] < n)
		before++;
	return n - before;
}

uint64_t skips_add_back(const struct skips *skips, uint64_t n)
{
	for (unsigned int i = 0; i < skips_count(skips); i++)
		n += skips->at[i] <= n;
	return n;
}
