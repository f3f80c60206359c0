/*
 * The tables, views and functions for queries
 */
#include "cli/sql/sql_tables.h"

#include <string.h>

#include "cli/cli.h"
#include "core/base/printable.h"
#include "core/base/style.h"
#include "core/wire/log.h"

enum { WIDTH = 100, INDENT = 4 };

/* clang-format off */
static const struct {
	const char *name, *about;
} abouts[] = {
	/* views and tables that are made of others */
	{ "requests", "each work request with its outcome" },
	{ "qps", "each queue pair with its peer, capabilities, attributes and last state" },
	{ "peers", "peers of queue pairs, if the trace has both ends" },
	{ "mrs", "each memory region with its ranges and keys, and their times" },
	{ "calls", "control verbs with their duration and the name of their object" },
	{ "failures", "failed verbs, completions in error and fatal events" },
	{ "counters", "counters of devices, with their change during the recording" },
	{ "posting", "first and last post of each thread" },
	{ "queue_depth", "queue_depth(qp): occupancy over time; without (qp) of all queues" },
	/* the data plane */
	{ "post", "each call that posts" },
	{ "wr", "each work request" },
	{ "sge", "each scatter/gather element" },
	{ "poll", "each poll that found completions or failed" },
	{ "wc", "each completion, with its request" },
	{ "notify", "each ibv_req_notify_cq()" },
	{ "payload", "captured payload of a request or completion" },
	/* the control plane */
	{ "call", "each control verb, with its arguments as JSON" },
	{ "object", "each object that verbs made" },
	{ "connection", "each connection of a queue pair, with its peer" },
	{ "queue", "each queue of an object, with its depth and where its requests complete" },
	{ "ref", "each handle in the arguments of a call" },
	{ "event", "each asynchronous event" },
	{ "process", "each program image" },
	{ "environ", "variables that RDMA libraries read" },
	{ "thread", "each thread" },
	{ "module", "each mapped object file" },
	{ "stack", "each distinct call stack" },
	{ "frame", "each frame of a stack, innermost first" },
	{ "fork", "each fork, exec and spawn" },
	{ "memory", "registered memory that was freed or unmapped (record --memory)" },
	{ "mark", "marks and phases that the program set" },
	{ "device", "each RDMA device" },
	{ "port", "each port of a device" },
	{ "gid", "each GID of a port" },
	{ "counter", "each counter of a device, when the recording began and ended" },
	{ "finding", "what record --check or check --save found" },
	{ "poll_count", "polls of each CQ by each thread" },
	{ "waited", "waits of each thread for the recorder" },
	{ "misuse", "violations (record --strict)" },
	{ "coverage", "blind spots of the recording" },
	{ "loss", "events that are not in the trace" },
	{ "carried", "events repeated from the previous trace" },
	{ "merged", "each trace that this one was merged from, and its clock" },
	{ "merged_meta", "metadata of each of these" },
	{ "meta", "metadata of the trace" },
	{ "chunk", "the data plane, compressed" },
	{ "payload_chunk", "payload, compressed" },
	/* functions */
	{ "event(thread, n)", "the event's name: 3:1042" },
	{ "name(object)", "the object's name: qp3" },
	{ "symbol(ip [, process])", "function and line at an address of a process" },
	{ "stack(id)", "the functions of a stack, innermost first" },
	{ "errno_name(error)", "EINVAL" },
	{ "shown(name, value)", "value of a variable, as info prints it" },
	{ "percentile(x, p)", "exact, p from 0 to 100" },
	{ "median(x)", "percentile(x, 50)" },
};

/* clang-format on */

enum { ABOUTS = sizeof(abouts) / sizeof(abouts[0]) };

/*
 * Print its columns in lines of at most WIDTH, @stmt being on the first. Returns the last step's
 * code.
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
		print_foreign(stdout, text);
		column += n;
	} while ((code = sqlite3_step(stmt)) == SQLITE_ROW);
	putchar('\n');
	return code;
}

/* Print nothing for a table that the trace lacks: an unpacked one has no chunks. */
static int print_table(sqlite3 *db, const char *name, const char *about)
{
	sqlite3_stmt *stmt;
	int code;

	if (sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1", -1,
			       &stmt, NULL))
		return SQLITE_ERROR;
	sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	code = sqlite3_step(stmt);
	if (code == SQLITE_ROW) {
		style_text(stdout, STYLE_NAME, name);
		printf(": %s\n", about);
		code = print_columns(stmt);
	}
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
