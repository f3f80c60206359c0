/*
 * Tables whose rows are in blocks, as virtual tables
 *
 * The rows of all blocks are numbered from 0, in the order of the key. A query reads all rows; or a
 * range of the first column, which is sorted; or the rows with one value in another column of
 * numbers, found by an index in memory that its first use builds.
 *
 * The plan passed from xBestIndex to xFilter: idxNum is 1 + the column whose value is the first
 * argument, or 0; idxStr has a letter for each other argument: the first column is G greater, g
 * greater or equal, L less, l less or equal.
 *
 * Not here: decoding blocks (row_blocks.c), writing (row_pack.c).
 */
#include "core/store/db/row_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/store/db/row_blocks.h"
#include "core/store/db/schema.h"
#include "core/wire/log.h"

enum { CACHED = 16 };

/* The rows sorted by a column; rows without a number in it are not included. */
struct value_index {
	struct value_entry {
		int64_t value;
		uint32_t row;
	} * list;
	size_t count, size;
	bool made;
};

/* A block in memory. */
struct cached_block {
	uint32_t place;
	uint64_t turn; /* 0: none */
	struct row_block block;
};

struct row_vtab {
	sqlite3_vtab base;
	struct row_blocks blocks;
	struct cached_block cached[CACHED];
	uint64_t turn;
	struct value_index by[ROW_COLUMNS_MAX];
};

struct row_cursor {
	sqlite3_vtab_cursor base;
	/* the entries that name the rows; NULL: @at and @end are rows */
	const struct value_entry *entries;
	size_t at, end;
	struct cached_block *cached;
	uint64_t turn; /* turn of @cached while it has the cursor's block */
	uint32_t row;  /* index of the row in @cached */
	struct text text;
};

/* Blocks */

static bool is_row_after(const void *place, const void *row)
{
	return ((const struct row_place *)place)->from <= *(const uint32_t *)row;
}

/* Find the block with row @row of the table, and the index of the row in the block. 0 or -errno. */
static int find_row(struct row_vtab *vtab, uint32_t row, struct cached_block **ret_cached,
		    uint32_t *ret_i)
{
	uint32_t i = (uint32_t)vec_count_before(vtab->blocks.places, vtab->blocks.nplaces,
						sizeof(*vtab->blocks.places), is_row_after, &row) -
		     1;
	struct cached_block *oldest = vtab->cached, *c;
	int err;

	*ret_i = row - vtab->blocks.places[i].from;
	for (c = vtab->cached; c < vtab->cached + CACHED; c++) {
		if (c->turn && c->place == i) {
			*ret_cached = c;
			return 0;
		}
		if (c->turn < oldest->turn)
			oldest = c;
	}
	oldest->turn = 0;
	err = row_blocks_read(&vtab->blocks, i, &oldest->block);
	if (err)
		return err;
	oldest->place = i;
	oldest->turn = ++vtab->turn;
	*ret_cached = oldest;
	return 0;
}

/* Indexes */

static int compare_entries(const void *a, const void *b)
{
	const struct value_entry *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static int make_index(struct row_vtab *vtab, uint32_t column)
{
	struct value_index *by = &vtab->by[column];
	struct cached_block *cached = NULL;
	int err = 0;

	by->count = 0;
	if (vec_reserve(by->list, by->size, vtab->blocks.rows + 1))
		return log_err(-ENOMEM, "read rows");
	for (uint32_t row = 0, i; row < vtab->blocks.rows && !err; row++) {
		struct row_value value;

		err = find_row(vtab, row, &cached, &i);
		if (err)
			break;
		value = row_block_value(&cached->block, i, column);
		if (value.kind == ROW_NUMBER)
			by->list[by->count++] = (struct value_entry){ value.number, row };
	}
	if (!err)
		qsort(by->list, by->count, sizeof(*by->list), compare_entries);
	by->made = !err;
	return err;
}

static bool is_entry_before(const void *entry, const void *value)
{
	return ((const struct value_entry *)entry)->value < *(const int64_t *)value;
}

static size_t find_entry(const struct value_index *by, int64_t value)
{
	return vec_count_before(by->list, by->count, sizeof(*by->list), is_entry_before, &value);
}

static bool is_place_before(const void *place, const void *value)
{
	return ((const struct row_place *)place)->last < *(const int64_t *)value;
}

/* Find the first row whose first column is not below @value. 0 or -errno. */
static int find_first(struct row_vtab *vtab, int64_t value, size_t *ret_row)
{
	size_t i = vec_count_before(vtab->blocks.places, vtab->blocks.nplaces,
				    sizeof(*vtab->blocks.places), is_place_before, &value);
	uint32_t low, high, unused;
	struct cached_block *cached;
	int err;

	*ret_row = vtab->blocks.rows;
	if (i == vtab->blocks.nplaces)
		return 0;
	err = find_row(vtab, vtab->blocks.places[i].from, &cached, &unused);
	if (err)
		return err;
	low = 0;
	high = vtab->blocks.places[i].rows;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (row_block_value(&cached->block, middle, 0).number < value)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_row = vtab->blocks.places[i].from + low;
	return 0;
}

/* The cursor */

static struct row_vtab *vtab_of(struct row_cursor *cursor)
{
	return (struct row_vtab *)cursor->base.pVtab;
}

/* Set the cursor to the rows with @value in @column. */
static int open_value(struct row_cursor *cursor, uint32_t column, int64_t value)
{
	struct row_vtab *vtab = vtab_of(cursor);
	struct value_index *by = &vtab->by[column];
	int err;

	if (!column) {
		err = find_first(vtab, value, &cursor->at);
		if (!err && value < INT64_MAX)
			err = find_first(vtab, value + 1, &cursor->end);
		return err;
	}
	err = by->made ? 0 : make_index(vtab, column);
	if (err)
		return err;
	cursor->entries = by->list;
	cursor->at = find_entry(by, value);
	cursor->end = value < INT64_MAX ? find_entry(by, value + 1) : by->count;
	return 0;
}

/* Narrow the cursor's range by a bound of the first column. */
static int narrow_range(struct row_cursor *cursor, char letter, int64_t value)
{
	bool low = letter == 'G' || letter == 'g', next = letter == 'G' || letter == 'l';
	size_t row;
	int err;

	if (next && value == INT64_MAX)
		row = vtab_of(cursor)->blocks.rows;
	else if ((err = find_first(vtab_of(cursor), value + next, &row)))
		return err;
	if (low && row > cursor->at)
		cursor->at = row;
	if (!low && row < cursor->end)
		cursor->end = row;
	return 0;
}

static int failed_with(int err)
{
	/* log_err() was called already */
	return err == -ETIME ? SQLITE_INTERRUPT : SQLITE_CORRUPT_VTAB;
}

static int filter_rows(sqlite3_vtab_cursor *base, int number, const char *letters, int argc,
		       sqlite3_value **argv)
{
	struct row_cursor *cursor = (struct row_cursor *)base;
	int err = 0;

	cursor->entries = NULL;
	cursor->cached = NULL;
	cursor->at = 0;
	cursor->end = vtab_of(cursor)->blocks.rows;
	for (int i = 0; i < argc && !err; i++) {
		int type = sqlite3_value_type(argv[i]);
		int64_t value = sqlite3_value_int64(argv[i]);

		if (type == SQLITE_NULL) { /* no row matches a comparison with NULL */
			cursor->at = cursor->end = 0;
			return SQLITE_OK;
		}
		if (type != SQLITE_INTEGER) /* SQLite compares with texts and reals */
			continue;
		err = number && !i ? open_value(cursor, (uint32_t)number - 1, value)
				   : narrow_range(cursor, letters[i - !!number], value);
	}
	return err ? failed_with(err) : SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct row_cursor *cursor = (struct row_cursor *)base;

	struct cached_block *cached = cursor->cached;

	cursor->at++;
	if (cursor->entries || !cached || cached->turn != cursor->turn ||
	    ++cursor->row >= cached->block.rows)
		cursor->cached = NULL;
	return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	const struct row_cursor *cursor = (struct row_cursor *)base;

	return cursor->at >= cursor->end;
}

/* Decode the block of the row, unless it is still in memory. */
static int need_block(struct row_cursor *cursor)
{
	size_t row = cursor->entries ? cursor->entries[cursor->at].row : cursor->at;
	int err;

	if (cursor->cached && cursor->cached->turn == cursor->turn)
		return 0;
	err = find_row(vtab_of(cursor), (uint32_t)row, &cursor->cached, &cursor->row);
	if (!err)
		cursor->turn = cursor->cached->turn;
	return err;
}

static void put_text(struct row_cursor *cursor, sqlite3_context *context,
		     const struct row_value *value)
{
	struct text *text = &cursor->text;

	text_cut(text, 0);
	text_add(text, value->text, value->length);
	if (value->kind == ROW_NUMBERED)
		text_number(text, value->number);
	if (text->failed)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_text(context, text->at ?: "", (int)text->used, SQLITE_TRANSIENT);
}

static int put_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct row_cursor *cursor = (struct row_cursor *)base;
	struct row_value value;
	int err = need_block(cursor);

	if (err)
		return failed_with(err);
	value = row_block_value(&cursor->cached->block, cursor->row, (uint32_t)column);
	if (value.kind == ROW_NUMBER)
		sqlite3_result_int64(context, value.number);
	else if (value.kind != ROW_NULL)
		put_text(cursor, context, &value);
	return SQLITE_OK;
}

/* The id; only table `object` has one. */
static int put_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_rowid)
{
	struct row_cursor *cursor = (struct row_cursor *)base;
	int err = need_block(cursor);

	if (err)
		return failed_with(err);
	*ret_rowid = row_block_value(&cursor->cached->block, cursor->row, 0).number;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
	struct row_cursor *cursor = calloc(1, sizeof(*cursor));

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	*ret_cursor = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct row_cursor *cursor = (struct row_cursor *)base;

	text_fini(&cursor->text);
	free(cursor);
	return SQLITE_OK;
}

/* Plans */

static char letter_of(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_GT:
		return 'G';
	case SQLITE_INDEX_CONSTRAINT_GE:
		return 'g';
	case SQLITE_INDEX_CONSTRAINT_LT:
		return 'L';
	case SQLITE_INDEX_CONSTRAINT_LE:
		return 'l';
	default:
		return 0;
	}
}

/* Estimate how many rows have the same number in a column. */
static double rows_of(const struct row_vtab *vtab, int column, bool is_id)
{
	if (!column && is_id)
		return 1;
	/* a thread or process: there are few, with many rows each */
	return !column || column == (is_id ? 1 : 2) ? vtab->blocks.rows / 2 + 1 : 4;
}

/* The equality condition that fewest rows match; -1: none. */
static int choose_value(const struct row_vtab *vtab, const sqlite3_index_info *info, bool is_id,
			double *rows)
{
	int best = -1;

	for (int i = 0; i < info->nConstraint; i++) {
		const typeof(info->aConstraint[0]) *c = &info->aConstraint[i];
		int column = c->iColumn < 0 && is_id ? 0 : c->iColumn;
		double n;

		if (!c->usable || c->op != SQLITE_INDEX_CONSTRAINT_EQ || column < 0 ||
		    !vtab->blocks.number[column])
			continue;
		n = rows_of(vtab, column, is_id);
		if (best < 0 || n < *rows) {
			best = i;
			*rows = n;
		}
	}
	return best;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct row_vtab *vtab = (struct row_vtab *)base;
	bool is_id = !strcmp(vtab->blocks.table->key, "id");
	double rows = vtab->blocks.rows;
	char letters[16] = "";
	int n = 0, best = choose_value(vtab, info, is_id, &rows);

	if (best >= 0) {
		int column = info->aConstraint[best].iColumn;

		info->idxNum = 1 + (column < 0 ? 0 : column);
		info->aConstraintUsage[best].argvIndex = 1;
	}
	for (int i = 0; i < info->nConstraint && best < 0 && n < 15; i++) {
		const typeof(info->aConstraint[0]) *c = &info->aConstraint[i];
		char letter = c->usable && c->iColumn <= 0 && (!c->iColumn || is_id)
				      ? letter_of(c->op)
				      : 0;

		if (!letter)
			continue;
		letters[n++] = letter;
		info->aConstraintUsage[i].argvIndex = n;
		rows /= 2;
	}
	info->orderByConsumed =
		info->nOrderBy == 1 && info->aOrderBy[0].iColumn <= 0 && !info->aOrderBy[0].desc;
	info->idxStr = sqlite3_mprintf("%s", letters);
	info->needToFreeIdxStr = 1;
	if (!info->idxStr)
		return SQLITE_NOMEM;
	info->estimatedRows = (sqlite3_int64)rows + 1;
	info->estimatedCost = rows + 10;
	return SQLITE_OK;
}

/* Modules */

static int disconnect_table(sqlite3_vtab *base)
{
	struct row_vtab *vtab = (struct row_vtab *)base;

	row_blocks_close(&vtab->blocks);
	for (int i = 0; i < CACHED; i++)
		row_block_fini(&vtab->cached[i].block);
	for (int i = 0; i < ROW_COLUMNS_MAX; i++)
		free(vtab->by[i].list);
	free(vtab);
	return SQLITE_OK;
}

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **ret_vtab, char **ret_error)
{
	const struct row_table *table = aux;
	struct row_vtab *vtab;
	struct text sql = { 0 };
	int status;

	(void)argc;
	(void)argv;
	(void)ret_error;
	text_addf(&sql, "CREATE TABLE x(%s", schema_columns(table->name));
	status = sql.failed ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql.at);
	text_fini(&sql);
	vtab = status ? NULL : calloc(1, sizeof(*vtab));
	if (!vtab)
		return status ?: SQLITE_NOMEM;
	if (row_blocks_open(db, table, &vtab->blocks)) {
		disconnect_table(&vtab->base);
		return SQLITE_CORRUPT_VTAB;
	}
	*ret_vtab = &vtab->base;
	return SQLITE_OK;
}

/* Must differ from xConnect: otherwise the module would also be an eponymous table. */
static int create_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
			sqlite3_vtab **ret_vtab, char **ret_error)
{
	return connect_table(db, aux, argc, argv, ret_vtab, ret_error);
}

static const sqlite3_module module = {
	.iVersion = 1,
	.xCreate = create_table,
	.xConnect = connect_table,
	.xBestIndex = best_index,
	.xDisconnect = disconnect_table,
	.xDestroy = disconnect_table,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter_rows,
	.xNext = next_row,
	.xEof = at_end,
	.xColumn = put_column,
	.xRowid = put_rowid,
};

static bool has_table(sqlite3 *db, const struct row_table *table)
{
	return !sqlite3_table_column_metadata(db, "temp", table->name, NULL, NULL, NULL, NULL, NULL,
					      NULL);
}

static int create_virtual_table(sqlite3 *db, const struct row_table *table)
{
	char name[32], sql[96];

	sqlite3_snprintf(sizeof(name), name, "verbatim_%s", table->name);
	if (sqlite3_create_module_v2(db, name, &module, (void *)table, NULL))
		return sql_fail(db, "add the tables of rows");
	sqlite3_snprintf(sizeof(sql), sql, "CREATE VIRTUAL TABLE temp.%s USING %s", table->name,
			 name);
	return sql_exec(db, sql);
}

int row_tables_create(sqlite3 *db)
{
	int err = 0;

	for (const struct row_table *t = row_tables; t->name && !err; t++)
		if (!has_table(db, t) && row_blocks_exist(db, t->name))
			err = create_virtual_table(db, t);
	return err;
}
