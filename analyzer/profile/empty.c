/*
 * Empty polls, which are no events
 *
 * A poll that finds completions has the number of empty polls before it. The empty polls after the
 * last such poll are only in table `poll_count`, without a time: so they count only if the whole
 * process is counted.
 */
#include "analyzer/profile/empty.h"

#include "analyzer/profile/rows.h"
#include "core/store/db/sql.h"

static const char empty_sql[] = "SELECT thread, process, coalesce(cq, 0), sum(empty)"
				" FROM poll_count GROUP BY thread, process, cq";

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

static void add_count(struct profiler *p, sqlite3_stmt *stmt)
{
	uint32_t thread_id = sql_u32(stmt, 0), process_id = sql_u32(stmt, 1);
	uint64_t empty = (uint64_t)sqlite3_column_int64(stmt, 3);
	struct profile_process *process = rows_process(p, process_id);
	struct profile_thread *thread = rows_thread(p, thread_id, process_id);
	struct profile_cq *cq = rows_cq(p, sql_u32(stmt, 2), process_id);

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
	sqlite3_stmt *stmt;
	int err = sql_prepare(trace_db(p->trace), empty_sql, &stmt);

	if (err)
		return err;
	forget_counts(p->profile);
	while ((err = sql_step(stmt)) == 1)
		if (!p->select->process || sql_u32(stmt, 1) == p->select->process)
			add_count(p, stmt);
	sqlite3_finalize(stmt);
	return err;
}
