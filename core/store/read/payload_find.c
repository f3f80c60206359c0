/*
 * The payload of a request or a completion
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/read/payload_read.h"
#include "core/store/read/part.h"
#include "core/store/read/trace_priv.h"
#include "core/wire/log.h"
#include "core/wire/payload.h"

struct finder {
	bool any; /* the trace has payloads */
	/* finds the chunks that may have an event; in an unpacked trace, the row of the event */
	sqlite3_stmt *chunks;
	struct payload_reader reader;
};

static bool has_table(sqlite3 *db, const char *name)
{
	char sql[128];

	sqlite3_snprintf(sizeof(sql), sql,
			 "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '%s'",
			 name);
	return sql_int(db, sql, 0);
}

static int finder_new(struct trace *trace)
{
	const char *table = trace->plain ? "payload" : "payload_chunk";
	struct finder *f = calloc(1, sizeof(*f));
	int err = 0;

	if (!f)
		return log_err(-ENOMEM, "read payloads");
	trace->finder = f;
	if (!has_table(trace->db, table))
		return 0;
	if (trace->plain)
		err = sql_prepare(trace->db,
				  "SELECT kind, length, before, hash, why, bytes FROM"
				  " payload WHERE thread = ? AND n = ? AND i = ?",
				  &f->chunks);
	else
		err = sql_prepare(trace->db,
				  "SELECT id FROM payload_chunk WHERE thread = ?1"
				  " AND first_n <= ?2 AND last_n >= ?2",
				  &f->chunks);
	if (!err && !trace->plain)
		err = payload_reader_init(&f->reader, trace->db);
	f->any = !err && sql_int(trace->db,
				 trace->plain ? "SELECT EXISTS (SELECT 1 FROM payload)"
					      : "SELECT EXISTS (SELECT 1 FROM payload_chunk)",
				 0);
	return err;
}

void trace_payloads_fini(struct trace *trace)
{
	struct finder *f = trace->finder;

	if (!f)
		return;
	sqlite3_finalize(f->chunks);
	payload_reader_fini(&f->reader);
	free(f);
	trace->finder = NULL;
}

bool trace_has_payloads(struct trace *trace)
{
	for (size_t i = 0; trace->joint && i < trace->joint->n; i++)
		if (trace_has_payloads(trace->joint->parts[i].trace))
			return true;
	if (trace->joint)
		return false;
	if (!trace->finder && finder_new(trace))
		return false;
	return trace->finder->any;
}

static void fill_payload_from(const struct payload_rows *rows, const struct payload_row *row,
			      struct payload *payload)
{
	*payload = (struct payload){
		.kind = payload_kind_text(row->kind),
		.why = payload_why_text(row->why),
		.total = row->total,
		.before = row->before,
		.nbytes = row->bytes,
		.bytes = rows->bytes + row->at,
		.hashed = row->hashed,
		.hash = row->hash,
	};
}

static int find_row(struct finder *f, struct event_id id, uint32_t i, struct payload *ret_payload)
{
	const struct payload_rows *rows;
	int found = 0, err;

	sql_bind(f->chunks, "ui", id.thread, (int64_t)id.n);
	while (!found && (err = sql_step(f->chunks)) > 0) {
		size_t at;

		err = payload_reader_read(&f->reader, id.thread, sqlite3_column_int64(f->chunks, 0),
					  &rows);
		if (err)
			break;
		at = payload_rows_before(rows, id.n, i);
		found = at < rows->nrows && rows->rows[at].n == id.n && rows->rows[at].i == i;
		if (found)
			fill_payload_from(rows, &rows->rows[at], ret_payload);
	}
	sqlite3_reset(f->chunks);
	return found ? 1 : err;
}

/* Read a row of the plain table; its texts and bytes are valid until the next row is read. */
static int find_plain(struct finder *f, struct event_id id, uint32_t i, struct payload *ret_payload)
{
	sqlite3_stmt *row = f->chunks;
	const char *hash;
	int more;

	sqlite3_reset(row);
	sql_bind(row, "uiu", id.thread, (int64_t)id.n, i);
	more = sql_step(row);
	if (more <= 0)
		return more;
	hash = (const char *)sqlite3_column_text(row, 3);
	*ret_payload = (struct payload){
		.kind = (const char *)sqlite3_column_text(row, 0),
		.total = (uint64_t)sqlite3_column_int64(row, 1),
		.before = (unsigned int)sqlite3_column_int(row, 2),
		.hashed = hash,
		.hash = hash ? strtoull(hash, NULL, 16) : 0,
		.why = (const char *)sqlite3_column_text(row, 4),
		.bytes = sqlite3_column_blob(row, 5),
		.nbytes = (uint64_t)sqlite3_column_bytes(row, 5),
	};
	if (ret_payload->nbytes > ret_payload->total || ret_payload->before > ret_payload->total)
		return log_why(-EINVAL, "table payload: invalid lengths");
	return 1;
}

int trace_payload(struct trace *trace, struct event_id id, uint32_t i, struct payload *ret_payload)
{
	if (trace->joint) {
		const struct joint_part *part = joint_of_thread(trace->joint, id.thread);

		id.thread -= part->ids.threads;
		return trace_payload(part->trace, id, i, ret_payload);
	}
	if (!trace_has_payloads(trace))
		return 0;
	return trace->plain ? find_plain(trace->finder, id, i, ret_payload)
			    : find_row(trace->finder, id, i, ret_payload);
}
