/*
 * The objects that live while programs run
 *
 * 	call, return		control.c
 * 	post, poll, notify	a use
 * 	fork			the child gets copies of its parent's objects
 */
#include "analyzer/model/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/batch.h"
#include "analyzer/model/cm.h"
#include "analyzer/model/control.h"
#include "analyzer/model/crash.h"
#include "analyzer/model/crossing.h"
#include "analyzer/model/device.h"
#include "analyzer/model/foreign.h"
#include "analyzer/model/handles.h"
#include "analyzer/model/steady.h"
#include "analyzer/model/destroy_race.h"
#include "analyzer/model/key_call.h"
#include "analyzer/model/key_post.h"
#include "analyzer/model/last_verb.h"
#include "analyzer/model/lost_buffers.h"
#include "analyzer/model/misuse.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/pinned.h"
#include "analyzer/model/qp_events.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/queues.h"
#include "analyzer/model/no_response.h"
#include "analyzer/model/swapped.h"
#include "analyzer/model/vectors.h"
#include "analyzer/model/cq_event.h"
#include "core/wire/attach.h"
#include "core/wire/log.h"

/* The most copies of inherited objects: 1.4 GB. */
enum { COPIES_MAX = 2000000 };

/* While the queue pair is linked to its CQ and SRQ. */
static void store_receives(struct model *model, const struct life *life)
{
	struct peer *peer = life->kind == OBJECT_qp && life->parents ? life->peer : NULL;

	if (!peer)
		return;
	peer->left_cq = queues_receive_cq(life);
	peer->left_shared = queues_shared_receives(&model->peers, life);
}

static void on_leave(void *arg, struct life *life, bool freed)
{
	struct model *model = arg;

	if (life->kind == OBJECT_qp && life->peer) {
		life->peer->left = queues_peer_work(life);
		store_receives(model, life);
		life->peer->hangup = life_find_disconnect(life);
	}
	if (model->watcher.leave && (life->state == LIFE_LIVE || life->state == LIFE_DYING))
		model->watcher.leave(model->watcher.arg, life);
	queues_remove_object(model, life, freed);
	pinned_remove_region(model, life);
	if (life->kind == OBJECT_qp && !life->inherited)
		cq_event_reset(model, life);
	if (freed) {
		free(life->wake);
		free(life->batch);
		free(life->misuse);
		life->wake = NULL;
		life->batch = NULL;
		life->misuse = NULL;
	}
	if (life->kind == OBJECT_qp && !life->inherited)
		peer_leave(&model->peers, life, model->now);
}

/*
 * Filtered events make all queues uncertain; lost events only the queues older than the loss.
 */
static unsigned int find_doubt(struct trace *trace)
{
	const char *filter = trace_meta(trace, "filter");
	struct trace_loss loss = trace_loss(trace);

	return loss.damaged || trace_sampling_factor(trace) > 1 || (filter && *filter) ? QUEUE_LOST
										       : 0;
}

int model_new(struct trace *trace, const struct model_watcher *watcher, struct model **ret_model)
{
	struct model *model = calloc(1, sizeof(*model));

	if (!model)
		return log_err(-ENOMEM, "model of live objects");
	model->trace = trace;
	model->watcher = *watcher;
	watcher_fill(&model->watcher);
	model->doubt = trace ? find_doubt(trace) : 0;
	model->peers.trace = trace;
	model->pendings = POOL_OF(struct destroy_in_progress);
	model->whole_from = trace ? trace_complete_since(trace) : INT64_MIN;
	if (lives_init(&model->lives) < 0) {
		model_free(model);
		return log_err(-ENOMEM, "model of live objects");
	}
	model->lives.leave = on_leave;
	model->lives.arg = model;
	*ret_model = model;
	return 0;
}

void model_set_bypassed(struct model *model)
{
	model->doubt |= QUEUE_UNSEEN;
}

static void free_fork(struct model *model, struct forked_process *forked)
{
	map_remove(&model->fork_of, forked->process);
	*forked->at = forked->next;
	if (forked->next)
		forked->next->at = forked->at;
	free(forked);
}

void model_free(struct model *model)
{
	if (!model)
		return;
	control_end(model, 0, 0, false);
	cq_event_end_process(model, 0, 0);
	while (model->forks)
		free_fork(model, model->forks);
	map_fini(&model->fork_of);
	keys_fini(&model->keys);
	crossing_fini(model);
	lives_fini(&model->lives);
	peer_fini(&model->peers);
	device_lists_fini(&model->device_lists);
	map_fini(&model->by_id);
	map_fini(&model->older);
	destroy_race_end_process(model, 0);
	crash_fini(model);
	last_verb_fini(model);
	while (model->lost)
		lost_buffers_forget(model, model->lost->process, 0);
	vectors_forget(model, 0);
	free(model->release);
	swapped_fini(model);
	pool_fini(&model->pendings);
	free(model->steadies);
	free(model->left);
	free(model->in_cm);
	free(model->pinned);
	free(model);
}

/* Data verbs */

static void note_ah_use(struct model *model, const struct trace_event *event,
			const struct life *queue, uint32_t i)
{
	struct life *ah = model_find(model, event->process, OBJECT_ah, event->post->wr[i].ah);

	watcher_use(&model->watcher, event, event->post->verb, ah, "wr[].wr.ud.ah", i);
	if (ah && queue && ah->state == LIFE_LIVE && ah->pd && queue->pd && ah->pd != queue->pd)
		keys_report_ah(model, event, queue, ah, i);
}

static int on_post(struct model *model, const struct trace_event *event)
{
	const struct post *post = event->post;
	struct life *life =
		model_find(model, event->process, verb_infos[post->verb].object, post->handle);
	int err = 0;

	if (watcher_wants(life))
		watcher_report_use(&model->watcher, event, post->verb, life,
				   arg_path(handles_find_acted_on(post->verb)), 0);
	if (model->watcher.states_only)
		return queues_process_post(model, event, life);
	if (life && life->state == LIFE_LIVE && !life->inherited)
		err = keys_check_post(model, event, life);
	qp_process_post(model, event, life);
	for (uint32_t i = 0; i < post->nwr; i++)
		if (post->wr[i].ah)
			note_ah_use(model, event, life, i);
	return err < 0 ? log_err(err, "keys of memory") : queues_process_post(model, event, life);
}

/* A memory window whose bind has failed is not bound. */
static void undo_failed_bind(struct model *model, uint32_t process, struct event_id bind)
{
	for (struct life *life = NULL; (life = lives_next(&model->lives, process, life));)
		if (life->kind == OBJECT_mw && life->bind.thread == bind.thread &&
		    life->bind.n == bind.n)
			life_unlink_kind(life, OBJECT_mr);
}

static int on_poll(struct model *model, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	struct life *cq = model_find(model, event->process, OBJECT_cq, poll->handle);

	for (uint32_t i = 0; i < poll->nwc; i++) {
		if (!poll->wc[i].status)
			continue;
		if (model->binds && poll->wc[i].request.thread)
			undo_failed_bind(model, event->process, poll->wc[i].request);
		qp_process_completion(model, event, &poll->wc[i]);
		if (poll->wc[i].request.thread)
			keys_note_error(model, event, &poll->wc[i]);
	}
	watcher_use(&model->watcher, event, poll->verb, cq, "cq", 0);
	queues_process_poll(model, event, cq);
	if (model->watcher.states_only)
		return 0;
	cq_event_note_polled(cq, event);
	return poll->verb == VERB_poll_cq ? 0 : batch_note_poll(model, event, cq);
}

static void on_notify(struct model *model, const struct trace_event *event)
{
	struct life *cq = model_find(model, event->process, OBJECT_cq, event->notify->handle);

	watcher_use(&model->watcher, event, VERB_req_notify_cq, cq, "cq", 0);
	cq_event_note_armed(cq, event);
	no_response_note_armed(cq, event);
}

/* Processes */

static struct life *copy_life_for(struct model *model, const struct life *life, uint32_t process)
{
	struct life *copy = lives_new(&model->lives);

	if (!copy)
		return NULL;
	*copy = *life;
	copy->process = process;
	copy->inherited = true;
	copy->children = copy->parents = NULL;
	copy->peer = NULL;
	copy->groups = NULL;
	copy->qp = NULL;
	copy->path = NULL;
	copy->device = NULL;
	copy->pinned = 0;
	copy->sq = copy->rq = NULL;
	copy->cq = NULL;
	copy->wake = NULL;
	copy->batch = NULL;
	copy->misuse = NULL;
	copy->ngroups = 0;
	copy->next = copy->older = copy->newer = NULL;
	return copy;
}

/*
 * Did @life exist at the fork? The child's first event may come after its parent has destroyed
 * @life.
 */
static bool existed_at_fork(const struct life *life, const struct moment *fork)
{
	bool dead = life->state == LIFE_GONE || life->state == LIFE_CLOSED;

	return life->created.time <= fork->time && (!dead || life->destroyed.time > fork->time);
}

/* Takes @forked. */
static int store_fork(struct model *model, struct forked_process *forked)
{
	if (map_put(&model->fork_of, forked->process, (uintptr_t)forked)) {
		free(forked);
		return -ENOMEM;
	}
	forked->next = model->forks;
	forked->at = &model->forks;
	if (forked->next)
		forked->next->at = &forked->next;
	model->forks = forked;
	return 0;
}

static int inherit_objects(struct model *model, uint32_t child, const struct moment *moment)
{
	struct forked_process *forked = calloc(1, sizeof(*forked));
	struct life **lives, *copy;
	ssize_t n;

	if (!forked)
		return log_err(-ENOMEM, "objects of a forked process");
	n = lives_list_process(&model->lives, moment->process, &lives);
	if (n >= 0 && model->lives.count + (size_t)n > COPIES_MAX) {
		log_note("processes inherited more than %d objects by forks, which is more than "
			 "can be followed",
			 COPIES_MAX);
		free(lives);
		n = -EFBIG;
	} else if (n < 0) {
		log_err((int)n, "objects of a forked process");
	}
	if (n < 0) {
		free(forked);
		return (int)n;
	}
	forked->process = child;
	forked->moment = *moment;
	if (store_fork(model, forked)) {
		free(lives);
		return log_err(-ENOMEM, "objects of a forked process");
	}
	for (ssize_t i = 0; i < n; i++)
		if (existed_at_fork(lives[i], moment) &&
		    (copy = copy_life_for(model, lives[i], child)))
			lives_add(&model->lives, copy);
	free(lives);
	return pinned_inherit(model, child, moment->process);
}

size_t model_count_lists(const struct model *model, uint32_t process, int64_t since,
			 struct moment *ret_first, struct moment *ret_last)
{
	return device_lists_count(&model->device_lists, process, since, ret_first, ret_last);
}

const struct moment *model_fork(const struct model *model, uint32_t process)
{
	uint64_t forked;

	return map_get(&model->fork_of, process, &forked)
		       ? &((struct forked_process *)forked)->moment
		       : NULL;
}

struct peers *model_peers(struct model *model)
{
	return &model->peers;
}

struct life *model_life(const struct model *model, uint32_t process, enum object_kind kind,
			uint64_t handle)
{
	return lives_find(&model->lives, process, kind, handle);
}

struct life *model_next_life(const struct model *model, uint32_t process, const struct life *life)
{
	return lives_next(&model->lives, process, life);
}

const struct keys *model_keys(const struct model *model)
{
	return &model->keys;
}

/* Is the child known, and did it not exec at once? */
static bool has_memory_of(const struct model *model, const struct trace_event *event)
{
	const struct process *child =
		model->trace ? trace_process(model->trace, event->fork->child) : NULL;

	return child && child->parent == event->process;
}

static int on_fork(struct model *model, const struct trace_event *event)
{
	struct moment moment = moment_of(event);

	if (event->fork->kind != TRACE_FORKED || !has_memory_of(model, event) ||
	    model_fork(model, event->fork->child))
		return 0;
	return inherit_objects(model, event->fork->child, &moment);
}

/* A fork that the parent's recorder did not see. */
static int on_process(struct model *model, const struct trace_event *event)
{
	const struct process *process;
	struct moment moment = { .verb = VERB_COUNT };

	process = model->trace ? trace_process(model->trace, event->process) : NULL;
	if (!process || !process->parent || model_fork(model, event->process))
		return 0;
	moment.id = process->fork;
	moment.process = process->parent;
	moment.time = process->fork_time;
	moment.stack = process->fork_stack;
	return inherit_objects(model, event->process, &moment);
}

/* Did the application itself call, not a library on its behalf? */
static bool is_application(const struct trace_event *event)
{
	return !event->inner && !event->call->ours && event->call->depth == 0;
}

/* A call, or its return. */
static int on_call(struct model *model, const struct trace_event *event)
{
	bool returns = event->kind == TRACE_RETURN;
	int err = returns ? keys_process_return(model, event) : keys_process_call(model, event);
	struct model_device stale;

	if (!err)
		err = device_lists_call(&model->device_lists, event, &stale);
	if (err == 1)
		model->watcher.device(model->watcher.arg, &stale);
	if (err < 0 || !is_application(event))
		return err < 0 ? err : 0;
	if (!returns)
		return control_begin_call(model, event);
	destroy_race_end_call(model, event);
	foreign_check(model, event);
	err = control_end_call(model, event);
	return err ? err : pinned_note_return(model, event);
}

static void note_srqn(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct life *srq = model_find(model, event->process, OBJECT_srq, call->handle);

	if (srq && !args_parse(call->out))
		srq->srqn = (uint32_t)args_number(call->out, ARG(srq_num));
}

/* The recorder's own queries count, too. */
static int on_query(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct life *context;

	if (!call->failed && call->verb == VERB_get_srq_num && call->out)
		note_srqn(model, event);

	if (call->failed || verb_infos[call->verb].effect != EFFECT_QUERY ||
	    verb_infos[call->verb].object != OBJECT_context)
		return 0;
	context = model_find(model, event->process, OBJECT_context, call->handle);
	return context && context->state == LIFE_LIVE && !context->inherited
		       ? device_learn(&context->device, call)
		       : 0;
}

static int on_mark(struct model *model, const struct trace_event *event)
{
	const struct mark_event *mark = event->mark;

	if (!mark->text || strcmp(mark->text, ATTACH_MARK) != 0)
		return 0;
	if (mark->kind != TRACE_MARK_BEGIN)
		map_remove(&model->older, event->id.thread);
	else if (map_put(&model->older, event->id.thread, 1))
		return log_err(-ENOMEM, "model of live objects");
	return 0;
}

int model_process_event(struct model *model, const struct trace_event *event)
{
	model->now = event->time;
	if ((event->kind == TRACE_CALL || event->kind == TRACE_RETURN) &&
	    verb_infos[event->call->verb].via == VIA_CM)
		return is_application(event) ? cm_process_event(model, event) : 0;
	if (event->kind == TRACE_CALL || event->kind == TRACE_RETURN)
		qp_process_call(model, event);
	if (event->kind == TRACE_RETURN && on_query(model, event) < 0)
		return log_err(-ENOMEM, "model of live objects");
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		return on_call(model, event);
	case TRACE_POST:
		return event->inner ? 0 : on_post(model, event);
	case TRACE_POLL:
		return event->inner ? 0 : on_poll(model, event);
	case TRACE_NOTIFY:
		if (!event->inner)
			on_notify(model, event);
		return 0;
	case TRACE_MARK:
		return on_mark(model, event);
	case TRACE_FORK:
		return on_fork(model, event);
	case TRACE_MEMORY:
		keys_note_release(model, event);
		return 0;
	case TRACE_MISUSE:
		return misuse_note(model, event);
	case TRACE_PROCESS:
		return on_process(model, event);
	default:
		return 0;
	}
}

const struct life *model_context(struct model *model, const struct life *life)
{
	if (life->kind == OBJECT_context)
		return life;
	return model_find(model, life->process, OBJECT_context, life->context);
}

bool model_has_objects(const struct model *model, uint32_t process)
{
	for (const struct destroy_in_progress *pending = model->pending; pending;
	     pending = pending->next)
		if (pending->destroy.moment.process == process)
			return true;
	for (const struct life *life = NULL; (life = lives_next(&model->lives, process, life));)
		if (!life->inherited && (life->state == LIFE_LIVE || life->state == LIFE_DYING))
			return true;
	return false;
}

uint64_t model_count(const struct model *model, uint32_t process)
{
	uint64_t n = 0;

	for (const struct life *life = NULL; (life = lives_next(&model->lives, process, life));)
		n += life_awaits_destroy(life);
	return n;
}

int model_end(struct model *model, uint32_t process, int64_t time, enum model_end how)
{
	struct model_leak leak = { .at = { .verb = VERB_COUNT, .process = process, .time = time } };
	struct model_exit end = { .process = process, .time = time, .how = how };
	struct life **lives;
	uint64_t forked;
	ssize_t n;

	model->now = time;
	cq_event_end_process(model, process, time);
	control_end(model, process, time, how != MODEL_UNKNOWN);
	destroy_race_end_process(model, process);
	if (how == MODEL_KILLED)
		crash_note_killed(model, process, time);
	model->watcher.end(model->watcher.arg, &end);
	n = lives_list_process(&model->lives, process, &lives);
	if (n < 0)
		return log_err((int)n, "objects of a process that ended");
	for (ssize_t i = 0; i < n; i++) {
		leak.object = lives[i];
		if (how == MODEL_EXITED && life_awaits_destroy(lives[i]))
			model->watcher.leak(model->watcher.arg, &leak);
	}
	for (ssize_t i = 0; i < n; i++)
		if (how == MODEL_EXITED || how == MODEL_KILLED)
			queues_end_process(model, lives[i], how == MODEL_KILLED);
		else if (how == MODEL_UNKNOWN && model->watcher.remain &&
			 (lives[i]->sq || lives[i]->rq || lives[i]->cq))
			model->watcher.remain(model->watcher.arg, lives[i]);
	for (ssize_t i = 0; i < n; i++)
		store_receives(model, lives[i]);
	for (ssize_t i = 0; i < n; i++)
		lives_drop(&model->lives, lives[i]);
	free(lives);
	keys_end(model, process, time);
	device_lists_end(&model->device_lists, process);
	if (map_get(&model->fork_of, process, &forked))
		free_fork(model, (struct forked_process *)forked);
	steady_forget(model, process);
	lost_buffers_forget(model, process, 0);
	vectors_forget(model, process);
	return 0;
}
