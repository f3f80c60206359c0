/*
 * The control plane of a merged trace
 *
 * Rows are copied; references are renumbered, and times are converted. The list of references has
 * the kind of each column (core/store/db/references.h).
 */
#include <errno.h>
#include <string.h>

#include "core/base/text.h"
#include "core/store/db/references.h"
#include "core/store/merge/merge_priv.h"
#include "core/store/vtab/functions.h"
#include "core/wire/log.h"

/*
 * Tables that are not copied as rows: other functions merge them (merge_device.c, merge_data.c);
 * findings belong to one trace; some are derived again (core/store/finish/derive.c); and calls in
 * blocks become rows in a merged trace.
 */
static const char *const apart[] = { "device", "connection",    "queue",      "finding",
				     "chunk",  "payload_chunk", "call_chunk", "row_chunk" };

/* How many rows of kind @what do the earlier parts have? */
static uint32_t count_before(const struct merge_part *part, char what)
{
	switch (what) {
	case 'p':
	case 'P':
		return part->joint->ids.processes;
	case 't':
		return part->joint->ids.threads;
	case 'o':
		return part->joint->objects;
	case 's':
		return part->joint->stacks;
	default:
		return part->modules;
	}
}

static void bind_value(const struct merge_part *part, char what, sqlite3_stmt *from,
		       sqlite3_stmt *to, int i)
{
	int64_t value = sqlite3_column_int64(from, i);

	if (what == '_' || sqlite3_column_type(from, i) != SQLITE_INTEGER)
		sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
	else if (what == 'T')
		sqlite3_bind_int64(to, i + 1, merge_time(part, value));
	else if (what == 'd')
		sqlite3_bind_int64(to, i + 1,
				   value > 0 && value <= part->ndevices ? part->device[value] : 0);
	else
		sqlite3_bind_int64(to, i + 1, value ? value + count_before(part, what) : 0);
}

static int put_row(struct merge *merge, const struct merge_part *part, sqlite3_stmt *to,
		   const char *table)
{
	int code = sqlite3_step(to);

	sqlite3_reset(to);
	if (code == SQLITE_DONE)
		return 0;
	if (code != SQLITE_CONSTRAINT && code != SQLITE_MISMATCH)
		return sql_fail(merge->to, "merge traces");
	return log_why(-EINVAL, "%s is damaged: table %s contains an invalid row",
		       part->joint->path, table);
}

static int copy_rows(struct merge *merge, const struct merge_part *part, const char *columns,
		     sqlite3_stmt *from, sqlite3_stmt *to, const char *table)
{
	int known = (int)strlen(columns), err;

	while ((err = sql_step(from)) > 0) {
		for (int i = 0; i < sqlite3_column_count(from); i++)
			bind_value(part, i < known ? columns[i] : '_', from, to, i);
		err = put_row(merge, part, to, table);
		if (err)
			return err;
	}
	return err;
}

/* Prepare the INSERT that all parts share, with @columns values. */
static int prepare_insert(struct merge *merge, const struct references *table, int columns,
			  sqlite3_stmt **ret_to)
{
	struct text sql = { 0 };
	int err;

	/* two parts of one machine have the same ports */
	text_addf(&sql, "INSERT%s INTO %s VALUES(?", *table->columns == 'd' ? " OR IGNORE" : "",
		  table->table);
	for (int i = 1; i < columns; i++)
		text_addf(&sql, ", ?");
	text_addf(&sql, ")");
	err = sql.failed ? log_err(-ENOMEM, "merge traces")
			 : sql_prepare(merge->to, sql.at, ret_to);
	text_fini(&sql);
	return err;
}

/* Copy the table of a part. *@to is prepared for the first part that has the table. */
static int copy_part(struct merge *merge, const struct merge_part *part,
		     const struct references *table, sqlite3_stmt **to)
{
	sqlite3_stmt *from = NULL;
	struct text sql = { 0 };
	int err;

	/* an older format lacks the table: schema_check() */
	if (!sql_has_table(part->db, table->table))
		return 0;
	text_addf(&sql, "SELECT * FROM %s", functions_source(table->table));
	err = sql.failed ? log_err(-ENOMEM, "merge traces") : sql_prepare(part->db, sql.at, &from);
	if (!err && !*to)
		err = prepare_insert(merge, table, sqlite3_column_count(from), to);
	if (!err)
		err = copy_rows(merge, part, table->columns, from, *to, table->table);
	sqlite3_finalize(from);
	text_fini(&sql);
	return err;
}

static int copy_table(struct merge *merge, const struct references *table)
{
	sqlite3_stmt *to = NULL;
	int err = 0;

	for (size_t i = 0; i < merge->n && !err; i++)
		err = copy_part(merge, &merge->parts[i], table, &to);
	sqlite3_finalize(to);
	return err;
}

static bool is_copied_apart(const char *table)
{
	for (size_t i = 0; i < sizeof(apart) / sizeof(*apart); i++)
		if (!strcmp(table, apart[i]))
			return true;
	return false;
}

int merge_copy_rows(struct merge *merge)
{
	int err = 0;

	for (const struct references *table = references; table->table && !err; table++)
		if (!is_copied_apart(table->table))
			err = copy_table(merge, table);
	return err;
}
