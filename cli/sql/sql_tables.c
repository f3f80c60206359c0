/*
 * The tables, views and functions for queries
 */
#include "cli/sql/sql_tables.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/suggest.h"
#include "core/base/printable.h"
#include "core/base/style.h"
#include "core/wire/log.h"

enum { WIDTH = 100, INDENT = 4 };

/* clang-format off */
static const struct {
	const char *name, *about;
	const char *example; /* after SQL_QUERY */
} abouts[] = {
	/* views, and tables derived from others */
	{ "requests", "each work request with its outcome",
	  "event, name, opcode_name, bytes, outcome, latency FROM requests LIMIT 10" },
	{ "qps", "each queue pair with its peer, capabilities, attributes and last state",
	  "process, name, type, state, peer_name, sends, recvs FROM qps" },
	{ "peers", "peers of queue pairs, if the trace has both ends",
	  "process, name, peer_process, peer_name FROM peers" },
	{ "waits", "what each process waited for when it ended, and which process is to blame",
	  "process, says, direct, total FROM waits WHERE total" },
	{ "delays", "how long each rank waited because of each other rank",
	  "process, cause, ns, times FROM delays ORDER BY ns DESC LIMIT 10" },
	{ "mrs", "each memory region with its ranges and keys, and their times",
	  "process, name, length, lkey, since, until FROM mrs" },
	{ "calls", "control verbs with their duration and the name of their object",
	  "event, verb, name, duration FROM calls ORDER BY duration DESC LIMIT 10" },
	{ "failures", "failed verbs, completions in error and fatal events",
	  "kind, verb, name, code_name, stack(stack) FROM failures" },
	{ "counters", "counters of devices, with their change during the recording",
	  "device, port, name, change FROM counters WHERE change <> 0" },
	{ "completions", "each completion: table wc under the name that exports use",
	  "name(qp), status_name, count(*) FROM completions GROUP BY qp, status" },
	{ "processes", "each program image with its rank, host and recording",
	  "process, rank, node, exe, ending FROM processes" },
	{ "findings", "what record --check or check --save found, with the event's name",
	  "severity, rule, event, message FROM findings" },
	{ "stacks", "each distinct call stack with its functions, innermost first",
	  "stack, functions FROM stacks" },
	{ "posting", "first and last post of each thread",
	  "thread, posts, last - first AS ns FROM posting" },
	{ "queue_depth", "queue_depth(qp): occupancy over time; without (qp) of all queues",
	  "name, side, max(depth) FROM queue_depth GROUP BY object, side" },
	/* the data plane */
	{ "post", "each call that posts",
	  "thread, verb, count(*), sum(nwr) FROM post GROUP BY thread, verb" },
	{ "wr", "each work request",
	  "opcode_name, count(*), sum(bytes) FROM wr GROUP BY opcode" },
	{ "sge", "each scatter/gather element",
	  "event(thread, n) AS event, addr, length, lkey FROM sge LIMIT 10" },
	{ "poll", "each poll that found completions or failed",
	  "name(cq), count(*), avg(nwc) FROM poll GROUP BY cq" },
	{ "wc", "each completion, with its request",
	  "name(qp), status_name, count(*) FROM wc GROUP BY qp, status" },
	{ "notify", "each ibv_req_notify_cq()",
	  "name(cq), count(*) FROM notify GROUP BY cq" },
	{ "payload", "captured payload of a request or completion",
	  "event(thread, n) AS event, kind, length, hash FROM payload LIMIT 10" },
	/* the control plane */
	{ "call", "each control verb, with its arguments as JSON",
	  "event(thread, n) AS event, verb, args FROM call WHERE failed" },
	{ "object", "each object that verbs created",
	  "kind, count(*) FROM object GROUP BY kind" },
	{ "connection", "each connection of a queue pair, with its peer",
	  "name(qp), name(peer), dest_qp_num, known FROM connection" },
	{ "queue", "each queue of an object, with its depth and where its requests complete",
	  "name(object), side, name(cq), asked, given FROM queue" },
	{ "ref", "each handle in the arguments of a call",
	  "event(thread, n) AS event, path, name(object) FROM ref LIMIT 10" },
	{ "event", "each asynchronous event",
	  "time, type, element, name(object) FROM event" },
	{ "process", "each program image",
	  "id, pid, parent, exe, status, ending FROM process" },
	{ "environ", "variables that RDMA libraries read",
	  "process, name, shown(name, value) FROM environ" },
	{ "thread", "each thread",
	  "id, process, comm, events FROM thread ORDER BY events DESC" },
	{ "module", "each mapped object file",
	  "process, path, build_id FROM module" },
	{ "stack", "each distinct call stack",
	  "id, depth, stack(id) FROM stack LIMIT 10" },
	{ "frame", "each frame of a stack, innermost first",
	  "i, symbol(ip) FROM frame WHERE stack = 1 ORDER BY i" },
	{ "fork", "each fork, exec and spawn",
	  "event(thread, n) AS event, how, child, pid, error FROM fork" },
	{ "memory", "registered memory that was freed or unmapped (record --memory)",
	  "event(thread, n) AS event, what, length, name(mr) FROM memory" },
	{ "mark", "marks and phases that the program set",
	  "time, kind, text FROM mark" },
	{ "device", "each RDMA device",
	  "id, name, fw_ver, ports FROM device" },
	{ "port", "each port of a device",
	  "device, port, state, active_mtu, lid, link_layer FROM port" },
	{ "gid", "each GID of a port",
	  "device, port, idx, gid, type FROM gid" },
	{ "counter", "each counter of a device, at the start and end of the recording",
	  "device, port, name, first, last FROM counter WHERE first <> last" },
	{ "counter_sample", "values of the counters of devices, each second while they changed",
	  "time, device, port, name, value FROM counter_sample ORDER BY time" },
	{ "finding", "what record --check or check --save found",
	  "severity, rule, event(thread, n) AS event, message FROM finding" },
	{ "poll_count", "polls of each CQ by each thread",
	  "name(cq), sum(polls), sum(empty) FROM poll_count GROUP BY cq" },
	{ "sample", "what each thread did, ten times a second",
	  "thread, time, doing, state, wchan FROM sample ORDER BY thread, time" },
	{ "waited", "waits of each thread for the recorder",
	  "event(thread, n) AS event, ns, why FROM waited ORDER BY ns DESC LIMIT 10" },
	{ "misuse", "violations (record --strict)",
	  "event(thread, n) AS event, what, verb, stack(stack) FROM misuse" },
	{ "coverage", "blind spots of the recording",
	  "what, count(*), max(detail) FROM coverage GROUP BY what" },
	{ "loss", "events that are not in the trace",
	  "thread, events, first, last FROM loss" },
	{ "carried", "events repeated from the previous trace",
	  "event(thread, n) AS event FROM carried" },
	{ "merged", "each trace that this one was merged from, and its clock",
	  "name, host, clock, error FROM merged" },
	{ "merged_meta", "metadata of each merged trace",
	  "merged, value FROM merged_meta WHERE key = 'command'" },
	{ "meta", "metadata of the trace",
	  "key, value FROM meta" },
	{ "chunk", "the data plane, compressed",
	  "thread, first_n, last_n, events, length(data) FROM chunk" },
	{ "call_chunk", "calls that repeat, compressed",
	  "thread, first_n, last_n, calls, length(data) FROM call_chunk" },
	{ "row_chunk", "many objects, connections or queues, compressed",
	  "name, first, last, rows, length(data) FROM row_chunk" },
	{ "payload_chunk", "payload, compressed",
	  "thread, events, bytes, length(data) FROM payload_chunk" },
	/* functions */
	{ "event(thread, n)", "the event's name: 3:1042",
	  "event(thread, n) AS event, verb FROM call LIMIT 3" },
	{ "name(object)", "the object's name: qp3",
	  "name(id) FROM object LIMIT 3" },
	{ "symbol(ip [, process])", "function and line at an address of a process",
	  "symbol(ip) FROM frame LIMIT 3" },
	{ "stack(id)", "the functions of a stack, innermost first",
	  "stack(id) FROM stack LIMIT 3" },
	{ "errno_name(error)", "EINVAL",
	  "errno_name(22)" },
	{ "shown(name, value)", "value of a variable, as info prints it",
	  "name, shown(name, value) FROM environ" },
	{ "percentile(x, p)", "exact, p from 0 to 100",
	  "percentile(latency, 99) FROM requests" },
	{ "median(x)", "percentile(x, 50)",
	  "median(latency) FROM requests" },
};

/* clang-format on */

enum { ABOUTS = sizeof(abouts) / sizeof(abouts[0]) };

/*
 * Print a table's columns in lines of at most WIDTH; @stmt is at the first column. Returns the last
 * step's code.
 */
static int print_columns(sqlite3_stmt *stmt)
{
	int column = printf("%*s", INDENT, ""), code;

	do {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);
		int n = sqlite3_column_bytes(stmt, 0);

		if (column > INDENT)
			column += printf(",");
		if (column + 2 + n > WIDTH)
			column = printf("\n%*s", INDENT, "") - 1;
		else if (column > INDENT)
			column += printf(" ");
		print_untrusted(stdout, text);
		column += n;
	} while ((code = sqlite3_step(stmt)) == SQLITE_ROW);
	putchar('\n');
	return code;
}

/*
 * The columns of a table; NULL if the trace lacks it (an unpacked one has no chunks), or with
 * *@ret_failed.
 */
static sqlite3_stmt *find_columns(sqlite3 *db, const char *table, bool *ret_failed)
{
	sqlite3_stmt *stmt;

	*ret_failed = sqlite3_prepare_v2(
		db, "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1", -1, &stmt, NULL);
	if (*ret_failed)
		return NULL;
	sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		return stmt;
	*ret_failed = sqlite3_finalize(stmt);
	return NULL;
}

/* Returns the last step's code. */
static int print_table(sqlite3 *db, const char *name, const char *about)
{
	bool failed;
	sqlite3_stmt *stmt = find_columns(db, name, &failed);
	int code = SQLITE_DONE;

	if (!stmt)
		return failed ? SQLITE_ERROR : code;
	style_text(stdout, STYLE_NAME, name);
	printf(": %s\n", about);
	code = print_columns(stmt);
	sqlite3_finalize(stmt);
	return code;
}

static bool is_function(const char *name)
{
	return strchr(name, '(');
}

int sql_tables(sqlite3 *db)
{
	for (int i = 0; i < ABOUTS && !is_function(abouts[i].name); i++)
		if (print_table(db, abouts[i].name, abouts[i].about) != SQLITE_DONE) {
			log_note("sql: %s", sqlite3_errmsg(db));
			return CLI_TRACE;
		}
	printf("\nfunctions:\n");
	for (int i = 0; i < ABOUTS; i++)
		if (is_function(abouts[i].name))
			printf("%-24s%s\n", abouts[i].name, abouts[i].about);
	return CLI_FINE;
}

/* The length of a function's name, without its arguments. */
static size_t name_length(const char *name)
{
	return strcspn(name, "(");
}

static int find_about(const char *name)
{
	for (int i = 0; i < ABOUTS; i++)
		if (strlen(name) == name_length(abouts[i].name) &&
		    !strncasecmp(name, abouts[i].name, strlen(name)))
			return i;
	return -1;
}

bool sql_explain(sqlite3 *db, const char *name)
{
	bool any = false;

	/* a table and a function may have one name: event, stack */
	for (int i = find_about(name); i >= 0 && i < ABOUTS; i++) {
		if (strlen(name) != name_length(abouts[i].name) ||
		    strncasecmp(name, abouts[i].name, strlen(name)) != 0)
			continue;
		if (is_function(abouts[i].name))
			printf("%s: %s\n", abouts[i].name, abouts[i].about);
		else if (print_table(db, abouts[i].name, abouts[i].about) != SQLITE_DONE)
			return false;
		printf("  " SQL_QUERY " %s;\n", abouts[i].example);
		any = true;
	}
	return any;
}

void sql_each_name(sqlite3 *db, sql_take_name *take, void *arg)
{
	char name[SQL_NAME];
	bool failed;

	for (int i = 0; i < ABOUTS; i++) {
		sqlite3_stmt *stmt = NULL;

		snprintf(name, sizeof(name), "%.*s", (int)name_length(abouts[i].name),
			 abouts[i].name);
		if (!is_function(abouts[i].name))
			stmt = find_columns(db, name, &failed);
		if (stmt || is_function(abouts[i].name))
			take(arg, name);
		if (!stmt)
			continue;
		do
			take(arg, (const char *)sqlite3_column_text(stmt, 0));
		while (sqlite3_step(stmt) == SQLITE_ROW);
		sqlite3_finalize(stmt);
	}
}

/*
 * The name that @error says is unknown, without the table before it; NULL: not an error about a
 * name.
 */
static const char *find_unknown(const char *error)
{
	static const char *const says[] = { "no such table: ", "no such column: ",
					    "no such function: " };

	for (size_t i = 0; i < sizeof(says) / sizeof(*says); i++)
		if (!strncmp(error, says[i], strlen(says[i]))) {
			const char *point = strrchr(error, '.');

			return point ? point + 1 : error + strlen(says[i]);
		}
	return NULL;
}

struct nearest_name {
	struct suggestion near;
	bool elsewhere; /* there is exactly this name, but it is not valid in this place */
};

static void offer_name(void *arg, const char *name)
{
	struct nearest_name *offer = arg;

	if (strcmp(name, offer->near.word) != 0)
		suggest_name(&offer->near, name);
	else
		offer->elsewhere = true;
}

const char *sql_hint(sqlite3 *db, const char *error)
{
	static struct nearest_name offer;
	static char word[SQL_NAME];
	const char *unknown = find_unknown(error);
	int known = unknown ? find_about(unknown) : -1;

	if (!unknown)
		return "";
	if (known >= 0 && !is_function(abouts[known].name))
		return ": this trace does not have it; --tables lists what it has";
	snprintf(word, sizeof(word), "%s", unknown);
	offer = (struct nearest_name){ .near.word = word };
	sql_each_name(db, offer_name, &offer);
	if (offer.elsewhere)
		return unknown == error + strlen("no such table: ")
			       ? ": it is a column; --tables lists all"
			       : ": another table has it; --tables lists all";
	return suggest_text(&offer.near);
}
