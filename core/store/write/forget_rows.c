/*
 * Deleting threads, processes, stacks and object files
 *
 *	a thread    that has ended and has no event left
 *	a process   that has ended, with all its threads and all its forked children
 *	a stack     that no call, request or thread refers to (stacks.c)
 *	a file      that no stack refers to, and whose address was reused
 *
 * Numbers are not reused, so a reader finds gaps (meta.gone_*). Losses of deleted threads and
 * processes are still counted, in rows without a thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/write/writer_priv.h"

enum { COVERAGE_FEW = 64 }; /* up to this many rows are not merged */

static bool has_late_calls(const struct writer *writer, uint32_t thread)
{
	for (size_t i = 0; i < writer->nlate; i++)
		if (writer->late[i].thread == thread)
			return true;
	return false;
}

static bool is_forgettable(const struct writer *writer, const struct thread_log *log)
{
	return log->ended && log->past == log->n && !needed_has_thread(writer->needed, log->id) &&
	       !has_late_calls(writer, log->id) && !cut_has_thread(writer, log->id);
}

/* Count all events of the thread as deleted. */
static void count_thread(struct writer *writer, struct thread_log *log)
{
	uint64_t all = log->n > log->missed ? log->n - log->missed : 0;

	if (all > log->over.events)
		writer_count_over(writer, log, all - log->over.events, log->start, log->last);
	if (!writer->gone.threads++ || log->start < writer->gone.first)
		writer->gone.first = log->start;
	if (log->last > writer->gone.last)
		writer->gone.last = log->last;
	writer->gone.lost += log->lost;
	writer->gone.over += log->over.events;
}

static int forget_thread(struct writer *writer, struct thread_log *log)
{
	static const enum statement statements[] = {
		STATEMENT_drop_thread, STATEMENT_drop_loss,    STATEMENT_drop_carried,
		STATEMENT_drop_polls,  STATEMENT_unname_event, STATEMENT_drop_samples,
	};
	int err = 0;

	count_thread(writer, log);
	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements) && !err; i++)
		err = sql_run(writer_statement(writer, statements[i]), "u", log->id);
	writer->processes[log->process - 1]->logs--;
	writer->logs[log->id - 1] = NULL;
	thread_log_free(log);
	return writer_fail(writer, err);
}

static int forget_ended_threads(struct writer *writer)
{
	int err = 0;

	for (size_t i = 0; i < writer->nlogs && !err; i++)
		if (writer->logs[i] && is_forgettable(writer, writer->logs[i]))
			err = forget_thread(writer, writer->logs[i]);
	return err;
}

/* Processes */

static int forget_process(struct writer *writer, struct known_process *p)
{
	static const enum statement statements[] = { STATEMENT_drop_process, STATEMENT_drop_environ,
						     STATEMENT_drop_modules,
						     STATEMENT_drop_numbers };
	struct known_process *parent = processes_find(writer, p->parent);
	int err = 0;

	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements) && !err; i++)
		err = sql_run(writer_statement(writer, statements[i]), "u", p->id);
	if (parent) {
		parent->children--;
		if (!err)
			err = WRITER_RUN(writer, drop_fork, "uui", parent->id, p->fork_seq,
					 writer->due.time);
	}
	direct_forget(writer, p->id);
	writer->gone.processes++;
	writer->processes[p->id - 1] = NULL;
	free(p);
	return writer_fail(writer, err);
}

/* The youngest process first: a parent can be deleted only after its children. */
static int forget_ended_processes(struct writer *writer)
{
	int err = 0;

	for (size_t i = writer->nprocesses; i > 0 && !err; i--) {
		struct known_process *p = writer->processes[i - 1];

		if (!p || !p->over || p->over_at >= writer->due.time || p->children)
			continue;
		if (!p->left)
			needed_note_exit(writer->needed, p->id, p->over_at);
		p->left = true;
		if (!p->logs)
			err = forget_process(writer, p);
	}
	return err;
}

/* Object files */

static int forget_modules(struct writer *writer)
{
	size_t left = 0;
	int err = 0;

	for (size_t i = 0; i < writer->nold_modules; i++) {
		struct old_module old = writer->old_modules[i];

		if (!processes_find(writer, old.process))
			continue;
		if (err || stacks_have_module(writer, &old))
			writer->old_modules[left++] = old;
		else
			err = WRITER_RUN(writer, drop_module, "i", old.id);
	}
	writer->nold_modules = left;
	return err;
}

/* Unobserved events */

/* SQL: is_behind(thread, n, process, what): is a row of table `coverage` before the cut? */
static void is_behind(sqlite3_context *context, int n, sqlite3_value **values)
{
	const struct writer *writer = sqlite3_user_data(context);
	uint32_t thread = (uint32_t)sqlite3_value_int64(values[0]);
	const char *what = (const char *)sqlite3_value_text(values[3]);
	const struct thread_log *log =
		thread && thread <= writer->nlogs ? writer->logs[thread - 1] : NULL;
	bool behind = !log || (uint64_t)sqlite3_value_int64(values[1]) <= log->past;

	(void)n;
	/* rows of direct calls are needed as long as the process is in the trace */
	if (what && !strncmp(what, "direct", 6))
		behind = !processes_find(writer, (uint32_t)sqlite3_value_int64(values[2]));
	sqlite3_result_int(context, thread && behind);
}

int forget_rows_init(struct writer *writer)
{
	return sqlite3_create_function(writer->db, "is_behind", 4, SQLITE_UTF8, writer, is_behind,
				       NULL, NULL)
		       ? sql_fail(writer->db, "make functions")
		       : 0;
}

#define BEHIND "rowid <= %lld AND (n IS NULL OR is_behind(thread, n, process, what))"

/* Merge equal rows of table `coverage` that are before the cut. */
static int forget_coverage(struct writer *writer)
{
	long long last = sql_int(writer->db, "SELECT max(rowid) FROM coverage", 0);
	char sql[640];

	if (sql_int(writer->db, "SELECT count(*) FROM coverage", 0) <= COVERAGE_FEW)
		return 0;
	snprintf(sql, sizeof(sql),
		 "INSERT INTO coverage SELECT 0, NULL, 0, min(time), what, NULL, NULL,"
		 " CASE WHEN what = 'payload' OR what GLOB 'direct*' THEN detail END AS kind,"
		 " sum(times) FROM coverage WHERE " BEHIND " GROUP BY what, kind;"
		 "DELETE FROM coverage WHERE " BEHIND,
		 last, last);
	for (size_t i = 0; i < writer->nlogs; i++)
		if (writer->logs[i])
			writer->logs[i]->damage_rows = 0; /* the next damage must add a new row */
	return writer_fail(writer, sql_exec(writer->db, sql));
}

static int store_gone_counts(struct writer *writer)
{
	const struct {
		const char *key;
		uint64_t rows;
	} gone[] = {
		{ "gone_thread", writer->gone.threads },
		{ "gone_process", writer->gone.processes },
		{ "gone_stack", writer->gone.stacks },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(gone) / sizeof(*gone) && !err; i++)
		if (gone[i].rows)
			err = schema_set_meta_int(writer->db, gone[i].key, (int64_t)gone[i].rows);
	return writer_fail(writer, err) ?: writer_store_gone(writer);
}

int forget_rows(struct writer *writer)
{
	int err = forget_ended_threads(writer);

	if (!err)
		err = forget_ended_processes(writer);
	if (!err)
		err = stacks_forget(writer, writer->due.time);
	if (!err)
		err = forget_modules(writer);
	if (!err)
		err = forget_coverage(writer);
	return err ? err : store_gone_counts(writer);
}
