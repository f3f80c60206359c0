/*
 * The data plane of a merged trace
 *
 * Chunks are copied one by one. An unpacked trace has none: it is first copied into a trace with
 * chunks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/store/chunk/payload.h"
#include "core/store/chunk/place.h"
#include "core/store/db/file.h"
#include "core/store/excerpt/excerpt.h"
#include "core/store/merge/merge_priv.h"
#include "core/store/read/trace_priv.h"
#include "core/wire/log.h"

static int64_t place_time(const void *arg, int64_t time)
{
	return merge_time(arg, time);
}

static int fail_chunk(const struct merge_part *part, int err, const char *what)
{
	if (err == -EBADMSG)
		return log_why(-EINVAL, "%s is damaged: %s cannot be read", part->joint->path,
			       what);
	return err ? log_err(err, "merge traces") : 0;
}

static int put_chunk(const struct merge_part *part, struct placer *placer, sqlite3_stmt *from,
		     sqlite3_stmt *to)
{
	int err = placer_place(placer, sqlite3_column_blob(from, 4),
			       (size_t)sqlite3_column_bytes(from, 4), place_time, part,
			       part->joint->stacks);

	if (err)
		return fail_chunk(part, err, "posts and polls");
	return sql_run(to, "uiiiiib", sql_u32(from, 0) + part->joint->ids.threads,
		       sqlite3_column_int64(from, 1), sqlite3_column_int64(from, 2), placer->begin,
		       placer->end, sqlite3_column_int64(from, 3), placer->packer.bytes,
		       placer->packer.used);
}

static int copy_chunks(struct merge *merge, const struct merge_part *part, sqlite3 *db)
{
	sqlite3_stmt *from = NULL, *to = NULL;
	struct placer placer = { 0 };
	int err = sql_prepare(
		db, "SELECT thread, first_n, last_n, events, data FROM chunk ORDER BY id", &from);

	if (!err)
		err = sql_prepare(merge->to, "INSERT INTO chunk VALUES(NULL, ?, ?, ?, ?, ?, ?, ?)",
				  &to);
	while (!err && (err = sql_step(from)) > 0)
		err = put_chunk(part, &placer, from, to);
	placer_fini(&placer);
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return err;
}

static int put_payloads(const struct merge_part *part, struct payload_rows *rows,
			sqlite3_stmt *from, sqlite3_stmt *to)
{
	int err = payload_unpack(sqlite3_column_blob(from, 7),
				 (size_t)sqlite3_column_bytes(from, 7), rows);
	uint8_t *data;
	size_t size;

	for (size_t i = 0; !err && i < rows->nrows; i++)
		rows->rows[i].time = merge_time(part, rows->rows[i].time);
	if (!err)
		err = payload_pack(rows, &data, &size);
	if (err)
		return fail_chunk(part, err, "a chunk of payloads");
	err = sql_run(to, "uiiiiiib", sql_u32(from, 0) + part->joint->ids.threads,
		      sqlite3_column_int64(from, 1), sqlite3_column_int64(from, 2),
		      merge_time(part, sqlite3_column_int64(from, 3)),
		      merge_time(part, sqlite3_column_int64(from, 4)),
		      sqlite3_column_int64(from, 5), sqlite3_column_int64(from, 6), data, size);
	free(data);
	return err;
}

static int copy_payloads(struct merge *merge, const struct merge_part *part, sqlite3 *db)
{
	static const char all[] = "SELECT thread, first_n, last_n, begin, end, events, bytes, data"
				  " FROM payload_chunk ORDER BY id";
	struct payload_rows rows = { 0 };
	sqlite3_stmt *from = NULL, *to = NULL;
	int err = sql_prepare(db, all, &from);

	if (!err)
		err = sql_prepare(merge->to,
				  "INSERT INTO payload_chunk VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
				  &to);
	while (!err && (err = sql_step(from)) > 0)
		err = put_payloads(part, &rows, from, to);
	payload_rows_fini(&rows);
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return err;
}

static int copy_all(struct merge *merge, const struct merge_part *part, sqlite3 *db)
{
	return copy_chunks(merge, part, db) ?: copy_payloads(merge, part, db);
}

static int copy_unpacked(struct merge *merge, const struct merge_part *part)
{
	const struct excerpt all = {
		.until = EXCERPT_ALL.until, .cut = INT64_MIN, .what = "all", .scratch = true
	};
	char path[4200];
	sqlite3 *db = NULL;
	int err;

	snprintf(path, sizeof(path), "%s.packed", merge->beside);
	err = excerpt_write(part->joint->trace, &all, path, NULL);
	if (err)
		return err;
	err = sql_open(path, SQLITE_OPEN_READONLY, &db) ?: copy_all(merge, part, db);
	sqlite3_close(db);
	file_remove(path);
	return err;
}

int merge_copy_data(struct merge *merge, const struct merge_part *part)
{
	return part->joint->trace->plain ? copy_unpacked(merge, part)
					 : copy_all(merge, part, part->db);
}
