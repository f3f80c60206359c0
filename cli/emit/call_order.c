/* The events that control verbs wait for, and the later events that need their objects */
#include "cli/emit/call_order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "cli/emit/arguments.h"
#include "cli/emit/names.h"
#include "core/store/finish/queue_table.h"
#include "core/wire/event_object.h"

/* Does @call end or break an object? Then it is ordered by its return, not by its begin. */
bool call_is_late(const struct call *call)
{
	int64_t state = -1;

	if (verb_infos[call->verb].effect == EFFECT_DESTROY ||
	    verb_infos[call->verb].effect == EFFECT_GET)
		return true;
	if (call->verb == VERB_modify_qp && args_get(call->args, ARG(attr.qp_state), &state))
		return state == IBV_QPS_ERR || state == IBV_QPS_RESET;
	return false;
}

/* Begin the call's entry among the events that others wait for. */
static int begin_order(struct maker *maker, const struct call *call)
{
	static const char *const states[] = { "reset", "init", "rtr", "rts", "sqd", "sqe", "err" };
	const struct verb_info *info = &verb_infos[call->verb];
	char name[NAME_TEXT];
	int64_t state;

	names_variable(maker->program, call->object, name);
	if (!call->object)
		snprintf(name, sizeof(name), "t%u", maker->program->at.thread);
	if (info->effect == EFFECT_CREATE)
		return order_begin(&maker->order, name, "made");
	if (info->effect == EFFECT_DESTROY)
		return order_begin(&maker->order, name, "gone");
	if (call->verb == VERB_modify_qp && args_get(call->args, ARG(attr.qp_state), &state) &&
	    state >= 0 && state < (int64_t)(sizeof(states) / sizeof(*states)))
		return order_begin(&maker->order, name, states[state]);
	return order_begin(&maker->order, name, info->name + strlen("ibv_"));
}

/* Order an event of a CQ: after the CQ's creation and arming, before the acknowledgement. */
static int order_cq_event(struct maker *maker, const struct call *call)
{
	static const enum role roles[] = { ROLE_STATE, ROLE_ARMED, ROLE_EVENTS };
	struct order *order = &maker->order;
	uint32_t cq;
	int err = 0;

	if (call->verb == VERB_ack_cq_events)
		return order_change(order, call->object, ROLE_EVENTS);
	if (call->verb != VERB_get_cq_event)
		return 0;
	cq = arguments_object(maker, OBJECT_cq, args_number(call->out, ARG(cq)));
	for (size_t i = 0; !err && i < sizeof(roles) / sizeof(*roles); i++) {
		err = order_read(order, cq, roles[i]);
		if (!err)
			err = order_note_use(order, cq, roles[i]);
	}
	return err;
}

/*
 * Order an asynchronous event before the end of its object: a verb that destroys an object also
 * removes the events that nobody has got yet.
 */
static int order_async_event(struct maker *maker, const struct call *call)
{
	int64_t type = 0, element = 0;
	uint32_t object;

	if (call->verb != VERB_get_async_event || call->failed ||
	    !args_get(call->out, ARG(event.event_type), &type) ||
	    !args_get(call->out, ARG(event.element), &element))
		return 0;
	object = arguments_object(maker, event_object(type), (uint64_t)element);
	return order_note_use(&maker->order, object, ROLE_EVENTS);
}

/* Add the events that the call waits for, and the events that wait for it. */
static int order_call(struct maker *maker, const struct call *call)
{
	const struct verb_info *info = &verb_infos[call->verb];
	const struct object *o =
		call->object ? trace_object(maker->program->trace, call->object) : NULL;
	int err = begin_order(maker, call);
	bool changes = info->effect != EFFECT_ACK && info->effect != EFFECT_GET;
	int64_t state;

	if (!err)
		err = arguments_order(maker, call);
	if (!err)
		err = order_cq_event(maker, call);
	if (!err)
		err = order_async_event(maker, call);
	if (!err && o && changes)
		err = order_change(&maker->order, o->id, ROLE_STATE);
	if (!err && o && info->effect == EFFECT_DESTROY)
		err = order_change(&maker->order, o->id, ROLE_EVENTS);
	if (!err && o && call->verb == VERB_modify_qp &&
	    args_get(call->args, ARG(attr.qp_state), &state) && state == IBV_QPS_RESET)
		err = credits_reset(&maker->credits, o->id);
	if (!err && o && (info->effect == EFFECT_CREATE || call->verb == VERB_get_srq_num))
		err = order_change(&maker->order, o->id, ROLE_MADE);
	for (size_t i = 0;
	     !err && o && info->effect == EFFECT_DESTROY && i < maker->needed[o->id].n; i++)
		err = order_note_use(&maker->order, maker->needed[o->id].objects[i], ROLE_STATE);
	for (size_t i = 0; !err && o && info->effect == EFFECT_DESTROY && i < maker->named[o->id].n;
	     i++)
		err = order_note_use(&maker->order, maker->named[o->id].objects[i], ROLE_STATE);
	return err;
}

/* Learn how many requests a new queue was requested to hold. */
static void learn_sizes(struct maker *maker, const struct call *call)
{
	const struct queue_row *row;

	if (verb_infos[call->verb].effect != EFFECT_CREATE || !call->object)
		return;
	for (int side = QUEUE_SEND; side <= QUEUE_RECV; side++) {
		row = queue_table_at(maker->links.queues, call->object, (enum queue_side)side,
				     call->end);
		if (row && row->asked >= 0)
			credits_set_size(&maker->credits, call->object, side == QUEUE_SEND,
					 (uint64_t)row->asked);
	}
}

/* Learn the CQs and the SRQ of a new queue pair. */
static void learn_qp(struct maker *maker, const struct call *call)
{
	const struct queue_table *queues = maker->links.queues;
	struct order *order = &maker->order;
	uint32_t qp = call->object;
	const struct queue_row *send = queue_table_at(queues, qp, QUEUE_SEND, call->end);
	const struct queue_row *recv = queue_table_at(queues, qp, QUEUE_RECV, call->end);

	if (verb_infos[call->verb].effect != EFFECT_CREATE ||
	    verb_infos[call->verb].object != OBJECT_qp || !qp)
		return;
	if (recv) {
		order->srq[qp] = recv->srq;
		order->recv_cq[qp] = recv->cq;
	}
	order->feeders[order->srq[qp]]++;
	order->send_cq[qp] = send ? send->cq : 0;
	order->type[qp] = (uint8_t)args_number(call->out, ARG(ret.qp_type));
}

/* The queue pair gets the number of its peer. */
static int connect_qp(struct maker *maker, const struct call *call)
{
	struct program *program = maker->program;
	int64_t number;
	uint32_t peer;

	if (call->verb != VERB_modify_qp || call->failed || !call->object ||
	    !args_get(call->args, ARG(attr.dest_qp_num), &number) ||
	    !(args_number(call->args, ARG(attr_mask)) & IBV_QP_DEST_QPN))
		return 0;
	peer = links_find(&maker->links, call->object, call->begin);
	if (!peer)
		return program_refuse(program,
				      "the peer is not in the trace: it has no queue pair with "
				      "number 0x%" PRIx64 "; add the trace of the peer, or record "
				      "a replay, which supplies it: `verbatim record -o both.db "
				      "-- verbatim replay %s`",
				      number, program->path);
	maker->order.peer[call->object] = peer;
	return order_read(&maker->order, peer, ROLE_MADE);
}

int call_order(struct maker *maker, const struct call *call)
{
	int err;

	learn_qp(maker, call);
	learn_sizes(maker, call);
	err = order_call(maker, call);
	return err ? err : connect_qp(maker, call);
}
