/*
 * Objects that are destroyed
 *
 * A destroy that has begun stays in a list until it returns or its process ends, because another
 * thread may create an object at the same address before the destroy returns.
 */
#include "analyzer/model/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/batch.h"
#include "analyzer/model/steady.h"
#include "analyzer/model/crash.h"
#include "analyzer/model/destroy_race.h"
#include "analyzer/model/lost_buffers.h"
#include "analyzer/model/misuse.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/queues.h"
#include "core/wire/log.h"

static void note_children(struct model_destroy *destroy, const struct life *life)
{
	destroy->nchildren = 0;
	for (const struct life_link *link = life->children; link; link = link->next_child) {
		const struct life *child = link->child;
		struct model_child *seen;

		if (child->state != LIFE_LIVE)
			continue;
		if (destroy->nchildren++ >= MODEL_SHOWN)
			continue;
		seen = &destroy->children[destroy->nchildren - 1];
		seen->kind = child->kind;
		seen->created = child->created;
		memcpy(seen->name, child->name, sizeof(seen->name));
	}
}

/* An object older than the trace: only its destruction is known. */
static struct life *find_older(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct life *life;

	if (!call->handle || !(life = lives_new(&model->lives)))
		return NULL;
	life->kind = verb_infos[call->verb].object;
	life->process = event->process;
	life->handle = call->handle;
	life->borrowed = true;
	life_set_name(life, model->trace, call->object);
	lives_add(&model->lives, life);
	return life;
}

int control_begin_destroy(struct model *model, const struct trace_event *event)
{
	enum verb verb = event->call->verb;
	enum arg self = handles_find_acted_on(verb);
	struct destroy_in_progress *pending;
	struct life *life;

	if (!self)
		return 0;
	life = model_argument(model, event, event->call->args, self, verb_infos[verb].object);
	if (!life)
		life = find_older(model, event);
	if (!life || life->inherited || life->state != LIFE_LIVE)
		return 0;
	pending = pool_new(&model->pendings);
	if (!pending)
		return log_err(-ENOMEM, "destroys that have begun");
	life->state = LIFE_DYING;
	life->ending = moment_of(event);
	life->met = (struct moment){ 0 };
	pending->life = life;
	pending->destroy.object = life;
	pending->destroy.moment = moment_of(event);
	note_children(&pending->destroy, life);
	pending->next = model->pending;
	model->pending = pending;
	crash_note_destroyed(model, life, &life->ending);
	return model->inside ? destroy_race_note_destroy(model, life, &life->ending) : 0;
}

/*
 * Objects left in a closed context can no longer be destroyed: report all of them, then remove
 * them.
 */
static void close_children(struct model *model, struct life *context)
{
	struct life_link *link, *next;

	for (link = life_first_child(context); link; link = life_next_child(context, link)) {
		struct model_leak leak = { .object = link->child, .at = context->destroyed };

		if (life_awaits_destroy(link->child))
			model->watcher.leak(model->watcher.arg, &leak);
	}
	for (link = context->children; link; link = next) {
		struct life *child = link->child;

		next = link->next_child;
		if (child->state != LIFE_LIVE)
			continue;
		child->destroyed = context->destroyed;
		lives_mark_dead(&model->lives, child, LIFE_CLOSED);
	}
}

static int end_destroy(struct model *model, struct destroy_in_progress *pending,
		       const struct call *call)
{
	struct model_destroy *destroy = &pending->destroy;
	struct life *life = pending->life;

	destroy->returned = true;
	destroy->failed = call->failed;
	destroy->ret = call->ret;
	destroy->end = call->end;
	if (!call->failed) {
		note_children(destroy, life);
		life->destroyed = destroy->moment;
		queues_end_process(model, life, false);
	}
	model->watcher.destroy(model->watcher.arg, destroy);
	if (call->failed && life->hashed) {
		life->state = LIFE_LIVE;
		life->refused = destroy->moment;
		destroy_race_forget(model, &destroy->moment);
		crash_forget(model, &destroy->moment);
		misuse_forget(life);
		return 0;
	}
	steady_note_destroyed(model, life);
	if (life->kind == OBJECT_mr && model->lost)
		lost_buffers_forget(model, life->process, life->number);
	if (life->kind == OBJECT_qp && lost_buffers_note_destroy(model, life, &destroy->moment))
		return log_err(-ENOMEM, "receives of a queue pair that was destroyed");
	if (life->kind == OBJECT_context)
		close_children(model, life);
	if (life->kind == OBJECT_qp)
		batch_note_lost_qp(model, life, &destroy->moment);
	if (life->kind == OBJECT_cm_id)
		for (struct life_link *link = life->children; link; link = link->next_child)
			link->child->orphaned = destroy->moment;
	lives_mark_dead(&model->lives, life, LIFE_GONE);
	return 0;
}

/*
 * A forked child destroys an object that its parent has, too: the parent need not, and often
 * cannot, destroy it then, so it does not count as a leak.
 */
static void note_child_destroy(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	enum arg self = handles_find_acted_on(call->verb);
	struct life *copy, *own;

	if (!self || call->failed)
		return;
	copy = model_argument(model, event, call->args, self, verb_infos[call->verb].object);
	if (!copy || !copy->inherited)
		return;
	own = lives_find(&model->lives, copy->created.process, copy->kind, copy->handle);
	if (own && own->number == copy->number)
		own->destroyed_by_child = true;
}

int control_end_destroy(struct model *model, const struct trace_event *event)
{
	struct destroy_in_progress **at, *pending;
	int err;

	for (at = &model->pending; (pending = *at); at = &pending->next) {
		struct event_id id = pending->destroy.moment.id;

		if (id.thread != event->id.thread || id.n != event->id.n)
			continue;
		*at = pending->next;
		err = end_destroy(model, pending, event->call);
		pool_free(&model->pendings, pending);
		return err;
	}
	note_child_destroy(model, event);
	return 0;
}

static void drop_destroy(struct model *model, struct destroy_in_progress **at)
{
	struct destroy_in_progress *pending = *at;

	*at = pending->next;
	if (!pending->life->hashed)
		lives_drop(&model->lives, pending->life);
	pool_free(&model->pendings, pending);
}

void control_end(struct model *model, uint32_t process, int64_t time, bool ended)
{
	struct destroy_in_progress **at = &model->pending, *pending;

	while ((pending = *at)) {
		if (process && pending->destroy.moment.process != process) {
			at = &pending->next;
			continue;
		}
		pending->destroy.end = time;
		pending->destroy.ended = ended;
		if (process)
			model->watcher.destroy(model->watcher.arg, &pending->destroy);
		drop_destroy(model, at);
	}
}
