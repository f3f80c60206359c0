/* The totals of a recording: from the tables of a finished trace, or summed over joined traces */
#include "core/store/read/joint.h"
#include "core/store/read/live.h"
#include "core/store/read/trace_priv.h"

/* Sum up the parts of a joint trace, which ends when its last part ends. */
static struct totals add_totals(struct trace *whole)
{
	struct totals all = { 0 };

	for (size_t i = 0; i < trace_nparts(whole); i++) {
		struct totals its = trace_totals(trace_part(whole, i));
		struct trace_clock clock = trace_clock(whole, i);
		int64_t end = trace_clock_time(&clock, its.duration);

		all.duration = end > all.duration ? end : all.duration;
		all.events += its.events;
		all.lost += its.lost;
		all.overwritten += its.overwritten;
		all.processes += its.processes;
		all.threads += its.threads;
	}
	return all;
}

struct totals trace_totals(struct trace *trace)
{
	if (trace->joint)
		return add_totals(trace);
	return trace->live ? live_totals(trace->live) : trace->totals;
}

uint64_t trace_events(struct trace *trace)
{
	return trace_totals(trace).events;
}
