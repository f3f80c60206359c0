/*
 * Reading chunks of payloads from the database
 */
#include <errno.h>
#include <stdlib.h>

#include "core/store/read/payload_read.h"
#include "core/base/vec.h"
#include "core/store/db/sql.h"
#include "core/wire/log.h"

int payload_reader_init(struct payload_reader *reader, sqlite3 *db)
{
	return sql_prepare(db, "SELECT data FROM payload_chunk WHERE id = ?", &reader->chunk);
}

void payload_reader_fini(struct payload_reader *reader)
{
	sqlite3_finalize(reader->chunk);
	for (int i = 0; i < PAYLOAD_PLACES; i++)
		payload_rows_fini(&reader->places[i].rows);
}

static int compare_payload_rows(const void *a, const void *b)
{
	const struct payload_row *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

static bool is_row_before(const void *row, const void *key)
{
	return compare_payload_rows(row, key) < 0;
}

static int unpack_chunk(sqlite3_stmt *chunk, int64_t id, struct payload_rows *rows)
{
	int err;

	sql_bind(chunk, "i", id);
	err = sql_step(chunk);
	if (err > 0)
		err = payload_unpack(sqlite3_column_blob(chunk, 0),
				     (size_t)sqlite3_column_bytes(chunk, 0), rows);
	sqlite3_reset(chunk);
	if (err == -EBADMSG)
		return log_why(-EINVAL, "payload chunk %lld is damaged", (long long)id);
	if (err == -ENOMEM)
		return log_err(err, "read payload chunk %lld", (long long)id);
	if (!err && rows->nrows)
		qsort(rows->rows, rows->nrows, sizeof(*rows->rows), compare_payload_rows);
	return err;
}

static size_t bytes_of(const struct payload_rows *rows)
{
	return rows->size + rows->rows_size * sizeof(*rows->rows);
}

/* If the cache is too large, drop all chunks but the one with rows @last. */
static void forget_others(struct payload_reader *reader, const struct payload_rows *last)
{
	for (int i = 0; i < PAYLOAD_PLACES && reader->kept > PAYLOAD_KEPT; i++) {
		typeof(reader->places[0]) *place = &reader->places[i];

		if (&place->rows == last)
			continue;
		reader->kept -= bytes_of(&place->rows);
		payload_rows_fini(&place->rows);
		place->id = 0;
	}
}

int payload_reader_read(struct payload_reader *reader, uint32_t thread, int64_t id,
			const struct payload_rows **ret_rows)
{
	typeof(reader->places[0]) *place = &reader->places[thread % PAYLOAD_PLACES];
	int err;

	if (place->id != id) {
		place->id = 0;
		reader->kept -= bytes_of(&place->rows);
		err = unpack_chunk(reader->chunk, id, &place->rows);
		reader->kept += bytes_of(&place->rows);
		if (err)
			return err;
		place->id = id;
		forget_others(reader, &place->rows);
	}
	*ret_rows = &place->rows;
	return 0;
}

size_t payload_rows_before(const struct payload_rows *rows, uint64_t n, uint32_t i)
{
	const struct payload_row key = { .n = n, .i = i };

	return vec_count_before(rows->rows, rows->nrows, sizeof(*rows->rows), is_row_before, &key);
}
