/*
 * Traces that keep only the latest events, and copies of a growing trace
 *
 * Of the data plane the chunks before a cut (cut.c) are deleted; of the control plane what no later
 * event needs (forget.c). Table `loss` has the number of these events by thread, and their times,
 * apart from events that found no room in a ring.
 *
 * Chunks that a live reader has not read yet are moved to table `unread` of the
 * connection, which is not part of the trace.
 *
 * A copy is completed like a trace whose program has ended, so any reader of
 * traces can read it.
 */
#include <errno.h>
#include <stdio.h>

#include "core/store/finish/complete.h"
#include "core/store/db/file.h"
#include "core/store/write/writer_priv.h"
#include "core/wire/log.h"

int writer_loss(struct writer *writer, struct thread_log *log)
{
	uint64_t events = log->lost + log->over.events;
	int64_t first = log->lost_first, last = log->lost_last;

	if (!events)
		return 0;
	if (log->over.events) {
		first = log->lost && first < log->over.first ? first : log->over.first;
		last = log->lost && last > log->over.last ? last : log->over.last;
	}
	return WRITER_RUN(writer, loss, "uuiiii", log->id, log->process, events, first, last,
			  log->over.events);
}

void keep_count_over(struct writer *writer, struct thread_log *log, uint64_t events, int64_t begin,
		     int64_t end)
{
	if (!log->over.events || begin < log->over.first)
		log->over.first = begin;
	if (!log->over.events || end > log->over.last)
		log->over.last = end;
	log->over.events += events;
	writer->overwritten += events;
}

int keep_store_gone(struct writer *writer)
{
	uint64_t events = writer->discarded + writer->gone.lost + writer->gone.over;

	if (!events)
		return 0;
	return WRITER_RUN(writer, loss, "uuiiii", 0, 0, events, writer->gone.first,
			  writer->gone.threads ? writer->gone.last : writer->last,
			  writer->gone.over);
}

static const char unread_sql[] =
	"CREATE TEMP TABLE IF NOT EXISTS unread(thread INTEGER, first_n INTEGER, begin INTEGER,"
	" data BLOB, events INTEGER, PRIMARY KEY(thread, first_n))";

int writer_follow(struct writer *writer)
{
	int err = sql_exec(writer->db, unread_sql);

	writer->followed = !err;
	writer->read_to = INT64_MIN;
	return err;
}

int writer_followed(struct writer *writer, uint32_t thread, uint64_t first_n)
{
	struct thread_log *log = writer->logs[thread - 1];
	char sql[128];

	log->followed = first_n;
	if (!writer->unread)
		return 0;
	snprintf(sql, sizeof(sql), "DELETE FROM unread WHERE thread = %u AND first_n <= %llu",
		 thread, (unsigned long long)first_n);
	return sql_exec(writer->db, sql);
}

void writer_unfollow(struct writer *writer)
{
	writer->followed = false;
	sql_exec(writer->db, "DELETE FROM unread");
}

static int keep_unread(struct writer *writer, int64_t chunk)
{
	char sql[160];

	writer->unread = true;
	snprintf(sql, sizeof(sql),
		 "INSERT INTO unread SELECT thread, first_n, begin, data, events"
		 " FROM chunk WHERE id = %lld",
		 (long long)chunk);
	return writer_fail(writer, sql_exec(writer->db, sql));
}

/* Delete a chunk up to these, of payload or not. Returns 1, 0 if there is none, or -errno. */
static int forget_one(struct writer *writer, int64_t chunk, int64_t payload_chunk)
{
	sqlite3_stmt *oldest = writer->statements[STATEMENT_oldest];
	bool payload, unread;
	uint32_t thread;
	int64_t id;
	int found;

	sql_bind(oldest, "ii", chunk, payload_chunk);
	found = sql_step(oldest);
	if (found <= 0) {
		sqlite3_reset(oldest);
		return writer_fail(writer, found);
	}
	id = sqlite3_column_int64(oldest, 0);
	thread = sql_u32(oldest, 1);
	payload = sqlite3_column_type(oldest, 5) == SQLITE_NULL;
	unread = !payload && writer->followed &&
		 (uint64_t)sqlite3_column_int64(oldest, 5) > writer->logs[thread - 1]->followed;
	keep_count_over(writer, writer->logs[thread - 1], sql_u32(oldest, 2),
			sqlite3_column_int64(oldest, 3), sqlite3_column_int64(oldest, 4));
	sqlite3_reset(oldest);
	if (unread && keep_unread(writer, id))
		return writer->err;
	if ((payload ? WRITER_RUN(writer, forget_payload, "i", id)
		     : WRITER_RUN(writer, forget, "i", id)) ||
	    writer_loss(writer, writer->logs[thread - 1]))
		return writer->err;
	return 1;
}

int keep_forget(struct writer *writer, int64_t chunk, int64_t payload_chunk)
{
	int more;

	do
		more = forget_one(writer, chunk, payload_chunk);
	while (more > 0);
	return more;
}

int writer_carry(struct writer *writer)
{
	for (size_t i = 0; i < writer->nlogs && !writer->err; i++) {
		if (!writer->logs[i])
			continue;
		WRITER_RUN(writer, carried, "uz", writer->logs[i]->id, writer->logs[i]->n);
		polls_carry(writer->logs[i]);
	}
	if (!writer->err)
		writer_fail(writer, schema_set_meta_int(writer->db, "carried", writer->last));
	if (!writer->err)
		writer_fail(writer, sql_exec(writer->db, "DELETE FROM finding;"
							 "DELETE FROM poll_count"));
	return writer->err;
}

static int complete_copy(const char *path, const char *why)
{
	sqlite3 *db = NULL;
	int err = sql_open(path, SQLITE_OPEN_READWRITE, &db);

	if (!err)
		err = schema_set_meta(db, "snapshot", why);
	if (!err)
		err = complete_trace(db, COMPLETE_WHOLE);
	sqlite3_close(db);
	return err;
}

static int copy_database(struct writer *writer, const char *path)
{
	sqlite3_stmt *stmt;
	char name[4096];
	int err = sql_prepare(writer->db, "VACUUM INTO ?", &stmt);

	if (err)
		return err;
	sql_path(path, name);
	err = sql_run(stmt, "t", name);
	sqlite3_finalize(stmt);
	return err;
}

/* Beside @path first: a copy that is not whole never has its name. */
static int write_copy(struct writer *writer, const char *path, const char *why)
{
	char beside[FILE_BESIDE];
	int err = file_make_beside(path, beside);

	if (err)
		return err;
	/* VACUUM needs to be outside a transaction; the next one begins even if it fails */
	err = writer_fail(writer, sql_exec(writer->db, "COMMIT"));
	if (!err) {
		err = copy_database(writer, beside);
		writer_fail(writer, sql_exec(writer->db, "BEGIN"));
	}
	if (!err)
		err = complete_copy(beside, why);
	if (!err)
		err = file_replace(beside, path, false);
	if (err)
		file_remove(beside);
	return err;
}

int writer_snapshot(struct writer *writer, const char *path, const char *why)
{
	int err = writer_flush(writer);

	if (!err)
		err = cuts_show(writer);
	if (err)
		return err;
	err = write_copy(writer, path, why);
	cuts_hide(writer);
	return err;
}
