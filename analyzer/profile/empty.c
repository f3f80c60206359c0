/*
 * Empty polls, which are not events
 *
 * A poll that finds completions has the number of empty polls before it. The empty polls after the
 * last such poll are only in table `poll_count`, without a time: so they count only if the whole
 * process is counted.
 */
#include "analyzer/profile/empty.h"

#include "analyzer/profile/rows.h"
#include "core/store/read/lookup.h"

static void forget_counts(struct profile *profile)
{
	profile->empty = 0;
	for (size_t i = 0; i < profile->nprocesses; i++)
		profile->processes[i].empty = 0;
	for (size_t i = 0; i < profile->nthreads; i++)
		profile->threads[i].empty = 0;
	for (size_t i = 0; i < profile->nobjects; i++) {
		struct profile_cq *cq = profile->cqs[i];

		if (!cq)
			continue;
		profile->verbs[cq->batches ? VERB_start_poll : VERB_poll_cq].calls -= cq->empty;
		cq->empty = 0;
	}
}

static void add_count(void *arg, const struct lookup_count *count)
{
	struct profiler *p = arg;
	struct profile_process *process;
	struct profile_thread *thread;
	uint64_t empty = count->empty;
	struct profile_cq *cq;

	process = rows_process(p, count->process);
	thread = rows_thread(p, count->thread, count->process);
	cq = rows_cq(p, count->object, count->process);
	p->profile->empty += empty;
	if (process)
		process->empty += empty;
	if (thread)
		thread->empty += empty;
	if (!cq)
		return;
	cq->empty += empty;
	p->profile->verbs[cq->batches ? VERB_start_poll : VERB_poll_cq].calls += empty;
}

int empty_count(struct profiler *p)
{
	forget_counts(p->profile);
	return lookup_counts(p->trace, p->select->process, LOOKUP_BY_CQ, add_count, p);
}
