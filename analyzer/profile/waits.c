/*
 * How long the recorder made threads wait
 *
 * Older traces lack the table, imported ones have it without useful rows: meta `waits` says whether
 * it is valid.
 */
#include "analyzer/profile/waits.h"

#include <string.h>

#include "analyzer/profile/rows.h"
#include "core/store/db/sql.h"
#include "core/store/read/lookup.h"

/* Waits that the trace before this one contains, too, are counted in that one. */
static const char waits_sql[] =
	"SELECT w.thread, w.n, w.process, w.time, w.ns, w.times, w.why = 'full' FROM waited w"
	" LEFT JOIN carried c ON c.thread = w.thread WHERE w.n > coalesce(c.n, 0) ORDER BY w.time";

int waits_open(struct profiler *p)
{
	const char *recorded = trace_meta(p->trace, "waits");
	int err;

	p->next_wait = INT64_MAX;
	if (!recorded || strcmp(recorded, "yes") != 0)
		return 0;
	p->profile->waited.known = true;
	err = sql_prepare(trace_db(p->trace), waits_sql, &p->waits);
	return err ? err : waits_next(p);
}

int waits_next(struct profiler *p)
{
	int found = sql_step(p->waits);

	p->next_wait = found == 1 ? sql_time(p->waits, 3) : INT64_MAX;
	return found < 0 ? found : 0;
}

struct wait_row waits_row(const struct profiler *p)
{
	return (struct wait_row){
		.id = { sql_u32(p->waits, 0), (uint64_t)sqlite3_column_int64(p->waits, 1) },
		.process = sql_u32(p->waits, 2),
		.time = sql_time(p->waits, 3),
		.ns = sql_time(p->waits, 4),
		.times = sql_u32(p->waits, 5),
		.full = sqlite3_column_int(p->waits, 6),
	};
}

void waits_count(struct profiler *p, const struct wait_row *row)
{
	struct profile_waited *waited = &p->profile->waited;
	struct profile_thread *thread = rows_thread(p, row->id.thread, row->process);

	waited->times += row->times;
	profiler_add(&waited->ns, row->ns);
	*(row->full ? &waited->full : &waited->longer) += row->times;
	profiler_add(row->full ? &waited->full_ns : &waited->longer_ns, row->ns);
	if (row->ns > waited->most) {
		waited->most = row->ns;
		waited->worst = row->id;
		waited->worst_at = row->time;
	}
	if (!thread)
		return;
	waited->threads += !thread->waits;
	thread->waits += row->times;
	profiler_add(&thread->waited_ns, row->ns);
}

int waits_sum(const struct profiler *p, struct profile_waited *ret_waited)
{
	struct lookup_waited sums;
	int err = lookup_waited(p->trace, &sums);

	*ret_waited = (struct profile_waited){
		.known = true, .times = sums.times, .ns = sums.ns, .most = sums.longest
	};
	return err;
}

void waits_close(struct profiler *p)
{
	sqlite3_finalize(p->waits);
}
