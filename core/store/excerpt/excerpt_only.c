/*
 * Some objects of a trace, with their dependencies
 *
 *	an object     its parent, and all arguments of the call that created it (CQs, SRQ, channel)
 *	a queue       the regions, windows and address handles of its PD, which requests use
 *
 * A call is included if all its objects are, a post if its queue is, and a completion if its queue
 * pair is. Requests that excluded queue pairs consumed from an included SRQ are excluded. If
 * excluded queue pairs use an included CQ, its events are excluded, since they may belong to
 * excluded completions.
 */
#include "core/store/excerpt/excerpt_only.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/db/sql.h"
#include "core/store/finish/objects.h"
#include "core/store/read/trace.h"
#include "core/store/read/trace_priv.h"
#include "core/wire/log.h"

/* A request that an excluded queue pair consumed. */
struct taken_request {
	uint32_t thread, i;
	uint64_t n;
};

struct excerpt_only {
	struct trace *trace;
	bool *objects;   /* by id: is it included? */
	bool *shared;    /* by id: CQs that excluded queue pairs use, too */
	bool *processes; /* by number: does it have an included object? */
	uint32_t nobjects, nprocesses;
	struct taken_request *taken; /* sorted by thread, n, i */
	size_t ntaken;
	sqlite3_stmt *refs;
	struct objects_cache cache;
};

int excerpt_only_new(struct trace *trace, struct excerpt_only **ret_only)
{
	struct excerpt_only *only = calloc(1, sizeof(*only));
	int err = only ? 0 : log_err(-ENOMEM, "trim");

	if (err)
		return err;
	only->trace = trace;
	while (trace_object(trace, only->nobjects + 1))
		only->nobjects++;
	while (trace_process(trace, only->nprocesses + 1))
		only->nprocesses++;
	only->objects = calloc(only->nobjects + 1ul, sizeof(*only->objects));
	only->shared = calloc(only->nobjects + 1ul, sizeof(*only->shared));
	only->processes = calloc(only->nprocesses + 1ul, sizeof(*only->processes));
	if (!only->objects || !only->shared || !only->processes)
		err = log_err(-ENOMEM, "list objects");
	if (!err)
		err = sql_prepare(trace_db(trace),
				  "SELECT object, path FROM ref WHERE thread = ? AND n = ?"
				  " AND object NOT NULL",
				  &only->refs);
	if (err)
		excerpt_only_free(only);
	else
		*ret_only = only;
	return err;
}

void excerpt_only_free(struct excerpt_only *only)
{
	if (!only)
		return;
	sqlite3_finalize(only->refs);
	free(only->objects);
	free(only->shared);
	free(only->processes);
	free(only->taken);
	free(only);
}

void excerpt_only_object(struct excerpt_only *only, uint32_t id)
{
	if (id && id <= only->nobjects)
		only->objects[id] = true;
}

void excerpt_only_process(struct excerpt_only *only, uint32_t process)
{
	const struct object *object;

	for (uint32_t id = 1; (object = trace_object(only->trace, id)); id++)
		if (object->process == process)
			excerpt_only_object(only, id);
}

/* Dependencies */

static bool add_object(struct excerpt_only *only, uint32_t id)
{
	if (!id || id > only->nobjects || only->objects[id])
		return false;
	only->objects[id] = true;
	return true;
}

static int add_named_objects(struct excerpt_only *only, const struct object *object, bool *more)
{
	int err;

	*more |= add_object(only, object->parent);
	if (!object->created.thread)
		return 0;
	sql_bind(only->refs, "ui", object->created.thread, object->created.n);
	while ((err = sql_step(only->refs)) > 0)
		*more |= add_object(only, sql_u32(only->refs, 0));
	sqlite3_reset(only->refs);
	return err;
}

static bool is_memory(enum object_kind kind)
{
	return kind == OBJECT_mr || kind == OBJECT_mw || kind == OBJECT_ah || kind == OBJECT_dm;
}

static bool is_queue(enum object_kind kind)
{
	return kind == OBJECT_qp || kind == OBJECT_srq || kind == OBJECT_wq;
}

/* Set @used[PD] for the PD of each included queue. */
static void find_used_pds(const struct excerpt_only *only, bool *used)
{
	const struct object *object;

	for (uint32_t id = 1; (object = trace_object(only->trace, id)); id++)
		if (only->objects[id] && is_queue(object->kind) && object->parent &&
		    object->parent <= only->nobjects)
			used[object->parent] = true;
}

static int add_related(struct excerpt_only *only, bool *used, bool *more)
{
	const struct object *object;
	int err = 0;

	find_used_pds(only, used);
	for (uint32_t id = 1; !err && (object = trace_object(only->trace, id)); id++) {
		if (is_memory(object->kind) && object->parent <= only->nobjects &&
		    used[object->parent])
			*more |= add_object(only, id);
		if (only->objects[id])
			err = add_named_objects(only, object, more);
	}
	return err;
}

static int add_all_related(struct excerpt_only *only)
{
	bool *used = calloc(only->nobjects + 1ul, sizeof(*used)), more = true;
	int err = used ? 0 : log_err(-ENOMEM, "list objects");

	while (!err && more) {
		more = false;
		err = add_related(only, used, &more);
	}
	free(used);
	return err;
}

/* Queue pairs that are not included */

/*
 * Mark the CQs of excluded queue pairs as shared. *@ret_srq: one of these queue pairs uses an
 * included SRQ.
 */
static int find_shared_cqs(struct excerpt_only *only, bool *ret_srq)
{
	const struct object *object, *of;
	int err = 0;

	for (uint32_t id = 1; err >= 0 && (object = trace_object(only->trace, id)); id++) {
		if (only->objects[id] || !is_queue(object->kind) || !object->created.thread)
			continue;
		sql_bind(only->refs, "ui", object->created.thread, object->created.n);
		while ((err = sql_step(only->refs)) > 0) {
			of = trace_object(only->trace, sql_u32(only->refs, 0));
			if (!of || !only->objects[of->id])
				continue;
			only->shared[of->id] |= of->kind == OBJECT_cq;
			*ret_srq |= of->kind == OBJECT_srq;
		}
		sqlite3_reset(only->refs);
	}
	return err < 0 ? err : 0;
}

static int note_taken(struct excerpt_only *only, const struct poll *poll)
{
	for (uint32_t i = 0; i < poll->nwc; i++) {
		const struct wc *wc = &poll->wc[i];
		struct taken_request *taken;

		if (!wc->request.thread || (wc->qp <= only->nobjects && only->objects[wc->qp]))
			continue;
		taken = vec_push(only->taken, only->ntaken);
		if (!taken)
			return log_err(-ENOMEM, "list requests");
		*taken = (struct taken_request){ wc->request.thread, wc->request_index,
						 wc->request.n };
	}
	return 0;
}

static int compare_taken(const void *a, const void *b)
{
	const struct taken_request *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

static int find_taken_requests(struct excerpt_only *only)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(only->trace, NULL, &cursor);

	if (err)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0)
		if (event->kind == TRACE_POLL && (err = note_taken(only, event->poll)))
			break;
	cursor_close(cursor);
	if (only->ntaken)
		qsort(only->taken, only->ntaken, sizeof(*only->taken), compare_taken);
	return err;
}

int excerpt_only_complete(struct excerpt_only *only)
{
	const struct object *object;
	bool srq = false;
	int err = add_all_related(only);

	if (!err)
		err = find_shared_cqs(only, &srq);
	for (uint32_t id = 1; (object = trace_object(only->trace, id)); id++)
		if (only->objects[id] && object->process <= only->nprocesses)
			only->processes[object->process] = true;
	return err || !srq ? err : find_taken_requests(only);
}

/* Choosing */

static bool has_object(const struct excerpt_only *only, uint32_t id)
{
	return id && id <= only->nobjects && only->objects[id];
}

static uint32_t object_at(struct excerpt_only *only, const struct excerpt_item *item,
			  enum object_kind kind)
{
	return objects_cached_at(&only->cache, &only->trace->objects, item->process, kind,
				 item->handle, item->time);
}

static bool has_call(struct excerpt_only *only, const struct excerpt_item *item)
{
	bool has = !item->object || has_object(only, item->object);

	sql_bind(only->refs, "ui", item->id.thread, item->id.n);
	while (has && sql_step(only->refs) > 0) {
		uint32_t id = sql_u32(only->refs, 0);

		has = has_object(only, id) && !(item->of_events && only->shared[id]);
	}
	sqlite3_reset(only->refs);
	return has;
}

static bool is_taken_before(const void *taken, const void *key)
{
	return compare_taken(taken, key) < 0;
}

static bool has_request(const struct excerpt_only *only, const struct excerpt_item *item)
{
	struct taken_request key = { item->id.thread, item->i, item->id.n };
	size_t at = vec_count_before(only->taken, only->ntaken, sizeof(key), is_taken_before, &key);

	return at == only->ntaken || compare_taken(&only->taken[at], &key) != 0;
}

static bool has_completion(struct excerpt_only *only, const struct excerpt_item *item)
{
	uint32_t cq = object_at(only, item, OBJECT_cq);

	return has_object(only, objects_cached_qp(&only->cache, &only->trace->objects,
						  item->process, item->qp_num, cq, item->time));
}

bool excerpt_only_has(void *arg, const struct excerpt_item *item)
{
	struct excerpt_only *only = arg;
	uint32_t cq;

	if (item->process > only->nprocesses || !only->processes[item->process])
		return false;
	switch (item->kind) {
	case EXCERPT_CALL:
		return has_call(only, item);
	case EXCERPT_POST:
		return has_object(only, object_at(only, item,
						  item->srq  ? OBJECT_srq
						  : item->wq ? OBJECT_wq
							     : OBJECT_qp));
	case EXCERPT_POLL:
		return has_object(only, object_at(only, item, OBJECT_cq));
	case EXCERPT_NOTIFY:
		cq = object_at(only, item, OBJECT_cq);
		return has_object(only, cq) && !only->shared[cq];
	case EXCERPT_REQUEST:
		return has_request(only, item);
	case EXCERPT_COMPLETION:
		return has_completion(only, item);
	default:
		return true;
	}
}
