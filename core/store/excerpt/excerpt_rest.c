/*
 * The description of an excerpt, and rows that its events refer to
 *
 * Objects are renumbered, since their numbers have no gaps. Threads and processes keep their
 * numbers, since names of events contain them: an excluded one before an included one remains as an
 * empty row.
 */
#include "core/store/db/call_pack.h"
#include "core/store/db/row_tables.h"
#include "core/store/db/schema.h"
#include "core/store/excerpt/excerpt_priv.h"
#include "core/store/finish/derive.h"

/* Objects are created and destroyed only by included calls that have returned. */
static const char objects_sql[] =
	"DELETE FROM object WHERE created_thread NOT NULL AND NOT EXISTS (SELECT 1 FROM call c"
	"  WHERE c.thread = created_thread AND c.n = created_n AND c.end NOT NULL);"
	"DELETE FROM object WHERE created_thread IS NULL AND process NOT IN"
	"  (SELECT process FROM thread WHERE events > 0);"
	"UPDATE object SET destroyed_thread = NULL, destroyed_n = NULL, destroyed_at = NULL"
	"  WHERE destroyed_thread NOT NULL AND NOT EXISTS (SELECT 1 FROM call c"
	"  WHERE c.thread = destroyed_thread AND c.n = destroyed_n AND c.end NOT NULL);";

#define NEW(column) "(SELECT new FROM renumbered WHERE old = " column ")"
/* clang-format off */
static const char numbers_sql[] =
	"CREATE TEMP TABLE renumbered(old INTEGER PRIMARY KEY, new INTEGER);"
	"INSERT INTO renumbered SELECT id, row_number() OVER (ORDER BY id) FROM object;"
	"UPDATE object SET parent = " NEW("parent") ", id = " NEW("id") ";"
	"UPDATE call SET object = " NEW("object") " WHERE object NOT NULL;"
	"UPDATE ref SET object = " NEW("object") " WHERE object NOT NULL;"
	"UPDATE event SET object = " NEW("object") " WHERE object NOT NULL;"
	"UPDATE memory SET mr = " NEW("mr") " WHERE mr NOT NULL;"
	"UPDATE coverage SET object = " NEW("object") " WHERE object NOT NULL;"
	"UPDATE poll_count SET cq = " NEW("cq") " WHERE cq NOT NULL;"
	"DROP TABLE renumbered;";
/* clang-format on */
#undef NEW

/*
 * A process without included events gets an empty row, unless it is after the last process that a
 * remaining thread refers to.
 */
static const char processes_sql[] =
	"CREATE TEMP TABLE used AS SELECT DISTINCT process AS id FROM thread WHERE events > 0;"
	"DELETE FROM thread WHERE id > (SELECT coalesce(max(id), 0) FROM thread WHERE events > 0);"
	"DELETE FROM process WHERE id > (SELECT coalesce(max(process), 0) FROM thread);"
	"UPDATE process SET thread = NULL, n = NULL WHERE id NOT IN used;"
	"UPDATE fork SET child = NULL WHERE child NOT IN (SELECT id FROM process);"
	"DELETE FROM environ WHERE process NOT IN used;"
	"DELETE FROM poll_count WHERE process NOT IN used;"
	"DELETE FROM coverage WHERE process NOT IN used;"
	"DELETE FROM waited WHERE process NOT IN used;"
	"DELETE FROM loss WHERE process NOT IN used;"
	"DELETE FROM carried WHERE thread NOT IN (SELECT id FROM thread);"
	"DELETE FROM module WHERE id NOT IN (SELECT module FROM frame WHERE module NOT NULL);"
	"UPDATE memory SET mr = NULL WHERE mr NOT IN (SELECT id FROM object);"
	"DROP TABLE used;";

static const char counts_sql[] =
	"UPDATE thread SET events = ?2"
	" + max(coalesce((SELECT n FROM carried WHERE thread = id), 0),"
	"  coalesce((SELECT overwritten FROM loss WHERE thread = id), 0)"
	"  + coalesce((SELECT sum(times) FROM coverage WHERE thread = id AND what = 'late'), 0))"
	" WHERE id = ?1";

/* Store the counts of carried and overwritten events, which core/store/db/totals.c subtracts. */
static int store_counts(struct excerpt_copy *copy)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(copy->to, counts_sql, &stmt);

	for (uint32_t i = 0; i < copy->nthreads && !err; i++)
		err = sql_run(stmt, "ui", i + 1, copy->events[i]);
	sqlite3_finalize(stmt);
	return err;
}

/* Include a process if one of its events is included: its first event counts as one. */
static int count_processes(struct excerpt_copy *copy)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(copy->to,
			      "SELECT thread, n, process FROM process JOIN thread"
			      " ON thread.id = process.thread",
			      &stmt);

	while (!err && (err = sql_step(stmt)) > 0) {
		uint32_t thread = sql_u32(stmt, 0);

		err = 0;
		if (thread && thread <= copy->nthreads && copy->events[thread - 1])
			excerpt_count(copy, thread, (uint64_t)sqlite3_column_int64(stmt, 1));
	}
	sqlite3_finalize(stmt);
	return err;
}

static int run_with(sqlite3 *db, const char *sql, int64_t value)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(db, sql, &stmt);

	if (!err)
		err = sql_run(stmt, "i", value);
	sqlite3_finalize(stmt);
	return err;
}

/* Remove the end of each process and thread that ended after the excerpt. */
static int end_processes(struct excerpt_copy *copy)
{
	int64_t until = copy->excerpt->until.time;
	int err;

	if (until == INT64_MAX)
		return 0;
	err = run_with(copy->to,
		       "UPDATE process SET end = NULL, status = NULL, ending = NULL WHERE end > ?",
		       until);
	if (!err)
		err = run_with(copy->to, "UPDATE thread SET end = NULL WHERE end > ?", until);
	return err ?: schema_set_meta_int(copy->to, "duration", until);
}

static int describe_excerpt(struct excerpt_copy *copy)
{
	const struct excerpt *excerpt = copy->excerpt;
	int err = schema_set_meta(copy->to, "excerpt", excerpt->what);

	if (!err && excerpt->until.time != INT64_MAX)
		err = schema_set_meta(copy->to, "snapshot", excerpt->what);
	if (!err && excerpt->cut != INT64_MIN)
		err = schema_set_meta_int(copy->to, "cut", excerpt->cut);
	return err ?: end_processes(copy);
}

static int64_t count_objects(sqlite3 *db)
{
	return sql_int(db, "SELECT count(*) FROM object", 0);
}

int excerpt_complete(struct excerpt_copy *copy)
{
	int err = count_processes(copy);

	if (!err)
		err = store_counts(copy);
	if (!err)
		err = sql_exec(copy->to, objects_sql);
	if (!err && count_objects(copy->to) != count_objects(copy->from))
		err = sql_exec(copy->to, numbers_sql);
	if (!err)
		err = excerpt_copy_stacks(copy);
	if (!err)
		err = sql_exec(copy->to, processes_sql);
	if (!err)
		err = derive_tables(copy->to);
	if (!err)
		err = describe_excerpt(copy);
	if (!err)
		err = call_pack_end(copy->to) ?: row_tables_end(copy->to, ROW_TABLE_LEAST);
	return err ?: schema_complete(copy->to);
}
