/*
 * The tables of a trace
 *
 * Times are nanoseconds since the start of the recording, handles and
 * addresses are 64-bit integers as signed ones. (thread, n) is an event's name.
 *
 * Not here: the data plane's columns (columns.h), its virtual tables (vtab.c).
 */
#include "core/store/schema.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/wire/log.h"

static const char *const tables[] = {
	"meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID",
	"process(id INTEGER PRIMARY KEY, pid INTEGER, ppid INTEGER, parent INTEGER,"
	" fork_thread INTEGER, fork_n INTEGER, fork_time INTEGER, start INTEGER, end INTEGER,"
	" status INTEGER, exe TEXT, cmdline TEXT, thread INTEGER, n INTEGER,"
	" forked_from INTEGER, fork_seq INTEGER, ending TEXT)",
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
	"ref(thread INTEGER, n INTEGER, path TEXT, kind TEXT, handle INTEGER, object INTEGER,"
	" PRIMARY KEY(thread, n, path)) WITHOUT ROWID",
	"event(thread INTEGER, n INTEGER, process INTEGER, time INTEGER, type TEXT,"
	" element INTEGER, port INTEGER, object INTEGER, PRIMARY KEY(thread, n)) WITHOUT ROWID",
	"fork(thread INTEGER, n INTEGER, process INTEGER, time INTEGER, fork_seq INTEGER,"
	" child INTEGER, stack INTEGER, how TEXT, pid INTEGER, error INTEGER,"
	" PRIMARY KEY(thread, n)) WITHOUT ROWID",
	"mark(thread INTEGER, n INTEGER, process INTEGER, time INTEGER, kind TEXT, text TEXT,"
	" PRIMARY KEY(thread, n)) WITHOUT ROWID",
	"finding(id INTEGER PRIMARY KEY, rule TEXT, name TEXT, severity TEXT, thread INTEGER,"
	" n INTEGER, time INTEGER, process INTEGER, place TEXT, object TEXT, says TEXT,"
	" times INTEGER)",
	"loss(thread INTEGER PRIMARY KEY, process INTEGER, events INTEGER, first INTEGER,"
	" last INTEGER, overwritten INTEGER)",
	"carried(thread INTEGER PRIMARY KEY, n INTEGER)",
	"coverage(thread INTEGER, n INTEGER, process INTEGER, time INTEGER, what TEXT,"
	" handle INTEGER, object INTEGER, detail TEXT, times INTEGER)",
	"poll_count(thread INTEGER, handle INTEGER, life INTEGER, process INTEGER, cq INTEGER,"
	" polls INTEGER, completions INTEGER, empty INTEGER, last INTEGER,"
	" PRIMARY KEY(thread, handle, life)) WITHOUT ROWID",
	"chunk(id INTEGER PRIMARY KEY, thread INTEGER, first_n INTEGER, last_n INTEGER,"
	" begin INTEGER, end INTEGER, events INTEGER, data BLOB)",
	"payload_chunk(id INTEGER PRIMARY KEY, thread INTEGER, first_n INTEGER, last_n INTEGER,"
	" begin INTEGER, end INTEGER, events INTEGER, bytes INTEGER, data BLOB)",
};

#define CHUNK_INDEX \
	"CREATE INDEX IF NOT EXISTS chunk_thread ON chunk(thread, first_n, last_n, begin, end);" \
	"CREATE INDEX IF NOT EXISTS payload_thread ON payload_chunk(thread, first_n, last_n);"

#define PROCESS_INDEX \
	"CREATE INDEX IF NOT EXISTS process_pid ON process(pid);" \
	"CREATE INDEX IF NOT EXISTS process_fork ON process(fork_thread, fork_n);" \
	"CREATE INDEX IF NOT EXISTS fork_seq ON fork(process, fork_seq);"

static const char complete[] =
	"CREATE INDEX IF NOT EXISTS call_begin ON call(begin);"
	"CREATE INDEX IF NOT EXISTS call_verb ON call(verb);"
	"CREATE INDEX IF NOT EXISTS call_object ON call(object);"
	"CREATE INDEX IF NOT EXISTS ref_object ON ref(object);"
	"CREATE INDEX IF NOT EXISTS object_handle ON object(handle);" CHUNK_INDEX;

int schema_create(sqlite3 *db)
{
	char sql[1024];
	int err;

	snprintf(sql, sizeof(sql), "BEGIN; PRAGMA application_id=%d; PRAGMA user_version=%d",
		 SCHEMA_APPLICATION, SCHEMA_VERSION);
	err = sql_exec(db, sql);
	for (size_t i = 0; !err && i < sizeof(tables) / sizeof(*tables); i++) {
		snprintf(sql, sizeof(sql), "CREATE TABLE %s", tables[i]);
		err = sql_exec(db, sql);
	}
	return err ? err : sql_exec(db, "COMMIT");
}

int schema_check(sqlite3 *db)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		char name[32];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(tables[i], "("), tables[i]);
		/* what is damaged is said by who reads it */
		if (sqlite3_table_column_metadata(db, "main", name, NULL, NULL, NULL, NULL, NULL,
						  NULL) == SQLITE_ERROR)
			return log_err(-EPROTO, "%s was made by another build of verbatim: it has "
						"no table %s; read it with that one, or record "
						"again", sqlite3_db_filename(db, "main"), name);
	}
	return 0;
}

int schema_complete(sqlite3 *db)
{
	return sql_exec(db, complete);
}

int schema_index_processes(sqlite3 *db)
{
	return sql_exec(db, PROCESS_INDEX);
}

int schema_follow(sqlite3 *db)
{
	return sql_exec(db, CHUNK_INDEX);
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
