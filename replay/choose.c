/*
 * How many threads a replay has, where it is not told
 *
 * Threads that poll without a pause need a processor each, and one must be left for whatever else
 * runs: if one of them has to stop, all stop that wait for it. Short of that a single thread is
 * faster, since no message goes from one processor to another.
 */
#include "replay/choose.h"

#include <sched.h>

#include "replay/state/state.h"

enum { IDLE = 8 }; /* so many times fewer events than the busiest */

static unsigned int count_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned int)CPU_COUNT(&set);
}

/* Recorded threads that did most of it. */
static unsigned int count_busy(const struct replay *r)
{
	const struct thread *thread;
	unsigned int busy = 0;
	uint64_t most = 0;

	for (uint32_t i = 1; (thread = trace_thread(r->trace, i)); i++)
		most = thread->events > most ? thread->events : most;
	for (uint32_t i = 1; (thread = trace_thread(r->trace, i)); i++)
		busy += thread->events > most / IDLE;
	return busy;
}

bool choose_serial(struct replay *r)
{
	unsigned int processors = count_processors(), busy;

	if (r->options->threads != THREADS_AUTO)
		return r->options->threads == THREADS_SERIAL;
	if (r->pair) /* one order on each host, so that no wait of one is behind the other's */
		return true;
	if (r->options->pace > 0 || r->options->processes)
		return false;
	busy = count_busy(r);
	if (busy < 2 || processors > busy)
		return false;
	outcome_note(r->outcome,
		     "one thread replayed %u busy threads, since the machine has %u processors "
		     "(--threads recorded: one for each)",
		     busy, processors);
	return true;
}
