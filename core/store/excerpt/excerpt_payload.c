/*
 * The bytes of messages of an excerpt
 *
 * The bytes of an included request or completion are copied, with the row's new index.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/chunk/payload.h"
#include "core/store/excerpt/excerpt_priv.h"
#include "core/wire/log.h"
#include "core/wire/payload.h"

struct copy_payload {
	struct excerpt_copy *copy;
	const struct excerpt_included *kept;
	uint32_t thread;
	struct payload_rows in, out;
	sqlite3_stmt *insert;
};

static bool is_run_before(const void *run, const void *n)
{
	return ((const struct excerpt_run *)run)->last < *(const uint64_t *)n;
}

static bool is_row_before(const void *row, const void *key)
{
	const struct excerpt_row *a = row, *b = key;

	return a->n < b->n || (a->n == b->n && a->i < b->i);
}

/* Is request or completion @i of event @n included? Changes *@i to its new index. */
static bool find_row(const struct excerpt_included *kept, uint64_t n, uint32_t *i)
{
	size_t run =
		vec_count_before(kept->runs, kept->nruns, sizeof(*kept->runs), is_run_before, &n);
	struct excerpt_row key = { n, *i };
	size_t at = vec_count_before(kept->left_out, kept->nleft_out, sizeof(*kept->left_out),
				     is_row_before, &key);
	const struct excerpt_row *row = &kept->left_out[at];

	if (run == kept->nruns || kept->runs[run].first > n ||
	    (at < kept->nleft_out && row->n == n && row->i == *i))
		return false;
	while (at > 0 && (--row)->n == n) {
		--*i;
		at--;
	}
	return true;
}

static int store_payload(struct copy_payload *p)
{
	const struct payload_rows *rows = &p->out;
	uint64_t first = UINT64_MAX, last = 0;
	int64_t begin = INT64_MAX, end = INT64_MIN;
	uint8_t *data;
	size_t size;
	int err;

	if (!rows->nrows)
		return 0;
	if (payload_pack(rows, &data, &size))
		return log_err(-ENOMEM, "pack %zu payloads", rows->nrows);
	for (const struct payload_row *row = rows->rows; row < rows->rows + rows->nrows; row++) {
		first = row->n < first ? row->n : first;
		last = row->n > last ? row->n : last;
		begin = row->time < begin ? row->time : begin;
		end = row->time > end ? row->time : end;
	}
	err = sql_run(p->insert, "uiiiiiib", p->thread, first, last, begin, end,
		      (int64_t)rows->nrows, (int64_t)rows->used, data, size);
	free(data);
	payload_rows_clear(&p->out);
	return err;
}

static int take_row(struct copy_payload *p, struct payload_row row, const void *bytes)
{
	if (!find_row(p->kept, row.n, &row.i))
		return 0;
	if (payload_rows_add(&p->out, &row, bytes))
		return log_err(-ENOMEM, "copy payloads");
	return p->out.nrows >= PAYLOAD_ROWS || p->out.used >= PAYLOAD_BYTES ? store_payload(p) : 0;
}

static int take_chunk(struct copy_payload *p, sqlite3_stmt *stmt)
{
	int err = payload_unpack(sqlite3_column_blob(stmt, 0),
				 (size_t)sqlite3_column_bytes(stmt, 0), &p->in);

	if (err)
		return err == -EBADMSG ? log_why(-EINVAL, "%s is damaged: a chunk of payloads",
						 p->copy->path)
				       : log_err(err, "copy payloads");
	for (size_t i = 0; i < p->in.nrows && !err; i++)
		err = take_row(p, p->in.rows[i], p->in.bytes + p->in.rows[i].at);
	return err;
}

static unsigned int find_kind(const char *text)
{
	for (unsigned int kind = 0; text && kind < PAYLOAD_KINDS; kind++)
		if (!strcmp(text, payload_kind_text(kind)))
			return kind;
	return 0;
}

static unsigned int find_why(const char *text)
{
	for (unsigned int why = 1; text && why < PAYLOAD_WHYS; why++)
		if (!strcmp(text, payload_why_text(why)))
			return why;
	return 0;
}

static const char chunks_sql[] =
	"SELECT data FROM payload_chunk WHERE thread = ? ORDER BY first_n, id";

static const char plain_sql[] = "SELECT n, i, time, kind, why, before, hash, length, bytes"
				" FROM payload WHERE thread = ? ORDER BY n, i";

static int take_plain(struct copy_payload *p, sqlite3_stmt *stmt)
{
	const char *hash = (const char *)sqlite3_column_text(stmt, 6);
	const struct payload_row row = {
		.n = (uint64_t)sqlite3_column_int64(stmt, 0),
		.i = sql_u32(stmt, 1),
		.time = sql_time(stmt, 2),
		.kind = (uint8_t)find_kind((const char *)sqlite3_column_text(stmt, 3)),
		.why = (uint8_t)find_why((const char *)sqlite3_column_text(stmt, 4)),
		.before = (uint8_t)sql_u32(stmt, 5),
		.hashed = hash,
		.hash = hash ? strtoull(hash, NULL, 16) : 0,
		.total = (uint64_t)sqlite3_column_int64(stmt, 7),
		.bytes = (uint64_t)sqlite3_column_bytes(stmt, 8),
	};

	return row.bytes > PAYLOAD_CALL_MAX
		       ? log_why(-EINVAL, "%s is damaged: table payload", p->copy->path)
		       : take_row(p, row, sqlite3_column_blob(stmt, 8));
}

int excerpt_copy_payload(struct excerpt_copy *copy, uint32_t thread,
			 const struct excerpt_included *kept)
{
	struct copy_payload p = { .copy = copy, .kept = kept, .thread = thread };
	sqlite3_stmt *stmt = NULL;
	int err = sql_prepare(copy->from, copy->plain ? plain_sql : chunks_sql, &stmt);

	if (!err)
		err = sql_prepare(copy->to,
				  "INSERT INTO payload_chunk VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
				  &p.insert);
	if (!err)
		sql_bind(stmt, "u", thread);
	while (!err && (err = sql_step(stmt)) > 0)
		err = copy->plain ? take_plain(&p, stmt) : take_chunk(&p, stmt);
	if (!err)
		err = store_payload(&p);
	sqlite3_finalize(stmt);
	sqlite3_finalize(p.insert);
	payload_rows_fini(&p.in);
	payload_rows_fini(&p.out);
	return err;
}
