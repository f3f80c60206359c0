/*
 * The earlier events that a trace needs if it begins at a given event
 *
 *	control verbs    those of objects that are alive, or were when the oldest outstanding
 *	                 request was posted: which may name them
 *	posts and polls  the ones that a flight recorder stores although they are before its cut
 *	                 (core/store/write/outstanding.c)
 *
 * Failed calls are excluded: they have changed nothing.
 */
#include "core/store/excerpt/excerpt_from.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/db/sql.h"
#include "core/store/read/trace.h"
#include "core/store/write/outstanding.h"
#include "core/wire/log.h"

/* A request, a completion or the arming of a CQ that is included. */
struct carried_item {
	uint32_t thread, i;
	uint64_t n;
};

struct excerpt_from {
	struct trace *trace;
	struct excerpt_place place;
	sqlite3_stmt *call;
	struct carried_item *carried; /* sorted by thread, n, i */
	size_t ncarried;
	bool *gone; /* by object: was it destroyed too early to be needed? */
	uint32_t nobjects;
};

/* Following the outstanding requests */

struct event_follower {
	struct outstanding *outstanding;
	uint8_t *event;
	size_t size;
};

static int reserve_event(struct event_follower *f, size_t bytes)
{
	return vec_reserve(f->event, f->size, bytes) ? log_err(-ENOMEM, "read posts and polls") : 0;
}

static struct event_place index_of(const struct trace_event *event)
{
	return (struct event_place){ event->id.thread, event->process, 0, event->id.n,
				     event->time };
}

/* Write a request in the format of a ring, without elements and parts, which are not needed. */
static uint8_t *put_request(uint8_t *at, const struct wr *wr)
{
	struct event_wr to = { .wr_id = wr->wr_id,
			       .opcode = (uint8_t)wr->opcode,
			       .flags = (uint8_t)wr->send_flags,
			       .parts = wr->remote_qpn ? WR_UD : 0 };
	struct event_ud ud = { .remote_qpn = wr->remote_qpn };

	memcpy(at, &to, sizeof(to));
	at += sizeof(to);
	if (to.parts)
		memcpy(at, &ud, sizeof(ud));
	return at + (to.parts ? sizeof(ud) : 0);
}

/* Pass on the requests one by one: a struct event_post has no space for all requests of a call. */
static int follow_post(struct event_follower *f, const struct trace_event *event)
{
	const struct post *post = event->post;
	struct event_place at = index_of(event);
	int err = reserve_event(f, sizeof(struct event_post) + sizeof(struct event_wr) +
					   sizeof(struct event_ud));

	for (uint32_t i = 0; i < post_taken(post) && !err; i++) {
		struct event_post *to = (void *)f->event;

		*to = (struct event_post){ .object = post->handle,
					   .verb = post->verb & 0x1ff,
					   .nwr = 1 };
		put_request((uint8_t *)(to + 1), &post->wr[i]);
		err = outstanding_note_post(f->outstanding, &at, to, i);
	}
	return err;
}

static int follow_poll(struct event_follower *f, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	struct event_place at = index_of(event);
	struct event_poll *to;
	struct event_wc *wcs;
	int err = reserve_event(f, sizeof(*to) + poll->nwc * sizeof(*wcs));

	if (err)
		return err;
	to = (void *)f->event;
	wcs = (void *)(to + 1);
	*to = (struct event_poll){ .cq = poll->handle, .ret = poll->ret, .nwc = poll->nwc };
	for (uint32_t i = 0; i < poll->nwc; i++)
		wcs[i] = (struct event_wc){ .wr_id = poll->wc[i].wr_id,
					    .status = poll->wc[i].status,
					    .opcode = poll->wc[i].opcode,
					    .qp_num = poll->wc[i].qp_num,
					    .src_qp = poll->wc[i].src_qp,
					    .wc_flags = poll->wc[i].wc_flags };
	return outstanding_note_poll(f->outstanding, &at, to);
}

static int follow_notify(struct event_follower *f, const struct trace_event *event)
{
	const struct event_notify to = { .cq = event->notify->handle, .ret = event->notify->ret };
	struct event_place at = index_of(event);

	return outstanding_note_arming(f->outstanding, &at, &to);
}

static int follow_return(struct event_follower *f, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct outstanding_note_call now = { .process = event->process,
					     .verb = call->verb,
					     .handle = call->handle,
					     .in = call->args,
					     .out = call->out,
					     .time = event->time };
	int64_t cq;

	if (call->failed)
		return 0;
	if (call->verb == VERB_get_cq_event && call->out && args_get(call->out, ARG(cq), &cq))
		now.got = (uint64_t)cq;
	return outstanding_note_call(f->outstanding, &now);
}

static int follow_event(struct event_follower *f, const struct trace_event *event)
{
	int err = 0;

	if (event->inner)
		return 0;
	if (event->kind == TRACE_POST)
		err = follow_post(f, event);
	else if (event->kind == TRACE_POLL)
		err = follow_poll(f, event);
	else if (event->kind == TRACE_NOTIFY)
		err = follow_notify(f, event);
	else if (event->kind == TRACE_RETURN)
		err = follow_return(f, event);
	else if (event->kind == TRACE_EXIT)
		outstanding_end_process(f->outstanding, event->process);
	return err == -ENOMEM ? log_err(err, "track outstanding requests") : err;
}

static bool is_reached(const struct excerpt_place *place, const struct trace_event *event)
{
	return event->id.thread == place->id.thread && event->id.n == place->id.n &&
	       event->kind != TRACE_PROCESS && event->kind != TRACE_RETURN;
}

static int follow_events(struct excerpt_from *from, struct event_follower *f)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(from->trace, &(struct trace_filter){ .unmatched = true }, &cursor);

	if (err)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0 && !is_reached(&from->place, event)) {
		err = follow_event(f, event);
		if (err < 0)
			break;
	}
	cursor_close(cursor);
	return err < 0 ? err : 0;
}

/* List the included items; *@ret_oldest: when the oldest item was posted or polled. */
static int list_carried(struct excerpt_from *from, struct outstanding *outstanding,
			int64_t *ret_oldest)
{
	struct outstanding_item *items = NULL;
	size_t n = 0;
	int err = outstanding_list(outstanding, from->place.time, &items, &n);

	from->carried = err ? NULL : calloc(n + 1, sizeof(*from->carried));
	if (!from->carried)
		err = log_err(-ENOMEM, "list outstanding requests");
	for (size_t i = 0; i < n && !err; i++) {
		from->carried[i] =
			(struct carried_item){ items[i].at.thread, items[i].index, items[i].at.n };
		if (items[i].at.time < *ret_oldest)
			*ret_oldest = items[i].at.time;
	}
	from->ncarried = n;
	free(items);
	return err;
}

static int find_carried(struct excerpt_from *from, int64_t *ret_oldest)
{
	struct event_follower f = { 0 };
	int err = outstanding_new(&f.outstanding);

	if (err)
		return log_err(err, "track outstanding requests");
	err = follow_events(from, &f);
	if (!err)
		err = list_carried(from, f.outstanding, ret_oldest);
	outstanding_free(f.outstanding);
	free(f.event);
	return err;
}

/* Objects */

static bool has_children(struct trace *trace, uint32_t process)
{
	const struct process *p;

	for (uint32_t id = process + 1; (p = trace_process(trace, id)); id++)
		if (p->parent == process)
			return true;
	return false;
}

static bool is_over(struct trace *trace, uint32_t id, int64_t time)
{
	const struct process *process = trace_process(trace, id);

	return process && process->end >= 0 && process->end < time && !has_children(trace, id);
}

static int find_gone_objects(struct excerpt_from *from, int64_t oldest)
{
	const struct object *object;
	uint32_t processes = 0;
	bool *over;

	while (trace_object(from->trace, from->nobjects + 1))
		from->nobjects++;
	while (trace_process(from->trace, processes + 1))
		processes++;
	from->gone = calloc(from->nobjects + 1ul, sizeof(*from->gone));
	over = calloc(processes + 1ul, sizeof(*over));
	if (!from->gone || !over) {
		free(over);
		return log_err(-ENOMEM, "list objects");
	}
	for (uint32_t id = 1; id <= processes; id++)
		over[id] = is_over(from->trace, id, oldest);
	for (uint32_t id = 1; (object = trace_object(from->trace, id)); id++)
		from->gone[id] = object->destroyed_at < oldest ||
				 (object->process <= processes && over[object->process]);
	free(over);
	return 0;
}

int excerpt_from_new(struct trace *trace, struct excerpt_place place,
		     struct excerpt_from **ret_from)
{
	struct excerpt_from *from = calloc(1, sizeof(*from));
	int64_t oldest = place.time;
	int err = from ? 0 : log_err(-ENOMEM, "trim");

	if (err)
		return err;
	from->trace = trace;
	from->place = place;
	err = find_carried(from, &oldest);
	if (!err)
		err = find_gone_objects(from, oldest);
	if (!err)
		err = sql_prepare(trace_db(trace),
				  "SELECT object FROM ref WHERE thread = ?1 AND n = ?2 AND object"
				  " NOT NULL UNION ALL SELECT NULL FROM call WHERE thread = ?1"
				  " AND n = ?2 AND failed",
				  &from->call);
	if (err) {
		excerpt_from_free(from);
		return err;
	}
	*ret_from = from;
	return 0;
}

void excerpt_from_free(struct excerpt_from *from)
{
	if (!from)
		return;
	sqlite3_finalize(from->call);
	free(from->carried);
	free(from->gone);
	free(from);
}

/* Choosing */

static bool is_before(const struct excerpt_place *place, const struct excerpt_item *item)
{
	if (item->time != place->time)
		return item->time < place->time;
	if (item->id.thread != place->id.thread)
		return item->id.thread < place->id.thread;
	return item->id.n < place->id.n;
}

static bool is_carried_before(const void *carried, const void *key)
{
	const struct carried_item *a = carried, *b = key;

	if (a->thread != b->thread)
		return a->thread < b->thread;
	return a->n != b->n ? a->n < b->n : a->i < b->i;
}

static bool is_carried(const struct excerpt_from *from, const struct excerpt_item *item)
{
	bool row = item->kind == EXCERPT_REQUEST || item->kind == EXCERPT_COMPLETION;
	struct carried_item key = { item->id.thread, row ? item->i : 0, item->id.n };
	size_t at = vec_count_before(from->carried, from->ncarried, sizeof(key), is_carried_before,
				     &key);
	const struct carried_item *carried = &from->carried[at];

	return at < from->ncarried && carried->thread == key.thread && carried->n == key.n &&
	       (!row || carried->i == key.i);
}

static bool is_gone(const struct excerpt_from *from, uint32_t object)
{
	return object && object <= from->nobjects && from->gone[object];
}

/* Is the object needed, and was it created by @call? */
static bool is_created_by(struct excerpt_from *from, uint32_t object, struct event_id call)
{
	const struct object *o = trace_object(from->trace, object);

	return o && o->created.thread == call.thread && o->created.n == call.n &&
	       !is_gone(from, object);
}

/*
 * Is a call included? A failed creation has a result, but no object. A connection request creates
 * an identifier that may outlive its listener.
 */
static bool has_call(struct excerpt_from *from, const struct excerpt_item *item)
{
	bool has = !is_gone(from, item->object), creates = false, failed = false;

	sql_bind(from->call, "ui", item->id.thread, item->id.n);
	while (!creates && !failed && sql_step(from->call) > 0) {
		uint32_t object = sql_u32(from->call, 0);

		failed = sqlite3_column_type(from->call, 0) == SQLITE_NULL;
		creates = is_created_by(from, object, item->id);
		has = has && !is_gone(from, object);
	}
	sqlite3_reset(from->call);
	return !failed && (has || creates);
}

bool excerpt_from_has(void *arg, const struct excerpt_item *item)
{
	struct excerpt_from *from = arg;

	if (!is_before(&from->place, item) || item->kind == EXCERPT_EVENT)
		return true;
	return item->kind == EXCERPT_CALL ? has_call(from, item) : is_carried(from, item);
}
