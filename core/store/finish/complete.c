/*
 * Completing a trace when its recording ends
 *
 * One transaction derives everything from what the recorder wrote. So any process can complete a
 * trace whose recorder died.
 *
 * Not here: objects and what refers to them (lifetimes.c, refs.c).
 */
#include "core/store/finish/complete.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/vec.h"
#include "core/store/db/call_tables.h"
#include "core/store/finish/derive.h"
#include "core/store/finish/objects.h"
#include "core/store/db/row_tables.h"
#include "core/store/db/schema.h"
#include "core/store/db/sql.h"
#include "core/store/db/totals.h"
#include "core/wire/log.h"

enum { FEW = 100 }; /* up to this many processes are searched without an index */

/*
 * Match forks and children with the same pid in their order; if a pid was reused, the last process
 * counts.
 */
static const char forks_sql[] =
	"UPDATE process SET (parent, fork_thread, fork_n) ="
	" (SELECT f.process, f.thread, f.n FROM fork f JOIN process p ON p.id = f.process"
	"  WHERE p.pid = process.forked_from AND f.fork_seq = process.fork_seq"
	"  AND p.id < process.id ORDER BY p.id DESC LIMIT 1) WHERE forked_from IS NOT NULL;"
	/* children whose parent did not record the fork */
	"UPDATE process SET parent = (SELECT max(p.id) FROM process p"
	"  WHERE p.pid = process.forked_from AND p.id < process.id)"
	" WHERE forked_from IS NOT NULL AND parent IS NULL;"
	"UPDATE fork SET child = (SELECT p.id FROM process p"
	"  WHERE p.fork_thread = fork.thread AND p.fork_n = fork.n);"
	/* programs that a child executed: found by pid, if the fork has one */
	"UPDATE fork SET child = (SELECT p.id FROM process p WHERE p.pid = fork.pid"
	"  AND p.forked_from IS NULL AND p.start >= fork.time ORDER BY p.start LIMIT 1)"
	" WHERE fork.pid IS NOT NULL AND child IS NULL;"
	"UPDATE fork SET child = (SELECT p.id FROM process p JOIN process old"
	"  ON old.id = fork.process"
	"  WHERE p.pid = old.pid AND p.id > old.id AND p.start >= fork.time ORDER BY p.id LIMIT 1)"
	" WHERE how = 'exec' AND error IS NULL;"
	/* a child of a fork without pid: of its parent's last fork before the child began */
	"UPDATE fork SET child = c.child FROM (SELECT p.id AS child, max(f.time), f.thread AS t,"
	"  f.n AS n"
	"  FROM process p JOIN process parent ON parent.pid = p.ppid AND parent.id < p.id"
	"  JOIN fork f ON f.process = parent.id AND f.time <= p.start AND f.pid IS NULL"
	"   AND f.error IS NULL AND f.child IS NULL AND f.how IN ('vfork', 'system', 'popen')"
	"  WHERE p.forked_from IS NULL AND p.id NOT IN"
	"  (SELECT child FROM fork WHERE child NOT NULL)"
	"  GROUP BY p.id) c WHERE fork.thread = c.t AND fork.n = c.n;";

/* The region at that address; the one created last if there are several. */
static const char memory_sql[] =
	"UPDATE memory SET mr = (SELECT o.id FROM object o JOIN call c"
	"  ON c.thread = o.created_thread AND c.n = o.created_n"
	"  WHERE o.kind = 'mr' AND o.process = memory.process AND o.created_at <= memory.time"
	"  AND coalesce(o.destroyed_at, memory.time + 1) > memory.time AND json_valid(c.args)"
	"  AND json_extract(c.args, '$.addr') < memory.addr + memory.length"
	"  AND json_extract(c.args, '$.addr') + json_extract(c.args, '$.length') > memory.addr"
	"  ORDER BY o.id DESC LIMIT 1);";

static const char processes_sql[] =
	/* the end of a process is not before the ends of its threads */
	"UPDATE process SET end = max(process.end, t.end) FROM (SELECT process, max(end) AS end"
	"  FROM thread GROUP BY process) t WHERE t.process = process.id"
	"  AND process.end NOT NULL AND t.end NOT NULL;";

/*
 * Device attributes come from any call that queried them, the program's or the recorder's; the last
 * one counts.
 */
/* clang-format off */
static const char devices_sql[] =
	"DELETE FROM device; DELETE FROM port; DELETE FROM gid;"
	"CREATE TEMP VIEW asked AS SELECT d.name AS name, c.verb AS verb,"
	"  " SQL_SOUND("c.args") " AS args,"
	"  " SQL_SOUND("c.out") " AS out, c.begin AS begin"
	"  FROM call c JOIN object x ON x.id = c.object"
	"  JOIN object d ON d.id = x.parent AND d.kind = 'device' WHERE c.failed = 0;"
	"INSERT OR IGNORE INTO device(name, node_type, transport_type)"
	" SELECT json_extract(d.value, '$.name'), json_extract(d.value, '$.node_type'),"
	"  json_extract(d.value, '$.transport_type') FROM call c,"
	"  json_each(" SQL_SOUND("c.out") ", '$.ret') d"
	"  WHERE c.verb = 'ibv_get_device_list' AND c.failed = 0"
	"  AND json_extract(d.value, '$.name') IS NOT NULL ORDER BY c.begin, d.key;"
	"INSERT OR IGNORE INTO device(name) SELECT DISTINCT name FROM asked;"
	"UPDATE device SET attr = a.attr FROM (SELECT name, json_extract(out, '$.device_attr')"
	"  AS attr, max(begin) FROM asked WHERE verb = 'ibv_query_device' GROUP BY name) a"
	"  WHERE a.name = device.name;"
	"UPDATE device SET attr = a.attr FROM (SELECT name, json_extract(out, '$.attr')"
	"  AS attr, max(begin) FROM asked WHERE verb = 'ibv_query_device_ex' GROUP BY name) a"
	"  WHERE a.name = device.name AND a.attr IS NOT NULL;"
	"UPDATE device SET (guid, fw_ver, vendor_id, vendor_part_id, hw_ver, ports) ="
	" (SELECT json_extract(o, '$.node_guid'), json_extract(o, '$.fw_ver'),"
	"  json_extract(o, '$.vendor_id'), json_extract(o, '$.vendor_part_id'),"
	"  json_extract(o, '$.hw_ver'), json_extract(o, '$.phys_port_cnt')"
	"  FROM (SELECT coalesce(json_extract(attr, '$.orig_attr'), attr) AS o))"
	" WHERE attr IS NOT NULL;"
	"INSERT OR REPLACE INTO port SELECT d.id, json_extract(args, '$.port_num'),"
	"  json_extract(p, '$.state'), json_extract(p, '$.max_mtu'),"
	"  json_extract(p, '$.active_mtu'), json_extract(p, '$.lid'),"
	"  json_extract(p, '$.sm_lid'), json_extract(p, '$.link_layer'),"
	"  json_extract(p, '$.gid_tbl_len'), json_extract(p, '$.pkey_tbl_len'),"
	"  json_extract(p, '$.max_msg_sz'), p FROM (SELECT name, args, begin,"
	"  json_extract(out, '$.port_attr') AS p FROM asked WHERE verb = 'ibv_query_port')"
	"  JOIN device d USING(name) WHERE p IS NOT NULL"
	"  AND json_extract(args, '$.port_num') IS NOT NULL ORDER BY begin;"
	"INSERT OR REPLACE INTO gid SELECT d.id, json_extract(e.value, '$.port_num'),"
	"  json_extract(e.value, '$.gid_index'), json_extract(e.value, '$.gid.raw'),"
	"  json_extract(e.value, '$.gid_type'), json_extract(e.value, '$.ndev_ifindex')"
	"  FROM asked a JOIN device d USING(name), json_each(a.out, '$.entries') e"
	"  WHERE a.verb = 'ibv_query_gid_table' AND json_extract(e.value, '$.gid.raw') NOT NULL"
	"  AND json_extract(e.value, '$.port_num') NOT NULL"
	"  AND json_extract(e.value, '$.gid_index') NOT NULL ORDER BY a.begin;"
	"INSERT OR IGNORE INTO gid SELECT d.id, json_extract(args, '$.port_num'),"
	"  json_extract(args, '$.index'), json_extract(out, '$.gid.raw'), NULL, NULL"
	"  FROM asked JOIN device d USING(name) WHERE verb = 'ibv_query_gid'"
	"  AND json_extract(args, '$.port_num') NOT NULL AND json_extract(args, '$.index') NOT NULL"
	"  ORDER BY begin DESC;"
	"DROP VIEW asked;";
/* clang-format on */

struct module {
	int64_t id;
	uint32_t process;
	uint64_t base, start, end;
	uint32_t serial;
	int64_t time;
};

struct modules {
	struct module *list; /* sorted by process */
	size_t count;
	struct objects processes; /* only the lineages are loaded */
};

static int load_modules(sqlite3 *db, struct modules *modules)
{
	sqlite3_stmt *stmt;
	int err = objects_load_lineages(db, &modules->processes);

	if (!err)
		err = sql_prepare(db,
				  "SELECT id, process, base, start, end, serial, time FROM module"
				  " ORDER BY process, id",
				  &stmt);
	if (err)
		return err;
	while (!err && (err = sql_step(stmt)) > 0) {
		struct module *module = vec_push(modules->list, modules->count);

		err = module ? 0 : log_err(-ENOMEM, "read modules");
		if (err)
			break;
		*module = (struct module){ sqlite3_column_int64(stmt, 0),
					   sql_u32(stmt, 1),
					   (uint64_t)sqlite3_column_int64(stmt, 2),
					   (uint64_t)sqlite3_column_int64(stmt, 3),
					   (uint64_t)sqlite3_column_int64(stmt, 4),
					   sql_u32(stmt, 5),
					   sqlite3_column_int64(stmt, 6) };
	}
	sqlite3_finalize(stmt);
	return err;
}

static bool is_module_before(const void *module, const void *process)
{
	return ((const struct module *)module)->process < *(const uint32_t *)process;
}

/* The first module of the process, or the position where it would be. */
static const struct module *first_of(const struct modules *modules, uint32_t process)
{
	return modules->list + vec_count_before(modules->list, modules->count,
						sizeof(*modules->list), is_module_before, &process);
}

/*
 * The module that has @ip in a stack whose newest module has number @serial: a module of the
 * process, or one that an ancestor loaded before the fork.
 */
static const struct module *module_at(const struct modules *modules, uint32_t process,
				      uint32_t serial, uint64_t ip)
{
	const struct module *end = modules->list + modules->count;
	int64_t until = INT64_MAX;

	while (process && process <= modules->processes.nlineages) {
		const struct lineage *lineage = &modules->processes.lineages[process - 1];
		const struct module *found = NULL;

		for (const struct module *m = first_of(modules, process);
		     m < end && m->process == process; m++)
			if (ip >= m->start && ip < m->end && m->serial <= serial &&
			    m->time <= until && (!found || m->serial >= found->serial))
				found = m;
		if (found)
			return found;
		until = lineage->fork_time;
		process = lineage->parent < process ? lineage->parent : 0;
	}
	return NULL;
}

static int find_modules(sqlite3 *db, const struct modules *modules)
{
	sqlite3_stmt *from, *to = NULL;
	int err = sql_prepare(db,
			      "SELECT f.stack, f.i, f.ip, s.process, s.modules FROM frame f"
			      " JOIN stack s ON s.id = f.stack",
			      &from);

	if (!err)
		err = sql_prepare(db,
				  "UPDATE frame SET module = ?, offset = ?"
				  " WHERE stack = ? AND i = ?",
				  &to);
	while (!err && (err = sql_step(from)) > 0) {
		uint64_t ip = (uint64_t)sqlite3_column_int64(from, 2);
		const struct module *m = module_at(modules, sql_u32(from, 3), sql_u32(from, 4), ip);

		err = m ? sql_run(to, "iiuu", m->id, ip - m->base, sql_u32(from, 0),
				  sql_u32(from, 1))
			: 0;
	}
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return err;
}

static int complete_frames(sqlite3 *db)
{
	struct modules modules = { 0 };
	int err = load_modules(db, &modules);

	if (!err && modules.count)
		err = find_modules(db, &modules);
	objects_fini(&modules.processes);
	free(modules.list);
	return err;
}

/* Does @sql select any row? Asking is faster than preparing statements that would change no row. */
static bool has_rows(sqlite3 *db, const char *sql)
{
	return sql_int(db, sql, 1);
}

int complete_forks(sqlite3 *db)
{
	int err = 0;

	if (!has_rows(db, "SELECT EXISTS(SELECT 1 FROM fork)"
			  " OR EXISTS(SELECT 1 FROM process WHERE forked_from NOT NULL)"))
		return 0;
	if (sql_int(db, "SELECT count(*) FROM process", 0) > FEW)
		err = schema_index_processes(db);
	return err ? err : sql_exec(db, forks_sql);
}

/* Store the duration. A process may end after its last event: core/store/db/totals.h. */
static int complete_duration(sqlite3 *db)
{
	struct totals totals = totals_read(db);

	return schema_set_meta_int(db, "duration", totals.duration);
}

/* Has the trace no events? Then nothing is derived. */
static bool is_blank(sqlite3 *db)
{
	return !has_rows(db, "SELECT EXISTS(SELECT 1 FROM process) OR EXISTS(SELECT 1 FROM thread)"
			     " OR EXISTS(SELECT 1 FROM loss) OR EXISTS(SELECT 1 FROM coverage)"
			     " OR EXISTS(SELECT 1 FROM row_chunk) OR EXISTS(SELECT 1 FROM chunk)");
}

static int derive_rows(sqlite3 *db)
{
	int err = call_tables_create(db);

	if (!err)
		err = row_tables_begin(db);
	if (!err)
		err = complete_forks(db);
	if (!err)
		err = sql_exec(db, processes_sql);
	if (!err)
		err = complete_duration(db);
	if (!err)
		err = objects_build(db);
	if (!err)
		err = derive_tables(db);
	if (!err)
		err = complete_frames(db);
	if (!err)
		err = schema_complete(db); /* the statements below need its index on verbs */
	if (!err)
		err = sql_exec(db, devices_sql);
	if (!err && has_rows(db, "SELECT EXISTS(SELECT 1 FROM memory)"))
		err = sql_exec(db, memory_sql);
	return err ? err : row_tables_end(db, ROW_TABLE_LEAST);
}

static int run_steps(sqlite3 *db, enum complete_state state)
{
	/* without events a power failure loses nothing, so nothing waits for the disk */
	bool blank = is_blank(db);
	int err = sql_exec(db, blank ? "PRAGMA synchronous=OFF; BEGIN IMMEDIATE;"
				       "INSERT OR IGNORE INTO meta VALUES('duration', 0)"
				     : "PRAGMA cache_size=-32768; BEGIN IMMEDIATE");

	if (!err && !blank)
		err = derive_rows(db);
	if (!err)
		err = schema_set_meta(db, "state",
				      state == COMPLETE_WHOLE ? "complete" : "interrupted");
	return err ? err : sql_exec(db, "COMMIT");
}

int complete_file(sqlite3 *db)
{
	/* after a power failure before the last change is on the disk, an empty WAL remains */
	static const char sql[] = "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA synchronous=OFF;"
				  "PRAGMA journal_mode=DELETE; PRAGMA locking_mode=NORMAL;"
				  "SELECT count(*) FROM meta; PRAGMA synchronous=NORMAL";

	if (!sqlite3_exec(db, sql, NULL, NULL, NULL) || (sqlite3_errcode(db) & 0xff) == SQLITE_FULL)
		return 0;
	return sql_fail(db, "merge the trace into one file");
}

int complete_trace(sqlite3 *db, enum complete_state state)
{
	int err = run_steps(db, state);

	if (!err)
		return complete_file(db);
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}
