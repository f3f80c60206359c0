/*
 * Deleting the control plane before a cut
 *
 *	... calls ... | cut | calls ...        needed.c: which calls before it are needed
 *
 * A cut stores the position of each thread and the calls that have not returned. When the events
 * before the cut are deleted, their rows are deleted in the order of each thread, so that each row
 * is processed once; but a needed call remains, and is deleted by its number when it is not needed
 * any more. A row is deleted only after the live reader has read it.
 *
 * An object keeps its name when the objects before it are deleted: while the trace is being
 * written, table `object` has the ordinals of objects before the cut, and, in rows with a negative
 * id, the number of objects of each kind that a process had created before the cut. lifetimes.c
 * reads both when it completes the trace.
 *
 * Not here: threads, processes, stacks and other rows without events (forget_rows.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/vec.h"
#include "core/store/chunk/call_block.h"
#include "core/store/write/writer_priv.h"

static uint64_t open_key(struct event_id id)
{
	return (uint64_t)id.thread << 40 ^ id.n;
}

static struct event_id id_of(sqlite3_value **values)
{
	return (struct event_id){ (uint32_t)sqlite3_value_int64(values[0]),
				  (uint64_t)sqlite3_value_int64(values[1]) };
}

/* In SQL, with a thread and n: is the call needed? */
static void sql_is_needed(sqlite3_context *context, int n, sqlite3_value **values)
{
	const struct writer *writer = sqlite3_user_data(context);
	struct event_id id = id_of(values);
	uint64_t value;

	(void)n;
	sqlite3_result_int(context, needed_has(writer->needed, id) ||
					    map_get(&writer->open, open_key(id), &value));
}

/* In SQL, with a process and fork_seq: is the fork's child in the trace? */
static void sql_has_child(sqlite3_context *context, int n, sqlite3_value **values)
{
	const struct writer *writer = sqlite3_user_data(context);
	const struct known_process *p =
		processes_find(writer, (uint32_t)sqlite3_value_int64(values[0]));
	uint32_t seq = (uint32_t)sqlite3_value_int64(values[1]);
	bool found = false;

	(void)n;
	for (size_t i = p && p->children ? p->id : writer->nprocesses;
	     i < writer->nprocesses && !found; i++) {
		const struct known_process *child = writer->processes[i];

		found = child && child->parent == p->id && child->fork_seq == seq;
	}
	sqlite3_result_int(context, found);
}

int forget_init(struct writer *writer, bool cuts)
{
	writer->due.time = writer->last_cut = writer->read_to = INT64_MIN;
	/* registered before the statements that use them are prepared */
	if (sqlite3_create_function(writer->db, "is_needed", 2, SQLITE_UTF8, writer, sql_is_needed,
				    NULL, NULL) ||
	    sqlite3_create_function(writer->db, "has_child", 2, SQLITE_UTF8, writer, sql_has_child,
				    NULL, NULL))
		return sql_fail(writer->db, "make functions");
	if (forget_rows_init(writer))
		return -ENOMEM;
	return cuts ? needed_new(&writer->needed) : 0;
}

void forget_fini(struct writer *writer)
{
	cut_control_fini(&writer->due);
	needed_free(writer->needed);
	writer->needed = NULL;
	map_fini(&writer->open);
	free(writer->late);
	free(writer->old_modules);
	writer->late = NULL;
	writer->old_modules = NULL;
	writer->nlate = writer->nold_modules = 0;
}

/* At a cut */

static int note_log(struct control_cut *cut, const struct thread_log *log)
{
	struct event_id *end = vec_push(cut->ends, cut->nends);

	if (!end)
		return -ENOMEM;
	*end = (struct event_id){ log->id, log->n };
	for (size_t i = 0; i < log->npending; i++) {
		struct event_id *open = vec_push(cut->open, cut->nopen);

		if (!open)
			return -ENOMEM;
		*open = (struct event_id){ log->id, log->pending[i].n };
	}
	return 0;
}

int forget_before_cut(struct writer *writer, const struct control_cut *cut)
{
	return writer->needed
		       ? needed_cut(writer->needed, &(struct needed_cut){ cut->time, cut->limit,
									  cut->open, cut->nopen })
		       : 0;
}

int forget_note_cut(struct writer *writer, struct control_cut *cut)
{
	int err = 0;

	cut->nlogs = (uint32_t)writer->nlogs;
	for (size_t i = 0; i < writer->nlogs && !err; i++)
		if (writer->logs[i] && !writer->logs[i]->ended)
			err = note_log(cut, writer->logs[i]);
	return err;
}

static bool is_thread_before(const void *end, const void *thread)
{
	return ((const struct event_id *)end)->thread < *(const uint32_t *)thread;
}

/* The number of the thread's last event before the cut. */
static uint64_t end_of(const struct control_cut *cut, const struct thread_log *log)
{
	size_t at = vec_count_before(cut->ends, cut->nends, sizeof(*cut->ends), is_thread_before,
				     &log->id);

	if (log->id > cut->nlogs)
		return 0;
	return at < cut->nends && cut->ends[at].thread == log->id ? cut->ends[at].n : log->n;
}

/* Calls that are no longer needed */

static int count_events(struct writer *writer, struct thread_log *log, uint64_t events)
{
	if (!events || writer->err)
		return writer->err;
	writer_count_over(writer, log, events, log->start,
			  writer->due.time < log->last ? writer->due.time : log->last);
	return writer_store_loss(writer, log);
}

static int drop_row(struct writer *writer, struct event_id id)
{
	struct thread_log *log = writer->logs[id.thread - 1];

	if (!log || WRITER_RUN(writer, drop_call, "ui", id.thread, id.n) ||
	    !sqlite3_changes(writer->db))
		return writer->err;
	if (WRITER_RUN(writer, drop_refs, "ui", id.thread, id.n) ||
	    WRITER_RUN(writer, drop_event, "ui", id.thread, id.n))
		return writer->err;
	return count_events(writer, log, 2);
}

/* A call is not needed any more: delete it now, or later if it is after the deleted part. */
static int drop_call(void *arg, struct event_id id)
{
	struct writer *writer = arg;
	const struct thread_log *log = writer->logs[id.thread - 1];

	return log && id.n <= log->past ? drop_row(writer, id) : writer->err;
}

static int assign_number(void *arg, const struct needed_object *object)
{
	struct writer *writer = arg;
	int64_t counter = -1 - ((int64_t)object->process * OBJECT_COUNT + object->kind);

	if (object->kind == OBJECT_device)
		return 0;
	return WRITER_RUN(writer, numbered, "iutuii",
			  object->made.thread ? (int64_t)object->row : counter, object->process,
			  object_names[object->kind], object->ordinal, (int64_t)object->made.thread,
			  object->made.n);
}

static int remove_number(void *arg, uint64_t row)
{
	struct writer *writer = arg;

	return WRITER_RUN(writer, unnumbered, "i", row);
}

/* Calls that had not returned at a cut */

static int add_open_call(struct writer *writer, struct event_id id)
{
	struct event_id *late = vec_push(writer->late, writer->nlate);

	if (!late || map_put(&writer->open, open_key(id), 1))
		return -ENOMEM;
	*late = id;
	return 0;
}

static bool has_no_return(const struct thread_log *log, uint64_t n)
{
	for (size_t i = 0; log && !log->ended && i < log->npending; i++)
		if (log->pending[i].n == n)
			return true;
	return false;
}

/* Has the call returned before the cut, or will it never return? 1, 0 or -errno. */
static int has_call_ended(struct writer *writer, struct event_id id)
{
	sqlite3_stmt *stmt = writer_statement(writer, STATEMENT_call_ended);
	int found, past = 1;

	if (has_no_return(writer->logs[id.thread - 1], id.n))
		return 0;
	sql_bind(stmt, "ui", id.thread, id.n);
	found = sql_step(stmt);
	if (found > 0 && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		past = sqlite3_column_int64(stmt, 0) < writer->due.time;
	sqlite3_reset(stmt);
	return found < 0 ? found : past;
}

static int drop_late_calls(struct writer *writer)
{
	size_t left = 0, n = writer->nlate;
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		struct event_id id = writer->late[i];
		int past = err ? 0 : has_call_ended(writer, id);

		if (past <= 0) {
			err = past < 0 ? past : err;
			writer->late[left++] = id;
			continue;
		}
		map_remove(&writer->open, open_key(id));
		if (!needed_has(writer->needed, id))
			err = drop_call(writer, id);
	}
	writer->nlate = left;
	return err;
}

/* Rows */

static uint64_t delete_past_rows(struct writer *writer, enum statement statement, uint32_t thread,
				 uint64_t from, uint64_t to)
{
	if (writer_fail(writer,
			sql_run(writer_statement(writer, statement), "uii", thread, from, to)))
		return 0;
	return (uint64_t)sqlite3_changes(writer->db);
}

/* Store the needed calls of a block as rows. 0 or -errno. */
static int store_needed_calls(struct writer *writer, const struct thread_log *log,
			      const struct call_block *block, struct call_whole *whole,
			      uint64_t *kept)
{
	int err = 0;

	for (uint32_t i = 0; i < block->calls && !err; i++) {
		struct event_id id = { log->id, call_block_n(block, i) };
		uint64_t value;

		if (!needed_has(writer->needed, id) &&
		    !map_get(&writer->open, open_key(id), &value))
			continue;
		err = call_block_read_call(block, i, whole);
		whole->row.process = log->process;
		if (!err)
			err = calls_put_row(writer, log->id, &whole->row);
		++*kept;
	}
	return err;
}

/*
 * Delete the first block of the thread, if it is before event @to: 1; 0 if there is no such block;
 * or -errno.
 */
static int forget_block(struct writer *writer, struct thread_log *log, uint64_t to,
			struct call_block *block, uint64_t *ret_calls)
{
	sqlite3_stmt *stmt = writer_statement(writer, STATEMENT_past_blocks);
	struct call_whole whole = { 0 };
	uint64_t first, kept = 0;
	int err;

	sql_bind(stmt, "ui", log->id, to);
	err = sql_step(stmt);
	if (err > 0) {
		first = (uint64_t)sqlite3_column_int64(stmt, 0);
		err = call_block_read(block, sqlite3_column_blob(stmt, 1),
				      (size_t)sqlite3_column_bytes(stmt, 1));
		sqlite3_reset(stmt);
		if (!err)
			err = store_needed_calls(writer, log, block, &whole, &kept);
		*ret_calls += block->calls - kept;
		call_whole_fini(&whole);
		return err ? err : WRITER_RUN(writer, drop_block, "ui", log->id, first) ?: 1;
	}
	sqlite3_reset(stmt);
	return err;
}

/* Delete the blocks before event @to. Returns the number of deleted calls. */
static uint64_t forget_blocks(struct writer *writer, struct thread_log *log, uint64_t to)
{
	struct call_block block = { 0 };
	uint64_t calls = 0;
	int more;

	do
		more = forget_block(writer, log, to, &block, &calls);
	while (more > 0);
	call_block_fini(&block);
	writer_fail(writer, more);
	return calls;
}

static int forget_events(struct writer *writer, struct thread_log *log, uint64_t to)
{
	static const struct {
		enum statement statement;
		unsigned int events; /* number of events that a row has */
	} tables[] = {
		{ STATEMENT_past_calls, 2 },  { STATEMENT_past_refs, 0 },
		{ STATEMENT_past_events, 0 }, { STATEMENT_past_forks, 1 },
		{ STATEMENT_past_memory, 1 }, { STATEMENT_past_misuse, 1 },
		{ STATEMENT_past_marks, 1 },  { STATEMENT_past_waits, 0 },
	};
	uint64_t events = 2 * forget_blocks(writer, log, to);

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		events += tables[i].events *
			  delete_past_rows(writer, tables[i].statement, log->id, log->past, to);
	log->past = to;
	return count_events(writer, log, events);
}

static int forget_threads(struct writer *writer)
{
	const struct control_cut *cut = &writer->due;
	int err = WRITER_RUN(writer, past_polls, "i", cut->time);

	for (size_t i = 0; i < cut->nlogs && !err; i++) {
		struct thread_log *log = writer->logs[i];
		uint64_t to = log ? end_of(cut, log) : 0;

		if (!log)
			continue;
		polls_forget(log, cut->time);
		if (to > log->past)
			err = forget_events(writer, log, to);
	}
	return err;
}

int forget_past(struct writer *writer)
{
	const struct control_cut *cut = &writer->due;
	const struct needed_sink sink = { writer, drop_call, assign_number, remove_number };
	int err = writer->err;

	if (err || !writer->needed || cut->time == INT64_MIN ||
	    (writer->followed && writer->read_to < cut->time))
		return err;
	err = needed_forget(writer->needed, cut->time, cut->limit, &sink);
	for (size_t i = 0; i < cut->nopen && !err; i++)
		err = add_open_call(writer, cut->open[i]);
	if (!err)
		err = drop_late_calls(writer);
	if (!err)
		err = forget_threads(writer);
	if (!err)
		err = forget_rows(writer);
	writer->derived -= cut->derived;
	writer->derived_to_cut -= cut->derived;
	cut_control_fini(&writer->due);
	return writer_fail(writer, err);
}

void writer_read_until(struct writer *writer, int64_t time)
{
	writer->read_to = time;
}

int64_t writer_awaits_reader(const struct writer *writer)
{
	return writer->due.time;
}

bool writer_needs(const struct writer *writer, struct writer_needs *ret_needs)
{
	if (!writer->needed || writer->due.time != INT64_MIN)
		return false;
	*ret_needs = (struct writer_needs){ needed_size(writer->needed).objects,
					    needed_size(writer->needed).calls };
	return true;
}
