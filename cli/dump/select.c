/*
 * Which events and which lines a dump was asked for
 *
 * An event must match all selectors. The event of --around is always selected; the lines next to it
 * are those that the other selectors select (window.c). --last counts the remaining lines.
 */
#include "cli/dump/select.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/dump/event_object.h"
#include "cli/dump/job.h"
#include "cli/dump/objects.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"
#include "core/wire/log.h"

int select_add_verbs(const char *text, void *verbs, char complaint[OPTIONS_COMPLAINT])
{
	return verb_list_add(verbs, text, complaint);
}

/* Each of several traces has its own numbers. */
static int refuse_numbers(const char *command, const struct select *s, const struct trace *trace)
{
	if (trace_nparts(trace) < 2 || !(s->filter.thread || s->filter.process))
		return 0;
	return cli_misuse(command, "--thread and --process accept only one trace: each trace has "
				   "its own numbers");
}

static int find_objects(const char *command, struct select *s, struct trace *trace)
{
	const struct object *object;

	for (uint32_t id = 1; s->object && (object = trace_object(trace, id)); id++) {
		uint32_t *place;

		if (!objects_is(trace, object, s->object))
			continue;
		place = vec_push(s->objects, s->nobjects);
		if (!place)
			return cli_status(log_err(-ENOMEM, "look for object '%s'", s->object));
		*place = id;
	}
	return s->object && !s->nobjects ? objects_refuse(command, trace, s->object) : 0;
}

static int find_range(const char *command, struct select *s, struct trace *trace)
{
	int64_t to = INT64_MAX;
	int status = point_find_range(command, &s->range, trace, &s->filter.from, &to);

	if (to < INT64_MAX) /* the cursor's limit is inclusive, and 0 means no end */
		s->filter.to = to > 1 ? to - 1 : -1;
	return status;
}

int select_add_event(struct select *s, const char *text, char complaint[OPTIONS_COMPLAINT])
{
	if (s->nasked == SELECT_EVENTS) {
		snprintf(complaint, OPTIONS_COMPLAINT, "at most %d events can be given",
			 SELECT_EVENTS);
		return -EINVAL;
	}
	return point_read_event(text, &s->asked[s->nasked++], complaint);
}

static int find_wanted_events(const char *command, struct select *s, struct trace *trace)
{
	int status = 0;

	for (size_t i = 0; i < s->nasked && !status; i++)
		status = job_find_event(command, trace, s->asked[i].trace, s->asked[i].id,
					&s->wanted[s->nwanted++]);
	return status;
}

/* Set the default of --context, which has no effect without --around. */
static void complete_context(const char *command, struct select *s)
{
	if (s->context == SELECT_CONTEXT)
		s->context = 10;
	else if (!s->around.thread)
		log_note("%s: --context has no effect without --around", command);
}

int select_begin(const char *command, struct select *s, struct trace *trace)
{
	int status = find_wanted_events(command, s, trace);

	if (!status)
		status = job_find_event(command, trace, s->asked_around.trace, s->asked_around.id,
					&s->around);
	if (!status)
		status = refuse_numbers(command, s, trace);
	if (status)
		return status;
	if (s->nasked && s->around.thread)
		return cli_misuse(command, "give an event or --around, not both");
	complete_context(command, s);
	status = find_range(command, s, trace);
	if (status)
		return status;
	if (s->filter.thread && !trace_thread(trace, s->filter.thread))
		return cli_misuse(command, "the trace has no thread %u", s->filter.thread);
	if (s->filter.process && !trace_process(trace, s->filter.process))
		return cli_misuse(command, "the trace has no process %u", s->filter.process);
	return find_objects(command, s, trace);
}

void select_end(struct select *s)
{
	free(s->objects);
}

/* The thread of all selected events; 0: several threads. */
static uint32_t wanted_thread(const struct select *s)
{
	for (size_t i = 1; i < s->nwanted; i++)
		if (s->wanted[i].thread != s->wanted[0].thread)
			return 0;
	return s->nwanted ? s->wanted[0].thread : 0;
}

struct trace_filter select_filter(const struct select *s)
{
	if (s->nasked)
		return (struct trace_filter){ .thread = wanted_thread(s) };
	if (s->around.thread) /* the filter may exclude the event */
		return (struct trace_filter){ 0 };
	return s->filter;
}

static bool has_id(const struct trace_event *event, struct event_id id)
{
	return event->id.thread == id.thread && event->id.n == id.n &&
	       event->kind != TRACE_RETURN && event->kind != TRACE_EXIT;
}

bool select_is_around(const struct select *s, const struct trace_event *event)
{
	return s->around.thread && has_id(event, s->around);
}

/* The index of the event among the wanted ones; nwanted: not wanted. */
static size_t find_event(const struct select *s, const struct trace_event *event)
{
	size_t i = 0;

	while (i < s->nwanted && (!has_id(event, s->wanted[i]) || event->kind == TRACE_PROCESS))
		i++;
	return i;
}

void select_remove_wanted(struct select *s, const struct trace_event *event)
{
	size_t i = find_event(s, event);

	if (i < s->nwanted)
		s->wanted[i] = s->wanted[--s->nwanted];
}

static bool passes_filter(const struct trace_filter *filter, const struct trace_event *event)
{
	return (!filter->thread || event->id.thread == filter->thread) &&
	       (!filter->process || event->process == filter->process) &&
	       event->time >= filter->from && (!filter->to || event->time <= filter->to);
}

static bool concerns_object(const struct select *s, struct trace *trace,
			    const struct trace_event *event)
{
	for (size_t i = 0; i < s->nobjects; i++)
		if (event_concerns(trace, event, trace_object(trace, s->objects[i])))
			return true;
	return !s->object;
}

static bool has_verb(const struct verb_list *verbs, enum verb verb)
{
	return !verbs->given || (verb < VERB_COUNT && verbs->has[verb]);
}

bool select_has(const struct select *s, struct trace *trace, const struct trace_event *event)
{
	if (s->nasked)
		return find_event(s, event) < s->nwanted;
	if (event->kind == TRACE_RETURN)
		return false;
	if (select_is_around(s, event))
		return true;
	if (s->around.thread && !passes_filter(&s->filter, event))
		return false;
	if (event->kind == TRACE_CALL && event->call->ours)
		return false;
	return has_verb(&s->verbs, trace_verb(event)) && (!s->failed || event_failed(event)) &&
	       choice_has_event(&s->choice, event) && concerns_object(s, trace, event);
}

struct select_lines select_lines(const struct select *s, uint64_t n)
{
	return (struct select_lines){ s->last && n > s->last ? n - s->last + 1 : 1, n };
}
