/*
 * Which queue pair a number means, and which requests failed
 */
#include "cli/emit/links.h"

#include <errno.h>
#include <stdlib.h>
#include <infiniband/verbs.h>

#include "core/store/finish/connections.h"

int links_init(struct links *links, struct program *program)
{
	return trace_connections(program->trace, &links->connections)
		       ?: trace_queues(program->trace, &links->queues);
}

static uint64_t request_key(struct event_id id, uint32_t i)
{
	return map_hash(event_key(id)) ^ map_hash(i + 1);
}

/* Not if an inner call connects the queue pair: the program has no statement for that. */
static int learn_connection(struct links *links, const struct trace_event *event)
{
	uint64_t heard = 0;

	if (event->inner || event->call->ours || event->call->depth)
		return 0;
	map_get(&links->heard, event->id.thread, &heard);
	return map_put(&links->last_polled, event_key(event->id), heard);
}

static int learn_call(struct links *links, const struct trace_event *event)
{
	const struct call *call = event->call;
	int64_t number;

	if (call->failed || !call->object)
		return 0;
	if (call->verb == VERB_get_srq_num && args_get(call->out, ARG(srq_num), &number))
		return map_put(&links->srqs, (uint64_t)number, call->object);
	return call->verb == VERB_modify_qp ? learn_connection(links, event) : 0;
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
	map_fini(&links->last_polled);
	map_fini(&links->srqs);
	map_fini(&links->failed);
	map_fini(&links->silent);
	map_fini(&links->heard);
}

bool links_is_connected(const struct links *links, uint32_t qp, int64_t time)
{
	return connections_at(links->connections, qp, time);
}

struct event_id links_next_connection(const struct links *links, uint32_t qp, int64_t time)
{
	const struct connection *c = connections_first(links->connections, qp);
	uint64_t heard;

	if (!c || c->since <= time || !map_get(&links->last_polled, event_key(c->id), &heard) ||
	    (int64_t)heard > time)
		return (struct event_id){ 0 };
	return c->id;
}

uint32_t links_find(const struct links *links, uint32_t qp, int64_t time)
{
	const struct connection *c = connections_at(links->connections, qp, time);

	return c ? c->peer : 0;
}

uint32_t links_find_target(const struct links *links, uint32_t qp, uint32_t number, uint32_t ah,
			   int64_t time)
{
	return peers_find_datagram(links->connections->peers, qp, number,
				   connections_handle(links->connections, ah), time);
}

uint32_t links_find_sender(const struct links *links, const struct wc *wc, int64_t time)
{
	const struct place place = { .lid = (uint16_t)wc->slid };

	return peers_find_datagram(links->connections->peers, wc->qp, wc->src_qp, &place, time);
}

uint32_t links_find_srq(const struct links *links, uint32_t number)
{
	uint64_t object;

	return map_get(&links->srqs, number, &object) ? (uint32_t)object : 0;
}

int links_find_status(const struct links *links, struct event_id id, uint32_t i)
{
	uint64_t status;

	return map_get(&links->failed, request_key(id, i), &status) ? (int)status - 1 : 0;
}
