/*
 * Finding which queues objects have, and which they use
 *
 *	queue pair	send: requests complete in send_cq
 *			recv: in recv_cq; the requests may be in an SRQ
 *	SRQ, WQ		recv
 *	CQ		cq
 *
 * A row ends with the object, or when a call requests another depth.
 */
#include "core/store/finish/queue_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/finish/objects.h"
#include "core/wire/log.h"

/*
 * The arguments with the requested depth; after the call they have the granted depth, if the verb
 * changes its argument.
 */
static const struct {
	enum queue_side side;
	enum arg arg;
} depths[] = {
	{ QUEUE_SEND, ARG(qp_init_attr.cap.max_send_wr) },
	{ QUEUE_SEND, ARG(qp_init_attr_ex.cap.max_send_wr) },
	{ QUEUE_SEND, ARG(qp_attr.cap.max_send_wr) }, /* verbs of providers */
	{ QUEUE_SEND, ARG(attr_ex.cap.max_send_wr) },
	{ QUEUE_SEND, ARG(attr.cap.max_send_wr) }, /* also ibv_modify_qp() */
	{ QUEUE_RECV, ARG(qp_init_attr.cap.max_recv_wr) },
	{ QUEUE_RECV, ARG(qp_init_attr_ex.cap.max_recv_wr) },
	{ QUEUE_RECV, ARG(qp_attr.cap.max_recv_wr) },
	{ QUEUE_RECV, ARG(attr_ex.cap.max_recv_wr) },
	{ QUEUE_RECV, ARG(attr.cap.max_recv_wr) },
	{ QUEUE_RECV, ARG(srq_init_attr.attr.max_wr) },
	{ QUEUE_RECV, ARG(srq_init_attr_ex.attr.max_wr) },
	{ QUEUE_RECV, ARG(srq_attr.max_wr) },
	{ QUEUE_RECV, ARG(wq_init_attr.max_wr) },
	{ QUEUE_CQ, ARG(cqe) },
	{ QUEUE_CQ, ARG(init_attr.cqe) },
	{ QUEUE_CQ, ARG(cq_attr.cqe) },
	{ QUEUE_CQ, ARG(attr_ex.cqe) },
	{ QUEUE_CQ, ARG(ret.cqe) },
};

struct queue_pass {
	struct queue_table *t;
	const struct objects *objects;
	size_t *last; /* by object and side: 1 + index of its current row; 0: none */
};

static bool is_queue(enum object_kind kind)
{
	return kind == OBJECT_qp || kind == OBJECT_srq || kind == OBJECT_wq || kind == OBJECT_cq;
}

static bool is_change(enum verb verb)
{
	return verb == VERB_modify_qp || verb == VERB_modify_srq || verb == VERB_resize_cq;
}

static bool is_wanted_verb(enum verb verb)
{
	return is_change(verb) ||
	       (verb_infos[verb].effect == EFFECT_CREATE && is_queue(verb_infos[verb].object));
}

/* The depth in the arguments; -1: not known. */
static int64_t find_depth(const struct args *args, enum queue_side side)
{
	int64_t depth;

	for (size_t i = 0; i < sizeof(depths) / sizeof(*depths); i++)
		if (depths[i].side == side && args_get(args, depths[i].arg, &depth))
			return depth < 0 ? -1 : depth;
	return -1;
}

static uint32_t find_object(const struct queue_pass *p, const struct source_call *t,
			    enum object_kind kind, enum arg arg)
{
	uint64_t handle = args_number(t->out, arg);
	const struct object *o =
		handle ? objects_at(p->objects, t->process, kind, handle, t->end) : NULL;

	return o ? o->id : 0;
}

static int add_row(struct queue_pass *p, const struct queue_row *row)
{
	size_t *last = &p->last[row->object * (size_t)QUEUE_SIDES + row->side];
	struct queue_row *added = vec_push(p->t->list, p->t->count);

	if (!added)
		return -ENOMEM;
	if (*last)
		p->t->list[*last - 1].until = row->since;
	*added = *row;
	*last = p->t->count;
	return 0;
}

static int add_made(struct queue_pass *p, const struct source_call *t, enum queue_side side,
		    uint32_t cq, uint32_t srq)
{
	return add_row(p, &(struct queue_row){ .id = t->id,
					       .process = t->process,
					       .object = t->object,
					       .side = side,
					       .cq = cq,
					       .srq = srq,
					       .asked = srq ? -1 : find_depth(t->args, side),
					       .given = srq ? -1 : find_depth(t->out, side),
					       .since = t->end,
					       .until = INT64_MAX });
}

static int learn_created(struct queue_pass *p, const struct source_call *t)
{
	switch (verb_infos[t->verb].object) {
	case OBJECT_qp:
		return add_made(p, t, QUEUE_SEND, find_object(p, t, OBJECT_cq, ARG(ret.send_cq)), 0)
			       ?: add_made(p, t, QUEUE_RECV,
					   find_object(p, t, OBJECT_cq, ARG(ret.recv_cq)),
					   find_object(p, t, OBJECT_srq, ARG(ret.srq)));
	case OBJECT_srq:
		return add_made(p, t, QUEUE_RECV,
				find_object(p, t, OBJECT_cq, ARG(srq_init_attr_ex.cq)), 0);
	case OBJECT_wq:
		return add_made(p, t, QUEUE_RECV, find_object(p, t, OBJECT_cq, ARG(ret.cq)), 0);
	default:
		return add_made(p, t, QUEUE_CQ, 0, 0);
	}
}

static int learn_change(struct queue_pass *p, const struct source_call *t)
{
	int err = 0;

	for (int side = 0; side < QUEUE_SIDES && !err; side++) {
		size_t last = p->last[t->object * (size_t)QUEUE_SIDES + (size_t)side];
		int64_t asked = find_depth(t->args, (enum queue_side)side);
		struct queue_row row;

		if (!last || asked < 0)
			continue;
		row = p->t->list[last - 1];
		row.id = t->id;
		row.asked = asked;
		row.given = find_depth(t->out, (enum queue_side)side);
		row.since = t->end;
		row.until = INT64_MAX;
		err = add_row(p, &row);
	}
	return err;
}

static int learn_call(void *arg, const struct source_call *t)
{
	struct queue_pass *p = arg;

	if (t->object > p->objects->count || t->end == INT64_MAX)
		return 0;
	return is_change(t->verb) ? learn_change(p, t) : learn_created(p, t);
}

static int compare_rows(const void *a, const void *b)
{
	const struct queue_row *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->side != y->side)
		return (int)x->side - (int)y->side;
	return x->since < y->since ? -1 : x->since > y->since;
}

static int index_rows(struct queue_pass *p)
{
	struct queue_table *t = p->t;
	size_t at = 0;

	for (size_t i = 0; i < t->count; i++) {
		int64_t destroyed = p->objects->list[t->list[i].object - 1].destroyed_at;

		if (t->list[i].until > destroyed)
			t->list[i].until = destroyed;
	}
	if (t->count)
		qsort(t->list, t->count, sizeof(*t->list), compare_rows);
	t->nobjects = p->objects->count;
	t->first = calloc(t->nobjects + 2ul, sizeof(*t->first));
	if (!t->first)
		return -ENOMEM;
	for (uint32_t id = 0; id <= t->nobjects + 1; id++) {
		while (at < t->count && t->list[at].object < id)
			at++;
		t->first[id] = at;
	}
	return 0;
}

int queue_table_learn(const struct source_calls *sources, size_t n, const struct objects *objects,
		      struct queue_table *ret)
{
	/* of the calls of ibv_modify_qp() only the few with "cap" change the queues */
	static const char changes[] = "(verb <> 'ibv_modify_qp' OR args LIKE '%\"cap\":%')";
	struct queue_table t = { 0 };
	struct queue_pass p = { .t = &t, .objects = objects };
	int err = 0;

	p.last = calloc((objects->count + 1ul) * QUEUE_SIDES, sizeof(*p.last));
	if (!p.last)
		err = -ENOMEM;
	for (size_t i = 0; i < n && !err; i++)
		err = source_calls_each(&sources[i], is_wanted_verb, changes, learn_call, &p);
	err = err ?: index_rows(&p);
	free(p.last);
	if (err) {
		queue_table_fini(&t);
		return err == -ENOMEM ? log_err(err, "read queues") : err;
	}
	*ret = t;
	return 0;
}

void queue_table_fini(struct queue_table *t)
{
	free(t->list);
	free(t->first);
	*t = (struct queue_table){ 0 };
}

const struct queue_row *queue_table_at(const struct queue_table *t, uint32_t object,
				       enum queue_side side, int64_t time)
{
	const struct queue_row *found = NULL;

	for (size_t i = object && object <= t->nobjects ? t->first[object] : t->count;
	     i < t->count && t->list[i].object == object; i++)
		if (t->list[i].side == side && t->list[i].since <= time)
			found = &t->list[i];
	return found;
}

const char *queue_side_name(enum queue_side side)
{
	static const char *const names[] = { "send", "recv", "cq" };

	return names[side];
}

static int put_row(sqlite3_stmt *stmt, const struct queue_row *row)
{
	sql_bind(stmt, "uiuizutzz", row->id.thread, row->id.n, row->process, row->since,
		 row->until == INT64_MAX ? (int64_t)0 : row->until, row->object,
		 queue_side_name(row->side), (int64_t)row->cq, (int64_t)row->srq);
	for (int i = 0; i < 2; i++) {
		int64_t depth = i ? row->given : row->asked;

		if (depth < 0)
			sqlite3_bind_null(stmt, 10 + i);
		else
			sqlite3_bind_int64(stmt, 10 + i, depth);
	}
	return sql_run(stmt, "");
}

int queue_table_build(sqlite3 *db)
{
	struct queue_table t = { 0 };
	struct objects objects = { 0 };
	sqlite3_stmt *stmt = NULL;
	int err = objects_load(db, NULL, &objects);

	if (!err)
		err = queue_table_learn(&(struct source_calls){ .db = db }, 1, &objects, &t);
	if (!err)
		err = sql_exec(db, "DELETE FROM queue");
	if (!err)
		err = sql_prepare(db, "INSERT INTO queue VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				  &stmt);
	for (size_t i = 0; i < t.count && !err; i++)
		err = put_row(stmt, &t.list[i]);
	sqlite3_finalize(stmt);
	queue_table_fini(&t);
	objects_fini(&objects);
	return err;
}
