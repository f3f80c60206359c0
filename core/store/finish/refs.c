/*
 * Resolving the handles in other tables to objects
 *
 * A handle that a call takes is resolved at the begin of the call, one that it
 * returns at its end.
 */
#include "core/store/finish/refs.h"

#include <errno.h>
#include <string.h>

#include "core/store/chunk/call_block.h"
#include "core/wire/log.h"

/*
 * The object of a handle that @call uses. A call inside the creation of an object
 * may use its handle before the creation returns: then it is the next object created at that
 * address.
 */
static const struct object *find_intended(const struct objects *objects, uint32_t process, int kind,
					  uint64_t handle, int64_t time, struct event_id call,
					  int depth)
{
	const struct object *o, *next;

	if (kind < 0)
		return NULL;
	o = objects_at(objects, process, (enum object_kind)kind, handle, time);
	if (!depth || (o && o->destroyed_at >= time))
		return o;
	next = objects_after(objects, process, (enum object_kind)kind, handle, time);
	return next && next->created.thread == call.thread && next->created.n < call.n ? next : o;
}

struct unresolved_row {
	struct event_id id;
	uint32_t process;
	int kind;
	uint64_t handle;
	int64_t time;
	int depth;
};

/*
 * For each row of @select (thread, n, process, kind, handle, time, depth, key) run @update (object,
 * thread, n, key). The key identifies the row among those of an event.
 */
static int resolve_refs(sqlite3 *db, const struct objects *objects, const char *select,
			const char *update)
{
	sqlite3_stmt *from, *to = NULL;
	int err = sql_prepare(db, select, &from);

	if (!err)
		err = sql_prepare(db, update, &to);
	while (!err && (err = sql_step(from)) > 0) {
		const char *kind = (const char *)sqlite3_column_text(from, 3);
		struct unresolved_row r = { { sql_u32(from, 0),
					      (uint64_t)sqlite3_column_int64(from, 1) },
					    sql_u32(from, 2),
					    kind ? object_find(kind) : -1,
					    (uint64_t)sqlite3_column_int64(from, 4),
					    sqlite3_column_int64(from, 5),
					    sqlite3_column_int(from, 6) };
		const struct object *o =
			find_intended(objects, r.process, r.kind, r.handle, r.time, r.id, r.depth);

		err = 0;
		if (!o)
			continue;
		sqlite3_bind_value(to, 4, sqlite3_column_value(from, 7));
		err = sql_run(to, "uui", o->id, r.id.thread, r.id.n);
	}
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return err;
}

static void kind_of_verb(sqlite3_context *context, int n, sqlite3_value **values)
{
	const char *name = (const char *)sqlite3_value_text(values[0]);
	int verb = name ? verb_find(name) : -1;

	(void)n;
	if (verb >= 0)
		sqlite3_result_text(context, object_names[verb_infos[verb].object], -1,
				    SQLITE_STATIC);
}

/* The handle in `call`: of the object that the verb acts on, or of the object that it created. */
static const char calls[] =
	"SELECT thread, n, process, kind_of_verb(verb), handle,"
	" CASE WHEN failed = 0 AND makes(verb) THEN end ELSE begin END, depth, 0"
	" FROM main.call WHERE handle IS NOT NULL";

static void makes_object(sqlite3_context *context, int n, sqlite3_value **values)
{
	const char *name = (const char *)sqlite3_value_text(values[0]);
	int verb = name ? verb_find(name) : -1;

	(void)n;
	sqlite3_result_int(context, verb >= 0 && verb_infos[verb].effect == EFFECT_CREATE);
}

/* Calls in blocks */

static uint32_t find_id(const struct objects *objects, uint32_t thread, const struct call_row *row,
			int kind, uint64_t handle, int64_t time)
{
	const struct object *o =
		handle ? find_intended(objects, row->process, kind, handle, time,
				       (struct event_id){ thread, row->n }, (int)row->depth)
		       : NULL;

	return o ? o->id : 0;
}

/* Blocks are read one after the other, so that only one is in memory. */
struct blocks {
	const struct objects *objects;
	struct call_block block;
	struct shapes_packer packer;
	sqlite3_stmt *from, *to;
};

/* Returns the object of the call. */
static uint32_t resolve_call(struct blocks *b, uint32_t thread, uint32_t process, uint32_t i)
{
	struct call_row row;
	bool makes;
	int verb;

	call_block_row(&b->block, i, &row);
	row.process = process;
	verb = verb_find(row.verb);
	makes = verb >= 0 && verb_infos[verb].effect == EFFECT_CREATE && !row.failed;
	row.object = find_id(b->objects, thread, &row, verb < 0 ? -1 : (int)verb_infos[verb].object,
			     row.handle, makes ? row.end : row.begin);
	if (verb == VERB_ack_async_event)
		/*
		 * the objects in an output are resolved when the call ends; the object of the call
		 * itself is that of the acknowledged event
		 */
		row.object = 0;
	for (size_t k = 0; k < row.nrefs; k++) {
		struct ref_row ref = call_block_ref(&b->block, i, k);
		uint32_t object =
			find_id(b->objects, thread, &row, object_find(ref.kind), ref.handle,
				strncmp(ref.path, "out.", 4) ? row.begin : row.end);

		call_block_set_ref(&b->block, i, k, object);
		if (verb == VERB_ack_async_event && !strcmp(ref.path, "event.element"))
			row.object = object;
	}
	call_block_set_object(&b->block, i, row.object);
	return row.object;
}

static int resolve_block(struct blocks *b, uint32_t thread, uint64_t first_n, uint32_t process)
{
	uint32_t least = 0, most = 0;
	int err;

	for (uint32_t i = 0; i < b->block.calls; i++) {
		uint32_t object = resolve_call(b, thread, process, i);

		if (object && (!least || object < least))
			least = object;
		most = object > most ? object : most;
	}
	err = call_block_pack(&b->block, &b->packer);
	return err ? log_err(err, "find the objects of calls")
		   : sql_run(b->to, "uiuub", thread, first_n, least, most, b->packer.block.at,
			     b->packer.block.used);
}

static int resolve_next(struct blocks *b, uint32_t *thread, uint64_t *first_n)
{
	uint32_t process;
	int err;

	sql_bind(b->from, "ui", *thread, *first_n);
	err = sql_step(b->from);
	if (err <= 0)
		return err;
	*thread = sql_u32(b->from, 0);
	*first_n = (uint64_t)sqlite3_column_int64(b->from, 1);
	process = sql_u32(b->from, 2);
	err = call_block_read(&b->block, sqlite3_column_blob(b->from, 3),
			      (size_t)sqlite3_column_bytes(b->from, 3));
	sqlite3_reset(b->from);
	if (err)
		return log_err(err == -EBADMSG ? -EINVAL : err, "read a block of calls");
	return resolve_block(b, *thread, *first_n, process) ?: 1;
}

static int resolve_blocks(sqlite3 *db, const struct objects *objects)
{
	struct blocks b = { .objects = objects };
	uint64_t first_n = 0;
	uint32_t thread = 0;
	int err = sql_prepare(db,
			      "SELECT thread, first_n, (SELECT process FROM thread t"
			      "  WHERE t.id = call_chunk.thread), data FROM call_chunk"
			      " WHERE (thread, first_n) > (?1, ?2) ORDER BY thread, first_n"
			      " LIMIT 1",
			      &b.from);
	if (!err)
		err = sql_prepare(db,
				  "UPDATE call_chunk SET least = ?3, most = ?4, data = ?5"
				  " WHERE thread = ?1 AND first_n = ?2",
				  &b.to);
	if (!err)
		do
			err = resolve_next(&b, &thread, &first_n);
		while (err > 0);
	sqlite3_finalize(b.from);
	sqlite3_finalize(b.to);
	call_block_fini(&b.block);
	shapes_packer_fini(&b.packer);
	return err;
}

int refs_resolve(sqlite3 *db, const struct objects *objects)
{
	static const char *const pairs[][2] = {
		{ calls, "UPDATE main.call SET object = ?1 WHERE thread = ?2 AND n = ?3" },
		{ "SELECT r.thread, r.n, c.process, r.kind, r.handle,"
		  " CASE WHEN r.path GLOB 'out.*' THEN c.end ELSE c.begin END, c.depth, r.path"
		  " FROM main.ref r JOIN main.call c ON c.thread = r.thread AND c.n = r.n",
		  "UPDATE main.ref SET object = ?1 WHERE thread = ?2 AND n = ?3 AND path = ?4" },
		{ "SELECT thread, handle, process, 'cq', handle, last, 0, life FROM poll_count",
		  "UPDATE poll_count SET cq = ?1 WHERE thread = ?2 AND handle = ?3 AND life = ?4" },
		{ "SELECT thread, n, process, CASE what WHEN 'extended-qp' THEN 'qp'"
		  " WHEN 'extended-cq' THEN 'cq' WHEN 'wq' THEN 'wq' WHEN 'dm' THEN 'dm' END,"
		  " handle, time, 1, rowid FROM coverage WHERE handle IS NOT NULL",
		  "UPDATE coverage SET object = ?1 WHERE thread = ?2 AND n = ?3 AND rowid = ?4" },
	};
	int err = 0;

	sqlite3_create_function(db, "kind_of_verb", 1, SQLITE_UTF8, NULL, kind_of_verb, NULL, NULL);
	sqlite3_create_function(db, "makes", 1, SQLITE_UTF8, NULL, makes_object, NULL, NULL);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs) && !err; i++)
		err = resolve_refs(db, objects, pairs[i][0], pairs[i][1]);
	if (!err)
		err = resolve_blocks(db, objects);
	if (!err)
		err = sql_exec(db, "UPDATE event SET object = (SELECT object FROM ref r WHERE"
				   " r.thread = event.thread AND r.n = event.n AND"
				   " r.path = 'out.event.element');"
				   "UPDATE main.call SET object = (SELECT object FROM main.ref r"
				   " WHERE r.thread = call.thread AND r.n = call.n AND"
				   " r.path = 'event.element') WHERE verb = 'ibv_ack_async_event'");
	return err;
}
