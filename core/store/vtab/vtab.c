/*
 * The data plane as virtual tables
 *
 * Each table is an eponymous module: its name is the name of a table, except in a database that has
 * a real table of that name (an unpacked trace). A query's constraints on thread, n, time and
 * status limit the chunks that are read.
 *
 * The plan passed from xBestIndex to xFilter: idxStr is the set of used columns, in hex, then a
 * letter for each argument.
 *
 * A subquery opens and closes its table for each row of the outer query: so the next cursor reuses
 * the rows of the one that was closed last.
 *
 * Not here: the rows (rows.h), the columns (tables.c).
 */
#include "core/store/vtab/vtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/db/schema.h"
#include "core/store/vtab/derived.h"
#include "core/store/vtab/functions.h"
#include "core/store/vtab/rows.h"
#include "core/wire/log.h"

/* Shared by all tables of a connection. */
struct shared_trace {
	sqlite3 *db;
	struct trace *trace;
	bool own; /* this module opened the trace, and closes it */
	unsigned int refs;
};

struct vtab {
	sqlite3_vtab base;
	struct shared_trace *home;
	const struct data_table *table;
	const struct rows_source *kept_source; /* source of @kept; NULL: none */
	void *kept;
};

struct vcursor {
	sqlite3_vtab_cursor base;
	const struct rows_source *source; /* NULL: no rows yet */
	void *rows;
	bool end;
};

static void home_put(void *arg)
{
	struct shared_trace *home = arg;

	if (--home->refs)
		return;
	if (home->own)
		trace_close(home->trace);
	free(home);
}

/* Get the trace of the tables; the first use of a table opens it. */
static int home_trace(struct shared_trace *home, char **ret_error)
{
	if (home->trace)
		return SQLITE_OK;
	if (!sql_int(home->db, "SELECT count(*) FROM sqlite_master WHERE name = 'chunk'", 0)) {
		*ret_error = sqlite3_mprintf("this database is not a trace of verbatim");
		return SQLITE_ERROR;
	}
	home->own = true;
	if (schema_check(home->db) || trace_borrow(home->db, false, &home->trace))
		return SQLITE_ERROR;
	return SQLITE_OK;
}

/* Argument of each module. */
struct module_arg {
	struct shared_trace *home;
	const struct data_table *table;
};

static void module_arg_free(void *arg)
{
	struct module_arg *m = arg;

	home_put(m->home);
	free(m);
}

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **ret_vtab, char **ret_error)
{
	struct module_arg *m = aux;
	struct text sql = { 0 };
	struct vtab *vtab;
	int status = home_trace(m->home, ret_error);

	(void)argc;
	(void)argv;
	if (status)
		return status;
	text_addf(&sql, "CREATE TABLE ");
	table_declare(m->table, false, &sql);
	status = sql.failed ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql.at);
	text_fini(&sql);
	if (status)
		return status;
	vtab = calloc(1, sizeof(*vtab));
	if (!vtab)
		return SQLITE_NOMEM;
	vtab->home = m->home;
	vtab->table = m->table;
	*ret_vtab = &vtab->base;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *base)
{
	struct vtab *vtab = (struct vtab *)base;

	if (vtab->kept_source)
		vtab->kept_source->free(vtab->kept);
	free(vtab);
	return SQLITE_OK;
}

/* The letter of a constraint; 0: it does not limit the rows. */
static char letter_of(const struct table_column *column, unsigned char op)
{
	bool is_status = column->value == VALUE_COLUMN && column->column == COLUMN_status;

	if (column->value == VALUE_THREAD && op == SQLITE_INDEX_CONSTRAINT_EQ)
		return 't';
	if (is_status && op == SQLITE_INDEX_CONSTRAINT_EQ)
		return 's';
	if (column->value != VALUE_N && column->value != VALUE_TIME)
		return 0;
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return column->value == VALUE_N ? 'n' : 'c';
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return column->value == VALUE_N ? 'g' : 'f';
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return column->value == VALUE_N ? 'l' : 'u';
	default:
		return 0;
	}
}

/*
 * Does the query need the matcher? Also for the queue pair of a completion that does not have its
 * number.
 */
static bool wants_match(const struct vtab *vtab, uint64_t used)
{
	const struct table_column *columns = vtab->table->columns;

	for (int c = 0; columns[c].name; c++)
		if (used >> c & 1 &&
		    (columns[c].value >= VALUE_WR_THREAD ||
		     (columns[c].value == VALUE_WC_QP && vtab->home->trace->numberless)))
			return true;
	return false;
}

static const struct rows_source *source_of(const struct vtab *vtab, uint64_t used)
{
	if (vtab->table == &tables[TABLE_payload])
		return &payload_source;
	return wants_match(vtab, used) ? &matched_source : &scan_source;
}

/* Estimate the cost: a look-up costs less than a scan, and a scan less than matching. */
static void estimate_cost(sqlite3_index_info *info, const char *letters, bool matching)
{
	double rows = 1e7;

	if (strchr(letters, 't'))
		rows /= 4;
	if (strchr(letters, 'n') && strchr(letters, 't') && !matching)
		rows = 1;
	else if (letters[0])
		rows /= 10;
	info->estimatedRows = (sqlite3_int64)rows;
	info->estimatedCost = rows * (matching ? 10 : 1) + 10;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct data_table *table = ((struct vtab *)base)->table;
	char letters[32] = "";
	int n = 0;

	for (int i = 0; i < info->nConstraint && n < (int)sizeof(letters) - 1; i++) {
		const typeof(info->aConstraint[0]) *c = &info->aConstraint[i];
		char letter;

		if (!c->usable || c->iColumn < 0)
			continue;
		letter = letter_of(&table->columns[c->iColumn], c->op);
		if (!letter)
			continue;
		letters[n++] = letter;
		letters[n] = '\0';
		info->aConstraintUsage[i].argvIndex = n;
		/* SQLite checks the rows again, since texts and reals compare differently */
	}
	info->idxStr = sqlite3_mprintf("%llx:%s", (unsigned long long)info->colUsed, letters);
	info->needToFreeIdxStr = 1;
	if (!info->idxStr)
		return SQLITE_NOMEM;
	estimate_cost(info, letters, wants_match((struct vtab *)base, info->colUsed));
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
	struct vcursor *cursor = calloc(1, sizeof(*cursor));

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	*ret_cursor = &cursor->base;
	return SQLITE_OK;
}

static void return_rows(struct vcursor *cursor)
{
	struct vtab *vtab = (struct vtab *)cursor->base.pVtab;

	if (!cursor->source)
		return;
	if (vtab->kept_source)
		vtab->kept_source->free(vtab->kept);
	cursor->source->rest(cursor->rows);
	vtab->kept_source = cursor->source;
	vtab->kept = cursor->rows;
	cursor->source = NULL;
}

static int take_rows(struct vcursor *cursor, const struct rows_source *source)
{
	struct vtab *vtab = (struct vtab *)cursor->base.pVtab;

	if (cursor->source == source)
		return 0;
	return_rows(cursor);
	if (vtab->kept_source == source) {
		cursor->rows = vtab->kept;
		vtab->kept_source = NULL;
	} else {
		int err = source->new (vtab->home->trace, vtab->table, &cursor->rows);

		if (err)
			return err;
	}
	cursor->source = source;
	return 0;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct vcursor *cursor = (struct vcursor *)base;

	return_rows(cursor);
	free(cursor);
	return SQLITE_OK;
}

static void narrow_bounds(int64_t *from, int64_t *to, int64_t low, int64_t high)
{
	if (low > *from)
		*from = low;
	if (high < *to)
		*to = high;
}

/* Use a constraint as a bound. False: no row can match. */
static bool add_bound(struct rows_bounds *b, char letter, sqlite3_value *value)
{
	int64_t v = sqlite3_value_int64(value);

	/*
	 * no row matches a comparison with NULL; comparisons with a text or a real are left to
	 * SQLite
	 */
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return false;
	if (sqlite3_value_type(value) != SQLITE_INTEGER)
		return true;
	if (letter == 't') {
		if (v < 0 || (b->thread >= 0 && b->thread != v))
			return false;
		b->thread = v;
	} else if (letter == 's') {
		if (v < 0 || (b->status >= 0 && b->status != v))
			return false;
		b->status = v;
	} else if (strchr("ngl", letter)) {
		narrow_bounds(&b->n_from, &b->n_to, letter == 'l' ? 0 : v,
			      letter == 'g' ? INT64_MAX : v);
	} else {
		narrow_bounds(&b->time_from, &b->time_to, letter == 'u' ? INT64_MIN : v,
			      letter == 'f' ? INT64_MAX : v);
	}
	return true;
}

static int set_row_result(struct vcursor *cursor, int more)
{
	cursor->end = more <= 0;
	if (more >= 0)
		return SQLITE_OK;
	/* log_err() was called already */
	return more == -ETIME ? SQLITE_INTERRUPT : SQLITE_CORRUPT_VTAB;
}

static int filter_rows(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
		       sqlite3_value **argv)
{
	struct vcursor *cursor = (struct vcursor *)base;
	struct vtab *vtab = (struct vtab *)base->pVtab;
	struct rows_bounds bounds = { -1, 0, INT64_MAX, INT64_MIN, INT64_MAX, -1 };
	char *letters;
	uint64_t used = strtoull(plan, &letters, 16);
	int err;

	(void)number;
	cursor->end = true;
	for (int i = 0; i < argc; i++)
		if (!add_bound(&bounds, letters[1 + i], argv[i]))
			return SQLITE_OK;
	err = take_rows(cursor, source_of(vtab, used));
	if (err)
		return err == -ETIME ? SQLITE_INTERRUPT : SQLITE_ERROR;
	return set_row_result(cursor, cursor->source->first(cursor->rows, &bounds, used));
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct vcursor *cursor = (struct vcursor *)base;

	return set_row_result(cursor, cursor->source->next(cursor->rows));
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return ((struct vcursor *)base)->end;
}

static int put_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
	struct vcursor *cursor = (struct vcursor *)base;

	cursor->source->value(cursor->rows, index, context);
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.iVersion = 1,
	.xConnect = connect_table, /* no xCreate: eponymous only */
	.xBestIndex = best_index,
	.xDisconnect = disconnect_table,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter_rows,
	.xNext = next_row,
	.xEof = at_end,
	.xColumn = put_column,
};

/* SQL: name(object) returns "qp3". */
static void object_name(sqlite3_context *context, int n, sqlite3_value **values)
{
	struct shared_trace *home = sqlite3_user_data(context);
	int64_t id = sqlite3_value_int64(values[0]);
	const struct object *object;
	char *error = NULL;

	(void)n;
	if (home_trace(home, &error)) {
		sqlite3_result_error(context, error ? error : "the trace cannot be read", -1);
		sqlite3_free(error);
		return;
	}
	object = id > 0 && id <= UINT32_MAX ? trace_object(home->trace, (uint32_t)id) : NULL;
	if (object)
		sqlite3_result_text(context, object->name, -1, SQLITE_TRANSIENT);
}

static int add_name(struct shared_trace *home)
{
	home->refs++;
	if (sqlite3_create_function_v2(home->db, "name", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
				       home, object_name, NULL, NULL, home_put))
		return sql_fail(home->db, "add name()");
	return 0;
}

static int add_module(struct shared_trace *home, const struct data_table *table)
{
	struct module_arg *m = malloc(sizeof(*m));

	if (!m)
		return -ENOMEM;
	*m = (struct module_arg){ home, table };
	home->refs++;
	if (sqlite3_create_module_v2(home->db, table->name, &module, m, module_arg_free))
		return sql_fail(home->db, "add the virtual tables");
	return 0;
}

static struct trace *find_trace(void *arg)
{
	struct shared_trace *home = arg;
	char *error = NULL;

	if (home_trace(home, &error) && error)
		log_err(-EINVAL, "%s", error);
	sqlite3_free(error);
	return home->trace;
}

int vtab_register(sqlite3 *db, struct trace *trace)
{
	struct shared_trace *home = calloc(1, sizeof(*home));
	int err = 0;

	if (!home)
		return -ENOMEM;
	home->db = db;
	home->trace = trace;
	home->refs = 1;
	for (int t = 0; t < TABLES && !err; t++)
		err = add_module(home, &tables[t]);
	if (!err)
		err = add_name(home);
	if (!err) {
		home->refs++;
		err = derived_add(db, find_trace, home_put, home);
	}
	home_put(home);
	return err ? err : functions_add(db);
}
