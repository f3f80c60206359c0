/*
 * Views over the tables of a trace
 */
#include "core/store/vtab/views.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/store/db/rank.h"
#include "core/store/db/sql.h"
#include "core/wire/log.h"

/* clang-format off */
#define JSON(json, path) "json_extract(" SQL_SOUND(json) ", '$." path "')"

/*
 * CREATED: the call that created region o. REREG: call p changed what @flag, IBV_REREG_MR_CHANGE_*,
 * names.
 */
#define CREATED(call) call ".thread = o.created_thread AND " call ".n = o.created_n"
#define REREG(flag)   "p.verb = 'ibv_rereg_mr' AND " JSON("p.args", "flags") " & " #flag

/* @value in the last call p on region o, up to call c, that meets @condition. */
#define LAST_OF(value, condition) \
	"(SELECT " value " FROM call p LEFT JOIN ref r" \
	" ON r.thread = p.thread AND r.n = p.n AND r.path = 'pd'" \
	" WHERE p.object = o.id AND NOT p.failed AND p.end <= c.end AND " condition \
	" ORDER BY p.end DESC LIMIT 1)"

#define META(key) "(SELECT value FROM meta WHERE key = '" key "')"

/* The error of a call, returned or left in errno. */
#define ERRNO_OF_CALL "CASE WHEN c.ret BETWEEN 1 AND 4095 THEN c.ret ELSE c.error END"

const struct view views[] = {
	{ "calls",
	  "event TEXT, thread, n, process, begin, end, duration, verb TEXT, object, name TEXT,"
	  " ret, error, failed, depth, ours, stack",
	  "SELECT c.thread || ':' || c.n, c.thread, c.n, c.process, c.begin, c.end,"
	  " c.end - c.begin, c.verb, c.object, o.name, c.ret, c.error, c.failed, c.depth, c.ours,"
	  " c.stack"
	  " FROM call c LEFT JOIN object o ON o.id = c.object",
	  false, NULL },
	{ "mrs",
	  "object, name TEXT, process, pd, addr, length, iova, access, lkey, rkey, since, until,"
	  " event TEXT, verb TEXT, stack",
	  /* a row for the registration, and one for each ibv_rereg_mr() of the region */
	  "SELECT id, name, process, pd, addr, length,"
	  " coalesce(iova, CASE WHEN access & 32 THEN 0 ELSE addr END), access,"
	  " lkey, rkey, since, until, event, verb, stack FROM ("
	  "SELECT o.id, o.name, o.process,"
	  " coalesce(" LAST_OF("r.object", REREG(2)) ", o.parent) AS pd,"
	  " coalesce(" JSON("c.out", "ret.addr") ", " JSON("c.out", "mr.addr") ") AS addr,"
	  " coalesce(" JSON("c.out", "ret.length") ", " JSON("c.out", "mr.length") ")"
	  " AS length,"
	  " " LAST_OF("coalesce(" JSON("p.args", "iova") ","
		      " " JSON("p.args", "mr_init_attr.iova") ")",
		      "(" CREATED("p") " OR " REREG(1) ")") " AS iova,"
	  " " LAST_OF("coalesce(" JSON("p.args", "access") ","
		      " " JSON("p.args", "mr_init_attr.access") ")",
		      "(" CREATED("p") " OR " REREG(4) ")") " AS access,"
	  " coalesce(" JSON("c.out", "ret.lkey") ", " JSON("c.out", "mr.lkey") ","
	  " o.number) AS lkey,"
	  " coalesce(" JSON("c.out", "ret.rkey") ", " JSON("c.out", "mr.rkey") ", o.rkey)"
	  " AS rkey,"
	  " c.end AS since,"
	  " coalesce((SELECT min(p.begin) FROM call p WHERE p.object = o.id"
	  " AND p.verb = 'ibv_rereg_mr' AND NOT p.failed AND p.begin >= c.end), o.destroyed_at)"
	  " AS until,"
	  " c.thread || ':' || c.n AS event, c.verb, c.stack"
	  " FROM object o LEFT JOIN call c ON c.object = o.id AND NOT c.failed"
	  " AND c.end IS NOT NULL AND (" CREATED("c") " OR c.verb = 'ibv_rereg_mr')"
	  " WHERE o.kind = 'mr')",
	  false, NULL },
	{ "failures",
	  "event TEXT, thread, n, i, time, process, kind TEXT, verb TEXT, object, name TEXT, code,"
	  " code_name TEXT, stack",
	  "SELECT c.thread || ':' || c.n, c.thread, c.n, NULL, c.end, c.process, 'call', c.verb,"
	  " c.object, o.name, " ERRNO_OF_CALL ", errno_name(" ERRNO_OF_CALL "), c.stack"
	  " FROM call c LEFT JOIN object o ON o.id = c.object"
	  " WHERE c.failed AND NOT c.depth AND NOT c.ours"
	  " UNION ALL SELECT event(p.thread, p.n), p.thread, p.n,"
	  " CASE WHEN p.bad THEN p.bad - 1 END, p.time, p.process, 'post', p.verb, p.object,"
	  " name(p.object), abs(p.ret), errno_name(abs(p.ret)), p.stack"
	  " FROM post p WHERE p.ret <> 0 AND NOT p.inner"
	  " UNION ALL SELECT event(p.thread, p.n), p.thread, p.n, NULL, p.time, p.process,"
	  " 'poll', p.verb, p.cq, name(p.cq), abs(p.ret), errno_name(abs(p.ret)), p.stack"
	  " FROM poll p WHERE p.ret < 0 AND NOT p.inner"
	  " UNION ALL SELECT event(a.thread, a.n), a.thread, a.n, NULL, a.time, a.process,"
	  " 'notify', 'ibv_req_notify_cq', a.cq, name(a.cq), abs(a.ret),"
	  " errno_name(abs(a.ret)), NULL"
	  " FROM notify a WHERE a.ret <> 0 AND NOT a.inner"
	  " UNION ALL SELECT event(w.thread, w.n), w.thread, w.n, w.i, w.time, w.process,"
	  " 'completion', NULL, w.qp, name(w.qp), w.status, w.status_name, NULL"
	  " FROM wc w WHERE w.status <> 0"
	  " UNION ALL SELECT e.thread || ':' || e.n, e.thread, e.n, NULL, e.time, e.process,"
	  " 'event', NULL, e.object, o.name, NULL, e.type, NULL"
	  " FROM event e LEFT JOIN object o ON o.id = e.object WHERE e.type IN ("
	  "'IBV_EVENT_CQ_ERR', 'IBV_EVENT_QP_FATAL', 'IBV_EVENT_QP_REQ_ERR',"
	  " 'IBV_EVENT_QP_ACCESS_ERR', 'IBV_EVENT_PATH_MIG_ERR', 'IBV_EVENT_DEVICE_FATAL',"
	  " 'IBV_EVENT_PORT_ERR', 'IBV_EVENT_SRQ_ERR', 'IBV_EVENT_WQ_FATAL')",
	  false, NULL },
	{ "posting",
	  "thread, process, posts, first, last",
	  "SELECT thread, process, count(*), min(time), max(time) FROM post WHERE NOT inner"
	  " GROUP BY thread, process",
	  false, NULL },
	{ "ranks",
	  "process, rank, size, local, job TEXT, step TEXT, node TEXT, launcher TEXT",
	  "SELECT * FROM " SQL_RANKS,
	  false, NULL },
	{ "counters",
	  "merged, device TEXT, port, folder TEXT, name TEXT, first, last, change",
	  "SELECT merged, device, port, folder, name, first, last, last - first FROM counter",
	  false, "counter" },
	{ "peers",
	  "object, name TEXT, process, peer, peer_name TEXT, peer_process",
	  "SELECT object, name, process, peer, peer_name, peer_process FROM qps"
	  " WHERE peer IS NOT NULL",
	  true, NULL },
	{ "completions", NULL, "SELECT * FROM wc", false, "wc" },
	{ "processes",
	  "process, pid, ppid, parent, start, end, ending TEXT, status, exe TEXT, cmdline TEXT,"
	  " memlock, memlock_most, nofile, nofile_most, ipc_lock, page_size, rank, size, local,"
	  " job TEXT, step TEXT, node TEXT, launcher TEXT, host TEXT, realtime, duration,"
	  " state TEXT",
	  "SELECT p.id, pid, ppid, nullif(p.parent, 0), start, end, ending,"
	  " nullif(p.status, -1), exe, cmdline, memlock, memlock_most, nofile, nofile_most,"
	  " ipc_lock, page_size, rank, size, local, job, step,"
	  " coalesce(node, process_host(p.id)), launcher, process_host(p.id),"
	  " " META("realtime") ", " META("duration") ", " META("state")
	  " FROM process p LEFT JOIN " SQL_RANKS " r ON r.process = p.id",
	  false, NULL },
	{ "stacks",
	  "stack, process, depth, functions TEXT",
	  "SELECT id, process, depth, stack(id) FROM stack",
	  true, NULL },
	{ "findings",
	  "id, rule TEXT, name TEXT, severity TEXT, event TEXT, thread, n, time, process,"
	  " place TEXT, object TEXT, message TEXT, fingerprint TEXT, count",
	  "SELECT id, rule, name, severity, CASE WHEN thread THEN thread || ':' || n END, thread,"
	  " n, time, process, place, object, message, fingerprint, count FROM finding",
	  false, NULL },
	{ 0 },
};
/* clang-format on */

/* Cut the next column off the list at @at, which is a copy. */
static char *cut_column(char *at, struct computed_column *column)
{
	char *end = at + strcspn(at, ","), *next = *end ? end + strlen(", ") : end;
	char *blank;

	*end = '\0';
	blank = strchr(at, ' ');
	*column = (struct computed_column){ .name = at, .type = blank ? blank + 1 : "INTEGER" };
	if (blank)
		*blank = '\0';
	return next;
}

struct computed_column *view_columns(const char *name)
{
	const struct view *view = views;
	struct computed_column *columns;
	size_t n = 2; /* the last column, and the end of the list */
	char *at;

	while (view->name && strcmp(view->name, name) != 0)
		view++;
	if (!view->columns)
		return NULL;
	for (const char *comma = view->columns; (comma = strchr(comma, ',')); comma++)
		n++;
	columns = calloc(1, n * sizeof(*columns) + strlen(view->columns) + 1);
	if (!columns)
		return NULL;
	at = strcpy((char *)(columns + n), view->columns);
	for (size_t i = 0; *at; i++)
		at = cut_column(at, &columns[i]);
	return columns;
}

/* Does the file have a table or view @name? 1, 0, or -errno after log_err(). */
static int has_table(sqlite3 *db, const char *name)
{
	sqlite3_stmt *stmt;
	int found = sql_prepare(
		db, "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?", &stmt);

	if (found < 0)
		return found;
	sql_bind(stmt, "t", name);
	found = sql_step(stmt);
	sqlite3_finalize(stmt);
	return found;
}

static int create_view(sqlite3 *db, const struct view *view)
{
	struct computed_column *columns = view->columns ? view_columns(view->name) : NULL;
	struct text sql = { 0 };
	int err = view->columns && view->table ? has_table(db, view->table) : 1;

	if (view->columns && !columns)
		return log_err(-ENOMEM, "views");
	text_addf(&sql, "CREATE TEMP VIEW IF NOT EXISTS %s", view->name);
	for (int c = 0; columns && columns[c].name; c++)
		text_addf(&sql, "%s%s", c ? ", " : "(", columns[c].name);
	text_addf(&sql, "%s AS %s", columns ? ")" : "", view->select);
	free(columns);
	if (err <= 0) {
		text_fini(&sql);
		return err;
	}
	err = sql.failed ? log_err(-ENOMEM, "views") : sql_exec(db, sql.at);
	text_fini(&sql);
	return err;
}

/* May @query use the view? Also if it asks for the schema. */
static bool may_use(const char *query, const char *view)
{
	return strcasestr(query, view) || strcasestr(query, "sqlite_") ||
	       strcasestr(query, "pragma");
}

int views_create(sqlite3 *db, bool model, const char *query)
{
	int err = 0;

	for (const struct view *view = views; view->name && !err; view++)
		if ((!view->model || model) && (!query || may_use(query, view->name)))
			err = create_view(db, view);
	return err;
}
