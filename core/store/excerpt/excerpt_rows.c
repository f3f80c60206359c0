/*
 * The control plane of an excerpt
 *
 * Included rows are copied unchanged; but a call that returned after the end of the excerpt is
 * copied as one that has not returned. This file also decides which rows of the data plane are
 * included.
 */
#include "core/store/excerpt/excerpt_priv.h"

#include <errno.h>
#include <string.h>

#include "core/base/text.h"
#include "core/store/vtab/functions.h"
#include "core/wire/log.h"

struct copy_table {
	const char *name;
	/*
	 * Is the row included? 1, 0 or -errno. It may change the values bound to @to. NULL: all
	 * rows are included.
	 */
	int (*take)(struct excerpt_copy *copy, sqlite3_stmt *row, sqlite3_stmt *to);
};

bool excerpt_includes_time(const struct excerpt *excerpt, struct event_id id, int64_t time)
{
	const struct excerpt_place *until = &excerpt->until;

	if (!until->id.thread || time != until->time)
		return time <= until->time;
	if (id.thread != until->id.thread)
		return id.thread < until->id.thread;
	return id.n <= until->id.n;
}

bool excerpt_has(const struct excerpt_copy *copy, const struct excerpt_item *item)
{
	const struct excerpt *excerpt = copy->excerpt;

	return excerpt_includes_time(excerpt, item->id, item->time) &&
	       (!excerpt->has || excerpt->has(excerpt->arg, item));
}

static void count_event(struct excerpt_copy *copy, uint32_t thread, uint64_t n, unsigned int times)
{
	excerpt_count(copy, thread, n);
	if (times > 1)
		excerpt_count(copy, thread, n);
}

/* Columns of table `call` that are NULL for a call that has not returned. */
static const int returned[] = { 5, 6, 7, 8, 14, 16 };
enum {
	CALL_VERB = 3,
	CALL_BEGIN,
	CALL_END,
	CALL_STACK = 11,
	CALL_OBJECT,
	CALL_HANDLE = 15,
	CALL_END_N
};

static int includes_call(struct excerpt_copy *copy, sqlite3_stmt *row, sqlite3_stmt *to)
{
	const char *name = (const char *)sqlite3_column_text(row, CALL_VERB);
	int verb = name ? verb_find(name) : -1;
	struct excerpt_item item = {
		.kind = EXCERPT_CALL,
		.id = { sql_u32(row, 0), (uint64_t)sqlite3_column_int64(row, 1) },
		.process = sql_u32(row, 2),
		.time = sql_time(row, CALL_BEGIN),
		.object = sql_u32(row, CALL_OBJECT),
		.of_events = verb == VERB_get_cq_event || verb == VERB_ack_cq_events
	};
	struct event_id end = { item.id.thread, (uint64_t)sqlite3_column_int64(row, CALL_END_N) };
	bool ends = sqlite3_column_type(row, CALL_END) != SQLITE_NULL;

	if (!excerpt_has(copy, &item))
		return 0;
	excerpt_need_stack(copy, sql_u32(row, CALL_STACK));
	if (ends && !excerpt_includes_time(copy->excerpt, end, sql_time(row, CALL_END))) {
		ends = false;
		for (size_t i = 0; i < sizeof(returned) / sizeof(*returned); i++)
			sqlite3_bind_null(to, returned[i] + 1);
		if (verb >= 0 && verb_infos[verb].effect == EFFECT_CREATE) {
			sqlite3_bind_null(to, CALL_OBJECT + 1);
			sqlite3_bind_null(to, CALL_HANDLE + 1);
		}
	}
	count_event(copy, item.id.thread, item.id.n, ends ? 2 : 1);
	return 1;
}

static int find_call(struct excerpt_copy *copy, sqlite3_stmt *row)
{
	int found;

	sql_bind(copy->call, "ui", sql_u32(row, 0), sqlite3_column_int64(row, 1));
	found = sql_step(copy->call);
	if (found > 0)
		found = 1 + sqlite3_column_int(copy->call, 0);
	sqlite3_reset(copy->call);
	return found;
}

/* Is a reference included? Those of outputs only if the call has returned. */
static int includes_ref(struct excerpt_copy *copy, sqlite3_stmt *row, sqlite3_stmt *to)
{
	const char *path = (const char *)sqlite3_column_text(row, 2);
	int found = find_call(copy, row);

	(void)to;
	return found < 0 ? found : found == 2 || (found && strncmp(path ?: "", "out.", 4) != 0);
}

static int includes_async(struct excerpt_copy *copy, sqlite3_stmt *row, sqlite3_stmt *to)
{
	int found = find_call(copy, row);

	(void)to;
	return found < 0 ? found : found == 2;
}

static int includes_row(struct excerpt_copy *copy, sqlite3_stmt *row)
{
	const struct excerpt_item item = { .kind = EXCERPT_EVENT,
					   .id = { sql_u32(row, 0),
						   (uint64_t)sqlite3_column_int64(row, 1) },
					   .process = sql_u32(row, 2),
					   .time = sql_time(row, 3) };

	return excerpt_has(copy, &item);
}

static int includes_event(struct excerpt_copy *copy, sqlite3_stmt *row, sqlite3_stmt *to)
{
	(void)to;
	if (!includes_row(copy, row))
		return 0;
	count_event(copy, sql_u32(row, 0), (uint64_t)sqlite3_column_int64(row, 1), 1);
	for (int i = 4; i < sqlite3_column_count(row); i++)
		if (!strcmp(sqlite3_column_name(row, i), "stack"))
			excerpt_need_stack(copy, sql_u32(row, i));
	return 1;
}

/* Is a note included? It is about a whole thread or about a time. */
static int includes_note(struct excerpt_copy *copy, sqlite3_stmt *row, sqlite3_stmt *to)
{
	struct event_id id = { sql_u32(row, 0), (uint64_t)sqlite3_column_int64(row, 1) };

	(void)to;
	return sqlite3_column_type(row, 3) == SQLITE_NULL ||
	       excerpt_includes_time(copy->excerpt, id, sql_time(row, 3));
}

static int includes_loss(struct excerpt_copy *copy, sqlite3_stmt *row, sqlite3_stmt *to)
{
	struct event_id id = { sql_u32(row, 0), 0 };

	(void)to;
	return excerpt_includes_time(copy->excerpt, id, sql_time(row, 3));
}

static int includes_sample(struct excerpt_copy *copy, sqlite3_stmt *row, sqlite3_stmt *to)
{
	struct event_id id = { sql_u32(row, 0), 0 };

	(void)to;
	return excerpt_includes_time(copy->excerpt, id, sql_time(row, 1));
}

static int includes_stack(struct excerpt_copy *copy, sqlite3_stmt *row, sqlite3_stmt *to)
{
	uint32_t stack = sql_u32(row, 0);

	(void)to;
	return stack && stack <= copy->nstacks && copy->stacks[stack - 1];
}

/*
 * The tables, each after those on which it depends. Findings are not copied: they are about the
 * whole trace.
 */
static const struct copy_table first_tables[] = {
	{ "meta", NULL },
	{ "process", NULL },
	{ "environ", NULL },
	{ "thread", NULL },
	{ "module", NULL },
	{ "device", NULL },
	{ "port", NULL },
	{ "gid", NULL },
	{ "object", NULL },
	{ "call", includes_call },
	{ "ref", includes_ref },
	{ "event", includes_async },
	{ "fork", includes_event },
	{ "memory", includes_event },
	{ "misuse", includes_event },
	{ "mark", includes_event },
	{ "waited", includes_note },
	{ "coverage", includes_note },
	{ "loss", includes_loss },
	{ "carried", NULL },
	{ "merged", NULL },
	{ "merged_meta", NULL },
	{ "counter", NULL },
	{ "sample", includes_sample },
	{ "counter_sample", NULL },
};
static const struct copy_table last_tables[] = { { "stack", includes_stack },
						 { "frame", includes_stack } };

static int put_row(struct excerpt_copy *copy, sqlite3_stmt *to, const char *table)
{
	int code = sqlite3_step(to);

	sqlite3_reset(to);
	if (code == SQLITE_DONE)
		return 0;
	if (code != SQLITE_CONSTRAINT && code != SQLITE_MISMATCH)
		return sql_fail(copy->to, "write an excerpt of the trace");
	return log_why(-EINVAL, "%s is damaged: table %s contains an invalid row", copy->path,
		       table);
}

static int copy_rows(struct excerpt_copy *copy, const struct copy_table *table, sqlite3_stmt *from,
		     sqlite3_stmt *to)
{
	int err;

	while ((err = sql_step(from)) > 0) {
		for (int i = 0; i < sqlite3_column_count(from); i++)
			sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
		err = table->take ? table->take(copy, from, to) : 1;
		if (err > 0)
			err = put_row(copy, to, table->name);
		if (err < 0)
			return err;
	}
	return err;
}

static int copy_table(struct excerpt_copy *copy, const struct copy_table *table)
{
	sqlite3_stmt *from = NULL, *to = NULL;
	struct text sql = { 0 };
	int err = 0;

	/* an older format lacks the table: schema_check() */
	if (sqlite3_table_column_metadata(copy->from, NULL, table->name, NULL, NULL, NULL, NULL,
					  NULL, NULL))
		return 0;
	text_addf(&sql, "SELECT * FROM %s", functions_source(table->name));
	err = sql.failed ? -ENOMEM : sql_prepare(copy->from, sql.at, &from);
	text_cut(&sql, 0);
	text_addf(&sql, "INSERT INTO %s VALUES(?", table->name);
	for (int i = 1; !err && i < sqlite3_column_count(from); i++)
		text_addf(&sql, ", ?");
	text_addf(&sql, ")");
	if (!err)
		err = sql.failed ? -ENOMEM : sql_prepare(copy->to, sql.at, &to);
	if (!err)
		err = copy_rows(copy, table, from, to);
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	text_fini(&sql);
	return err;
}

static int copy_tables(struct excerpt_copy *copy, const struct copy_table *tables, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = copy_table(copy, &tables[i]);
	return err;
}

int excerpt_copy_rows(struct excerpt_copy *copy)
{
	return copy_tables(copy, first_tables, sizeof(first_tables) / sizeof(*first_tables));
}

int excerpt_copy_stacks(struct excerpt_copy *copy)
{
	return copy_tables(copy, last_tables, sizeof(last_tables) / sizeof(*last_tables));
}
