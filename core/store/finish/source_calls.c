/*
 * The calls of a trace from which other tables are derived
 */
#include "core/store/finish/source_calls.h"

#include <errno.h>
#include <string.h>

#include "core/base/text.h"
#include "core/wire/log.h"

static struct args *read_args(sqlite3_stmt *stmt, int column, int *err)
{
	const char *json = (const char *)sqlite3_column_text(stmt, column);
	struct args *args = json ? args_new(json, strlen(json)) : NULL;

	if (json && !args)
		*err = -ENOMEM;
	return args;
}

static int64_t place_time(const struct source_calls *from, int64_t time)
{
	return from->place_time && time != INT64_MAX ? from->place_time(from->arg, time) : time;
}

static int read_call(const struct source_calls *from, sqlite3_stmt *stmt,
		     int (*each)(void *arg, const struct source_call *told), void *arg)
{
	int verb = verb_find((const char *)sqlite3_column_text(stmt, 2)), err = 0;
	struct args *args = read_args(stmt, 7, &err), *out = read_args(stmt, 8, &err);
	struct source_call told = { .id = { from->threads + sql_u32(stmt, 0),
					    (uint64_t)sqlite3_column_int64(stmt, 1) },
				    .verb = verb < 0 ? VERB_COUNT : (enum verb)verb,
				    .process = from->processes + sql_u32(stmt, 3),
				    .object = from->objects + sql_u32(stmt, 4),
				    .begin = place_time(from, sql_time(stmt, 5)),
				    .end = place_time(from, sql_time_or(stmt, 6, INT64_MAX)),
				    .args = args,
				    .out = out };

	err = err ?: args_parse(args) ?: args_parse(out) ?: each(arg, &told);
	args_unref(args);
	args_unref(out);
	return err;
}

int source_calls_each(const struct source_calls *from, bool (*is_wanted)(enum verb verb),
		      const char *condition, int (*each)(void *arg, const struct source_call *told),
		      void *arg)
{
	const char *comma = "";
	struct text sql = { 0 };
	sqlite3_stmt *stmt = NULL;
	int err;

	text_addf(&sql, "SELECT thread, n, verb, process, object, begin, end, args, out FROM call"
			" WHERE failed IS NOT 1 AND object > 0 AND verb IN (");
	for (int v = 0; v < VERB_COUNT; v++)
		if (is_wanted((enum verb)v)) {
			text_addf(&sql, "%s'%s'", comma, verb_infos[v].name);
			comma = ", ";
		}
	text_addf(&sql, ") AND %s ORDER BY begin, thread, n", condition ?: "true");
	err = sql.failed ? log_err(-ENOMEM, "read calls") : sql_prepare(from->db, sql.at, &stmt);
	while (!err && (err = sql_step(stmt)) > 0)
		err = read_call(from, stmt, each, arg);
	sqlite3_finalize(stmt);
	text_fini(&sql);
	return err == -ENOMEM ? log_err(err, "read calls") : err;
}
