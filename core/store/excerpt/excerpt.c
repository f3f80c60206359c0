/*
 * Writing an excerpt
 *
 *	excerpt_rows.c       calls, forks, marks, ... that are included, unchanged
 *	excerpt_data.c       posts and polls
 *	excerpt_payload.c    their payload
 *	excerpt_rest.c       objects, processes, modules to which the others refer
 */
#include "core/store/excerpt/excerpt_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/store/db/call_pack.h"
#include "core/store/db/row_tables.h"
#include "core/store/db/file.h"
#include "core/store/db/schema.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

int excerpt_find(struct trace *trace, struct event_id id, bool begin,
		 struct excerpt_place *ret_place)
{
	static const char sql[] =
		"SELECT end, end_n FROM call WHERE thread = ?1 AND (n = ?2 OR end_n = ?2)"
		" AND end NOT NULL AND NOT ?3"
		" UNION ALL SELECT begin, n FROM call WHERE thread = ?1 AND (n = ?2 OR end_n = ?2)"
		" AND (?3 OR end IS NULL)"
		" UNION ALL SELECT time, n FROM post WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time, n FROM poll WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time, n FROM notify WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time, n FROM mark WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time, n FROM memory WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time, n FROM fork WHERE thread = ?1 AND n = ?2 LIMIT 1";
	sqlite3_stmt *stmt;
	int err = sql_prepare(trace_db(trace), sql, &stmt);

	if (err)
		return err;
	sql_bind(stmt, "uid", id.thread, id.n, (int)begin);
	err = sql_step(stmt);
	if (err > 0)
		*ret_place = (struct excerpt_place){
			sql_time(stmt, 0), { id.thread, (uint64_t)sqlite3_column_int64(stmt, 1) }
		};
	sqlite3_finalize(stmt);
	return err;
}

/* The file */

static int fill_excerpt(struct excerpt_copy *copy)
{
	int err = schema_create_part(copy->to);

	if (!err)
		err = call_pack_begin(copy->to) ?: row_tables_begin(copy->to);
	if (!err)
		err = sql_prepare(copy->to,
				  "SELECT end NOT NULL FROM call WHERE thread = ? AND n = ?",
				  &copy->call);
	if (!err)
		err = excerpt_copy_rows(copy);
	for (uint32_t t = 1; t <= copy->nthreads && !err; t++)
		err = excerpt_copy_data(copy, t);
	if (!err)
		err = excerpt_complete(copy);
	return err ?: sql_exec(copy->to, "COMMIT");
}

static int init_copy(struct excerpt_copy *copy)
{
	uint32_t n = 0;
	int err = sql_max_id(copy->from, "stack", &n);

	if (err)
		return err;
	copy->nstacks = n;
	while (trace_thread(copy->trace, copy->nthreads + 1))
		copy->nthreads++;
	copy->stacks = calloc(n + 1ul, sizeof(*copy->stacks));
	copy->events = calloc(copy->nthreads + 1ul, sizeof(*copy->events));
	copy->plain = sql_int(copy->from,
			      "SELECT count(*) FROM sqlite_master WHERE type = 'table'"
			      " AND name = 'wc'",
			      0);
	copy->has_payload = trace_has_payloads(copy->trace);
	return copy->stacks && copy->events ? 0 : log_err(-ENOMEM, "copy an excerpt of the trace");
}

static void fini_copy(struct excerpt_copy *copy)
{
	sqlite3_finalize(copy->call);
	sqlite3_close(copy->to);
	free(copy->stacks);
	free(copy->events);
}

static int write_part_file(struct excerpt_copy *copy, const char *beside)
{
	return sql_open(beside, SQLITE_OPEN_READWRITE, &copy->to) ?: fill_excerpt(copy);
}

static void measure_copy(const struct excerpt_copy *copy, struct excerpt_size *ret_size)
{
	*ret_size = (struct excerpt_size){
		.of = trace_events(copy->trace),
		.objects = (uint32_t)sql_int(copy->to, "SELECT count(*) FROM object", 0),
		.of_objects = (uint32_t)sql_int(copy->from, "SELECT count(*) FROM object", 0),
	};
	for (uint32_t i = 0; i < copy->nthreads; i++)
		ret_size->events += copy->events[i];
}

int excerpt_write(struct trace *trace, const struct excerpt *excerpt, const char *to,
		  struct excerpt_size *ret_size)
{
	struct excerpt_copy copy = { .trace = trace,
				     .excerpt = excerpt,
				     .from = trace_db(trace),
				     .path = sqlite3_db_filename(trace_db(trace), "main") };
	char beside[FILE_BESIDE];
	int err = file_make_beside(to, beside);

	if (err)
		return err;
	err = init_copy(&copy);
	if (!err)
		err = write_part_file(&copy, beside);
	if (!err && ret_size)
		measure_copy(&copy, ret_size);
	fini_copy(&copy);
	if (!err && excerpt->scratch)
		file_remove(to); /* an earlier excerpt is replaced, without a copy as *.old */
	if (!err)
		err = file_replace(beside, to, !excerpt->scratch);
	if (err)
		file_remove(beside);
	return err;
}
