/*
 * Objects of another context, or invalid ones, passed to a creation
 *
 * The arguments of a creation belong to one context: that of the first argument whose context is
 * known. Not checked: dead and inherited objects, which have their own rules; contexts that share
 * their file with another process's; addresses where a context older than the trace may have
 * objects.
 */
#include "analyzer/model/foreign.h"

#include "analyzer/model/model_state.h"

static uint64_t context_of(const struct life *life)
{
	return life->kind == OBJECT_context ? life->handle : life->context;
}

static bool is_live_not_inherited(const struct life *life)
{
	return life->state == LIFE_LIVE && !life->inherited;
}

/* Were all objects of its context made in the trace? */
static bool is_context_whole(struct model *model, const struct trace_event *event,
			     const struct life *life)
{
	const struct life *context =
		model_find(model, event->process, OBJECT_context, context_of(life));

	return context && context->created.id.thread && is_live_not_inherited(context) &&
	       context->created.verb != VERB_import_device;
}

/* Kinds whose creations are all in the list of verbs. */
static bool has_all_creations(enum object_kind kind)
{
	return kind == OBJECT_cq || kind == OBJECT_srq || kind == OBJECT_pd ||
	       kind == OBJECT_comp_channel;
}

/* A live object of any other kind at that address. */
static const struct life *find_other_kind(struct model *model, uint32_t process, uint64_t handle)
{
	const struct life *life;

	for (int kind = 0; kind < OBJECT_COUNT; kind++) {
		life = model_find(model, process, (enum object_kind)kind, handle);
		if (life && is_live_not_inherited(life))
			return life;
	}
	return NULL;
}

void foreign_check(struct model *model, const struct trace_event *event)
{
	const struct handle_list *list = handles_of_inputs(event->call->verb);
	struct model_foreign foreign = { .event = event };
	int64_t value;

	if (verb_infos[event->call->verb].effect != EFFECT_CREATE || model->keys.shared)
		return;
	for (unsigned int i = 0; i < list->n; i++) {
		const struct handle *handle = &list->handles[i];
		const struct life *life;

		if (!args_get(event->call->args, handle->arg, &value) || !value ||
		    handle->kind == OBJECT_device)
			continue;
		life = model_find(model, event->process, handle->kind, (uint64_t)value);
		if (life && (!is_live_not_inherited(life) || !context_of(life)))
			return;
		foreign.path = arg_path(handle->arg);
		foreign.kind = handle->kind;
		foreign.handle = (uint64_t)value;
		if (life && !foreign.first) {
			foreign.first = life;
		} else if (life && context_of(life) != context_of(foreign.first)) {
			foreign.object = life;
			model->watcher.foreign(model->watcher.arg, &foreign);
			return;
		} else if (!life && foreign.first && has_all_creations(handle->kind) &&
			   is_context_whole(model, event, foreign.first)) {
			foreign.object = find_other_kind(model, event->process, (uint64_t)value);
			model->watcher.foreign(model->watcher.arg, &foreign);
			return;
		}
	}
}
