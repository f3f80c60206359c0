/*
 * Resolving the handles in other tables to objects
 *
 * A handle that a call takes is resolved at the begin of the call, one that it
 * returns at its end.
 */
#include "core/store/finish/refs.h"

#include <string.h>

/*
 * The object of a handle that @call uses. A call inside the creation of an object
 * may use its handle before the creation returns: then it is the next one made.
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

struct row {
	struct event_id id;
	uint32_t process;
	int kind;
	uint64_t handle;
	int64_t time;
	int depth;
};

/*
 * For each row of @select (thread, n, process, kind, handle, time, depth, key) run
 * @update (object, thread, n, key). The key tells the row from others of the same
 * event.
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
		struct row r = { { sql_u32(from, 0), (uint64_t)sqlite3_column_int64(from, 1) },
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

/* The handle in `call` is the object that the verb acts on, or the one that it made. */
static const char calls[] =
	"SELECT thread, n, process, kind_of_verb(verb), handle,"
	" CASE WHEN failed = 0 AND makes(verb) THEN end ELSE begin END, depth, 0"
	" FROM call WHERE handle IS NOT NULL";

static void makes_object(sqlite3_context *context, int n, sqlite3_value **values)
{
	const char *name = (const char *)sqlite3_value_text(values[0]);
	int verb = name ? verb_find(name) : -1;

	(void)n;
	sqlite3_result_int(context, verb >= 0 && verb_infos[verb].effect == EFFECT_CREATE);
}

int refs_resolve(sqlite3 *db, const struct objects *objects)
{
	static const char *const pairs[][2] = {
		{ calls, "UPDATE call SET object = ?1 WHERE thread = ?2 AND n = ?3" },
		{ "SELECT r.thread, r.n, c.process, r.kind, r.handle,"
		  " CASE WHEN r.path GLOB 'out.*' THEN c.end ELSE c.begin END, c.depth, r.path"
		  " FROM ref r JOIN call c ON c.thread = r.thread AND c.n = r.n",
		  "UPDATE ref SET object = ?1 WHERE thread = ?2 AND n = ?3 AND path = ?4" },
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
		err = sql_exec(db, "UPDATE event SET object = (SELECT object FROM ref r WHERE"
				   " r.thread = event.thread AND r.n = event.n AND"
				   " r.path = 'out.event.element');"
				   "UPDATE call SET object = (SELECT object FROM ref r WHERE"
				   " r.thread = call.thread AND r.n = call.n AND"
				   " r.path = 'event.element') WHERE verb = 'ibv_ack_async_event'");
	return err;
}
