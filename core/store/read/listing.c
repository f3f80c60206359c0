/*
 * Lists of a trace's contents, one query each
 */
#include "core/store/read/listing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/text.h"
#include "core/store/db/rank.h"
#include "core/store/db/sql.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

struct listing {
	sqlite3_stmt *stmt;
	const char *name; /* for error messages; borrowed */
};

/* clang-format off */
static const struct {
	const char *name; /* for error messages */
	const char *sql;
} lists[LISTING_KINDS] = {
	[LISTING_SOURCES] = { "merged of",
	  "SELECT name, host, printf('%d to %d', first_process, coalesce(lead(first_process)"
	  " OVER (ORDER BY id) - 1, (SELECT max(id) FROM process))),"
	  " printf('%d to %d', first_thread, coalesce(lead(first_thread) OVER (ORDER BY id) - 1,"
	  " (SELECT max(id) FROM thread))), clock, error, nullif(ahead, 0),"
	  " CASE clock WHEN 'estimated' THEN printf('%.1f', (1 / (1 + drift) - 1) * 1e6) END,"
	  " pairs, messages FROM merged ORDER BY id" },
	[LISTING_PROCESSES] = { "processes",
	  "SELECT p.id, pid, nullif(parent, 0), count(t.id), sum(t.events), p.start, p.end,"
	  " CASE WHEN status >= 0 THEN status END, ending, coalesce(nullif(cmdline, ''), exe)"
	  " FROM process p LEFT JOIN thread t ON t.process = p.id GROUP BY p.id ORDER BY p.id" },
	[LISTING_RANKS] = { "ranks",
	  "SELECT process, rank, size, local, node, job, step, launcher FROM " SQL_RANKS
	  " ORDER BY rank, process" },
	[LISTING_THREADS] = { "threads",
	  "SELECT t.id, t.process, tid, comm, t.events, coalesce(l.events, 0) FROM thread t"
	  " LEFT JOIN loss l ON l.thread = t.id ORDER BY t.id" },
	[LISTING_LIMITS] = { "limits",
	  "SELECT id, CASE memlock WHEN -1 THEN 'unlimited' ELSE memlock END,"
	  " CASE memlock_most WHEN -1 THEN 'unlimited' ELSE memlock_most END,"
	  " CASE nofile WHEN -1 THEN 'unlimited' ELSE nofile END,"
	  " CASE nofile_most WHEN -1 THEN 'unlimited' ELSE nofile_most END,"
	  " CASE ipc_lock WHEN 1 THEN 'yes' WHEN 0 THEN 'no' END, page_size FROM process"
	  " WHERE page_size > 0 ORDER BY id" },
	[LISTING_ENVIRONMENT] = { "environment",
	  "SELECT name, shown(name, value), count(*), min(process) FROM environ"
	  " WHERE NOT launcher(name) GROUP BY 1, 2"
	  " ORDER BY name, min(process)" },
	[LISTING_DEVICES] = { "devices",
	  "SELECT name, node_type, transport_type, fw_ver, p.port, p.state, p.active_mtu, p.lid,"
	  " (SELECT count(*) FROM gid g WHERE g.device = d.id AND g.port = p.port)"
	  " FROM device d LEFT JOIN port p ON p.device = d.id ORDER BY d.id, p.port" },
	[LISTING_OBJECTS] = { "objects",
	  "SELECT kind, sum(coalesce(created_n, 0) > coalesce(c.n, 0) OR c.n IS NULL),"
	  " sum(coalesce(destroyed_n, 0) > 0), sum(coalesce(destroyed_n, 0) = 0) FROM object"
	  " LEFT JOIN carried c ON c.thread = created_thread GROUP BY kind ORDER BY min(id)" },
	[LISTING_CONNECTIONS] = { "connections",
	  "SELECT CASE known WHEN 'both' THEN 'connected back' WHEN 'address' THEN"
	  " 'has the address' WHEN 'number' THEN 'has the number' ELSE 'not in the trace' END,"
	  " count(*), count(DISTINCT qp) FROM connection GROUP BY 1 ORDER BY min(since)" },
	[LISTING_VERBS] = { "control verbs",
	  "SELECT verb, count(*), sum(coalesce(failed, 0)), sum(coalesce(end, -1) < 0) FROM call"
	  " LEFT JOIN carried c USING (thread) WHERE NOT ours AND depth = 0"
	  " AND call.n > coalesce(c.n, 0) GROUP BY verb ORDER BY min(begin)" },
	[LISTING_CQS] = { "completion queues",
	  "SELECT coalesce(o.name, printf('0x%x', p.handle)), p.process,"
	  " sum(polls) + sum(empty), sum(empty), sum(completions) FROM poll_count p"
	  " LEFT JOIN object o ON o.id = p.cq GROUP BY p.process, p.handle, p.life"
	  " ORDER BY p.process, o.id" },
	[LISTING_EVENTS] = { "asynchronous events",
	  "SELECT type, count(*), min(time) FROM event GROUP BY type ORDER BY min(time)" },
	[LISTING_LOST] = { "lost",
	  "SELECT thread, process, events, first, last, overwritten FROM loss ORDER BY thread" },
	[LISTING_UNSEEN] = { "not seen",
	  "SELECT what, c.process, o.name, sum(times), min(c.time), max(c.detail) FROM coverage c"
	  " LEFT JOIN object o ON o.id = c.object GROUP BY what, c.process, c.object,"
	  " CASE WHEN what = 'payload' OR what GLOB 'direct*' THEN c.detail END"
	  " ORDER BY min(c.time)" },
	/* a phase has a duration if it ended as often as it began, whatever its nesting */
	[LISTING_MARKS] = { "marks",
	  "SELECT text, kind, process, times,"
	  " CASE WHEN times = ends THEN took ELSE -1 END,"
	  " CASE WHEN times = ends THEN took / times ELSE -1 END"
	  " FROM (SELECT text, CASE kind WHEN 'point' THEN kind ELSE 'phase' END"
	  " AS kind, process, count(*) - sum(kind = 'end') AS times,"
	  " sum(kind = 'end') AS ends, sum(CASE kind WHEN 'begin' THEN -time"
	  " WHEN 'end' THEN time ELSE 0 END) AS took, min(time) AS first"
	  " FROM mark GROUP BY 1, 2, 3) ORDER BY first" },
	[LISTING_PAYLOADS] = { "payloads",
	  "SELECT kind, count(*), sum(length), sum(captured), sum(hash IS NOT NULL),"
	  " sum(why IS NOT NULL) FROM payload GROUP BY kind"
	  " ORDER BY kind = 'atomic', kind = 'read', kind = 'recv'" },
	/* the distinct values of all processes, without variables that differ in each recording */
	[LISTING_FACTS] = { "environment",
	  "SELECT key, value FROM meta WHERE key IN ('version', 'command', 'device', 'clock',"
	  " 'kernel', 'host', 'machine', 'memory', 'strict', 'payload', 'filter')"
	  " UNION ALL SELECT * FROM (SELECT name, group_concat(DISTINCT shown(name, value)) FROM"
	  " (SELECT * FROM environ WHERE name NOT IN"
	  " ('VERBATIM_DIR', 'VERBATIM_SESSIONS', 'VERBATIM_SOFT_FABRIC')"
	  " AND name NOT GLOB 'VERBATIM_REPLAY_*' AND NOT launcher(name)"
	  " ORDER BY name, value) GROUP BY name)"
	  " UNION ALL SELECT 'ranks', max(size) FROM " SQL_RANKS " HAVING max(size)"
	  " UNION ALL SELECT 'locked memory limit', group_concat(DISTINCT memlock) FROM process"
	  " WHERE memlock IS NOT NULL HAVING count(*)"
	  " UNION ALL SELECT 'open files limit', group_concat(DISTINCT nofile) FROM process"
	  " WHERE nofile IS NOT NULL HAVING count(*)"
	  " UNION ALL SELECT 'CAP_IPC_LOCK', group_concat(DISTINCT ipc_lock) FROM process"
	  " WHERE ipc_lock IS NOT NULL HAVING count(*)"
	  " UNION ALL SELECT 'page size', group_concat(DISTINCT page_size) FROM process"
	  " WHERE page_size IS NOT NULL HAVING count(*)" },
	[LISTING_QP_TYPES] = { "types of queue pairs",
	  "SELECT DISTINCT value FROM call, json_tree(call.args) WHERE verb GLOB 'ibv_create_qp*'"
	  " AND NOT failed AND key = 'qp_type' AND json_tree.type = 'text' ORDER BY 1" },
	[LISTING_FEATURES] = { "features",
	  "SELECT DISTINCT CASE kind WHEN 'srq' THEN 'SRQ' WHEN 'xrcd' THEN 'XRC domain'"
	  " WHEN 'mw' THEN 'windows' WHEN 'dm' THEN 'device memory' WHEN 'wq' THEN 'WQ'"
	  " WHEN 'flow' THEN 'flows' WHEN 'comp_channel' THEN 'events' ELSE kind END"
	  " FROM object WHERE kind IN ('srq', 'xrcd', 'mw', 'dm', 'wq', 'flow', 'counters',"
	  " 'comp_channel', 'td') UNION SELECT DISTINCT 'rdma_cm' FROM call"
	  " WHERE verb IN ('rdma_connect', 'rdma_accept', 'rdma_resolve_addr')"
	  " UNION SELECT DISTINCT 'extended CQ' FROM call WHERE verb = 'ibv_create_cq_ex'"
	  " AND NOT failed ORDER BY 1" },
	[LISTING_OPCODES] = { "opcodes",
	  "SELECT DISTINCT opcode_name FROM wr WHERE opcode_name <> '' ORDER BY 1" },
	[LISTING_STATUSES] = { "statuses",
	  "SELECT DISTINCT status_name FROM wc WHERE status <> 0 ORDER BY 1" },
	[LISTING_REFUSED] = { "refused calls",
	  "SELECT DISTINCT verb FROM call WHERE failed AND depth = 0 AND NOT ours ORDER BY 1" },
	[LISTING_PAGE_CONTROL] = { "control",
	  "SELECT event, process, thread, begin, end - begin AS duration, verb, name, ret, error,"
	  " failed FROM calls WHERE NOT ours AND depth = 0 AND end >= begin"
	  " ORDER BY failed DESC, end - begin DESC, begin" },
	[LISTING_PAGE_QPS] = { "qps",
	  "SELECT object, name, process, type, number, state, peer_name, peer_process, max_send_wr,"
	  " max_recv_wr, max_inline_data, path_mtu, timeout, retry_cnt, rnr_retry, min_rnr_timer,"
	  " created_at, destroyed_at, sends, recvs FROM qps ORDER BY sends + recvs DESC, object" },
	[LISTING_PAGE_STATES] = { "states",
	  "SELECT c.object, c.end AS time, CASE WHEN json_valid(c.args)"
	  " THEN json_extract(c.args, '$.attr.qp_state') ELSE 'unreadable' END AS state,"
	  " event(c.thread, c.n) AS event FROM call c WHERE c.verb = 'ibv_modify_qp'"
	  " AND NOT c.failed AND c.end >= 0 AND c.args IS NOT NULL AND state IS NOT NULL"
	  " ORDER BY c.object, c.end" },
	[LISTING_PAGE_REGIONS] = { "regions",
	  "SELECT name, process, length, since, until, event FROM mrs ORDER BY since" },
	[LISTING_PAGE_MARKS] = { "marks",
	  "SELECT process, time, kind, text FROM mark ORDER BY time" },
	[LISTING_COUNTERS] = { "counters",
	  "SELECT device || CASE WHEN port THEN '/' || port ELSE '' END, name, last - first,"
	  " s.since, s.until, s.most FROM counter LEFT JOIN (SELECT merged, device, port, folder,"
	  " name, min(time) AS since, max(time) AS until, max(step) AS most"
	  " FROM (SELECT c.*, value - lag(value, 1, f.first) OVER (PARTITION BY c.merged,"
	  " c.device, c.port, c.folder, c.name ORDER BY time) AS step FROM counter_sample c"
	  " JOIN counter f USING (merged, device, port, folder, name)) GROUP BY 1, 2, 3, 4, 5) s"
	  " USING (merged, device, port, folder, name) WHERE last <> first"
	  " ORDER BY merged, device, port, folder, name" },
	[LISTING_PAGE_COUNTERS] = { "counters",
	  "SELECT device, port, folder, name, time, value FROM counter_sample"
	  " ORDER BY merged, device, port, folder, name, time" },
	[LISTING_PAGE_PROCESSES] = { "processes",
	  "SELECT id, r.rank AS rank, r.node AS node, pid, start,"
	  " end, status, ending, coalesce(nullif(cmdline, ''), exe) AS command,"
	  " CASE memlock WHEN -1 THEN 'unlimited' ELSE memlock END AS memlock,"
	  " CASE ipc_lock WHEN 1 THEN 'yes' WHEN 0 THEN 'no' END AS cap_ipc_lock"
	  " FROM process LEFT JOIN " SQL_RANKS " r ON r.process = id ORDER BY id" },
	[LISTING_PAGE_DEVICES] = { "devices",
	  "SELECT name, node_type, transport_type, fw_ver, p.port, p.state, p.active_mtu, p.lid"
	  " FROM device d LEFT JOIN port p ON p.device = d.id ORDER BY d.id, p.port" },
	[LISTING_PAGE_ENVIRONMENT] = { "environ",
	  "SELECT name, shown(name, value) AS value, count(*) AS processes FROM environ"
	  " WHERE NOT launcher(name) GROUP BY 1, 2 ORDER BY name" },
	[LISTING_PAGE_MODULES] = { "modules",
	  "SELECT path, build_id, count(DISTINCT process) AS processes FROM module"
	  " GROUP BY path, build_id ORDER BY path" },
	[LISTING_PAGE_COVERAGE] = { "coverage",
	  "SELECT what, detail, sum(times) AS times, count(DISTINCT process) AS processes"
	  " FROM coverage GROUP BY what, detail ORDER BY what" },
	[LISTING_PAGE_LOSS] = { "loss",
	  "SELECT thread, process, events, first, last, overwritten FROM loss" },
	[LISTING_PAGE_META] = { "meta", "SELECT key, value FROM meta ORDER BY key" },
	[LISTING_PAGE_SOURCES] = { "merged",
	  "SELECT name, host, clock, error, ahead, pairs, messages FROM merged" },
};
/* clang-format on */

static int fail_listing(sqlite3 *db, const char *name)
{
	char what[64];

	snprintf(what, sizeof(what), "read %s", name);
	return sql_fail(db, what);
}

static int prepare_listing(struct trace *trace, const char *name, const char *sql,
			   struct listing **ret_listing)
{
	struct listing *listing = calloc(1, sizeof(*listing));

	*ret_listing = listing;
	if (!listing)
		return log_err(-ENOMEM, "read %s", name);
	listing->name = name;
	if (sqlite3_prepare_v2(trace_db(trace), sql, -1, &listing->stmt, NULL))
		return fail_listing(trace_db(trace), name);
	return 0;
}

int listing_open(struct trace *trace, enum listing_kind kind, struct listing **ret_listing)
{
	return prepare_listing(trace, lists[kind].name, lists[kind].sql, ret_listing);
}

int listing_open_table(struct trace *trace, const char *table, const char *columns,
		       struct listing **ret_listing)
{
	struct text sql = { 0 };
	int err;

	*ret_listing = NULL;
	text_addf(&sql, "SELECT %s FROM %s", columns, table);
	err = sql.failed ? log_err(-ENOMEM, "read %s", table)
			 : prepare_listing(trace, table, sql.at, ret_listing);
	text_fini(&sql);
	return err;
}

int listing_next(struct listing *listing)
{
	switch (sqlite3_step(listing->stmt)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return fail_listing(sqlite3_db_handle(listing->stmt), listing->name);
	}
}

unsigned int listing_columns(const struct listing *listing)
{
	return listing->stmt ? (unsigned int)sqlite3_column_count(listing->stmt) : 0;
}

const char *listing_name(const struct listing *listing, unsigned int column)
{
	return sqlite3_column_name(listing->stmt, (int)column);
}

enum listing_cell listing_cell(const struct listing *listing, unsigned int column)
{
	switch (sqlite3_column_type(listing->stmt, (int)column)) {
	case SQLITE_NULL:
		return LISTING_NULL;
	case SQLITE_INTEGER:
		return LISTING_INTEGER;
	case SQLITE_FLOAT:
		return LISTING_REAL;
	default:
		return LISTING_TEXT;
	}
}

int64_t listing_integer(const struct listing *listing, unsigned int column)
{
	return sqlite3_column_int64(listing->stmt, (int)column);
}

double listing_real(const struct listing *listing, unsigned int column)
{
	return sqlite3_column_double(listing->stmt, (int)column);
}

const char *listing_text(const struct listing *listing, unsigned int column)
{
	return (const char *)sqlite3_column_text(listing->stmt, (int)column);
}

void listing_close(struct listing *listing)
{
	if (!listing)
		return;
	sqlite3_finalize(listing->stmt);
	free(listing);
}
