/*
 * The default number of threads of a replay
 *
 * Threads that poll without a pause need one processor each, and one must be free for other work:
 * if one thread is preempted, all threads that wait for it stop, too. With fewer processors a
 * single thread is faster, since no message goes from one processor to another.
 */
#include "replay/choose.h"

#include <sched.h>

#include "replay/state/state.h"

enum { IDLE = 8 }; /* events, as a fraction of the busiest: 1/8 */

static unsigned int count_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned int)CPU_COUNT(&set);
}

/* The number of recorded threads with most of the events. */
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
	/*
	 * one order on each host, so that no wait of one host depends on a later one of the other
	 */
	if (r->pair)
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
