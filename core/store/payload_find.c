/*
 * The payload of a request or a completion
 *
 * Of each thread the chunk that was looked into last is kept, since a cursor
 * goes from thread to thread; of threads that share a place, the last one's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/payload.h"
#include "core/store/trace_int.h"
#include "core/wire/log.h"
#include "core/wire/payload.h"

enum { PLACES = 64 };

struct finder {
	bool any;              /* there are payloads */
	sqlite3_stmt *chunks;  /* ids that may have an event; or, unpacked, its row */
	sqlite3_stmt *chunk;
	struct place {
		int64_t id;    /* of the chunk; 0: none */
		struct payload_rows rows;
	} places[PLACES];
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
		err = sql_prepare(trace->db, "SELECT kind, length, before, hash, why, bytes FROM"
					     " payload WHERE thread = ? AND n = ? AND i = ?",
				  &f->chunks);
	else
		err = sql_prepare(trace->db, "SELECT id FROM payload_chunk WHERE thread = ?1"
					     " AND first_n <= ?2 AND last_n >= ?2", &f->chunks);
	if (!err && !trace->plain)
		err = sql_prepare(trace->db, "SELECT data FROM payload_chunk WHERE id = ?",
				  &f->chunk);
	f->any = !err && sql_int(trace->db, trace->plain ?
				 "SELECT EXISTS (SELECT 1 FROM payload)" :
				 "SELECT EXISTS (SELECT 1 FROM payload_chunk)", 0);
	return err;
}

void trace_payloads_fini(struct trace *trace)
{
	struct finder *f = trace->finder;

	if (!f)
		return;
	sqlite3_finalize(f->chunks);
	sqlite3_finalize(f->chunk);
	for (int i = 0; i < PLACES; i++)
		payload_rows_fini(&f->places[i].rows);
	free(f);
	trace->finder = NULL;
}

bool trace_has_payloads(struct trace *trace)
{
	if (!trace->finder && finder_new(trace))
		return false;
	return trace->finder->any;
}

static int by_event(const void *a, const void *b)
{
	const struct payload_row *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

static int load(struct finder *f, struct place *place, int64_t id)
{
	int err;

	if (place->id == id)
		return 0;
	place->id = 0;
	sql_bind(f->chunk, "i", id);
	err = sql_step(f->chunk);
	if (err > 0)
		err = payload_unpack(sqlite3_column_blob(f->chunk, 0),
				     (size_t)sqlite3_column_bytes(f->chunk, 0), &place->rows);
	sqlite3_reset(f->chunk);
	if (err == -EBADMSG)
		return log_err(-EINVAL, "payload chunk %lld is damaged", (long long)id);
	if (err)
		return err;
	qsort(place->rows.rows, place->rows.nrows, sizeof(*place->rows.rows), by_event);
	place->id = id;
	return 0;
}

static void give(const struct payload_rows *rows, const struct payload_row *row,
		 struct payload *payload)
{
	*payload = (struct payload){
		.kind = payload_kind_text(row->kind), .why = payload_why_text(row->why),
		.total = row->total, .before = row->before, .nbytes = row->bytes,
		.bytes = rows->bytes + row->at, .hashed = row->hashed, .hash = row->hash,
	};
}

static bool look(const struct place *place, struct event_id id, uint32_t i,
		 struct payload *ret_payload)
{
	const struct payload_row key = { .n = id.n, .i = i };
	const struct payload_row *row = !place->rows.nrows ? NULL :
		bsearch(&key, place->rows.rows, place->rows.nrows, sizeof(key), by_event);

	if (row)
		give(&place->rows, row, ret_payload);
	return row;
}

static int find(struct finder *f, struct event_id id, uint32_t i, struct payload *ret_payload)
{
	struct place *place = &f->places[id.thread % PLACES];
	int found = 0, err;

	sql_bind(f->chunks, "ui", id.thread, (int64_t)id.n);
	while (!found && (err = sql_step(f->chunks)) > 0) {
		err = load(f, place, sqlite3_column_int64(f->chunks, 0));
		if (err)
			break;
		found = look(place, id, i, ret_payload);
	}
	sqlite3_reset(f->chunks);
	return found ? 1 : err;
}

/* What a row of the plain table says; texts and bytes are kept until the next one. */
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
		.hashed = hash, .hash = hash ? strtoull(hash, NULL, 16) : 0,
		.why = (const char *)sqlite3_column_text(row, 4),
		.bytes = sqlite3_column_blob(row, 5),
		.nbytes = (uint64_t)sqlite3_column_bytes(row, 5),
	};
	if (ret_payload->nbytes > ret_payload->total || ret_payload->before > ret_payload->total)
		return log_err(-EINVAL, "table payload: impossible lengths");
	return 1;
}

int trace_payload(struct trace *trace, struct event_id id, uint32_t i, struct payload *ret_payload)
{
	if (!trace_has_payloads(trace))
		return 0;
	return trace->plain ? find_plain(trace->finder, id, i, ret_payload) :
			      find(trace->finder, id, i, ret_payload);
}
