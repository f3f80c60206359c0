/*
 * Virtual tables whose rows a higher layer generates
 *
 * The plan passed from xBestIndex to xFilter: idxStr is the set of used columns, in hex, then a
 * letter for each argument: p process, o object, n object or its name, t time.
 */
#include "core/store/vtab/computed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/store/db/sql.h"
#include "core/store/read/trace_priv.h"

struct computed_module {
	struct trace *trace;
	const struct computed_table *table;
	void *arg;
	void (*release)(void *arg);
};

struct computed_vtab {
	sqlite3_vtab base;
	const struct computed_module *module;
};

struct computed_cursor {
	sqlite3_vtab_cursor base;
	void *rows;
	sqlite3_value *argument;
	bool end;
};

static int connect_computed(sqlite3 *db, void *aux, int argc, const char *const *argv,
			    sqlite3_vtab **ret_vtab, char **ret_error)
{
	const struct computed_module *module = aux;
	const struct computed_column *c = module->table->columns;
	struct computed_vtab *vtab;
	struct text sql = { 0 };
	int status;

	(void)argc;
	(void)argv;
	(void)ret_error;
	for (; c->name; c++)
		text_addf(&sql, "%s%s %s%s", sql.used ? ", " : "CREATE TABLE x(", c->name, c->type,
			  c->argument ? " HIDDEN" : "");
	text_addf(&sql, ", PRIMARY KEY(%s)) WITHOUT ROWID", module->table->key);
	status = sql.failed ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql.at);
	text_fini(&sql);
	if (status)
		return status;
	vtab = calloc(1, sizeof(*vtab));
	if (!vtab)
		return SQLITE_NOMEM;
	vtab->module = module;
	*ret_vtab = &vtab->base;
	return SQLITE_OK;
}

static int disconnect_computed(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

/* The letter of a constraint; 0: it does not limit the rows. */
static char letter_of(const struct computed_column *column, unsigned char op)
{
	bool equal = op == SQLITE_INDEX_CONSTRAINT_EQ;

	switch (column->key) {
	case COMPUTED_PROCESS:
		return equal ? 'p' : 0;
	case COMPUTED_OBJECT:
		return !equal ? 0 : column->argument ? 'n' : 'o';
	case COMPUTED_TIME:
		return equal || op == SQLITE_INDEX_CONSTRAINT_LE || op == SQLITE_INDEX_CONSTRAINT_LT
			       ? 't'
			       : 0;
	default:
		return 0;
	}
}

static int plan_computed(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct computed_table *table = ((struct computed_vtab *)base)->module->table;
	char letters[16] = "";
	int n = 0;

	for (int i = 0; i < info->nConstraint && n < (int)sizeof(letters) - 1; i++) {
		const typeof(info->aConstraint[0]) *c = &info->aConstraint[i];
		char letter = c->iColumn < 0 ? 0 : letter_of(&table->columns[c->iColumn], c->op);

		if (letter == 'n' && !c->usable)
			/* an outer table must supply the argument first */
			return SQLITE_CONSTRAINT;
		if (!letter || !c->usable)
			continue;
		letters[n++] = letter;
		letters[n] = '\0';
		info->aConstraintUsage[i].argvIndex = n;
		info->aConstraintUsage[i].omit = letter == 'n';
	}
	info->idxStr = sqlite3_mprintf("%llx:%s", (unsigned long long)info->colUsed, letters);
	info->needToFreeIdxStr = 1;
	if (!info->idxStr)
		return SQLITE_NOMEM;
	info->estimatedRows = table->reads_all ? 10000000 : n ? 1 : 100;
	info->estimatedCost = table->reads_all ? 1e9 : n ? 10 : 1000;
	return SQLITE_OK;
}

static int open_computed(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
	struct computed_cursor *cursor = calloc(1, sizeof(*cursor));

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	*ret_cursor = &cursor->base;
	return SQLITE_OK;
}

static const struct computed_module *module_of(const struct computed_cursor *cursor)
{
	return ((const struct computed_vtab *)cursor->base.pVtab)->module;
}

static void release_computed(struct computed_cursor *cursor)
{
	module_of(cursor)->table->close(cursor->rows);
	sqlite3_value_free(cursor->argument);
	cursor->rows = NULL;
	cursor->argument = NULL;
}

static int close_computed(sqlite3_vtab_cursor *base)
{
	release_computed((struct computed_cursor *)base);
	free(base);
	return SQLITE_OK;
}

/* Find the only object with that name: 0 and its number; or an SQLite error, with a message. */
static int find_name(struct computed_cursor *cursor, const char *name, int64_t *ret_object)
{
	struct trace *trace = module_of(cursor)->trace;
	const char *table = module_of(cursor)->table->name;
	const struct object *object;
	int found = 0;

	for (uint32_t id = 1; (object = trace_object(trace, id)); id++)
		if (trace_object_is(trace, object, name)) {
			*ret_object = id;
			found++;
		}
	if (found == 1)
		return SQLITE_OK;
	cursor->base.pVtab->zErrMsg = sqlite3_mprintf(
		found ? "%s('%q'): several processes have an object of this name; add the process, "
			"as in 'qp1/2', or give its number: SELECT id, process, name FROM object"
		      : "%s('%q'): no such object; the trace has: SELECT id, process, name FROM "
			"object",
		table, name);
	return SQLITE_ERROR;
}

static bool narrow_id(uint32_t *id, int64_t value)
{
	if (value <= 0 || value > UINT32_MAX || (*id && *id != value))
		return false;
	*id = (uint32_t)value;
	return true;
}

/* Add a bound. Returns an SQLite error code; *@empty: no row can match. */
static int add_bound(struct computed_cursor *cursor, struct computed_bounds *bounds, char letter,
		     sqlite3_value *value, bool *empty)
{
	int type = sqlite3_value_type(value);
	int64_t number = sqlite3_value_int64(value);

	if (letter == 'n' && type == SQLITE_TEXT) {
		int status = find_name(cursor, (const char *)sqlite3_value_text(value), &number);

		if (status)
			return status;
		type = SQLITE_INTEGER;
	}
	if (letter == 'n') {
		sqlite3_value_free(cursor->argument);
		cursor->argument = sqlite3_value_dup(value);
	}
	if (type != SQLITE_INTEGER) { /* SQLite compares texts and reals itself */
		*empty |= type == SQLITE_NULL || letter == 'n';
		return SQLITE_OK;
	}
	if (letter == 'p')
		*empty |= !narrow_id(&bounds->process, number);
	else if (letter == 't')
		bounds->to = number < bounds->to ? number : bounds->to;
	else
		*empty |= !narrow_id(&bounds->object, number);
	return SQLITE_OK;
}

static int failed_with(int err)
{
	/* log_err() was called already */
	return err == -ETIME ? SQLITE_INTERRUPT : SQLITE_CORRUPT_VTAB;
}

static int next_computed(sqlite3_vtab_cursor *base)
{
	struct computed_cursor *cursor = (struct computed_cursor *)base;
	int more = module_of(cursor)->table->next(cursor->rows);

	cursor->end = more <= 0;
	return more < 0 ? failed_with(more) : SQLITE_OK;
}

static int filter_computed(sqlite3_vtab_cursor *base, int number, const char *plan, int argc,
			   sqlite3_value **argv)
{
	struct computed_cursor *cursor = (struct computed_cursor *)base;
	const struct computed_module *module = module_of(cursor);
	struct computed_bounds bounds = { .to = INT64_MAX };
	bool empty = false;
	char *letters;
	int err;

	(void)number;
	release_computed(cursor);
	bounds.used = strtoull(plan, &letters, 16);
	cursor->end = true;
	for (int i = 0; i < argc; i++) {
		int status = add_bound(cursor, &bounds, letters[1 + i], argv[i], &empty);

		if (status)
			return status;
	}
	if (empty)
		return SQLITE_OK;
	err = module->table->open(module->arg, &bounds, &cursor->rows);
	return err < 0 ? failed_with(err) : next_computed(base);
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return ((struct computed_cursor *)base)->end;
}

static int put_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct computed_cursor *cursor = (struct computed_cursor *)base;
	const struct computed_table *table = module_of(cursor)->table;
	struct computed_value value;

	value.context = context;
	if (!table->columns[column].argument)
		table->value(cursor->rows, column, &value);
	else if (cursor->argument)
		sqlite3_result_value(context, cursor->argument);
	return SQLITE_OK;
}

void computed_set_int(struct computed_value *value, int64_t number)
{
	if (value->context) {
		sqlite3_result_int64(value->context, number);
		return;
	}
	value->kind = COMPUTED_INT;
	value->number = number;
}

void computed_set_text(struct computed_value *value, const char *text)
{
	if (!text)
		return;
	if (value->context) {
		sqlite3_result_text(value->context, text, -1, SQLITE_TRANSIENT);
		return;
	}
	value->kind = COMPUTED_TEXT;
	value->length = strlen(text);
	value->text = text;
	if (value->length < sizeof(value->room))
		value->text = memcpy(value->room, text, value->length + 1);
}

/* Write @number so that it ends before @end; returns its first digit. */
static char *put_digits(char *end, uint64_t number)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";

	for (; number >= 100; number /= 100) {
		end -= 2;
		memcpy(end, &pairs[2 * (number % 100)], 2);
	}
	if (number >= 10)
		*--end = (char)('0' + number % 10);
	*--end = (char)('0' + (number >= 10 ? number / 10 : number));
	return end;
}

const char *computed_event_text(struct event_id id, char text[COMPUTED_EVENT_TEXT],
				size_t *ret_length)
{
	char *end = text + COMPUTED_EVENT_TEXT - 1, *at;

	if (ids_find_range(id.thread, 0)) { /* in a joint trace */
		event_id_text(id, text);
		*ret_length = strlen(text);
		return text;
	}
	*end = '\0';
	at = put_digits(end, id.n);
	*--at = ':';
	at = put_digits(at, id.thread);
	*ret_length = (size_t)(end - at);
	return at;
}

void computed_set_event(struct computed_value *value, struct event_id id)
{
	char text[COMPUTED_EVENT_TEXT];
	size_t length;

	if (id.thread)
		computed_set_text(value, computed_event_text(id, text, &length));
}

static const sqlite3_module module = {
	.xConnect = connect_computed, /* no xCreate: eponymous only */
	.xBestIndex = plan_computed,
	.xDisconnect = disconnect_computed,
	.xOpen = open_computed,
	.xClose = close_computed,
	.xFilter = filter_computed,
	.xNext = next_computed,
	.xEof = at_end,
	.xColumn = put_column,
};

static void free_module(void *arg)
{
	struct computed_module *m = arg;

	if (m->release)
		m->release(m->arg);
	free(m);
}

static int add_module(sqlite3 *db, const struct computed_module *from)
{
	struct computed_module *m = malloc(sizeof(*m));

	if (!m) {
		if (from->release)
			from->release(from->arg);
		return -ENOMEM;
	}
	*m = *from;
	if (sqlite3_create_module_v2(db, m->table->name, &module, m, free_module))
		return sql_fail(db, "add the computed tables");
	return 0;
}

int computed_add(struct trace *trace, const struct computed_table *table, void *arg)
{
	return add_module(trace->db, &(struct computed_module){ trace, table, arg, NULL });
}

int computed_add_released(struct sqlite3 *db, const struct computed_table *table, void *arg,
			  void (*release)(void *arg))
{
	return add_module(db, &(struct computed_module){ NULL, table, arg, release });
}
