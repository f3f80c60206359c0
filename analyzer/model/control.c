/*
 * Control verbs, as the model sees them
 *
 * 	call	every handle among the arguments is a use; a destroy begins
 * 	return	a creation makes an object; a destroy ends; events are received
 *
 * Not here: destroys (control_destroy.c).
 */
#include "analyzer/model/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/astray.h"
#include "analyzer/model/batch.h"
#include "analyzer/model/device.h"
#include "analyzer/model/key_call.h"
#include "analyzer/model/steady.h"
#include "analyzer/model/destroy_race.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/qp_events.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/queues.h"
#include "analyzer/model/no_response.h"
#include "analyzer/model/vectors.h"
#include "analyzer/model/cq_event.h"
#include "core/wire/log.h"

enum { REREG_CHANGE_PD = 2 }; /* enum ibv_rereg_mr_flags */

/* A call with its arguments parsed. */
struct parsed_call {
	const struct trace_event *event;
	const struct call *call;
	const struct args *args, *out;
};

/* The type of an ibv_async_event determines the kind of its element. */
static enum object_kind async_kind(int64_t type)
{
	static const struct {
		const char *name;
		enum object_kind kind;
	} types[] = {
		{ "IBV_EVENT_QP", OBJECT_qp },         { "IBV_EVENT_COMM_EST", OBJECT_qp },
		{ "IBV_EVENT_SQ_DRAINED", OBJECT_qp }, { "IBV_EVENT_PATH_MIG", OBJECT_qp },
		{ "IBV_EVENT_CQ", OBJECT_cq },         { "IBV_EVENT_SRQ", OBJECT_srq },
		{ "IBV_EVENT_WQ", OBJECT_wq },
	};
	const char *name = enum_name(enum_find("ibv_event_type"), type);

	for (size_t i = 0; name && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strncmp(name, types[i].name, strlen(types[i].name)))
			return types[i].kind;
	return OBJECT_COUNT;
}

static struct life *async_element(struct model *model, const struct parsed_call *p,
				  const struct args *args)
{
	enum object_kind kind;
	int64_t type, element;

	if (!args_get(args, ARG(event.event_type), &type) ||
	    !args_get(args, ARG(event.element), &element))
		return NULL;
	kind = async_kind(type);
	if (kind == OBJECT_COUNT)
		return NULL;
	return model_find(model, p->event->process, kind, (uint64_t)element);
}

struct life *control_find_element(struct model *model, const struct trace_event *event)
{
	const struct parsed_call p = { .event = event, .call = event->call };

	return async_element(model, &p, event->call->out);
}

static void note_uses(struct model *model, const struct parsed_call *p)
{
	const struct handle_list *list = handles_of_inputs(p->call->verb);

	for (unsigned int i = 0; i < list->n; i++) {
		const struct handle *handle = &list->handles[i];

		watcher_use(&model->watcher, p->event, p->call->verb,
			    model_argument(model, p->event, p->args, handle->arg, handle->kind),
			    arg_path(handle->arg), 0);
	}
	if (p->call->verb == VERB_ack_async_event)
		watcher_use(&model->watcher, p->event, p->call->verb,
			    async_element(model, p, p->args), "event.element", 0);
}

/* Creations */

static int link_handles(struct model *model, const struct parsed_call *p, const struct args *args,
			const struct handle_list *list, struct life *life)
{
	int err = 0;

	for (unsigned int i = 0; i < list->n && !err; i++) {
		struct life *parent = model_argument(model, p->event, args, list->handles[i].arg,
						     list->handles[i].kind);

		if (parent && parent != life && !parent->inherited &&
		    (parent->state == LIFE_LIVE || parent->state == LIFE_DYING))
			err = life_link(parent, life);
	}
	return err;
}

/* Link an indirection table to its WQs: the only argument that is an array of handles. */
static int link_wqs(struct model *model, const struct parsed_call *p, struct life *table)
{
	const struct json_node *n = json_first(args_find(p->args, ARG(init_attr.ind_tbl)));
	int64_t handle;
	int err = 0;

	for (; !err && args_value(n, &handle); n = json_next(n)) {
		struct life *wq = model_find(model, p->event->process, OBJECT_wq, (uint64_t)handle);
		if (wq && wq->state == LIFE_LIVE)
			err = life_link(wq, table);
	}
	return err;
}

static bool is_import(enum verb verb)
{
	return verb == VERB_import_pd || verb == VERB_import_mr || verb == VERB_import_dm;
}

/* librdmacm owns contexts and protection domains: they are not leaks. */
static bool is_of_cm(const struct model *model, const struct trace_event *event,
		     enum object_kind kind)
{
	return (kind == OBJECT_context || kind == OBJECT_pd) && cm_call_of(model, event)->inside;
}

/*
 * Was the object made before the recording, and found when it began? Then it is not known who made
 * it, and a library may never destroy it.
 */
static bool is_older(const struct model *model, const struct trace_event *event)
{
	uint64_t unused;

	return map_get(&model->older, event->id.thread, &unused);
}

/* A queue pair of rdma_create_qp() depends on its identifier. */
static int link_to_id(struct model *model, const struct trace_event *event, struct life *life)
{
	const struct cm_call *in = cm_call_of(model, event);
	struct life *id;

	if (life->kind != OBJECT_qp || !in->inside || !in->id)
		return 0;
	id = model_find(model, event->process, OBJECT_cm_id, in->id);
	return id && id->state == LIFE_LIVE && !id->inherited ? life_link(id, life) : 0;
}

/* The CQ is not linked to its channel if the channel is older than the trace. */
static bool lacks_channel(const struct parsed_call *p)
{
	enum arg arg = p->call->verb == VERB_create_cq_ex ? ARG(init_attr.channel) : ARG(channel);
	int64_t channel;

	return args_get(p->args, arg, &channel) && !channel;
}

static int create_cq_event(struct model *model, const struct parsed_call *p, struct life *cq)
{
	for (const struct life_link *link = cq->parents; link; link = link->next_parent)
		if (link->parent->kind == OBJECT_comp_channel) {
			model->wakes = true;
			return cq_event_note_created(cq, true);
		}
	cq->no_channel = lacks_channel(p);
	return 0;
}

static int note_creation(struct model *model, const struct parsed_call *p)
{
	enum object_kind kind = verb_infos[p->call->verb].object;
	struct life *life;
	int64_t bytes = 0;
	int err;

	if (p->call->failed || !p->call->handle)
		return 0;
	life = lives_new(&model->lives);
	if (!life)
		return log_err(-ENOMEM, "model of live objects");
	life->kind = kind;
	life->process = p->event->process;
	life->handle = p->call->handle;
	life->created = moment_of(p->event);
	life->borrowed = is_import(p->call->verb) || is_of_cm(model, p->event, kind) ||
			 is_older(model, p->event);
	life_set_name(life, model->trace, p->call->object);
	keys_note_parents(model, life, p->call);
	if (kind == OBJECT_mr && p->out && args_get(p->out, ARG(ret.length), &bytes))
		life->bytes = (uint64_t)bytes;
	if (kind == OBJECT_dm && p->args && args_get(p->args, ARG(attr.length), &bytes))
		life->bytes = (uint64_t)bytes;
	steady_note_created(model, life);
	if (kind == OBJECT_context && device_note_opened(&life->device, p->call))
		return log_err(-ENOMEM, "model of live objects");
	lives_add(&model->lives, life);
	err = kind == OBJECT_qp || kind == OBJECT_wq || kind == OBJECT_srq
		      ? qp_note_created(life, p->call->verb, p->args, p->out)
		      : 0;
	if (!err && kind == OBJECT_ah)
		err = qp_note_ah_created(life, p->call->verb, p->args);
	if (!err && kind == OBJECT_qp && life->qp)
		life->qp->iwarp = device_lists_is_iwarp(&model->device_lists, life->process,
							life->qp->context);
	if (!err)
		err = queues_add_object(model, life, p->event);
	if (!err && kind == OBJECT_qp)
		err = peer_add(&model->peers, life,
			       model_find(model, life->process, OBJECT_context, life->context));
	if (!err)
		err = link_handles(model, p, p->args, handles_of_inputs(p->call->verb), life);
	if (!err)
		err = link_to_id(model, p->event, life);
	if (!err && kind == OBJECT_cq)
		err = create_cq_event(model, p, life);
	if (!err)
		err = link_handles(model, p, p->out, handles_of_new_object(kind), life);
	if (!err && p->call->verb == VERB_create_rwq_ind_table)
		err = link_wqs(model, p, life);
	return err < 0 ? log_err(err, "model of live objects") : 0;
}

/* Verbs that change dependencies between objects */

static struct life *find_argument(struct model *model, const struct parsed_call *p, enum arg arg,
				  enum object_kind kind)
{
	struct life *life = model_argument(model, p->event, p->args, arg, kind);

	return life && life->state == LIFE_LIVE ? life : NULL;
}

static int note_mw_bind(struct model *model, const struct parsed_call *p)
{
	struct life *mw = find_argument(model, p, ARG(mw), OBJECT_mw);
	struct life *mr = find_argument(model, p, ARG(mw_bind.bind_info.mr), OBJECT_mr);
	int64_t length = 0;

	if (!mw)
		return 0;
	life_unlink_kind(mw, OBJECT_mr);
	if (!mr || !args_get(p->args, ARG(mw_bind.bind_info.length), &length) || !length)
		return 0;
	mw->bind = p->event->id;
	model->binds = true;
	return life_link(mr, mw);
}

static int note_reregistration(struct model *model, const struct parsed_call *p)
{
	struct life *mr = find_argument(model, p, ARG(mr), OBJECT_mr);
	struct life *pd = find_argument(model, p, ARG(pd), OBJECT_pd);
	int64_t flags = 0, length;

	if (!mr)
		return 0;
	args_get(p->args, ARG(flags), &flags);
	if (args_get(p->args, ARG(length), &length) && length)
		mr->bytes = (uint64_t)length;
	if (!pd || !(flags & REREG_CHANGE_PD))
		return 0;
	life_unlink_kind(mr, OBJECT_pd);
	return life_link(pd, mr);
}

/* The multicast group of an attach or detach, as a hash. */
static uint64_t group_key(const struct parsed_call *p)
{
	const char *text = args_text(p->args, ARG(gid.raw));
	uint8_t gid[PLACE_GID] = { 0 };
	int64_t lid = 0;

	args_get(p->args, ARG(lid), &lid);
	if (text)
		place_parse_gid(text, gid);
	return astray_group(gid) ^ (uint64_t)lid << 48;
}

static int note_mcast_change(struct model *model, const struct parsed_call *p)
{
	struct life *qp = find_argument(model, p, ARG(qp), OBJECT_qp);

	if (!qp)
		return 0;
	if (p->call->verb == VERB_attach_mcast)
		return life_attach(qp, group_key(p));
	life_detach(qp, group_key(p));
	return 0;
}

/* A verb has changed a queue of its object. */
static void note_queue_change(struct model *model, const struct parsed_call *p)
{
	struct life *life = find_argument(model, p, handles_find_acted_on(p->call->verb),
					  verb_infos[p->call->verb].object);

	if (life && !life->inherited)
		queues_process_call(model, life, p->event);
}

static int note_use_return(struct model *model, const struct parsed_call *p)
{
	switch (p->call->verb) {
	case VERB_bind_mw:
		return note_mw_bind(model, p);
	case VERB_rereg_mr:
		return note_reregistration(model, p);
	case VERB_attach_mcast:
	case VERB_detach_mcast:
		return note_mcast_change(model, p);
	case VERB_modify_qp:
	case VERB_modify_srq:
	case VERB_modify_wq:
	case VERB_resize_cq:
	case VERB_modify_cq:
	case VERB_post_srq_ops:
		note_queue_change(model, p);
		return 0;
	default:
		return 0;
	}
}

/* Events that are received and acknowledged */

/* 0 or -ENOMEM. */
static int note_event(struct model *model, const struct parsed_call *p)
{
	bool completion = p->call->verb == VERB_get_cq_event;
	struct life *life;
	int64_t type;

	if (!p->out)
		return 0;
	life = completion ? model_argument(model, p->event, p->out, ARG(cq), OBJECT_cq)
			  : async_element(model, p, p->out);
	if (!life)
		return 0;
	life->got = moment_of(p->event);
	if (life->kind == OBJECT_srq && life->rq)
		life->rq->posted_at_event = life->rq->posted;
	if (completion) {
		life->events++;
		return vectors_note_event(model, life, p->event->id.thread);
	}
	life->async_events++;
	if (!args_get(p->out, ARG(event.event_type), &type))
		return 0;
	if (life->cq && type == ABI_EVENT_CQ_ERR)
		life->cq->overflowed = true; /* a CQ in overrun delivers no more completions */
	qp_process_async(life, p->event, type);
	return 0;
}

/* @n events of @life are acknowledged; @owed is the number received and not yet acknowledged. */
static void ack_events(struct life *life, uint64_t *owed, uint64_t n, const struct parsed_call *p)
{
	if (n > *owed) {
		if (!life->over)
			life->over_at = moment_of(p->event);
		life->over += n - *owed;
	}
	*owed -= n < *owed ? n : *owed;
}

static void note_acks(struct model *model, const struct parsed_call *p)
{
	struct life *life;
	int64_t n = 0;

	if (!p->args)
		return;
	if (p->call->verb == VERB_ack_async_event) {
		life = async_element(model, p, p->args);
		if (life)
			ack_events(life, &life->async_events, 1, p);
		return;
	}
	life = model_argument(model, p->event, p->args, ARG(cq), OBJECT_cq);
	if (!life || !args_get(p->args, ARG(nevents), &n))
		return;
	ack_events(life, &life->events, (uint64_t)n, p);
	if (!life->cq)
		return;
	life->cq->stats.acks++;
	life->cq->stats.acked += (uint64_t)n;
}

static int parse_call(const struct trace_event *event, bool out, struct parsed_call *p)
{
	const struct call *call = event->call;

	*p = (struct parsed_call){ .event = event, .call = call, .args = call->args };
	if (out)
		p->out = call->out;
	return args_parse(p->args) ?: args_parse(p->out);
}

static int begin_event_wait(struct model *model, const struct parsed_call *p)
{
	int64_t channel = 0;

	args_get(p->args, ARG(channel), &channel);
	return cq_event_begin_wait(model, p->event, (uint64_t)channel);
}

static void note_channel_read(struct model *model, const struct parsed_call *p)
{
	struct life *channel =
		model_argument(model, p->event, p->args, ARG(channel), OBJECT_comp_channel);

	if (!channel)
		return;
	channel->got = moment_of(p->event);
	channel->dry = p->call->failed;
}

/* A wait for an event has returned, maybe with an error. 0 or -errno after log_err(). */
static int end_event_wait(struct model *model, const struct trace_event *event)
{
	struct life *cq;
	struct parsed_call p;
	int err = parse_call(event, true, &p);

	if (err < 0)
		return log_err(err, "arguments of a call");
	cq = event->call->failed || !p.out
		     ? NULL
		     : model_argument(model, p.event, p.out, ARG(cq), OBJECT_cq);
	note_channel_read(model, &p);
	cq_event_end_wait(model, event, cq);
	no_response_note_event(cq, event);
	return 0;
}

/* Control verbs */

int control_begin_call(struct model *model, const struct trace_event *event)
{
	enum verb_effect effect = verb_infos[event->call->verb].effect;
	struct parsed_call p;
	int err = parse_call(event, false, &p);

	if (err < 0)
		return log_err(err, "arguments of a call");
	if (p.args)
		note_uses(model, &p);
	if (p.args && effect == EFFECT_DESTROY)
		err = control_begin_destroy(model, event);
	else if (p.args)
		err = destroy_race_begin_call(model, event);
	if (effect == EFFECT_ACK)
		note_acks(model, &p);
	if (!err && p.call->verb == VERB_get_cq_event && p.args)
		err = begin_event_wait(model, &p);
	/* another thread may poll its completion before ibv_bind_mw() returns */
	if (p.call->verb == VERB_bind_mw && !p.call->failed && p.call->end >= 0)
		err = queues_process_bind(model, find_argument(model, &p, ARG(qp), OBJECT_qp),
					  event);
	return err;
}

int control_end_call(struct model *model, const struct trace_event *event)
{
	enum verb_effect effect = verb_infos[event->call->verb].effect;
	struct parsed_call p = { .event = event, .call = event->call };
	int err;

	steady_note_call(model, event);
	if (effect == EFFECT_DESTROY)
		return control_end_destroy(model, event);
	if (event->call->verb == VERB_get_cq_event) {
		err = end_event_wait(model, event);
		if (err)
			return err;
	}
	if (event->call->failed || effect == EFFECT_QUERY || effect == EFFECT_ACK)
		return 0;
	err = parse_call(event, true, &p);
	if (err < 0)
		return log_err(err, "arguments of a call");
	if (effect == EFFECT_CREATE)
		err = note_creation(model, &p);
	else if (effect == EFFECT_GET)
		err = note_event(model, &p);
	else if (p.args)
		err = note_use_return(model, &p);
	return err;
}
