/*
 * Which queue pair a number means, and which requests failed
 */
#include "cli/emit/links.h"

#include <errno.h>
#include <stdlib.h>
#include <infiniband/verbs.h>

#include "core/base/vec.h"

/* A queue pair was told the number of its peer. */
struct connection {
	uint32_t qp, number;
	struct event_id id;  /* 0:0 within another verb: no statement of the program makes it */
	int64_t time, heard; /* when its thread had polled its last message before */
};

static uint64_t request_key(struct event_id id, uint32_t i)
{
	return map_hash(event_key(id)) ^ map_hash(i + 1);
}

static int learn_call(struct links *links, const struct trace_event *event)
{
	const struct call *call = event->call;
	bool within = event->inner || call->ours || call->depth;
	struct connection *place;
	int64_t number, mask = 0;
	uint64_t heard = 0;

	if (call->failed || !call->object)
		return 0;
	if (call->verb == VERB_get_srq_num && args_get(call->out, ARG(srq_num), &number))
		return map_put(&links->srqs, (uint64_t)number, call->object);
	args_get(call->args, ARG(attr_mask), &mask);
	if (call->verb != VERB_modify_qp || !(mask & IBV_QP_DEST_QPN) ||
	    !args_get(call->args, ARG(attr.dest_qp_num), &number))
		return 0;
	place = vec_push(links->connections, links->nconnections);
	if (!place)
		return -ENOMEM;
	map_get(&links->heard, event->id.thread, &heard);
	*place = (struct connection){ .qp = call->object,
				      .number = (uint32_t)number,
				      .id = within ? (struct event_id){ 0 } : event->id,
				      .time = call->begin,
				      .heard = (int64_t)heard };
	return 0;
}

static int learn_completion(struct links *links, const struct trace_event *event,
			    const struct wc *wc)
{
	int err = 0;

	if (wc->status && wc->request.thread)
		err = map_put(&links->failed, request_key(wc->request, wc->request_index),
			      wc->status + 1);
	if (!err && wc->status == IBV_WC_RETRY_EXC_ERR && wc->qp)
		err = map_put(&links->silent, wc->qp, 1);
	if (!err && !wc->status && wc->opcode & IBV_WC_RECV)
		err = map_put(&links->heard, event->id.thread, (uint64_t)event->time);
	return err;
}

static int learn_poll(struct links *links, struct program *program, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	int err = 0;

	if (poll->verb != VERB_poll_cq && poll->object <= program->nobjects)
		program->objects[poll->object].by_ex = true;
	for (uint32_t i = 0; !err && i < poll->nwc; i++)
		err = learn_completion(links, event, &poll->wc[i]);
	return err;
}

int links_learn(struct links *links, struct program *program, const struct trace_event *event)
{
	if (event->kind == TRACE_RETURN)
		return learn_call(links, event);
	return event->kind == TRACE_POLL ? learn_poll(links, program, event) : 0;
}

void links_fini(struct links *links)
{
	free(links->connections);
	map_fini(&links->srqs);
	map_fini(&links->failed);
	map_fini(&links->silent);
	map_fini(&links->heard);
}

static const struct connection *find_connection(const struct links *links, uint32_t qp,
						int64_t time)
{
	for (size_t i = links->nconnections; i--;)
		if (links->connections[i].qp == qp && links->connections[i].time <= time)
			return &links->connections[i];
	return NULL;
}

bool links_is_connected(const struct links *links, uint32_t qp, int64_t time)
{
	return find_connection(links, qp, time);
}

struct event_id links_coming(const struct links *links, uint32_t qp, int64_t time)
{
	const struct connection *c = links->connections;

	if (find_connection(links, qp, time))
		return (struct event_id){ 0 };
	for (size_t i = 0; i < links->nconnections; i++, c++)
		if (c->qp == qp)
			return c->heard > time ? (struct event_id){ 0 } : c->id;
	return (struct event_id){ 0 };
}

static bool was_connected_to(const struct links *links, uint32_t qp, uint32_t number)
{
	for (size_t i = 0; i < links->nconnections; i++)
		if (links->connections[i].qp == qp && links->connections[i].number == number)
			return true;
	return false;
}

static bool is_alive(const struct object *o, int64_t time)
{
	return o->created_at <= time && time <= o->destroyed_at;
}

uint32_t links_find(const struct links *links, struct program *program, uint32_t qp, int64_t time)
{
	const struct connection *c = find_connection(links, qp, time);
	const struct object *of = trace_object(program->trace, qp);
	uint32_t best = 0;
	int best_is = -1;

	for (uint32_t i = 1; c && i <= program->nobjects; i++) {
		const struct object *o = trace_object(program->trace, i);
		int is;

		if (o->kind != OBJECT_qp || o->number != c->number || o->created_at > time)
			continue;
		is = 4 * was_connected_to(links, i, of->number) + 2 * is_alive(o, time) +
		     (o->process != of->process);
		if (is > best_is) {
			best_is = is;
			best = i;
		}
	}
	return best;
}

uint32_t links_by_number(struct program *program, uint32_t qp, uint32_t number, int64_t time)
{
	const struct object *of = qp ? trace_object(program->trace, qp) : NULL;
	uint32_t best = 0;
	int best_is = -1;

	for (uint32_t i = 1; i <= program->nobjects; i++) {
		const struct object *o = trace_object(program->trace, i);
		int is;

		if (o->kind != OBJECT_qp || o->number != number)
			continue;
		is = 4 * is_alive(o, time) + 2 * (of && o->process != of->process) + (i != qp);
		if (is > best_is) {
			best_is = is;
			best = i;
		}
	}
	return best;
}

uint32_t links_srq(const struct links *links, uint32_t number)
{
	uint64_t object;

	return map_get(&links->srqs, number, &object) ? (uint32_t)object : 0;
}

int links_status(const struct links *links, struct event_id id, uint32_t i)
{
	uint64_t status;

	return map_get(&links->failed, request_key(id, i), &status) ? (int)status - 1 : 0;
}
