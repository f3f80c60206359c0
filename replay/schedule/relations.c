/*
 * The relations of recorded queue pairs
 *
 * The queues of a queue pair come from the call that creates it, its peer and its state from
 * ibv_modify_qp().
 */
#include "replay/schedule/relations.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/store/finish/connections.h"
#include "core/store/finish/queue_table.h"

int relations_init(struct relations *relations, struct trace *trace,
		   const struct connections *connections, uint32_t nobjects)
{
	*relations = (struct relations){ trace, connections, NULL, NULL, nobjects };
	relations->of = calloc(nobjects, sizeof(*relations->of));
	if (!relations->of)
		return -ENOMEM;
	return trace ? trace_queues(trace, &relations->queues) : 0;
}

void relations_fini(struct relations *relations)
{
	free(relations->of);
}

const struct relation relation_unknown;

uint32_t relations_find_datagram_qp(const struct relations *relations,
				    const struct trace_event *event, uint32_t number)
{
	return relations->connections ? peers_find_datagram(relations->connections->peers, 0,
							    number, NULL, event->time)
				      : 0;
}

static uint32_t find_object(const struct relations *relations, const struct trace_event *event,
			    enum arg arg, enum object_kind kind)
{
	const struct object *o;
	int64_t handle;

	if (!args_get(event->call->out, arg, &handle) || !handle)
		return 0;
	o = trace_object_at(relations->trace, event->process, kind, (uint64_t)handle, event->time);
	return o ? o->id : 0;
}

uint32_t relations_find_event_queue(const struct relations *relations,
				    const struct trace_event *event)
{
	return relations->trace && !args_parse(event->call->out)
		       ? find_object(relations, event, ARG(cq), OBJECT_cq)
		       : 0;
}

static void add_capacity(struct relations *relations, uint32_t cq, const struct queue_row *row)
{
	if (cq && cq < relations->nobjects)
		relations->of[cq].promised += row->given < 0 || row->given > UINT32_MAX
						      ? UINT32_MAX
						      : (uint64_t)row->given;
}

/* Note the capacity of a CQ; after a change it may not be known. */
static void note_queue(struct relations *relations, const struct trace_event *event)
{
	const struct call *call = event->call;
	const struct queue_row *row =
		queue_table_at(relations->queues, call->object, QUEUE_CQ, call->end);

	relations->of[call->object].room = row && row->given > 0 ? (uint64_t)row->given : 0;
}

/* Note a queue pair: all requests of its queues, shared ones too, may complete on its CQs. */
static void note_created(struct relations *relations, const struct trace_event *event)
{
	static const struct queue_row unknown = { .given = -1 };
	const struct call *call = event->call;
	const struct queue_row *send =
		queue_table_at(relations->queues, call->object, QUEUE_SEND, call->end) ?: &unknown;
	const struct queue_row *recv =
		queue_table_at(relations->queues, call->object, QUEUE_RECV, call->end) ?: &unknown;
	int64_t type = IBV_QPT_RC;

	args_get(call->out, ARG(ret.qp_type), &type);
	relations->of[call->object] = (struct relation){
		.send_cq = send->cq,
		.recv_cq = recv->cq,
		.receives = recv->srq ? recv->srq : call->object,
		.unreliable =
			type == IBV_QPT_UD || type == IBV_QPT_UC || type == IBV_QPT_RAW_PACKET,
	};
	add_capacity(relations, send->cq, send);
	add_capacity(relations, recv->cq, recv);
}

static void note_modified(struct relations *relations, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct relation *of = &relations->of[call->object];
	const struct connection *connection = NULL;
	int64_t state;

	if (relations->connections)
		connection = connections_at(relations->connections, call->object, event->time);
	if (connection)
		of->peer = connection->peer;
	if (!args_get(call->args, ARG(attr.qp_state), &state))
		return;
	of->stopped = state == IBV_QPS_RESET || state == IBV_QPS_ERR;
	if (of->stopped)
		of->end = event->id;
}

int relations_note_call(struct relations *relations, const struct trace_event *event)
{
	const struct call *call = event->call;
	int err;

	if (call->failed || call->end < 0 || !call->object || call->object >= relations->nobjects ||
	    (verb_infos[call->verb].object != OBJECT_qp &&
	     verb_infos[call->verb].object != OBJECT_cq))
		return 0;
	err = args_parse(call->args) ?: args_parse(call->out);
	if (err)
		return err;
	if (verb_infos[call->verb].object == OBJECT_cq)
		note_queue(relations, event);
	else if (verb_infos[call->verb].effect == EFFECT_CREATE)
		note_created(relations, event);
	else if (call->verb == VERB_modify_qp)
		note_modified(relations, event);
	return 0;
}
