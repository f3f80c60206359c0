/*
 * Points of a trace as users write them
 */
#include "cli/dump/point.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/dump/job.h"
#include "cli/quantity.h"
#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"

/* "3:1042", "b.db:3:1042"; false: it has another form. */
static bool read_event(const char *text, struct point *point)
{
	const char *n = strrchr(text, ':'),
		   *thread = n ? memrchr(text, ':', (size_t)(n - text)) : n;
	size_t name = thread ? (size_t)(thread - text) : 0;
	char digits[16] = "";
	uint64_t number;

	thread = thread ? thread + 1 : text;
	if (n && n - thread < (ptrdiff_t)sizeof(digits))
		memcpy(digits, thread, (size_t)(n - thread));
	if (!quantity_number(digits, UINT32_MAX, &number) || !number ||
	    !quantity_number(n + 1, INT64_MAX, &point->id.n) || !point->id.n || name >= POINT_TRACE)
		return false;
	point->id.thread = (uint32_t)number;
	memcpy(point->trace, text, name);
	return true;
}

int point_read_event(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	struct point point = { .text = text };

	if (!read_event(text, &point)) {
		snprintf(complaint, OPTIONS_COMPLAINT,
			 "'%.60s' is not an event: give T:N, such as 3:1042", text);
		return -EINVAL;
	}
	*(struct point *)field = point;
	return 0;
}

int point_read(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	struct point point = { .text = text };

	if (!read_event(text, &point) && !quantity_time(text, true, &point.time)) {
		snprintf(complaint, OPTIONS_COMPLAINT,
			 "'%.60s' is not a time or an event: give a time such as 12.5ms or 1.2s, "
			 "or an event such as 3:1042",
			 text);
		return -EINVAL;
	}
	*(struct point *)field = point;
	return 0;
}

bool point_range_given(const struct point_range *range)
{
	return range->from.text || range->to.text;
}

/* The time of an event in the part of @trace that has it, on the clock of @trace. */
static int find_event_time(struct trace *trace, struct event_id id, int64_t *ret_time)
{
	const struct thread *thread = trace_thread(trace, id.thread);
	size_t part = thread ? trace_part_of(trace, thread->process) : 0;
	struct trace_clock clock = trace_clock(trace, part);
	int found =
		thread ? lookup_time(trace_part(trace, part), trace_part_event(trace, id), ret_time)
		       : 0;

	if (found > 0 && trace_nparts(trace) > 1)
		*ret_time = trace_clock_time(&clock, *ret_time);
	return found;
}

int point_find(const char *command, const char *option, const struct point *point,
	       struct trace *trace, int64_t *ret_time)
{
	struct event_id id;
	int status = job_find_event(command, trace, point->trace, point->id, &id), found;

	if (!point->id.thread)
		*ret_time = point->time;
	if (status || !point->id.thread)
		return status;
	found = find_event_time(trace, id, ret_time);
	if (found < 0)
		return CLI_TRACE;
	return found ? CLI_FINE
		     : cli_misuse(command,
				  "the trace has no event %s (--%s); 'verbatim dump' lists the "
				  "events",
				  point->text, option);
}

int point_find_range(const char *command, const struct point_range *range, struct trace *trace,
		     int64_t *ret_from, int64_t *ret_to)
{
	int64_t from = 0, to = INT64_MAX;
	int status = CLI_FINE;

	if (range->from.text)
		status = point_find(command, "from", &range->from, trace, &from);
	if (!status && range->to.text)
		status = point_find(command, "to", &range->to, trace, &to);
	if (!status && range->to.id.thread && to < INT64_MAX)
		to++;
	if (!status && range->to.text && from >= to)
		status = cli_misuse(command, "--from %s is not before --to %s",
				    range->from.text ?: "0", range->to.text);
	if (status)
		return status;
	if (range->from.text)
		*ret_from = from;
	if (range->to.text)
		*ret_to = to;
	return CLI_FINE;
}
