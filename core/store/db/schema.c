/*
 * The tables of a trace
 *
 * Times are nanoseconds since the start of the recording; handles and addresses
 * are unsigned 64-bit integers, stored as signed. (thread, n) names an event.
 *
 * Not here: the data plane's columns (columns.h), its virtual tables (vtab.c).
 */
#include "core/store/db/schema.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/store/chunk/tables.h"
#include "core/wire/log.h"

static const char *const controls[] = {
	"meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID",
	"process(id INTEGER PRIMARY KEY, pid INTEGER, ppid INTEGER, parent INTEGER,"
	" fork_thread INTEGER, fork_n INTEGER, fork_time INTEGER, start INTEGER, end INTEGER,"
	" status INTEGER, exe TEXT, cmdline TEXT, thread INTEGER, n INTEGER,"
	" forked_from INTEGER, fork_seq INTEGER, ending TEXT, memlock INTEGER,"
	" memlock_most INTEGER, nofile INTEGER, nofile_most INTEGER, ipc_lock INTEGER,"
	" page_size INTEGER)",
	"environ(process INTEGER, name TEXT, value TEXT, PRIMARY KEY(process, name)) WITHOUT ROWID",
	"thread(id INTEGER PRIMARY KEY, process INTEGER, tid INTEGER, comm TEXT, events INTEGER,"
	" start INTEGER, end INTEGER)",
	"module(id INTEGER PRIMARY KEY, process INTEGER, base INTEGER, start INTEGER, end INTEGER,"
	" path TEXT, build_id TEXT, serial INTEGER, time INTEGER)",
	"stack(id INTEGER PRIMARY KEY, process INTEGER, depth INTEGER, modules INTEGER)",
	"frame(stack INTEGER, i INTEGER, ip INTEGER, module INTEGER, offset INTEGER,"
	" PRIMARY KEY(stack, i)) WITHOUT ROWID",
	"device(id INTEGER PRIMARY KEY, name TEXT UNIQUE, node_type TEXT, transport_type TEXT,"
	" guid INTEGER, fw_ver TEXT, vendor_id INTEGER, vendor_part_id INTEGER, hw_ver INTEGER,"
	" ports INTEGER, attr TEXT)",
	"port(device INTEGER, port INTEGER, state TEXT, max_mtu TEXT, active_mtu TEXT,"
	" lid INTEGER, sm_lid INTEGER, link_layer INTEGER, gid_tbl_len INTEGER,"
	" pkey_tbl_len INTEGER, max_msg_sz INTEGER, attr TEXT,"
	" PRIMARY KEY(device, port)) WITHOUT ROWID",
	"gid(device INTEGER, port INTEGER, idx INTEGER, gid TEXT, type TEXT, ndev INTEGER,"
	" PRIMARY KEY(device, port, idx)) WITHOUT ROWID",
	"object(id INTEGER PRIMARY KEY, process INTEGER, kind TEXT, ordinal INTEGER, name TEXT,"
	" handle INTEGER, number INTEGER, rkey INTEGER, parent INTEGER,"
	" created_thread INTEGER, created_n INTEGER, destroyed_thread INTEGER,"
	" destroyed_n INTEGER, created_at INTEGER, destroyed_at INTEGER)",
	"call(thread INTEGER, n INTEGER, process INTEGER, verb TEXT, begin INTEGER, end INTEGER,"
	" ret INTEGER, error INTEGER, failed INTEGER, depth INTEGER, ours INTEGER,"
	" stack INTEGER, object INTEGER, args TEXT, out TEXT, handle INTEGER, end_n INTEGER,"
	" PRIMARY KEY(thread, n)) WITHOUT ROWID",
	"call_chunk(thread INTEGER, first_n INTEGER, last_n INTEGER, begin INTEGER, end INTEGER,"
	" calls INTEGER, verbs INTEGER, least INTEGER, most INTEGER, data BLOB,"
	" PRIMARY KEY(thread, first_n)) WITHOUT ROWID",
	"row_chunk(name TEXT, i INTEGER, first INTEGER, last INTEGER, rows INTEGER, data BLOB,"
	" PRIMARY KEY(name, i)) WITHOUT ROWID",
	"connection(thread INTEGER, n INTEGER, process INTEGER, since INTEGER, until INTEGER,"
	" qp INTEGER, peer INTEGER, known TEXT, dest_qp_num INTEGER, dlid INTEGER, dgid TEXT,"
	" PRIMARY KEY(thread, n)) WITHOUT ROWID",
	"queue(thread INTEGER, n INTEGER, process INTEGER, since INTEGER, until INTEGER,"
	" object INTEGER, side TEXT, cq INTEGER, srq INTEGER, asked INTEGER, given INTEGER,"
	" PRIMARY KEY(thread, n, side)) WITHOUT ROWID",
	"ref(thread INTEGER, n INTEGER, path TEXT, kind TEXT, handle INTEGER, object INTEGER,"
	" PRIMARY KEY(thread, n, path)) WITHOUT ROWID",
	"event(thread INTEGER, n INTEGER, process INTEGER, time INTEGER, type TEXT,"
	" element INTEGER, port INTEGER, object INTEGER, PRIMARY KEY(thread, n)) WITHOUT ROWID",
	"fork(thread INTEGER, n INTEGER, process INTEGER, time INTEGER, fork_seq INTEGER,"
	" child INTEGER, stack INTEGER, how TEXT, pid INTEGER, error INTEGER, staying TEXT,"
	" PRIMARY KEY(thread, n)) WITHOUT ROWID",
	"memory(thread INTEGER, n INTEGER, process INTEGER, time INTEGER, what TEXT, addr INTEGER,"
	" length INTEGER, stack INTEGER, mr INTEGER, PRIMARY KEY(thread, n)) WITHOUT ROWID",
	"misuse(thread INTEGER, n INTEGER, process INTEGER, time INTEGER, what TEXT, verb TEXT,"
	" field TEXT, status INTEGER, handle INTEGER, of INTEGER, other INTEGER, stack INTEGER,"
	" other_verb TEXT, PRIMARY KEY(thread, n)) WITHOUT ROWID",
	"mark(thread INTEGER, n INTEGER, process INTEGER, time INTEGER, kind TEXT, text TEXT,"
	" PRIMARY KEY(thread, n)) WITHOUT ROWID",
	"finding(id INTEGER PRIMARY KEY, rule TEXT, name TEXT, severity TEXT, thread INTEGER,"
	" n INTEGER, time INTEGER, process INTEGER, place TEXT, object TEXT, message TEXT,"
	" fingerprint TEXT, count INTEGER)",
	"loss(thread INTEGER PRIMARY KEY, process INTEGER, events INTEGER, first INTEGER,"
	" last INTEGER, overwritten INTEGER)",
	"carried(thread INTEGER PRIMARY KEY, n INTEGER)",
	"waited(thread INTEGER, n INTEGER, process INTEGER, time INTEGER, ns INTEGER,"
	" times INTEGER, why TEXT, PRIMARY KEY(thread, n)) WITHOUT ROWID",
	"coverage(thread INTEGER, n INTEGER, process INTEGER, time INTEGER, what TEXT,"
	" handle INTEGER, object INTEGER, detail TEXT, times INTEGER)",
	"poll_count(thread INTEGER, handle INTEGER, life INTEGER, process INTEGER, cq INTEGER,"
	" polls INTEGER, completions INTEGER, empty INTEGER, last INTEGER,"
	" PRIMARY KEY(thread, handle, life)) WITHOUT ROWID",
	"counter(merged INTEGER, device TEXT, port INTEGER, folder TEXT, name TEXT, first INTEGER,"
	" last INTEGER, PRIMARY KEY(merged, device, port, folder, name)) WITHOUT ROWID",
	"counter_sample(merged INTEGER, device TEXT, port INTEGER, folder TEXT, name TEXT,"
	" time INTEGER, value INTEGER,"
	" PRIMARY KEY(merged, device, port, folder, name, time)) WITHOUT ROWID",
	"sample(thread INTEGER, time INTEGER, doing TEXT, state TEXT, wchan TEXT,"
	" PRIMARY KEY(thread, time)) WITHOUT ROWID",
	"merged(id INTEGER PRIMARY KEY, name TEXT, host TEXT, path TEXT, first_process INTEGER,"
	" first_thread INTEGER, first_object INTEGER, first_stack INTEGER, clock TEXT,"
	" offset INTEGER, drift REAL, error INTEGER, drift_error REAL, ahead INTEGER,"
	" pairs INTEGER, messages INTEGER, contradicts INTEGER)",
	"merged_meta(merged INTEGER, key TEXT, value, PRIMARY KEY(merged, key)) WITHOUT ROWID",
	"chunk(id INTEGER PRIMARY KEY, thread INTEGER, first_n INTEGER, last_n INTEGER,"
	" begin INTEGER, end INTEGER, events INTEGER, data BLOB)",
	"payload_chunk(id INTEGER PRIMARY KEY, thread INTEGER, first_n INTEGER, last_n INTEGER,"
	" begin INTEGER, end INTEGER, events INTEGER, bytes INTEGER, data BLOB)",
};

enum {
	WHOLE = 1,    /* created when the trace is finished */
	FOLLOWED = 2, /* needed to read a trace that is still being written */
	CROWDED = 4,  /* needed to find the forks of many processes */
};

static const struct {
	const char *what;
	unsigned int when;
} indexes[] = {
	{ "call_begin ON call(begin)", WHOLE },
	{ "call_verb ON call(verb)", WHOLE },
	{ "call_object ON call(object)", WHOLE },
	{ "ref_object ON ref(object)", WHOLE },
	{ "object_handle ON object(handle)", WHOLE },
	{ "connection_qp ON connection(qp)", WHOLE },
	{ "queue_object ON queue(object)", WHOLE },
	{ "chunk_thread ON chunk(thread, first_n, last_n, begin, end)", WHOLE | FOLLOWED },
	{ "payload_thread ON payload_chunk(thread, first_n, last_n)", WHOLE | FOLLOWED },
	{ "process_pid ON process(pid)", CROWDED },
	{ "process_fork ON process(fork_thread, fork_n)", CROWDED },
	{ "fork_seq ON fork(process, fork_seq)", CROWDED },
};

enum {
	CONTROLS = sizeof(controls) / sizeof(*controls),
	INDEXES = sizeof(indexes) / sizeof(*indexes)
};

static int make_indexes(sqlite3 *db, unsigned int when)
{
	char sql[256];
	int err = 0;

	for (int i = 0; i < INDEXES && !err; i++) {
		snprintf(sql, sizeof(sql), "CREATE INDEX IF NOT EXISTS main.%s", indexes[i].what);
		if (indexes[i].when & when)
			err = sql_exec(db, sql);
	}
	return err;
}

int schema_create(sqlite3 *db)
{
	char sql[1024];
	int err;

	snprintf(sql, sizeof(sql), "BEGIN; PRAGMA application_id=%d; PRAGMA user_version=%d",
		 SCHEMA_APPLICATION, SCHEMA_VERSION);
	err = sql_exec(db, sql);
	for (int i = 0; !err && i < CONTROLS; i++) {
		snprintf(sql, sizeof(sql), "CREATE TABLE %s", controls[i]);
		err = sql_exec(db, sql);
	}
	return err ? err : sql_exec(db, "COMMIT");
}

int schema_create_part(sqlite3 *db)
{
	int err = sql_exec(db, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF");

	if (!err)
		err = schema_create(db);
	return err ? err
		   : sql_exec(db, "INSERT INTO meta VALUES('state', 'unpacking');"
				  "BEGIN; DELETE FROM meta");
}

/* Is @what a statement that creates a table of an unpacked trace? */
static bool is_unpacked(const char *what)
{
	size_t n = strcspn(what, "(");
	struct text sql = { 0 };
	bool same = false;

	for (int t = 0; t < TABLES; t++)
		if (!strncmp(tables[t].name, what, n) && !tables[t].name[n])
			table_declare(&tables[t], true, &sql);
	if (sql.at && !sql.failed)
		same = !strcmp(sql.at, what);
	text_fini(&sql);
	return same;
}

/* Is @sql exactly one of the statements that create a trace's tables or indexes? */
static bool is_ours(const char *sql)
{
	static const char table[] = "CREATE TABLE ", index[] = "CREATE INDEX ";
	const char *what = sql + sizeof(table) - 1; /* both literals have the same length */

	if (!strncmp(sql, index, sizeof(index) - 1)) {
		for (int i = 0; i < INDEXES; i++)
			if (!strcmp(what, indexes[i].what))
				return true;
		return false;
	}
	if (strncmp(sql, table, sizeof(table) - 1))
		return false;
	for (int i = 0; i < CONTROLS; i++)
		if (!strcmp(what, controls[i]))
			return true;
	return is_unpacked(what);
}

/*
 * Refuse foreign triggers, views, virtual tables, generated columns: SQLite would run their code.
 */
static int check_statements(sqlite3 *db)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(db, "SELECT type, name, sql FROM sqlite_master", &stmt);

	while (!err && (err = sql_step(stmt)) > 0) {
		const char *sql = (const char *)sqlite3_column_text(stmt, 2);

		err = 0;
		if (sql && *sql && !is_ours(sql)) /* the index of a UNIQUE has no statement */
			err = log_why(-EPROTO,
				      "%s: this version of verbatim does not create the %.16s "
				      "'%.64s': the trace was modified, or is from another build; "
				      "read it with that build, or record again",
				      sqlite3_db_filename(db, "main"),
				      (const char *)sqlite3_column_text(stmt, 0),
				      (const char *)sqlite3_column_text(stmt, 1));
	}
	sqlite3_finalize(stmt);
	return err;
}

/* clang-format off */
/* Tables that traces of older versions do not have, and the first version that does. */
static const struct {
	const char *name;
	int since;
} newer_tables[] = {
	{ "waited", 7 },
	{ "misuse", 7 },
	{ "merged", 8 },
	{ "merged_meta", 8 },
	{ "connection", 9 },
	{ "queue", 9 },
	{ "counter", 10 },
	{ "sample", 11 },
	{ "counter_sample", 12 },
	{ "call_chunk", 13 },
	{ "row_chunk", 14 },
};
/* clang-format on */

/* Is @name a table that this version has, but the file's older format does not? */
static bool is_newer(sqlite3 *db, const char *name)
{
	for (size_t i = 0; i < sizeof(newer_tables) / sizeof(*newer_tables); i++)
		if (!strcmp(name, newer_tables[i].name))
			return sql_int(db, "PRAGMA user_version", SCHEMA_VERSION) <
			       newer_tables[i].since;
	return false;
}

int schema_check(sqlite3 *db)
{
	int err = check_statements(db);

	for (int i = 0; i < CONTROLS && !err; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(controls[i], "("), controls[i]);
		/* other errors are damage, which is reported when the table is read */
		if (sqlite3_table_column_metadata(db, "main", name, NULL, NULL, NULL, NULL, NULL,
						  NULL) == SQLITE_ERROR &&
		    !is_newer(db, name))
			err = log_why(-EPROTO,
				      "%s was written by another build of verbatim: it has no "
				      "table %s; read it with that build, or record again",
				      sqlite3_db_filename(db, "main"), name);
	}
	return err;
}

const char *schema_columns(const char *table)
{
	size_t n = strlen(table);

	for (int i = 0; i < CONTROLS; i++)
		if (!strncmp(controls[i], table, n) && controls[i][n] == '(')
			return controls[i] + n + 1;
	assert(!"a table of a trace");
	return NULL;
}

const char *schema_next_column(const char *column)
{
	return column + strcspn(column, ",") + strlen(", ");
}

int schema_complete(sqlite3 *db)
{
	return make_indexes(db, WHOLE);
}

int schema_index_processes(sqlite3 *db)
{
	return make_indexes(db, CROWDED);
}

int schema_follow(sqlite3 *db)
{
	return make_indexes(db, FOLLOWED);
}

int schema_set_meta(sqlite3 *db, const char *key, const char *value)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(db, "INSERT OR REPLACE INTO meta VALUES(?, ?)", &stmt);

	if (err)
		return err;
	err = sql_run(stmt, "tt", key, value);
	sqlite3_finalize(stmt);
	return err;
}

int schema_set_meta_int(sqlite3 *db, const char *key, int64_t value)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(db, "INSERT OR REPLACE INTO meta VALUES(?, ?)", &stmt);

	if (err)
		return err;
	err = sql_run(stmt, "ti", key, value);
	sqlite3_finalize(stmt);
	return err;
}
