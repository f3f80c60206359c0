/*
 * Tables `call` and `ref` with the calls in blocks, as virtual tables
 *
 * A query merges two sources: the rows in the file, which a statement reads with the query's
 * conditions on thread, n, begin, object and verb, and the calls of blocks that may meet these
 * conditions. The result is in the order of the key, like that of a table without blocks.
 *
 * The plan passed from xBestIndex to xFilter: idxStr is a letter for each argument: t thread; n, g,
 * l equal, from and to n; G and L above and below; f and u from and to begin; o object; v verb.
 *
 * All cursors of the connection share the decoded blocks, since the cursors of a join read the same
 * blocks.
 */
#include "core/store/db/call_tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/chunk/call_block.h"
#include "core/store/db/schema.h"
#include "core/wire/log.h"

enum { CACHED = 16, STATEMENTS = 4 };

/* Columns of the two tables; the first two are in both. */
enum { THREAD, N, PROCESS, VERB, BEGIN, END, RET, ERROR, FAILED, DEPTH, OURS, STACK, OBJECT };
enum { ARGS = OBJECT + 1, OUT, HANDLE, END_N };
enum { REF_PATH = 2, REF_KIND, REF_HANDLE, REF_OBJECT };

/* A block in memory. */
struct cached_block {
	int64_t thread, process;
	uint64_t first_n, last_n;
	/* sqlite3_total_changes() when it was read; if it has changed, the block may have, too */
	int changes;
	unsigned int users;
	uint64_t turn;
	struct call_block block;
	struct object_entry {
		uint32_t object, i;
	} * objects; /* the object of each call, sorted */
	size_t objects_size;
	bool sorted; /* @objects has the objects of this block */
};

/* Shared by both tables. */
struct shared_tables {
	sqlite3 *db;
	unsigned int refs;
	struct cached_block **cached;
	size_t ncached;
	uint64_t turn;
	sqlite3_stmt *of_thread, *of_all; /* find the next block of a thread, or of all threads */
};

/* A statement that reads rows of the file. */
struct file_query {
	char *sql;
	sqlite3_stmt *stmt;
	bool used;
};

struct call_vtab {
	sqlite3_vtab base;
	struct shared_tables *home;
	bool of_refs;
	struct file_query plain[STATEMENTS];
};

/* Bounds of a query: rows outside are not needed. */
struct bounds {
	int64_t thread; /* -1: any */
	int64_t n_from, n_to, from, to;
	int64_t object;   /* 0: any */
	const char *verb; /* NULL: any; a copy in the cursor */
};

struct call_cursor {
	sqlite3_vtab_cursor base;
	struct bounds bounds;
	struct file_query *plain; /* NULL: none */
	/* a statement for this cursor only, if all statements of the table are in use */
	struct file_query own;
	bool has_plain; /* the statement is at a row */
	struct cached_block *cached;
	int64_t thread; /* thread of the last block */
	uint64_t next_n;
	/* index in the block, or in cached->objects; those from @last on are not needed */
	uint32_t at, last;
	uint32_t i; /* index of the call in the block */
	size_t ref;
	bool by_object;
	struct call_row row;
	bool has_block, on_block; /* is there a row of a block, and is it the current one? */
	struct text verb, args, out;
};

/* Blocks */

#define BLOCK                                          \
	"SELECT thread, first_n, last_n, calls, data," \
	" (SELECT process FROM main.thread WHERE id = thread) FROM main.call_chunk WHERE "
#define FITS                                               \
	" AND first_n <= ?3 AND end >= ?4 AND begin <= ?5" \
	" AND (?6 = 0 OR ?6 BETWEEN least AND most) AND verbs & ?7 "

static const char of_thread_sql[] =
	BLOCK "thread = ?1 AND first_n >= coalesce((SELECT max(first_n) FROM main.call_chunk"
	      " WHERE thread = ?1 AND first_n <= ?2), 0)" FITS
	      "AND last_n >= ?2 ORDER BY first_n LIMIT 1";

static const char of_all_sql[] = BLOCK "(thread, first_n) >= (?1, ?2)" FITS
				       "AND last_n >= ?8 ORDER BY thread, first_n LIMIT 1";

#undef BLOCK
#undef FITS

static void home_put(void *arg)
{
	struct shared_tables *home = arg;

	if (--home->refs)
		return;
	for (size_t i = 0; i < home->ncached; i++) {
		call_block_fini(&home->cached[i]->block);
		free(home->cached[i]->objects);
		free(home->cached[i]);
	}
	free(home->cached);
	free(home);
}

/* Finalize the statements: they must not outlive the last table that is disconnected. */
static void home_finalize(struct shared_tables *home)
{
	sqlite3_finalize(home->of_thread);
	sqlite3_finalize(home->of_all);
	home->of_thread = home->of_all = NULL;
}

static struct cached_block *find_cached(struct shared_tables *home, int64_t thread, uint64_t n)
{
	int changes = sqlite3_total_changes(home->db);

	for (size_t i = 0; i < home->ncached; i++) {
		struct cached_block *c = home->cached[i];

		if (c->thread == thread && c->changes == changes && c->first_n <= n &&
		    n <= c->last_n && c->block.calls)
			return c;
	}
	return NULL;
}

/* A block that no cursor uses: a new one, or the least recently used one. */
static struct cached_block *free_cached(struct shared_tables *home)
{
	struct cached_block *best = NULL, **more;

	for (size_t i = 0; i < home->ncached; i++)
		if (!home->cached[i]->users && (!best || home->cached[i]->turn < best->turn))
			best = home->cached[i];
	if (best && home->ncached >= CACHED)
		return best;
	best = calloc(1, sizeof(*best));
	more = best ? vec_push(home->cached, home->ncached) : NULL;
	if (!more)
		free(best);
	return more ? (*more = best) : NULL;
}

/* Decode the block in the current row of @stmt. 0 or -errno after log_err(). */
static int load_block(struct shared_tables *home, sqlite3_stmt *stmt,
		      struct cached_block **ret_cached)
{
	struct cached_block *c = free_cached(home);
	int err = c ? 0 : -ENOMEM;

	if (!err) {
		c->sorted = false;
		c->thread = sqlite3_column_int64(stmt, 0);
		c->first_n = (uint64_t)sqlite3_column_int64(stmt, 1);
		c->last_n = (uint64_t)sqlite3_column_int64(stmt, 2);
		c->process = sqlite3_column_int64(stmt, 5);
		c->changes = sqlite3_total_changes(home->db);
		err = call_block_read(&c->block, sqlite3_column_blob(stmt, 4),
				      (size_t)sqlite3_column_bytes(stmt, 4));
	}
	/* readers rely on the order of the rows of all blocks */
	if (!err &&
	    (!c->block.calls || c->block.calls != sqlite3_column_int64(stmt, 3) ||
	     call_block_n(&c->block, 0) != c->first_n ||
	     call_block_n(&c->block, c->block.calls - 1) != c->last_n || c->last_n > INT64_MAX))
		err = -EBADMSG;
	if (err == -EBADMSG) {
		c->block.calls = 0;
		return log_why(-EINVAL, "%s is damaged: a block of table call_chunk",
			       sqlite3_db_filename(home->db, "main"));
	}
	*ret_cached = c;
	return err ? log_err(err, "read calls") : 0;
}

static int prepare_once(struct shared_tables *home, const char *sql, sqlite3_stmt **stmt)
{
	return *stmt ? 0 : sql_prepare(home->db, sql, stmt);
}

/* Find the next block within the cursor's bounds: 1, 0 or -errno. */
static int find_block(struct call_cursor *cursor, struct shared_tables *home,
		      struct cached_block **ret_cached)
{
	const struct bounds *b = &cursor->bounds;
	bool all = b->thread < 0, of_refs = ((struct call_vtab *)cursor->base.pVtab)->of_refs;
	/* the calls of a block may refer to objects outside the range of their own objects */
	int64_t object = of_refs ? 0 : b->object;
	sqlite3_stmt **at = all ? &home->of_all : &home->of_thread;
	int err;

	if (!all && (*ret_cached = find_cached(home, b->thread, cursor->next_n)))
		return 1;
	err = prepare_once(home, all ? of_all_sql : of_thread_sql, at);
	if (err)
		return err;
	sql_bind(*at, all ? "iiiiiiii" : "iiiiiii", all ? cursor->thread : b->thread,
		 (int64_t)cursor->next_n, b->n_to, b->from, b->to, object,
		 b->verb ? call_verb_bit(b->verb) : UINT64_MAX, b->n_from);
	err = sql_step(*at);
	if (err > 0)
		err = load_block(home, *at, ret_cached) ?: 1;
	sqlite3_reset(*at);
	return err;
}

static void release_block(struct call_cursor *cursor)
{
	if (cursor->cached)
		cursor->cached->users--;
	cursor->cached = NULL;
	cursor->has_block = false;
}

/* The index of the block's first call whose event number is at least @n. */
static uint32_t find_call(const struct call_block *block, uint64_t n)
{
	uint32_t from = 0, to = block->calls;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (call_block_n(block, middle) < n)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static int compare_objects(const void *a, const void *b)
{
	const struct object_entry *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

static int sort_objects(struct cached_block *c)
{
	struct call_row row;

	if (c->sorted)
		return 0;
	if (vec_reserve(c->objects, c->objects_size, c->block.calls))
		return log_err(-ENOMEM, "read calls");
	for (uint32_t i = 0; i < c->block.calls; i++) {
		call_block_row(&c->block, i, &row);
		c->objects[i] = (struct object_entry){ row.object, i };
	}
	qsort(c->objects, c->block.calls, sizeof(*c->objects), compare_objects);
	c->sorted = true;
	return 0;
}

static bool is_object_before(const void *element, const void *object)
{
	return ((const struct object_entry *)element)->object < *(const uint64_t *)object;
}

static uint32_t find_object(const struct cached_block *c, uint64_t object)
{
	return (uint32_t)vec_count_before(c->objects, c->block.calls, sizeof(*c->objects),
					  is_object_before, &object);
}

/* Limit the cursor to the calls of the block that may be within its bounds. */
static int limit_calls(struct call_cursor *cursor, struct cached_block *c)
{
	const struct bounds *b = &cursor->bounds;

	cursor->by_object = b->object && !((struct call_vtab *)cursor->base.pVtab)->of_refs;
	if (cursor->by_object) {
		if (sort_objects(c))
			return -ENOMEM;
		cursor->at = find_object(c, (uint64_t)b->object);
		cursor->last = find_object(c, (uint64_t)b->object + 1);
		return 1;
	}
	cursor->at = find_call(&c->block, (uint64_t)b->n_from);
	cursor->last = find_call(&c->block, (uint64_t)b->n_to + 1);
	return 1;
}

static int enter_block(struct call_cursor *cursor)
{
	struct shared_tables *home = ((struct call_vtab *)cursor->base.pVtab)->home;
	struct cached_block *next = NULL;
	int more;

	release_block(cursor);
	if (cursor->bounds.thread >= 0 && cursor->next_n > (uint64_t)cursor->bounds.n_to)
		return 0;
	more = find_block(cursor, home, &next);
	if (more <= 0)
		return more;
	next->users++;
	next->turn = ++home->turn;
	cursor->cached = next;
	cursor->thread = next->thread;
	cursor->next_n = cursor->bounds.thread < 0 ? next->first_n + 1 : next->last_n + 1;
	cursor->ref = 0;
	return limit_calls(cursor, next);
}

/* Is the call at the cursor, or its reference, within the bounds of the query? */
static bool is_wanted(struct call_cursor *cursor, bool of_refs)
{
	const struct bounds *b = &cursor->bounds;
	int64_t object = cursor->row.object;

	if ((int64_t)cursor->row.n < b->n_from || (int64_t)cursor->row.n > b->n_to ||
	    cursor->row.begin < b->from || cursor->row.begin > b->to)
		return false;
	if (b->verb && strcmp(b->verb, cursor->row.verb) != 0)
		return false;
	if (of_refs && b->object)
		object = call_block_ref(&cursor->cached->block, cursor->i, cursor->ref).object;
	return !b->object || object == b->object;
}

/* Move the cursor to the first wanted row in blocks, at the current one or later. 0 or -errno. */
static int seek_wanted(struct call_cursor *cursor)
{
	bool of_refs = ((struct call_vtab *)cursor->base.pVtab)->of_refs;

	for (;;) {
		int more;

		for (; cursor->cached && cursor->at < cursor->last; cursor->at++, cursor->ref = 0) {
			cursor->i = cursor->by_object ? cursor->cached->objects[cursor->at].i
						      : cursor->at;
			call_block_row(&cursor->cached->block, cursor->i, &cursor->row);
			for (; cursor->ref < (of_refs ? cursor->row.nrefs : 1); cursor->ref++)
				if (is_wanted(cursor, of_refs)) {
					cursor->has_block = true;
					return 0;
				}
		}
		more = enter_block(cursor);
		if (more <= 0)
			return more;
	}
}

/* Rows of the file */

static const char *table_of(const struct call_vtab *vtab)
{
	return vtab->of_refs ? "ref" : "call";
}

static char *write_query(const struct call_vtab *vtab, const struct bounds *b)
{
	struct text sql = { 0 };

	text_addf(&sql, "SELECT * FROM main.%s WHERE true", table_of(vtab));
	if (b->thread >= 0)
		text_addf(&sql, " AND thread = ?1");
	if (b->n_from || b->n_to != INT64_MAX)
		text_addf(&sql, " AND n BETWEEN ?2 AND ?3");
	if (b->from != INT64_MIN || b->to != INT64_MAX)
		text_addf(&sql, " AND begin BETWEEN ?4 AND ?5");
	if (b->object)
		text_addf(&sql, " AND object = ?6");
	if (b->verb)
		text_addf(&sql, " AND verb = ?7");
	text_addf(&sql, " ORDER BY thread, n%s", vtab->of_refs ? ", path" : "");
	if (sql.failed)
		text_fini(&sql);
	return sql.at;
}

static int prepare_plain(struct shared_tables *home, struct file_query *plain, char *sql)
{
	sqlite3_finalize(plain->stmt);
	plain->stmt = NULL;
	free(plain->sql);
	plain->sql = sql;
	return sql_prepare(home->db, sql, &plain->stmt);
}

/* Take a statement with the cursor's bounds that no other cursor uses: an existing or a new one. */
static int take_plain_statement(struct call_cursor *cursor)
{
	struct call_vtab *vtab = (struct call_vtab *)cursor->base.pVtab;
	char *sql = write_query(vtab, &cursor->bounds);
	struct file_query *unused = &cursor->own;
	int err = sql ? 0 : log_err(-ENOMEM, "read calls");

	for (int i = 0; i < STATEMENTS && !err; i++) {
		struct file_query *plain = &vtab->plain[i];

		if (plain->used)
			continue;
		unused = plain;
		if (plain->sql && !strcmp(plain->sql, sql)) {
			free(sql);
			goto taken;
		}
	}
	err = err ?: prepare_plain(vtab->home, unused, sql);
	if (err)
		return err;
taken:
	cursor->plain = unused;
	unused->used = true;
	return 0;
}

static void leave_plain(struct call_cursor *cursor)
{
	if (!cursor->plain)
		return;
	sqlite3_reset(cursor->plain->stmt);
	cursor->plain->used = false;
	cursor->plain = NULL;
}

static void free_plain(struct file_query *plain)
{
	sqlite3_finalize(plain->stmt);
	free(plain->sql);
	*plain = (struct file_query){ 0 };
}

static int step_plain(struct call_cursor *cursor)
{
	int more = sql_step(cursor->plain->stmt);

	cursor->has_plain = more > 0;
	return more < 0 ? more : 0;
}

static int open_plain(struct call_cursor *cursor)
{
	const struct bounds *b = &cursor->bounds;
	static const char *const types = "iiiiii";
	const int64_t values[] = { b->thread, b->n_from, b->n_to, b->from, b->to, b->object };
	sqlite3_stmt *stmt;
	int err = take_plain_statement(cursor);

	if (err)
		return err;
	stmt = cursor->plain->stmt;
	for (int i = 0; types[i]; i++) /* ignored if the statement has no such parameter */
		sqlite3_bind_int64(stmt, i + 1, values[i]);
	sqlite3_bind_text(stmt, 7, b->verb, -1, SQLITE_STATIC);
	return step_plain(cursor);
}

/* The cursor */

static void choose_row(struct call_cursor *cursor)
{
	sqlite3_stmt *stmt = cursor->plain ? cursor->plain->stmt : NULL;
	int64_t thread;

	cursor->on_block = cursor->has_block;
	if (!cursor->has_plain || !cursor->has_block)
		return;
	thread = sqlite3_column_int64(stmt, THREAD);
	cursor->on_block = cursor->cached->thread < thread ||
			   (cursor->cached->thread == thread &&
			    (int64_t)cursor->row.n < sqlite3_column_int64(stmt, N));
}

static void release_cursor(struct call_cursor *cursor)
{
	leave_plain(cursor);
	release_block(cursor);
	cursor->has_plain = cursor->on_block = false;
}

static int to_sqlite_error(int err)
{
	/* log_err() was called already */
	return err == -ETIME ? SQLITE_INTERRUPT : SQLITE_CORRUPT_VTAB;
}

static void narrow_bounds(int64_t *from, int64_t *to, int64_t low, int64_t high)
{
	*from = low > *from ? low : *from;
	*to = high < *to ? high : *to;
}

/* Use a condition on the verb; if there are several, the last one: SQLite checks all of them. */
static bool add_verb(struct call_cursor *cursor, sqlite3_value *value)
{
	const char *verb = (const char *)sqlite3_value_text(value);

	text_cut(&cursor->verb, 0);
	text_add(&cursor->verb, verb ? verb : "", verb ? strlen(verb) : 0);
	if (sqlite3_value_type(value) == SQLITE_TEXT && !cursor->verb.failed)
		cursor->bounds.verb = cursor->verb.at;
	return true;
}

/* Use a condition for the bounds. False: no row can match. */
static bool add_bound(struct call_cursor *cursor, char letter, sqlite3_value *value)
{
	struct bounds *b = &cursor->bounds;
	int64_t v = sqlite3_value_int64(value);

	/*
	 * no row matches a comparison with NULL; comparisons with a text or a real are left to
	 * SQLite
	 */
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return false;
	if (letter == 'v')
		return add_verb(cursor, value);
	if (sqlite3_value_type(value) != SQLITE_INTEGER)
		return true;
	if (letter == 't') {
		if (v < 0 || (b->thread >= 0 && b->thread != v))
			return false;
		b->thread = v;
	} else if (letter == 'o') {
		if (v <= 0 || (b->object && b->object != v))
			return v <= 0; /* comparisons with 0 or less are left to SQLite */
		b->object = v;
	} else if (strchr("GL", letter)) {
		if (v == (letter == 'G' ? INT64_MAX : INT64_MIN))
			return false;
		narrow_bounds(&b->n_from, &b->n_to, letter == 'G' ? v + 1 : 0,
			      letter == 'L' ? v - 1 : INT64_MAX);
	} else if (strchr("ngl", letter)) {
		narrow_bounds(&b->n_from, &b->n_to, letter == 'l' ? 0 : v,
			      letter == 'g' ? INT64_MAX : v);
	} else {
		narrow_bounds(&b->from, &b->to, letter == 'u' ? INT64_MIN : v,
			      letter == 'f' ? INT64_MAX : v);
	}
	return true;
}

static int filter_calls(sqlite3_vtab_cursor *base, int number, const char *letters, int argc,
			sqlite3_value **argv)
{
	struct call_cursor *cursor = (struct call_cursor *)base;
	int err;

	(void)number;
	release_cursor(cursor);
	cursor->bounds = (struct bounds){ -1, 0, INT64_MAX, INT64_MIN, INT64_MAX, 0, NULL };
	for (int i = 0; i < argc; i++)
		if (!add_bound(cursor, letters[i], argv[i]))
			return SQLITE_OK;
	cursor->thread = 0;
	cursor->next_n = cursor->bounds.thread < 0 ? 0 : (uint64_t)cursor->bounds.n_from;
	err = open_plain(cursor);
	if (!err)
		err = seek_wanted(cursor);
	choose_row(cursor);
	return err ? to_sqlite_error(err) : SQLITE_OK;
}

static int next_call(sqlite3_vtab_cursor *base)
{
	struct call_cursor *cursor = (struct call_cursor *)base;
	int err;

	if (cursor->on_block) {
		cursor->has_block = false;
		cursor->ref++;
		err = seek_wanted(cursor);
	} else {
		err = step_plain(cursor);
	}
	choose_row(cursor);
	return err ? to_sqlite_error(err) : SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	const struct call_cursor *cursor = (struct call_cursor *)base;

	return !cursor->has_plain && !cursor->has_block;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
	struct call_cursor *cursor = calloc(1, sizeof(*cursor));

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	*ret_cursor = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct call_cursor *cursor = (struct call_cursor *)base;

	release_cursor(cursor);
	free_plain(&cursor->own);
	text_fini(&cursor->verb);
	text_fini(&cursor->args);
	text_fini(&cursor->out);
	free(cursor);
	return SQLITE_OK;
}

/* Values */

static void put_unless_0(sqlite3_context *context, uint64_t number)
{
	if (number)
		sqlite3_result_int64(context, (int64_t)number);
}

static void put_text(sqlite3_context *context, const char *text)
{
	sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void put_args(struct call_cursor *cursor, sqlite3_context *context, bool out)
{
	struct text *to = out ? &cursor->out : &cursor->args;
	const char *text = call_block_args(&cursor->cached->block, cursor->i, out, to);

	if (text)
		sqlite3_result_text(context, text, (int)to->used, SQLITE_TRANSIENT);
	else if (to->failed)
		sqlite3_result_error_nomem(context);
}

static int64_t number_at(const struct call_cursor *cursor, int column)
{
	const struct call_row *row = &cursor->row;

	switch (column) {
	case THREAD:
		return cursor->cached->thread;
	case N:
		return (int64_t)row->n;
	case PROCESS:
		return cursor->cached->process;
	case BEGIN:
		return row->begin;
	case END:
		return row->end;
	case RET:
		return row->ret;
	case ERROR:
		return row->error;
	case FAILED:
		return row->failed;
	case DEPTH:
		return row->depth;
	case OURS:
		return row->ours;
	default:
		return (int64_t)row->end_n;
	}
}

static void put_call(struct call_cursor *cursor, sqlite3_context *context, int column)
{
	const struct call_row *row = &cursor->row;

	switch (column) {
	case VERB:
		put_text(context, row->verb);
		break;
	case STACK:
		put_unless_0(context, row->stack);
		break;
	case OBJECT:
		put_unless_0(context, row->object);
		break;
	case ARGS:
	case OUT:
		put_args(cursor, context, column == OUT);
		break;
	case HANDLE:
		put_unless_0(context, row->handle);
		break;
	default:
		sqlite3_result_int64(context, number_at(cursor, column));
	}
}

static void put_ref(struct call_cursor *cursor, sqlite3_context *context, int column)
{
	struct ref_row ref;

	if (column == THREAD || column == N) {
		put_call(cursor, context, column);
		return;
	}
	ref = call_block_ref(&cursor->cached->block, cursor->i, cursor->ref);
	if (column == REF_PATH)
		put_text(context, ref.path);
	else if (column == REF_KIND)
		put_text(context, ref.kind);
	else if (column == REF_HANDLE)
		sqlite3_result_int64(context, (int64_t)ref.handle);
	else
		put_unless_0(context, ref.object);
}

static int put_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct call_cursor *cursor = (struct call_cursor *)base;

	if (!cursor->on_block)
		sqlite3_result_value(context, sqlite3_column_value(cursor->plain->stmt, column));
	else if (((struct call_vtab *)base->pVtab)->of_refs)
		put_ref(cursor, context, column);
	else
		put_call(cursor, context, column);
	return SQLITE_OK;
}

/* Plans */

static char letter_of_n(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return 'n';
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

static char letter_of_begin(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return 'b';
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return 'f';
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return 'u';
	default:
		return 0;
	}
}

static char letter_of(const struct call_vtab *vtab, int column, unsigned char op)
{
	bool equal = op == SQLITE_INDEX_CONSTRAINT_EQ;

	if (column == THREAD)
		return equal ? 't' : 0;
	if (column == N)
		return letter_of_n(op);
	if (column == (vtab->of_refs ? (int)REF_OBJECT : (int)OBJECT))
		return equal ? 'o' : 0;
	if (!vtab->of_refs && column == VERB)
		return equal ? 'v' : 0;
	return !vtab->of_refs && column == BEGIN ? letter_of_begin(op) : 0;
}

/*
 * Is the requested order that of the rows? They are in the order of (thread, n); of one thread, of
 * n.
 */
static bool is_in_order(const sqlite3_index_info *info, bool of_thread)
{
	int i = 0;

	for (int k = 0; k < info->nOrderBy; k++)
		if (info->aOrderBy[k].desc)
			return false;
	if (i < info->nOrderBy && info->aOrderBy[i].iColumn == THREAD)
		i++;
	else if (!of_thread)
		return false;
	if (i < info->nOrderBy && info->aOrderBy[i].iColumn == N)
		i++;
	return info->nOrderBy && i == info->nOrderBy;
}

static void estimate_cost(sqlite3_index_info *info, const char *letters)
{
	double rows = 1e6;

	if (strchr(letters, 'o'))
		rows = 100;
	if (strchr(letters, 'v'))
		rows /= 20;
	if (strpbrk(letters, "fub"))
		rows /= 10;
	if (strchr(letters, 't'))
		rows = strchr(letters, 'n') ? 1 : rows / 10;
	info->estimatedRows = (sqlite3_int64)rows;
	/* searching an object reads many blocks */
	info->estimatedCost = rows + 10 + (rows > 1 && strchr(letters, 'o') ? 10000 : 0);
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	char letters[32] = "";
	int n = 0;

	for (int i = 0; i < info->nConstraint && n < (int)sizeof(letters) - 1; i++) {
		const typeof(info->aConstraint[0]) *c = &info->aConstraint[i];
		char letter = 0;

		if (c->usable && c->iColumn >= 0)
			letter = letter_of((struct call_vtab *)base, c->iColumn, c->op);
		if (!letter)
			continue;
		letters[n++] = letter;
		letters[n] = '\0';
		info->aConstraintUsage[i].argvIndex = n;
		/* SQLite checks the rows again, since texts and reals compare differently */
	}
	info->orderByConsumed = is_in_order(info, strchr(letters, 't'));
	info->idxStr = sqlite3_mprintf("%s", letters);
	info->needToFreeIdxStr = 1;
	if (!info->idxStr)
		return SQLITE_NOMEM;
	estimate_cost(info, letters);
	return SQLITE_OK;
}

/* Modules */

struct module_arg {
	struct shared_tables *home;
	bool of_refs;
};

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **ret_vtab, char **ret_error)
{
	const struct module_arg *m = aux;
	struct text sql = { 0 };
	struct call_vtab *vtab;
	int status;

	(void)argc;
	(void)argv;
	(void)ret_error;
	text_addf(&sql, "CREATE TABLE x(%s", schema_columns(m->of_refs ? "ref" : "call"));
	status = sql.failed ? SQLITE_NOMEM : sqlite3_declare_vtab(db, sql.at);
	text_fini(&sql);
	if (status)
		return status;
	vtab = calloc(1, sizeof(*vtab));
	if (!vtab)
		return SQLITE_NOMEM;
	vtab->home = m->home;
	vtab->of_refs = m->of_refs;
	m->home->refs++;
	*ret_vtab = &vtab->base;
	return SQLITE_OK;
}

/* Must differ from xConnect: otherwise the module would also be an eponymous table. */
static int create_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
			sqlite3_vtab **ret_vtab, char **ret_error)
{
	return connect_table(db, aux, argc, argv, ret_vtab, ret_error);
}

static int disconnect_table(sqlite3_vtab *base)
{
	struct call_vtab *vtab = (struct call_vtab *)base;

	for (int i = 0; i < STATEMENTS; i++)
		free_plain(&vtab->plain[i]);
	home_finalize(
		vtab->home); /* its statements are prepared again when another table needs them */
	home_put(vtab->home);
	free(vtab);
	return SQLITE_OK;
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
	.xFilter = filter_calls,
	.xNext = next_call,
	.xEof = at_end,
	.xColumn = put_column,
};

static void free_module(void *arg)
{
	struct module_arg *m = arg;

	home_put(m->home);
	free(m);
}

static int add_module(struct shared_tables *home, const char *name, bool of_refs)
{
	struct module_arg *m = malloc(sizeof(*m));

	if (!m)
		return log_err(-ENOMEM, "add the tables of calls");
	*m = (struct module_arg){ home, of_refs };
	home->refs++;
	if (sqlite3_create_module_v2(home->db, name, &module, m, free_module))
		return sql_fail(home->db, "add the tables of calls");
	return 0;
}

static bool has_call_table(sqlite3 *db)
{
	return !sqlite3_table_column_metadata(db, "temp", "call", NULL, NULL, NULL, NULL, NULL,
					      NULL);
}

int call_tables_follow(sqlite3 *db)
{
	struct shared_tables *home;
	int err;

	if (has_call_table(db))
		return 0;
	home = calloc(1, sizeof(*home));
	if (!home)
		return log_err(-ENOMEM, "add the tables of calls");
	home->db = db;
	home->refs = 1;
	err = add_module(home, "verbatim_call", false) ?: add_module(home, "verbatim_ref", true);
	home_put(home);
	return err ? err
		   : sql_exec(db, "CREATE VIRTUAL TABLE temp.call USING verbatim_call;"
				  "CREATE VIRTUAL TABLE temp.ref USING verbatim_ref");
}

int call_tables_create(sqlite3 *db)
{
	/* an older format has no such table */
	if (sqlite3_table_column_metadata(db, "main", "call_chunk", NULL, NULL, NULL, NULL, NULL,
					  NULL) ||
	    !sql_int(db, "SELECT count(*) FROM (SELECT 1 FROM main.call_chunk LIMIT 1)", 0))
		return 0;
	return call_tables_follow(db);
}
