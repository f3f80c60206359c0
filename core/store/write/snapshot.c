/*
 * Copies of a growing trace, and events that the next trace of a rotation repeats
 *
 * A copy is completed like a trace whose program has ended, so any reader of traces can read it.
 * With millions of objects that takes longer than rings have room for, so any process may do it. If
 * none does, the copy is a trace whose recorder died: opening it completes it.
 */
#include "core/store/finish/complete.h"
#include "core/store/db/file.h"
#include "core/store/write/writer_priv.h"
#include "core/wire/log.h"

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
							 "DELETE FROM counter;"
							 "DELETE FROM counter_sample;"
							 "DELETE FROM poll_count;"
							 "DELETE FROM sample WHERE EXISTS"
							 " (SELECT 1 FROM sample s WHERE"
							 " s.thread = sample.thread AND"
							 " s.time > sample.time)"));
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

int writer_copy(struct writer *writer, const char *path, char beside[FILE_BESIDE])
{
	int err = writer_flush(writer) ?: writer_insert_carried(writer);

	if (err)
		return err;
	err = file_make_beside(path, beside);
	if (!err) {
		/* VACUUM must be outside a transaction; begin the next one even if it fails */
		err = writer_fail(writer, sql_exec(writer->db, "COMMIT"));
		if (!err) {
			err = copy_database(writer, beside);
			writer_fail(writer, sql_exec(writer->db, "BEGIN"));
		}
		if (err)
			file_remove(beside);
	}
	writer_delete_carried(writer);
	return err;
}

int writer_complete_copy(const char *beside, const char *path, const char *why)
{
	return complete_copy(beside, why) ?: file_replace(beside, path, false);
}
