/*
 * Copies of a growing trace, and events that the next trace of a rotation repeats
 *
 * A copy is completed like a trace whose program has ended, so any reader of traces can read it.
 * With millions of objects that takes longer than rings have room for: so another process does it,
 * if the rings can be read meanwhile.
 */
#include <errno.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* Write a copy beside @path first, so that an incomplete copy never has the name @path. */
static int write_copy(struct writer *writer, const char *path, char beside[FILE_BESIDE])
{
	int err = file_make_beside(path, beside);

	if (err)
		return err;
	/* VACUUM must be outside a transaction; begin the next one even if it fails */
	err = writer_fail(writer, sql_exec(writer->db, "COMMIT"));
	if (!err) {
		err = copy_database(writer, beside);
		writer_fail(writer, sql_exec(writer->db, "BEGIN"));
	}
	if (err)
		file_remove(beside);
	return err;
}

static int finish_copy(const char *beside, const char *path, const char *why)
{
	int err = complete_copy(beside, why) ?: file_replace(beside, path, false);

	if (err)
		file_remove(beside);
	return err;
}

/* The child has connections of the writer's, which it must not use: it opens one of its own. */
static int finish_in_child(struct writer *writer, const char *beside, const char *path,
			   const char *why)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };
	pid_t pid = fork();
	int status = 0;

	if (pid < 0)
		return finish_copy(beside, path, why);
	if (!pid)
		_exit(-finish_copy(beside, path, why));
	do {
		writer->meanwhile(writer->meanwhile_arg);
		nanosleep(&pause, NULL);
	} while (!waitpid(pid, &status, WNOHANG));
	if (WIFEXITED(status))
		return -WEXITSTATUS(status);
	file_remove(beside);
	return log_err(-EIO, "complete %s", path);
}

void writer_meanwhile(struct writer *writer, void (*meanwhile)(void *arg), void *arg)
{
	writer->meanwhile = meanwhile;
	writer->meanwhile_arg = arg;
}

int writer_snapshot(struct writer *writer, const char *path, const char *why)
{
	char beside[FILE_BESIDE];
	int err = writer_flush(writer);

	if (!err)
		err = writer_insert_carried(writer);
	if (err)
		return err;
	err = write_copy(writer, path, beside);
	writer_delete_carried(writer);
	if (err)
		return err;
	return writer->meanwhile ? finish_in_child(writer, beside, path, why)
				 : finish_copy(beside, path, why);
}
