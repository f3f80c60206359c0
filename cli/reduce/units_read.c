/*
 * Reading a trace as units
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/reduce/units_priv.h"
#include "core/base/vec.h"
#include "core/store/chunk/abi.h"
#include "core/store/finish/connections.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

/* Units */

static int fail_reading(void)
{
	return log_err(-ENOMEM, "reduce the trace");
}

/* A new unit, or -ENOMEM. */
static int64_t add_unit(struct units_reader *r, enum unit_kind kind,
			const struct trace_event *event)
{
	uint32_t *joined = vec_push(r->joined, r->njoined);
	struct unit *unit = joined ? vec_push(r->units->units, r->units->count) : NULL;

	if (!unit)
		return fail_reading();
	*joined = (uint32_t)r->units->count - 1;
	*unit = (struct unit){ .kind = kind,
			       .process = event->process,
			       .thread = event->id.thread };
	return *joined;
}

uint32_t reading_root(struct units_reader *r, uint32_t unit)
{
	while (r->joined[unit] != unit)
		unit = r->joined[unit] = r->joined[r->joined[unit]];
	return unit;
}

/* Join two units: the earlier one remains. */
static void join_units(struct units_reader *r, uint32_t a, uint32_t b)
{
	a = reading_root(r, a);
	b = reading_root(r, b);
	if (a < b)
		r->joined[b] = a;
	else
		r->joined[a] = b;
	if (r->units->units[b].kind == UNIT_MESSAGE)
		r->units->units[a].kind = UNIT_MESSAGE;
	if (r->units->units[a].kind == UNIT_MESSAGE)
		r->units->units[b].kind = UNIT_MESSAGE;
}

static int add_row(struct units_reader *r, const struct trace_event *event, uint32_t i,
		   uint32_t unit, uint32_t object, uint32_t cq)
{
	struct unit_row *row = vec_push(r->units->rows, r->units->nrows);

	if (!row)
		return fail_reading();
	*row = (struct unit_row){ event->id, i, unit, object <= r->units->most ? object : 0,
				  cq <= r->units->most ? cq : 0 };
	return 0;
}

static struct reading_object *object_of(struct units_reader *r, uint32_t id)
{
	return &r->objects[id <= r->units->most ? id : 0];
}

/* Messages */

static uint64_t key_of(struct event_id id, uint32_t i)
{
	return (uint64_t)id.thread << 48 ^ id.n << 16 ^ i;
}

static struct reading_stream *find_stream(struct units_reader *r, uint32_t from, uint32_t to)
{
	uint64_t key = (uint64_t)from << 32 | to, at;

	if (map_get(&r->streams, key, &at))
		return &r->list[at];
	struct reading_stream *stream;

	if (map_put(&r->streams, key, r->nlist))
		return NULL;
	stream = vec_push(r->list, r->nlist);
	if (stream)
		stream->to = to;
	return stream;
}

static int note_receive(struct units_reader *r, uint32_t qp, uint32_t unit)
{
	struct reading_object *object = object_of(r, qp);
	uint32_t *place = vec_push(object->receives, object->posted);

	if (!place)
		return fail_reading();
	*place = unit;
	return 0;
}

/* Join receives with completions: they complete in the order of their posts, even in error. */
static void end_receive(struct units_reader *r, uint32_t qp, uint32_t unit)
{
	struct reading_object *object = object_of(r, qp);

	if (object->received < object->posted && object->receives[object->received] == unit)
		object->received++;
}

/* Join messages without a completed receive with the receives that they will fill. */
static void join_unreceived(struct units_reader *r, struct reading_stream *stream)
{
	struct reading_object *to = object_of(r, stream->to);

	for (size_t i = stream->first; i < stream->count && to->received < to->posted; i++)
		join_units(r, stream->units[i], to->receives[to->received++]);
}

static uint32_t find_peer(const struct units_reader *r, uint32_t qp, int64_t time)
{
	const struct connection *connection = connections_at(r->connections, qp, time);

	return connection ? connection->peer : 0;
}

/* The queue pair that a request's message goes to; 0: it is not in the trace. */
static uint32_t find_target(const struct units_reader *r, const struct trace_event *event,
			    const struct wr *wr)
{
	const struct object *ah;

	if (!wr->ah)
		return find_peer(r, event->post->object, event->time);
	ah = trace_object_at(r->trace, event->process, OBJECT_ah, wr->ah, event->time);
	return peers_find_datagram(r->connections->peers, event->post->object, wr->remote_qpn,
				   connections_handle(r->connections, ah ? ah->id : 0),
				   event->time);
}

/* The queue pair that the message of a completion came from. */
static uint32_t find_sender(const struct units_reader *r, const struct wc *wc, int64_t time)
{
	const struct place place = { .lid = (uint16_t)wc->slid };

	return connections_first(r->connections, wc->qp)
		       ? find_peer(r, wc->qp, time)
		       : peers_find_datagram(r->connections->peers, wc->qp, wc->src_qp, &place,
					     time);
}

static int note_send(struct units_reader *r, const struct trace_event *event, const struct wr *wr,
		     uint32_t unit)
{
	uint32_t to = find_target(r, event, wr);
	struct reading_stream *stream = to ? find_stream(r, event->post->object, to) : NULL;
	uint32_t *place = stream ? vec_push(stream->units, stream->count) : NULL;

	if (!to)
		return 0;
	if (!place)
		return fail_reading();
	*place = unit;
	return 0;
}

static int read_request(struct units_reader *r, const struct trace_event *event, uint32_t i,
			uint32_t *first)
{
	const struct post *post = event->post;
	int64_t unit = add_unit(r, UNIT_MESSAGE, event);
	int err = unit < 0 ? (int)unit : 0;

	if (!err)
		err = add_row(r, event, i, (uint32_t)unit, post->object, 0);
	if (!err && map_put(&r->requests, key_of(event->id, i), (uint64_t)unit))
		err = fail_reading();
	if (!err && post_is_send(post) && i < post_taken(post) &&
	    operation_is_message(post->wr[i].opcode))
		err = note_send(r, event, &post->wr[i], (uint32_t)unit);
	if (!err && !post_is_send(post) && i < post_taken(post))
		err = note_receive(r, post->object, (uint32_t)unit);
	if (err)
		return err;
	if (!i)
		*first = (uint32_t)unit;
	else if (post->ret) /* all requests or none: one of them is the reason of the refusal */
		join_units(r, *first, (uint32_t)unit);
	return 0;
}

/* An event that has no requests or completions has a row itself. */
static int read_other_event(struct units_reader *r, const struct trace_event *event,
			    enum unit_kind kind, uint32_t i, uint32_t object, uint32_t cq)
{
	int64_t unit = add_unit(r, kind, event);

	return unit < 0 ? (int)unit : add_row(r, event, i, (uint32_t)unit, object, cq);
}

static int read_post(struct units_reader *r, const struct trace_event *event)
{
	const struct post *post = event->post;
	uint32_t first = 0;
	int err = 0;

	if (!post->nwr)
		return read_other_event(r, event, UNIT_REST, UINT32_MAX, post->object, 0);
	for (uint32_t i = 0; i < post->nwr && !err; i++)
		err = read_request(r, event, i, &first);
	return err;
}

/* Join a received message with the next send of its sender. */
static void join_message(struct units_reader *r, const struct wc *wc, int64_t time, uint32_t unit)
{
	uint32_t from = wc->status || !(wc->opcode & ABI_WC_RECV) ? 0 : find_sender(r, wc, time);
	struct reading_stream *stream;

	if (!from)
		return;
	stream = find_stream(r, from, wc->qp);
	if (stream && stream->first < stream->count)
		join_units(r, stream->units[stream->first++], unit);
}

static int read_completion(struct units_reader *r, const struct trace_event *event, uint32_t i)
{
	const struct poll *poll = event->poll;
	const struct wc *wc = &poll->wc[i];
	struct reading_object *cq = object_of(r, poll->object);
	uint64_t unit;
	int64_t added;

	if (!wc->request.thread ||
	    !map_get(&r->requests, key_of(wc->request, wc->request_index), &unit)) {
		added = add_unit(r, UNIT_MESSAGE, event);
		if (added < 0)
			return (int)added;
		unit = (uint64_t)added;
	}
	end_receive(r, wc->qp, (uint32_t)unit);
	join_message(r, wc, event->time, (uint32_t)unit);
	if (cq->woken)
		join_units(r, cq->woken - 1, (uint32_t)unit);
	cq->woken = 0;
	cq->polled = (uint32_t)unit + 1;
	return add_row(r, event, i, (uint32_t)unit, wc->qp, poll->object);
}

static int read_poll(struct units_reader *r, const struct trace_event *event)
{
	int err = 0;

	if (!event->poll->nwc)
		return read_other_event(r, event, UNIT_REST, UINT32_MAX, 0, event->poll->object);
	for (uint32_t i = 0; i < event->poll->nwc && !err; i++)
		err = read_completion(r, event, i);
	return err;
}

static int read_notify(struct units_reader *r, const struct trace_event *event)
{
	struct reading_object *cq = object_of(r, event->notify->object);
	int err = read_other_event(r, event, UNIT_REST, 0, 0, event->notify->object);

	cq->armed = (uint32_t)r->units->count;
	cq->polled = 0;
	return err;
}

/* Calls */

int units_add_need(struct unit_need **list, size_t *count, uint32_t who, uint32_t object)
{
	size_t n = *count;
	struct unit_need *need = vec_push(*list, n);

	if (!need)
		return fail_reading();
	*need = (struct unit_need){ who, object };
	*count = n;
	return 0;
}

/*
 * Join a completion event with the completion that it announced: the next one polled, or, if none
 * is polled before the next event, the last one polled after the arming.
 */
static void end_wake(struct units_reader *r, struct reading_object *cq)
{
	if (cq->woken && cq->before)
		join_units(r, cq->before - 1, cq->woken - 1);
	cq->woken = 0;
}

static void read_wake(struct units_reader *r, struct reading_object *cq, uint32_t unit)
{
	uint32_t polled = cq->polled;

	end_wake(r, cq);
	cq->woken = unit + 1;
	cq->before = polled;
	if (cq->armed)
		join_units(r, cq->armed - 1, unit);
	cq->armed = 0;
}

/* Note which objects a call uses: the objects that it creates need all of them. */
static int read_refs(struct units_reader *r, const struct trace_event *event, uint32_t unit)
{
	const struct call *call = event->call;
	bool makes = verb_infos[call->verb].effect == EFFECT_CREATE && call->object;
	struct call_ref ref;
	int err;

	call_refs_begin(r->refs, event->id);
	while ((err = call_refs_next(r->refs, &ref)) > 0) {
		uint32_t object = ref.object;

		if (!object || object > r->units->most)
			continue;
		err = units_add_need(&r->units->calls, &r->units->ncalls, unit, object);
		if (!err && makes && object != call->object)
			err = units_add_need(&r->units->objects, &r->units->nobjects, call->object,
					     object);
		if (err)
			break;
		if (call->verb == VERB_get_cq_event && ref.path && !strcmp(ref.path, "out.cq")) {
			read_wake(r, object_of(r, object), unit);
		}
	}
	if (!err && call->object && call->object <= r->units->most)
		err = units_add_need(&r->units->calls, &r->units->ncalls, unit, call->object);
	return err;
}

static int read_call(struct units_reader *r, const struct trace_event *event)
{
	uint32_t *outer = &r->outer[event->id.thread <= r->nthreads ? event->id.thread : 0];
	int err = read_other_event(r, event, UNIT_CALL, 0, 0, 0);
	uint32_t unit = (uint32_t)r->units->count - 1;

	if (err)
		return err;
	r->units->units[unit].ours = event->call->ours;
	r->units->units[unit].idle =
		event->call->failed || verb_infos[event->call->verb].effect == EFFECT_QUERY;
	if ((event->inner || event->call->depth) && *outer) {
		r->units->units[*outer - 1].idle = false;
		join_units(r, *outer - 1, unit);
	} else {
		*outer = unit + 1;
	}
	return read_refs(r, event, unit);
}

static int read_event(struct units_reader *r, const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
		return read_call(r, event);
	case TRACE_POST:
		return read_post(r, event);
	case TRACE_POLL:
		return read_poll(r, event);
	case TRACE_NOTIFY:
		return read_notify(r, event);
	case TRACE_FORK:
	case TRACE_MARK:
	case TRACE_MEMORY:
	case TRACE_MISUSE:
		return read_other_event(r, event, UNIT_REST, 0, 0, 0);
	default:
		return 0;
	}
}

static int open_reading(struct units_reader *r)
{
	const struct object *object;
	int err = 0;

	while (trace_object(r->trace, r->units->most + 1))
		r->units->most++;
	while (trace_thread(r->trace, r->nthreads + 1))
		r->nthreads++;
	r->objects = calloc(r->units->most + 1ul, sizeof(*r->objects));
	r->outer = calloc(r->nthreads + 1ul, sizeof(*r->outer));
	if (!r->objects || !r->outer)
		return fail_reading();
	for (uint32_t id = 1; (object = trace_object(r->trace, id)) && !err; id++) {
		if (object->parent && object->parent <= r->units->most)
			err = units_add_need(&r->units->objects, &r->units->nobjects, id,
					     object->parent);
	}
	return err ?: trace_connections(r->trace, &r->connections)
		       ?: call_refs_open(r->trace, &r->refs);
}

int reading_run(struct units_reader *r)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = open_reading(r);

	if (!err)
		err = cursor_open(r->trace, NULL, &cursor);
	if (err)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0) {
		err = read_event(r, event);
		if (err < 0)
			break;
	}
	cursor_close(cursor);
	for (uint32_t i = 0; i <= r->units->most; i++)
		end_wake(r, &r->objects[i]);
	for (size_t i = 0; i < r->nlist; i++)
		join_unreceived(r, &r->list[i]);
	return err;
}

void reading_fini(struct units_reader *r)
{
	for (size_t i = 0; i < r->nlist; i++)
		free(r->list[i].units);
	call_refs_close(r->refs);
	for (uint32_t i = 0; r->objects && i <= r->units->most; i++)
		free(r->objects[i].receives);
	free(r->list);
	free(r->joined);
	free(r->objects);
	free(r->outer);
	map_fini(&r->requests);
	map_fini(&r->streams);
}
