/*
 * Registrations and new queue pairs while a program is at work
 *
 * Calls are counted once a post follows them.
 */
#include "analyzer/model/steady.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "core/base/span.h"

static __attribute__((noinline, cold)) int make_room(struct model *model, uint32_t process)
{
	uint32_t n = process + 16;
	struct steady *more = realloc(model->steadies, n * sizeof(*more));

	if (!more)
		return -ENOMEM;
	memset(more + model->nsteadies, 0, (n - model->nsteadies) * sizeof(*more));
	model->steadies = more;
	model->nsteadies = n;
	return 0;
}

static bool is_poster(const struct steady *steady, uint32_t thread)
{
	for (uint32_t i = 0; i < steady->nposters; i++)
		if (steady->posters[i] == thread)
			return true;
	return false;
}

static __attribute__((noinline)) void note_poster(struct steady *steady, uint32_t thread)
{
	steady->thread = thread;
	if (steady->nposters < STEADY_THREADS && !is_poster(steady, thread))
		steady->posters[steady->nposters++] = thread;
}

static __attribute__((noinline)) void count_waiting(struct steady *steady)
{
	steady->registered += steady->waiting_registered;
	steady->register_ns = span_limit(steady->register_ns + steady->waiting_register_ns);
	steady->waiting_registered = 0;
	steady->waiting_register_ns = 0;
	steady->asked += steady->waiting_asked;
	steady->asked_ns = span_limit(steady->asked_ns + steady->waiting_asked_ns);
	steady->waiting_asked = 0;
	steady->waiting_asked_ns = 0;
	steady->calls += steady->waiting_calls;
	steady->ns = span_limit(steady->ns + steady->waiting_ns);
	steady->waiting_calls = 0;
	steady->waiting_ns = 0;
}

int steady_begin_post(struct model *model, uint32_t process)
{
	return process >= model->nsteadies && make_room(model, process) ? -ENOMEM : 0;
}

void steady_note_post(struct model *model, const struct trace_event *event)
{
	struct steady *steady = &model->steadies[event->process];

	if (steady->thread != event->id.thread)
		note_poster(steady, event->id.thread);
	steady->until = event->time;
	if (++steady->posts == STEADY_POSTS)
		steady->since = event->time;
	if (post_is_send(event->post) && !steady->sends++)
		steady->first_send = event->time;
	if (steady->waiting_registered || steady->waiting_calls || steady->waiting_asked)
		count_waiting(steady);
}

void steady_note_receive(struct model *model, uint32_t process)
{
	if (process < model->nsteadies)
		model->steadies[process].received++;
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

static void count_created(struct steady_kind *made, const struct trace_event *event, int64_t took)
{
	made->ns = span_limit(made->ns + took);
	if (took < made->longest_ns)
		return;
	made->longest_ns = took;
	made->longest = moment_of(event);
}

static void count_query(struct steady *steady, const struct trace_event *event, int64_t took)
{
	steady->waiting_asked++;
	steady->queries += verb_infos[event->call->verb].object != OBJECT_ah;
	steady->waiting_asked_ns = span_limit(steady->waiting_asked_ns + took);
	if (took < steady->asked_longest_ns)
		return;
	steady->asked_longest_ns = took;
	steady->asked_longest = moment_of(event);
}

void steady_note_call(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	int64_t took = call->end - call->begin;
	struct steady *steady;

	if (event->process >= model->nsteadies || call->end < 0 ||
	    (!is_slow_verb(call->verb) && !is_query(call->verb) && !makes_or_destroys(call->verb)))
		return;
	steady = &model->steadies[event->process];
	if (!steady->sends || !is_poster(steady, event->id.thread))
		return;
	if (makes_or_destroys(call->verb) || verb_infos[call->verb].object == OBJECT_ah)
		count_created(&steady->made[verb_infos[call->verb].object], event, took);
	if (!is_slow_verb(call->verb) && !is_query(call->verb))
		return;
	if (is_query(call->verb)) {
		count_query(steady, event, took);
		return;
	}
	if (verb_infos[call->verb].object == OBJECT_mr) {
		steady->waiting_registered++;
		steady->waiting_register_ns = span_limit(steady->waiting_register_ns + took);
	}
	if (steady->posts >= STEADY_POSTS) {
		steady->waiting_calls++;
		steady->waiting_ns = span_limit(steady->waiting_ns + took);
	}
	if (took < steady->longest_ns ||
	    (steady->posts < STEADY_POSTS && verb_infos[call->verb].object != OBJECT_mr))
		return;
	steady->longest_ns = took;
	steady->longest = moment_of(event);
}

void steady_note_created(struct model *model, struct life *life)
{
	if (life->process < model->nsteadies &&
	    (life->kind == OBJECT_mr || life->kind == OBJECT_ah || is_lasting_kind(life->kind)))
		life->made_after = model->steadies[life->process].sends;
}

/* Has the address handle the same path as the address handle that was destroyed last? */
static bool is_same_path(struct steady *steady, const struct life *ah)
{
	const struct qp_path *path = ah->path;
	uint64_t half[2], key;

	if (!path)
		return false;
	memcpy(half, path->dgid, sizeof(half));
	key = (half[0] ^ half[1] << 1) * 31 + path->dlid + 1;
	if (key == steady->ah_path)
		return true;
	steady->ah_path = key;
	return false;
}

/* An object that was created and destroyed between two sends counts once for these sends. */
static void count_brief(struct steady *steady, const struct life *life)
{
	struct steady_kind *made = &steady->made[life->kind];

	if (life->kind == OBJECT_ah && !is_same_path(steady, life))
		return;
	if (steady->sends > life->made_after || made->counted != steady->sends)
		made->brief++;
	made->counted = steady->sends;
}

void steady_note_destroyed(struct model *model, const struct life *life)
{
	struct steady *steady =
		life->process < model->nsteadies ? &model->steadies[life->process] : NULL;

	if (!steady || !life->made_after || steady->sends - life->made_after > STEADY_BRIEF)
		return;
	if (life->kind == OBJECT_mr)
		steady->brief += steady->sends > life->made_after;
	else if ((is_lasting_kind(life->kind) && !life->borrowed) || life->kind == OBJECT_ah)
		count_brief(steady, life);
}

void steady_end_queue(struct model *model, const struct life *life)
{
	if (life->process < model->nsteadies &&
	    model->steadies[life->process].posted_to == life->sq)
		model->steadies[life->process].posted_to = NULL;
}

void steady_forget(struct model *model, uint32_t process)
{
	if (process < model->nsteadies)
		model->steadies[process] = (struct steady){ 0 };
}

const struct steady *steady_of(const struct model *model, uint32_t process)
{
	return process < model->nsteadies && model->steadies[process].posts
		       ? &model->steadies[process]
		       : NULL;
}
