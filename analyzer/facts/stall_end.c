/*
 * How and when a process has ended, or was seen for the last time
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyzer/facts/stalls_priv.h"
#include "core/store/read/joint.h"
#include "core/store/read/merged.h"

/* The end of the process, as far as the trace shows it. */
static void fill_ending(struct stall *stall, const struct process *process)
{
	const char *ending = process && process->ending ? process->ending : "";
	int status = process ? process->status : -1;

	stall->ended = process && process->end >= 0;
	stall->signal = stall->status = -1;
	if (status != -1 && WIFSIGNALED(status))
		stall->signal = WTERMSIG(status);
	else if (status != -1 && WIFEXITED(status))
		stall->status = WEXITSTATUS(status);
	else if (!strcmp(ending, "killed"))
		stall->signal = 0;
	stall->well = stall->status == 0 || (stall->ended && stall->signal < 0 && status == -1);
}

/* When a process that has not ended was seen for the last time; @time: of the last event. */
static int64_t find_last_seen(struct trace *trace, uint32_t process, int64_t time)
{
	const char *text = trace_process_meta(trace, process, "until");
	int64_t until = text ? strtoll(text, NULL, 10) : 0;
	struct trace_clock clock;

	if (trace_nparts(trace) > 1)
		clock = trace_clock(trace, trace_part_of(trace, process));
	else if (trace_nmerged(trace))
		clock = trace_merged_clock(trace, trace_merged_of(trace, process));
	else
		return until > time ? until : time;
	until = until > 0 ? trace_clock_time(&clock, until) : 0;
	return until > time ? until : time;
}

void stall_fill_end(struct stall *stall, struct trace *trace, int64_t time)
{
	fill_ending(stall, trace_process(trace, stall->process));
	stall->time = stall->ended ? time : find_last_seen(trace, stall->process, time);
}
