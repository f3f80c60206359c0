/*
 * Threads that are inside a call on an object when another thread begins to destroy it
 *
 *	call --> open --> destroy by another thread --> met --> return, or the end: reported
 */
#include "analyzer/model/destroy_race.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/model_state.h"
#include "core/wire/log.h"

/* A call that has not returned. */
struct inside_call {
	struct moment moment;
	enum object_kind kind; /* of the object that the call acts on */
	uint64_t handle, context;
	struct inside_call *next;
};

struct destroy_race_meeting {
	struct model_inside fact;
	struct destroy_race_meeting *next;
};

int destroy_race_begin_call(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	enum object_kind kind = verb_infos[call->verb].object;
	enum arg self = handles_find_acted_on(call->verb);
	struct inside_call *open;
	struct life *life;

	if (!self || verb_infos[call->verb].effect == EFFECT_ACK)
		return 0;
	life = model_argument(model, event, call->args, self, kind);
	if (!life || life->state != LIFE_LIVE)
		return 0;
	open = model->spare ?: malloc(sizeof(*open));
	if (!open)
		return log_err(-ENOMEM, "calls under way");
	if (open == model->spare)
		model->spare = NULL;
	open->moment = moment_of(event);
	open->kind = kind;
	open->handle = life->handle;
	open->context = life->context;
	open->next = model->inside;
	model->inside = open;
	return 0;
}

static bool is_event(const struct moment *moment, struct event_id id)
{
	return moment->id.thread == id.thread && moment->id.n == id.n;
}

static void report_meeting(struct model *model, struct destroy_race_meeting **at)
{
	struct destroy_race_meeting *met = *at;

	*at = met->next;
	model->watcher.inside(model->watcher.arg, &met->fact);
	free(met);
}

void destroy_race_end_call(struct model *model, const struct trace_event *event)
{
	struct inside_call **at = &model->inside, *open;

	while ((open = *at) && !is_event(&open->moment, event->id))
		at = &open->next;
	if (open) {
		*at = open->next;
		free(model->spare);
		model->spare = open; /* most calls return before the next one begins */
	}
	for (struct destroy_race_meeting **met = &model->met; *met;) {
		if (!is_event(&(*met)->fact.call, event->id)) {
			met = &(*met)->next;
			continue;
		}
		(*met)->fact.returned = event->call->end;
		report_meeting(model, met);
	}
}

/* Does the call act on @life, or on an object of the context @life? */
static bool acts_on(const struct inside_call *open, const struct life *life)
{
	if (open->moment.process != life->process)
		return false;
	return (open->kind == life->kind && open->handle == life->handle) ||
	       (life->kind == OBJECT_context && open->context == life->handle);
}

int destroy_race_note_destroy(struct model *model, const struct life *life,
			      const struct moment *moment)
{
	for (const struct inside_call *open = model->inside; open; open = open->next) {
		struct destroy_race_meeting *met;

		if (open->moment.id.thread == moment->id.thread || !acts_on(open, life))
			continue;
		met = calloc(1, sizeof(*met));
		if (!met)
			return log_err(-ENOMEM, "calls under way");
		met->fact = (struct model_inside){ .object = *life,
						   .call = open->moment,
						   .destroy = *moment,
						   .returned = -1,
						   .ended = INT64_MAX };
		met->next = model->met;
		model->met = met;
	}
	return 0;
}

void destroy_race_forget(struct model *model, const struct moment *moment)
{
	for (struct destroy_race_meeting **at = &model->met, *met; (met = *at);) {
		if (!is_event(&met->fact.destroy, moment->id)) {
			at = &met->next;
			continue;
		}
		*at = met->next;
		free(met);
	}
}

void destroy_race_end_process(struct model *model, uint32_t process)
{
	struct inside_call **open = &model->inside, *call;
	struct destroy_race_meeting **at = &model->met, *met;

	while ((call = *open)) {
		if (process && call->moment.process != process) {
			open = &call->next;
			continue;
		}
		*open = call->next;
		free(call);
	}
	if (!process) {
		free(model->spare);
		model->spare = NULL;
	}
	while ((met = *at)) {
		if (process && met->fact.call.process != process) {
			at = &met->next;
			continue;
		}
		met->fact.ended = model_end_of_thread(model, &met->fact.call);
		if (process && met->fact.ended > met->fact.destroy.time) {
			report_meeting(model, at);
			continue;
		}
		*at = met->next;
		free(met);
	}
}
