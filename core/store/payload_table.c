/*
 * Table `payload`: what is in the rows of payload_chunk
 *
 * A condition on the thread and on the event's number is looked at before
 * anything is unpacked, so that a join with `wr` or `wc` is quick.
 */
#include "core/store/payload_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/payload.h"
#include "core/wire/payload.h"

const char payload_columns[] =
	"thread INTEGER, n INTEGER, i INTEGER, time INTEGER, process INTEGER, kind TEXT,"
	" length INTEGER, captured INTEGER, before INTEGER, hash TEXT, why TEXT, bytes BLOB,"
	" PRIMARY KEY(thread, n, i)";

enum column { THREAD, N, I, TIME, PROCESS, KIND, LENGTH, CAPTURED, BEFORE, HASH, WHY, BYTES };

static const char chunks_sql[] =
	"SELECT p.thread, t.process, p.data FROM payload_chunk p JOIN thread t ON t.id = p.thread"
	" WHERE (?1 IS NULL OR p.thread = ?1) AND p.first_n <= ?3 AND p.last_n >= ?2 ORDER BY p.id";

struct vtab {
	sqlite3_vtab base;
	sqlite3 *db;
};

struct vcursor {
	sqlite3_vtab_cursor base;
	sqlite3_stmt *chunks;
	struct payload_rows rows;
	size_t at;
	int64_t n_from, n_to;
	int64_t thread, process;
	bool end;
};

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **ret_vtab, char **ret_error)
{
	struct vtab *vtab;
	char sql[400];
	int status;

	(void)aux, (void)argc, (void)argv, (void)ret_error;
	snprintf(sql, sizeof(sql), "CREATE TABLE payload(%s) WITHOUT ROWID", payload_columns);
	status = sqlite3_declare_vtab(db, sql);
	if (status)
		return status;
	vtab = calloc(1, sizeof(*vtab));
	if (!vtab)
		return SQLITE_NOMEM;
	vtab->db = db;
	*ret_vtab = &vtab->base;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

static char letter_of(int column, unsigned char op)
{
	if (op == SQLITE_INDEX_CONSTRAINT_EQ)
		return column == THREAD ? 't' : column == N ? 'n' : 0;
	if (column != N)
		return 0;
	if (op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE)
		return 'g';
	return op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE ? 'l' : 0;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	char letters[16] = "";
	int n = 0;

	(void)base;
	for (int i = 0; i < info->nConstraint && n < (int)sizeof(letters) - 1; i++) {
		char letter = info->aConstraint[i].usable ?
			      letter_of(info->aConstraint[i].iColumn, info->aConstraint[i].op) : 0;

		if (!letter)
			continue;
		letters[n++] = letter;
		letters[n] = '\0';
		info->aConstraintUsage[i].argvIndex = n; /* SQLite checks it again */
	}
	info->idxStr = sqlite3_mprintf("%s", letters);
	info->needToFreeIdxStr = 1;
	if (!info->idxStr)
		return SQLITE_NOMEM;
	info->estimatedRows = strchr(letters, 'n') && strchr(letters, 't') ? 1 : n ? 100000 : 1000000;
	info->estimatedCost = (double)info->estimatedRows * 20 + 10;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
	struct vcursor *cursor = calloc(1, sizeof(*cursor));

	if (!cursor)
		return SQLITE_NOMEM;
	if (sqlite3_prepare_v2(((struct vtab *)base)->db, chunks_sql, -1, &cursor->chunks, NULL)) {
		free(cursor);
		return SQLITE_ERROR;
	}
	*ret_cursor = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct vcursor *cursor = (struct vcursor *)base;

	sqlite3_finalize(cursor->chunks);
	payload_rows_fini(&cursor->rows);
	free(cursor);
	return SQLITE_OK;
}

/* To the next row that the bounds allow. */
static int settle(struct vcursor *c)
{
	for (;; c->at++) {
		while (c->at == c->rows.nrows) {
			int status = sqlite3_step(c->chunks);

			c->end = status != SQLITE_ROW;
			if (c->end)
				return status == SQLITE_DONE ? SQLITE_OK : status;
			c->thread = sqlite3_column_int64(c->chunks, 0);
			c->process = sqlite3_column_int64(c->chunks, 1);
			c->at = 0;
			if (payload_unpack(sqlite3_column_blob(c->chunks, 2),
					   (size_t)sqlite3_column_bytes(c->chunks, 2), &c->rows))
				return SQLITE_CORRUPT;
		}
		if ((int64_t)c->rows.rows[c->at].n >= c->n_from &&
		    (int64_t)c->rows.rows[c->at].n <= c->n_to)
			return SQLITE_OK;
	}
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *letters, int argc,
		  sqlite3_value **argv)
{
	struct vcursor *c = (struct vcursor *)base;

	(void)number;
	sqlite3_reset(c->chunks);
	sqlite3_clear_bindings(c->chunks);
	payload_rows_clear(&c->rows);
	c->at = 0;
	c->n_from = 0;
	c->n_to = INT64_MAX;
	for (int i = 0; i < argc; i++) {
		int64_t v = sqlite3_value_int64(argv[i]);

		if (sqlite3_value_type(argv[i]) != SQLITE_INTEGER)
			continue; /* SQLite compares it its own way */
		if (letters[i] == 't')
			sqlite3_bind_int64(c->chunks, 1, v);
		if (letters[i] != 't' && letters[i] != 'l' && v > c->n_from)
			c->n_from = v;
		if (letters[i] != 't' && letters[i] != 'g' && v < c->n_to)
			c->n_to = v;
	}
	sqlite3_bind_int64(c->chunks, 2, c->n_from);
	sqlite3_bind_int64(c->chunks, 3, c->n_to);
	return settle(c);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct vcursor *c = (struct vcursor *)base;

	c->at++;
	return settle(c);
}

static int eof(sqlite3_vtab_cursor *base)
{
	return ((struct vcursor *)base)->end;
}

static void give_text(sqlite3_context *context, const struct payload_row *row, int column)
{
	char text[24];

	if (column == KIND)
		sqlite3_result_text(context, payload_kind_text(row->kind), -1, SQLITE_STATIC);
	else if (column == WHY && row->why)
		sqlite3_result_text(context, payload_why_text(row->why), -1, SQLITE_STATIC);
	else if (column == HASH && row->hashed) {
		snprintf(text, sizeof(text), "%016" PRIx64, row->hash);
		sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
	}
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
	const struct vcursor *c = (struct vcursor *)base;
	const struct payload_row *row = &c->rows.rows[c->at];
	const int64_t numbers[] = {
		[THREAD] = c->thread, [N] = (int64_t)row->n, [I] = row->i, [TIME] = row->time,
		[PROCESS] = c->process, [LENGTH] = (int64_t)row->total,
		[CAPTURED] = (int64_t)row->bytes, [BEFORE] = row->before,
	};

	if (index == KIND || index == HASH || index == WHY)
		give_text(context, row, index);
	else if (index == BYTES && row->bytes)
		sqlite3_result_blob64(context, c->rows.bytes + row->at, row->bytes,
				      SQLITE_TRANSIENT);
	else if (index < BYTES)
		sqlite3_result_int64(context, numbers[index]);
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.iVersion = 1,
	.xConnect = connect_table,
	.xBestIndex = best_index,
	.xDisconnect = disconnect_table,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
};

int payload_register(sqlite3 *db)
{
	if (sqlite3_create_module_v2(db, "payload", &module, NULL, NULL))
		return sql_fail(db, "add table payload");
	return 0;
}
