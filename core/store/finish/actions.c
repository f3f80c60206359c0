/*
 * Reading the calls that create and destroy objects
 *
 * Not here: the objects (lifetimes.c).
 */
#include "core/store/finish/actions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/store/db/args.h"
#include "core/wire/log.h"

struct device_name {
	uint32_t creation; /* index + 1 */
	char *name;        /* NULL: not known, or moved to an object */
};

/* Not by malloc(), which might not return freed memory to the system. */
static int add_block(struct actions *actions)
{
	struct action **block = vec_push(actions->blocks, actions->nblocks);
	void *at = mmap(NULL, ACTIONS_BLOCK * sizeof(**block), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (block && at != MAP_FAILED) {
		*block = at;
		return 0;
	}
	if (at != MAP_FAILED)
		munmap(at, ACTIONS_BLOCK * sizeof(**block));
	return -ENOMEM;
}

static void free_block(struct actions *actions, size_t i)
{
	if (actions->blocks[i])
		munmap(actions->blocks[i], ACTIONS_BLOCK * sizeof(**actions->blocks));
	actions->blocks[i] = NULL;
}

static struct action *add_action(struct actions *actions, const struct action *call)
{
	if (actions->n == UINT32_MAX || (actions->n % ACTIONS_BLOCK == 0 && add_block(actions)))
		return NULL;
	*action_at(actions, actions->n) = *call;
	return action_at(actions, actions->n++);
}

static struct object_creation *add_creation(struct actions *actions, const struct action *call)
{
	struct object_creation *creation = vec_push(actions->creations, actions->ncreations);
	struct action *action = creation ? add_action(actions, call) : NULL;

	if (!action) {
		log_err(-ENOMEM, "read calls");
		return NULL;
	}
	action->creation = (uint32_t)actions->ncreations;
	return creation;
}

int object_read_created(enum object_kind kind, const struct args *out,
			struct object_creation *ret_made)
{
	struct object_creation made = { .parent_kind = OBJECT_pd };
	int err = args_parse(out);

	if (err)
		return err;
	switch (kind) {
	case OBJECT_qp:
		made.number = (uint32_t)args_number(out, ARG(ret.qp_num));
		break;
	case OBJECT_mr:
		made.number = (uint32_t)args_number(out, ARG(ret.lkey));
		made.rkey = (uint32_t)args_number(out, ARG(ret.rkey));
		break;
	case OBJECT_mw:
		made.number = (uint32_t)args_number(out, ARG(ret.rkey));
		break;
	case OBJECT_wq:
		made.number = (uint32_t)args_number(out, ARG(ret.wq_num));
		break;
	default:
		break;
	}
	made.parent = args_number(out, ARG(ret.pd));
	if (!made.parent) {
		made.parent_kind = OBJECT_context;
		made.parent = args_number(out, ARG(ret.context));
	}
	if (!made.parent && kind == OBJECT_context) {
		made.parent_kind = OBJECT_device;
		made.parent = args_number(out, ARG(ret.device));
	}
	*ret_made = made;
	return 0;
}

/* Add an action for each device of a list. */
static int read_devices(struct actions *actions, const struct action *call, const struct args *out)
{
	int64_t handle;
	int err = args_parse(out);

	for (unsigned int i = 0; !err; i++) {
		struct action one = *call;
		struct device_name *name;
		const char *text;

		if (!args_get_at(out, ARG(ret.handle), i, &handle))
			break;
		one.handle = (uint64_t)handle;
		name = add_creation(actions, &one) ? vec_push(actions->names, actions->nnames)
						   : NULL;
		if (!name)
			return -ENOMEM;
		text = args_text_at(out, ARG(ret.name), i);
		*name = (struct device_name){ (uint32_t)actions->ncreations,
					      text ? strdup(text) : NULL };
	}
	return err;
}

/* Add an action for a connection request, which creates an identifier. */
static int read_request(struct actions *actions, const struct action *call, const struct args *out)
{
	const char *type;
	int64_t id;
	int err = args_parse(out);

	if (err)
		return err;
	type = args_text(out, ARG(event.event));
	if (type && !strcmp(type, "RDMA_CM_EVENT_CONNECT_REQUEST") &&
	    args_get(out, ARG(event.id), &id)) {
		struct action one = *call;

		one.kind = OBJECT_cm_id;
		one.handle = (uint64_t)id;
		err = add_creation(actions, &one) ? 0 : -ENOMEM;
	}
	return err;
}

/* Columns of read_calls(). */
enum { THREAD, N, VERB, BEGIN, END, END_N, HANDLE, OUT };

static int read_creation(struct actions *actions, const struct action *call, const struct args *out)
{
	struct object_creation *creation = add_creation(actions, call);

	return creation ? object_read_created(call->kind, out, creation) : -ENOMEM;
}

static int add_destruction(struct actions *actions, const struct action *call)
{
	return add_action(actions, call) ? 0 : log_err(-ENOMEM, "read calls");
}

static int read_call(struct actions *actions, sqlite3_stmt *stmt, const struct args *out)
{
	int verb = verb_find((const char *)sqlite3_column_text(stmt, VERB));
	const struct verb_info *info = &verb_infos[verb];
	struct action call = {
		.thread = sql_u32(stmt, THREAD),
		.n = (uint64_t)sqlite3_column_int64(stmt, N),
		.kind = info->object,
		.handle = (uint64_t)sqlite3_column_int64(stmt, HANDLE),
	};
	uint64_t lasts = (uint64_t)sqlite3_column_int64(stmt, END_N) - call.n;
	bool create = info->effect != EFFECT_DESTROY;

	call.lasts = lasts < UINT32_MAX ? (uint32_t)lasts : UINT32_MAX;
	call.time = sqlite3_column_int64(stmt, create ? END : BEGIN);
	if (verb == VERB_get_device_list)
		return read_devices(actions, &call, out);
	if (verb == VERB_rdma_get_cm_event)
		return read_request(actions, &call, out);
	if (!call.handle)
		return 0;
	return create ? read_creation(actions, &call, out) : add_destruction(actions, &call);
}

static int read_row(struct actions *actions, sqlite3_stmt *stmt)
{
	const char *json = (const char *)sqlite3_column_text(stmt, OUT);
	struct args *out = json ? args_new(json, strlen(json)) : NULL;
	int err = json && !out ? log_err(-ENOMEM, "read calls") : read_call(actions, stmt, out);

	args_unref(out);
	return err;
}

/*
 * Read all calls that succeeded and make or destroy objects. In one pass: without the "+", SQLite
 * would pass each verb to the table, and search all blocks once for each verb.
 */
static int read_calls(sqlite3 *db, struct actions *actions)
{
	struct text sql = { 0 };
	sqlite3_stmt *stmt = NULL;
	int err;

	text_addf(&sql,
		  "SELECT thread, n, verb, begin, end, end_n, handle, out FROM call"
		  " WHERE failed = 0 AND +verb IN ('%s', '%s'",
		  verb_infos[VERB_get_device_list].name, verb_infos[VERB_rdma_get_cm_event].name);
	for (int v = 0; v < VERB_COUNT; v++)
		if (verb_infos[v].effect == EFFECT_CREATE || verb_infos[v].effect == EFFECT_DESTROY)
			text_addf(&sql, ", '%s'", verb_infos[v].name);
	text_addf(&sql, ")");
	err = sql.failed ? log_err(-ENOMEM, "read calls") : sql_prepare(db, sql.at, &stmt);
	while (!err && (err = sql_step(stmt)) > 0)
		err = read_row(actions, stmt);
	sqlite3_finalize(stmt);
	text_fini(&sql);
	return err;
}

/* Compare actions; @a, @b: their indexes */
static int compare_action_times(const void *a, const void *b, void *actions)
{
	const struct action *x = action_at(actions, *(const uint32_t *)a);
	const struct action *y = action_at(actions, *(const uint32_t *)b);

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return action_end(x) < action_end(y) ? -1 : action_end(x) > action_end(y);
}

uint32_t *actions_sort_indexes(size_t count, void *list,
			       int (*compare)(const void *, const void *, void *))
{
	uint32_t *order = malloc((count + 1) * sizeof(*order));

	for (size_t i = 0; order && i < count; i++)
		order[i] = (uint32_t)i;
	if (order)
		qsort_r(order, count, sizeof(*order), compare, list);
	return order;
}

/* Sort the actions in place: action @order[i] moves to i. */
static void move_actions(struct actions *actions, uint32_t *order)
{
	for (uint32_t i = 0; i < actions->n; i++) {
		struct action first = *action_at(actions, i);
		uint32_t to = i, from;

		while ((from = order[to]) != i) {
			*action_at(actions, to) = *action_at(actions, from);
			order[to] = to;
			to = from;
		}
		*action_at(actions, to) = first;
		order[to] = to;
	}
}

static int sort_actions(struct actions *actions)
{
	uint32_t *order = actions_sort_indexes(actions->n, actions, compare_action_times);

	if (!order)
		return log_err(-ENOMEM, "order %zu calls", actions->n);
	move_actions(actions, order);
	free(order);
	return 0;
}

int actions_read(sqlite3 *db, struct actions *ret_actions)
{
	struct actions actions = { 0 };
	int err = read_calls(db, &actions);

	if (!err)
		err = sort_actions(&actions);
	if (err) {
		actions_fini(&actions);
		return err;
	}
	*ret_actions = actions;
	return 0;
}

void actions_free_until(struct actions *actions, size_t i)
{
	if (i % ACTIONS_BLOCK == ACTIONS_BLOCK - 1)
		free_block(actions, i / ACTIONS_BLOCK);
}

static bool is_name_before(const void *name, const void *creation)
{
	return ((const struct device_name *)name)->creation < *(const uint32_t *)creation;
}

char *actions_take_name(struct actions *actions, uint32_t creation)
{
	size_t at = vec_count_before(actions->names, actions->nnames, sizeof(*actions->names),
				     is_name_before, &creation);
	char *name = NULL;

	if (at < actions->nnames && actions->names[at].creation == creation) {
		name = actions->names[at].name;
		actions->names[at].name = NULL;
	}
	return name;
}

void actions_free_creations(struct actions *actions)
{
	free(actions->creations);
	actions->creations = NULL;
	actions->ncreations = 0;
}

void actions_fini(struct actions *actions)
{
	actions_free_creations(actions);
	for (size_t i = 0; i < actions->nnames; i++)
		free(actions->names[i].name);
	free(actions->names);
	for (size_t i = 0; i < actions->nblocks; i++)
		free_block(actions, i);
	free(actions->blocks);
	*actions = (struct actions){ 0 };
}
