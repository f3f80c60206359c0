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
#include "analyzer/model/qp.h"
#include "core/base/span.h"

static __attribute__((noinline, cold)) int make_room(struct model *model, uint32_t process)
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

static bool is_poster(const struct hot *hot, uint32_t thread)
{
	for (uint32_t i = 0; i < hot->nposters; i++)
		if (hot->posters[i] == thread)
			return true;
	return false;
}

static __attribute__((noinline)) void note_poster(struct hot *hot, uint32_t thread)
{
	hot->thread = thread;
	if (hot->nposters < HOT_THREADS && !is_poster(hot, thread))
		hot->posters[hot->nposters++] = thread;
}

static __attribute__((noinline)) void count_waiting(struct hot *hot)
{
	hot->registered += hot->waiting_registered;
	hot->register_ns = span_limit(hot->register_ns + hot->waiting_register_ns);
	hot->waiting_registered = 0;
	hot->waiting_register_ns = 0;
	hot->asked += hot->waiting_asked;
	hot->asked_ns = span_limit(hot->asked_ns + hot->waiting_asked_ns);
	hot->waiting_asked = 0;
	hot->waiting_asked_ns = 0;
	hot->calls += hot->waiting_calls;
	hot->ns = span_limit(hot->ns + hot->waiting_ns);
	hot->waiting_calls = 0;
	hot->waiting_ns = 0;
}

int hot_post(struct model *model, const struct trace_event *event)
{
	struct hot *hot;

	if (event->process >= model->nhots && make_room(model, event->process))
		return -ENOMEM;
	hot = &model->hots[event->process];
	if (hot->thread != event->id.thread)
		note_poster(hot, event->id.thread);
	hot->until = event->time;
	if (++hot->posts == HOT_POSTS)
		hot->since = event->time;
	if (post_is_send(event->post) && !hot->sends++)
		hot->first_send = event->time;
	if (hot->waiting_registered || hot->waiting_calls || hot->waiting_asked)
		count_waiting(hot);
	return 0;
}

void hot_received(struct model *model, uint32_t process)
{
	if (process < model->nhots)
		model->hots[process].received++;
}

/* Do calls of @verb enter the kernel, and take longer than a message? */
static bool is_slow_verb(enum verb verb)
{
	const struct verb_info *info = &verb_infos[verb];

	return (info->effect == EFFECT_CREATE || info->effect == EFFECT_DESTROY ||
		verb == VERB_rereg_mr) &&
	       (info->object == OBJECT_mr || info->object == OBJECT_qp);
}

/* Other verbs that enter the kernel, and that a program may call for each message. */
static bool is_query(enum verb verb)
{
	const struct verb_info *info = &verb_infos[verb];

	return info->object == OBJECT_ah || verb == VERB_query_qp || verb == VERB_query_port ||
	       verb == VERB_query_gid || verb == VERB_query_device ||
	       verb == VERB_query_device_ex || verb == VERB_resize_cq || verb == VERB_modify_cq;
}

/* Objects that a program makes once, and not for a few messages. */
static bool is_lasting_kind(enum object_kind kind)
{
	return kind == OBJECT_qp || kind == OBJECT_cq || kind == OBJECT_mw || kind == OBJECT_srq ||
	       kind == OBJECT_context;
}

/* Does @verb create or destroy an object of such a kind? */
static bool makes_or_destroys(enum verb verb)
{
	const struct verb_info *info = &verb_infos[verb];

	return (info->effect == EFFECT_CREATE || info->effect == EFFECT_DESTROY) &&
	       is_lasting_kind(info->object);
}

static void count_made(struct hot_kind *made, const struct trace_event *event, int64_t took)
{
	made->ns = span_limit(made->ns + took);
	if (took < made->longest_ns)
		return;
	made->longest_ns = took;
	made->longest = moment_of(event);
}

static void count_query(struct hot *hot, const struct trace_event *event, int64_t took)
{
	hot->waiting_asked++;
	hot->queries += verb_infos[event->call->verb].object != OBJECT_ah;
	hot->waiting_asked_ns = span_limit(hot->waiting_asked_ns + took);
	if (took < hot->asked_longest_ns)
		return;
	hot->asked_longest_ns = took;
	hot->asked_longest = moment_of(event);
}

void hot_call(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	int64_t took = call->end - call->begin;
	struct hot *hot;

	if (event->process >= model->nhots || call->end < 0 ||
	    (!is_slow_verb(call->verb) && !is_query(call->verb) && !makes_or_destroys(call->verb)))
		return;
	hot = &model->hots[event->process];
	if (!hot->sends || !is_poster(hot, event->id.thread))
		return;
	if (makes_or_destroys(call->verb) || verb_infos[call->verb].object == OBJECT_ah)
		count_made(&hot->made[verb_infos[call->verb].object], event, took);
	if (!is_slow_verb(call->verb) && !is_query(call->verb))
		return;
	if (is_query(call->verb)) {
		count_query(hot, event, took);
		return;
	}
	if (verb_infos[call->verb].object == OBJECT_mr) {
		hot->waiting_registered++;
		hot->waiting_register_ns = span_limit(hot->waiting_register_ns + took);
	}
	if (hot->posts >= HOT_POSTS) {
		hot->waiting_calls++;
		hot->waiting_ns = span_limit(hot->waiting_ns + took);
	}
	if (took < hot->longest_ns ||
	    (hot->posts < HOT_POSTS && verb_infos[call->verb].object != OBJECT_mr))
		return;
	hot->longest_ns = took;
	hot->longest = moment_of(event);
}

void hot_made(struct model *model, struct life *life)
{
	if (life->process < model->nhots &&
	    (life->kind == OBJECT_mr || life->kind == OBJECT_ah || is_lasting_kind(life->kind)))
		life->made_after = model->hots[life->process].sends;
}

/* Has the address handle the same path as the address handle that was destroyed last? */
static bool is_same_path(struct hot *hot, const struct life *ah)
{
	const struct qp_path *path = ah->path;
	uint64_t half[2], key;

	if (!path)
		return false;
	memcpy(half, path->dgid, sizeof(half));
	key = (half[0] ^ half[1] << 1) * 31 + path->dlid + 1;
	if (key == hot->ah_path)
		return true;
	hot->ah_path = key;
	return false;
}

/* An object that was created and destroyed between two sends counts once for these sends. */
static void count_brief(struct hot *hot, const struct life *life)
{
	struct hot_kind *made = &hot->made[life->kind];

	if (life->kind == OBJECT_ah && !is_same_path(hot, life))
		return;
	if (hot->sends > life->made_after || made->counted != hot->sends)
		made->brief++;
	made->counted = hot->sends;
}

void hot_destroyed(struct model *model, const struct life *life)
{
	struct hot *hot = life->process < model->nhots ? &model->hots[life->process] : NULL;

	if (!hot || !life->made_after || hot->sends - life->made_after > HOT_BRIEF)
		return;
	if (life->kind == OBJECT_mr)
		hot->brief += hot->sends > life->made_after;
	else if ((is_lasting_kind(life->kind) && !life->borrowed) || life->kind == OBJECT_ah)
		count_brief(hot, life);
}

void hot_queue_ended(struct model *model, const struct life *life)
{
	if (life->process < model->nhots && model->hots[life->process].posted_to == life->sq)
		model->hots[life->process].posted_to = NULL;
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
