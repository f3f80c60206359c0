/*
 * Registrations and new queue pairs while a program is at work
 *
 * Calls are counted once a post follows them.
 */
#include "analyzer/model/hot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/model_state.h"
#include "core/store/db/sql.h"

static int make_room(struct model *model, uint32_t process)
{
	uint32_t n = process + 16;
	struct hot *more = realloc(model->hots, n * sizeof(*more));

	if (!more)
		return -ENOMEM;
	memset(more + model->nhots, 0, (n - model->nhots) * sizeof(*more));
	model->hots = more;
	model->nhots = n;
	return 0;
}

int hot_post(struct model *model, const struct trace_event *event)
{
	struct hot *hot;

	if (event->process >= model->nhots && make_room(model, event->process))
		return -ENOMEM;
	hot = &model->hots[event->process];
	hot->thread = event->id.thread;
	hot->until = event->time;
	if (++hot->posts == HOT_POSTS)
		hot->since = event->time;
	hot->calls += hot->waiting_calls;
	hot->ns = sql_to_time(hot->ns + hot->waiting_ns);
	hot->waiting_calls = 0;
	hot->waiting_ns = 0;
	return 0;
}

/* Do they enter the kernel, and take longer than a message does? */
static bool is_slow(enum verb verb)
{
	const struct verb_info *info = &verb_infos[verb];

	return (info->effect == EFFECT_CREATE || info->effect == EFFECT_DESTROY ||
		verb == VERB_rereg_mr) &&
	       (info->object == OBJECT_mr || info->object == OBJECT_qp);
}

void hot_call(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	int64_t took = call->end - call->begin;
	struct hot *hot;

	if (event->process >= model->nhots || !is_slow(call->verb) || call->end < 0)
		return;
	hot = &model->hots[event->process];
	if (hot->posts < HOT_POSTS || hot->thread != event->id.thread)
		return;
	hot->waiting_calls++;
	hot->waiting_ns = sql_to_time(hot->waiting_ns + took);
	if (took < hot->longest_ns)
		return;
	hot->longest_ns = took;
	hot->longest = moment_of(event);
}

void hot_forget(struct model *model, uint32_t process)
{
	if (process < model->nhots)
		model->hots[process] = (struct hot){ 0 };
}

const struct hot *hot_of(const struct model *model, uint32_t process)
{
	return process < model->nhots && model->hots[process].posts ? &model->hots[process] : NULL;
}
