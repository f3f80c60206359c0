/*
 * The end of a trace, normal or after a failure
 *
 * Only committed events count. After a failure the open transaction is undone, and its events are
 * counted as `unwritten` in table `coverage`, by a transaction that is small enough for the
 * remaining space.
 *
 * Not here: noticing that the file was removed (writer_base.c).
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/store/db/file.h"
#include "core/store/finish/complete.h"
#include "core/store/write/writer_priv.h"
#include "core/wire/log.h"

static const char *path_of(const struct writer *writer)
{
	return sqlite3_db_filename(writer->db, "main");
}

struct writer_progress writer_progress(const struct writer *writer)
{
	uint64_t unwritten = writer->err ? writer->events - writer->committed : 0;
	int64_t pages = sql_int(writer->db, "PRAGMA page_count", 0) -
			sql_int(writer->db, "PRAGMA freelist_count", 0);

	return (struct writer_progress){ writer->events - unwritten, writer->lost + unwritten,
					 (uint64_t)pages * 4096,
					 writer->err ? writer->committed_overwritten
						     : writer->overwritten,
					 writer->before && !writer->committed };
}

struct totals writer_totals(const struct writer *writer)
{
	if (writer->err && !writer->committed)
		return (struct totals){ .lost = writer_progress(writer).lost };
	if (!writer->nprocesses && !writer->nlogs && !writer->lost)
		return (struct totals){ 0 };
	return totals_read(writer->db);
}

/*
 * Note the number of unwritten events. This may fail for the same reason as the writer: then the
 * trace is only marked as interrupted.
 */
static void note_unwritten(struct writer *writer)
{
	uint64_t events = writer->events - writer->committed;
	sqlite3 *db = writer->db;
	int err;

	if (!events)
		return;
	err = sql_exec(db, "BEGIN") ?:
	      sql_run(writer_statement(writer, STATEMENT_coverage), "uzuitzt", 0u, (uint64_t)0, 0u,
		      writer->last, "unwritten", (uint64_t)0, strerror(-writer->err)) ?:
	      sql_run(writer_statement(writer, STATEMENT_coverage_times), "ii",
		      (int64_t)sqlite3_last_insert_rowid(db), (int64_t)events) ?:
	      sql_exec(db, "COMMIT");
	if (err && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
}

static int commit_rest(struct writer *writer)
{
	for (size_t i = 0; i < writer->nlogs; i++)
		if (writer->logs[i] && writer->logs[i]->batch)
			batch_close(writer->logs[i]->batch);
	if (writer_insert_carried(writer) || writer_store(writer) || writer_check_file(writer) ||
	    writer_fail(writer, sql_exec(writer->db, "COMMIT")))
		return writer->err;
	writer->committed = writer->events;
	writer->committed_overwritten = writer->overwritten;
	return 0;
}

int writer_stop(struct writer *writer, int why)
{
	if (writer->stopped)
		return writer->err;
	writer->stopped = true;
	if (!writer_fail(writer, why) && !commit_rest(writer))
		return 0;
	if (!sqlite3_get_autocommit(writer->db))
		sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
	log_silence(true); /* if the disk is full, the next calls may fail for the same reason */
	if (writer_find_damage(writer))
		writer->committed = 0;
	note_unwritten(writer);
	log_silence(false);
	return writer->err;
}

bool writer_has_before(const struct writer *writer)
{
	return writer->before;
}

void writer_drop(struct writer *writer, const char *path)
{
	writer_free(writer);
	file_restore_before(path);
}

/* Has another process, such as another recorder, created a file of that name meanwhile? */
static bool is_name_taken(const struct writer *writer, const char *path)
{
	struct stat there, ours;

	return !lstat(path, &there) && !fstat(writer->file, &ours) &&
	       (there.st_dev != ours.st_dev || there.st_ino != ours.st_ino);
}

/* Choose between the new trace and the previous one: one is removed. */
static void choose_trace(struct writer *writer, int err)
{
	bool before = writer->before,
	     put_back = before && (!writer->committed || (err && !writer->live));
	char path[FILE_BESIDE];

	snprintf(path, sizeof(path), "%s", path_of(writer));
	before = before && !is_name_taken(writer, path);
	put_back = put_back && before;
	writer_free(writer);
	if (put_back)
		file_restore_before(path);
	else if (before)
		file_forget_before(path);
}

int writer_finish(struct writer *writer)
{
	int err = writer_stop(writer, 0), incomplete;

	for (int i = 0; i < STATEMENT_COUNT; i++) {
		sqlite3_finalize(writer->statements[i]);
		writer->statements[i] = NULL;
	}
	/* free memory: completing needs memory for each object */
	writer_free_cuts(writer);
	malloc_trim(0);
	log_silence(err);
	incomplete = complete_trace(writer->db, err ? COMPLETE_INTERRUPTED : COMPLETE_WHOLE);
	err = err ? err : incomplete;
	log_silence(false);
	if (writer->overwritten && !err) /* only to save space, so it may fail */
		sqlite3_exec(writer->db, "VACUUM", NULL, NULL, NULL);
	choose_trace(writer, err);
	return err;
}
