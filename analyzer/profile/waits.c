/* How long the recorder made threads wait */
#include "analyzer/profile/waits.h"

#include <string.h>

#include "analyzer/profile/rows.h"
#include "core/store/read/lookup.h"

int waits_open(struct profiler *p)
{
	const char *recorded = trace_meta(p->trace, "waits");
	int err;

	p->next_wait.time = INT64_MAX;
	if (!recorded || strcmp(recorded, "yes") != 0)
		return 0;
	p->profile->waited.known = true;
	err = waited_open(p->trace, &p->waits);
	return err ? err : waits_next(p);
}

int waits_next(struct profiler *p)
{
	int found = waited_next(p->waits, &p->next_wait);

	if (found != 1)
		p->next_wait.time = INT64_MAX;
	return found < 0 ? found : 0;
}

void waits_count(struct profiler *p, const struct waited_row *row)
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
	waited_close(p->waits);
}
