/*
 * The last verb of each thread and process
 *
 *	thread		post ---- poll ---- call (returned) ----
 *	process		the thread that called the last verb; the longest time between two verbs
 *
 * This runs for each event, so values that are rarely needed are not computed here.
 */
#include "analyzer/model/last_verb.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/model_state.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

/* Make entries for @thread and @process; false if out of memory. */
static bool grow_entries(struct model *model, uint32_t thread, uint32_t process)
{
	while (model->nlasts <= thread)
		if (!vec_push(model->lasts, model->nlasts))
			return false;
	while (model->nlast_of <= process)
		if (!vec_push(model->last_of, model->nlast_of))
			return false;
	return true;
}

static __attribute__((noinline)) void note_silence(struct last_verb_process *of,
						   const struct trace_event *event)
{
	if (!of->thread)
		return;
	of->silence = (struct last_silence){ of->at, { event->id, event->time } };
	of->longest = event->time - of->at.time;
}

static void note_verb(struct last_verb *last, struct last_verb_process *of,
		      const struct trace_event *event, enum verb verb, uint32_t stack)
{
	if (event->time - of->at.time > of->longest)
		note_silence(of, event);
	of->at = last->at = (struct last_point){ event->id, event->time };
	of->thread = event->id.thread;
	last->returned = event->time;
	last->process = event->process;
	last->verb = verb;
	last->stack = stack;
}

static void note_call(struct last_verb *last, struct last_verb_process *of,
		      const struct trace_event *event)
{
	const struct call *call = event->call;

	if (call->ours || call->depth)
		return;
	if (event->kind == TRACE_CALL)
		note_verb(last, of, event, call->verb, call->stack);
	else
		last->returned = event->time;
}

/* A verb of the data plane. */
static void note_data(struct last_verb *last, struct last_verb_process *of,
		      const struct trace_event *event)
{
	enum verb verb = VERB_req_notify_cq;
	uint32_t stack = 0;

	if (event->kind == TRACE_POST) {
		verb = event->post->verb;
		stack = event->post->stack;
		last->handle = event->post->handle;
		if (post_taken(event->post))
			of->posted = last->progress = event->time;
	} else if (event->kind == TRACE_POLL) {
		verb = event->poll->verb;
		stack = event->poll->stack;
		last->handle = event->poll->handle;
		if (event->poll->nwc)
			of->polled = last->progress = event->time;
	}
	note_verb(last, of, event, verb, stack);
}

/* The first event of a thread or a process. */
static __attribute__((noinline)) int note_new(struct model *model, const struct trace_event *event)
{
	if (!grow_entries(model, event->id.thread, event->process))
		return log_err(-ENOMEM, "threads of a trace");
	return last_verb_note(model, event);
}

int last_verb_note(struct model *model, const struct trace_event *event)
{
	uint32_t thread = event->id.thread;
	struct last_verb_process *of;
	struct last_verb *last;

	if (!thread)
		return 0;
	if (thread >= model->nlasts || event->process >= model->nlast_of)
		return note_new(model, event);
	last = &model->lasts[thread];
	of = &model->last_of[event->process];
	last->handle = 0;
	if (event->inner)
		return 0;
	if (event->kind == TRACE_POST || event->kind == TRACE_POLL || event->kind == TRACE_NOTIFY)
		note_data(last, of, event);
	else if (event->kind == TRACE_CALL || event->kind == TRACE_RETURN)
		note_call(last, of, event);
	return 0;
}

const struct last_verb *last_verb_of_thread(const struct model *model, uint32_t thread)
{
	return thread < model->nlasts && model->lasts[thread].at.id.thread ? &model->lasts[thread]
									   : NULL;
}

const struct last_verb *last_verb_of_process(const struct model *model, uint32_t process)
{
	return process < model->nlast_of
		       ? last_verb_of_thread(model, model->last_of[process].thread)
		       : NULL;
}

struct last_verb_process last_verb_process(const struct model *model, uint32_t process)
{
	return process < model->nlast_of ? model->last_of[process]
					 : (struct last_verb_process){ 0 };
}

int64_t last_verb_time(const struct model *model, uint32_t process)
{
	return last_verb_process(model, process).at.time;
}

int64_t last_verb_progress(const struct model *model, uint32_t process)
{
	struct last_verb_process last = last_verb_process(model, process);

	return last.polled > last.posted ? last.polled : last.posted;
}

enum object_kind last_verb_kind(const struct last_verb *last)
{
	return last->handle ? verb_infos[last->verb].object : OBJECT_COUNT;
}

struct moment last_verb_moment(const struct last_verb *last)
{
	return (struct moment){ .id = last->at.id,
				.verb = last->verb,
				.process = last->process,
				.stack = last->stack,
				.time = last->at.time };
}

void last_verb_fini(struct model *model)
{
	free(model->lasts);
	free(model->last_of);
}
