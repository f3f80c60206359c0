/*
 * What a trace contains that may be confidential, and what its reader needs to know
 */
#include "cli/bundle/inventory.h"

#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "cli/format.h"
#include "core/base/printable.h"
#include "core/store/db/schema.h"
#include "core/store/db/sql.h"
#include "core/store/read/lookup.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

/* Each is a count; the first text, if there is one, is printed beside it. */
static const struct {
	const char *what, *count, *example;
} kinds[] = {
	{ "host names",
	  "SELECT count(DISTINCT value) FROM (SELECT value FROM meta WHERE key = 'host'"
	  " UNION SELECT host FROM merged)",
	  "SELECT value FROM meta WHERE key = 'host'" },
	{ "programs with their arguments", "SELECT count(*) FROM process WHERE exe NOT NULL",
	  "SELECT value FROM meta WHERE key = 'command'" },
	{ "paths of files", "SELECT count(DISTINCT path) FROM module",
	  "SELECT exe FROM process WHERE exe <> '' LIMIT 1" },
	{ "variables of RDMA libraries", "SELECT count(*) FROM environ",
	  "SELECT name || '=' || shown(name, value) FROM environ LIMIT 1" },
	{ "names of devices", "SELECT count(*) FROM device", "SELECT name FROM device LIMIT 1" },
	{ "GUIDs of devices", "SELECT count(DISTINCT guid) FROM device WHERE guid <> 0", NULL },
	{ "GIDs", "SELECT count(DISTINCT gid) FROM gid", "SELECT gid FROM gid LIMIT 1" },
	{ "calls with network addresses",
	  "SELECT count(*) FROM call WHERE args LIKE '%addr\":\"%' OR out LIKE '%addr\":\"%'"
	  " OR verb = 'rdma_getaddrinfo'",
	  NULL },
	{ "calls with private data of connections",
	  "SELECT count(*) FROM call WHERE args LIKE '%\"private_data\":\"%'"
	  " OR out LIKE '%\"private_data\":\"%'",
	  NULL },
	{ "marks of the program", "SELECT count(*) FROM mark", "SELECT text FROM mark LIMIT 1" },
};

static void print_example(struct trace *trace, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	char shown[PRINTABLE_GROWS * 60 + 1];

	if (!sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL) &&
	    sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_bytes(stmt, 0)) {
		size_t n = (size_t)sqlite3_column_bytes(stmt, 0);

		printable_text(shown, sizeof(shown), (const char *)sqlite3_column_text(stmt, 0),
			       n < 60 ? n : 60);
		printf(" (%s%s)", shown, n < 60 ? "" : "...");
	}
	sqlite3_finalize(stmt);
}

void inventory_print(struct trace *trace, bool anonymised)
{
	char text[FORMAT_TEXT];
	uint64_t bytes = lookup_payload_bytes(trace);

	printf(anonymised ? "replaced, equal values by equal ones:\n"
			  : "which could identify you (--anonymise replaces it):\n");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		int64_t n = sql_int(trace_db(trace), kinds[i].count, 0);

		if (n <= 0)
			continue;
		printf("  %s: %s", kinds[i].what, format_count((uint64_t)n, text));
		if (kinds[i].example)
			print_example(trace, kinds[i].example);
		printf("\n");
	}
	if (bytes)
		printf("  bytes of messages: %s%s\n", format_bytes(bytes, text),
		       anonymised ? ", now zeros" : "");
	if (anonymised)
		printf("kept: times of day, process numbers, build ids, versions, LIDs, QP "
		       "numbers, keys,\n  immediate data, operands of atomics (see "
		       "verbatim-bundle(1))\n");
}

int inventory_add_builds(struct trace *trace, struct text *to)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(
		trace_db(trace),
		"SELECT DISTINCT path, ifnull(build_id, '') FROM module ORDER BY path", &stmt);

	while (!err && (err = sql_step(stmt)) > 0) {
		const char *path = (const char *)sqlite3_column_text(stmt, 0);
		const char *id = (const char *)sqlite3_column_text(stmt, 1);

		text_printable(to, id && *id ? id : "none");
		text_char(to, ' ');
		text_printable(to, path ? path : "");
		text_char(to, '\n');
		err = 0;
	}
	sqlite3_finalize(stmt);
	if (!err && !to->used)
		text_addf(to, "none: no stacks were recorded\n");
	return err ? err : to->failed ? log_err(-ENOMEM, "bundle") : 0;
}

static void add_row(struct text *to, const char *name, const char *value)
{
	text_addf(to, "%-22s ", name);
	text_printable(to, value && *value ? value : "-");
	text_char(to, '\n');
}

static int add_libraries(struct trace *trace, struct text *to)
{
	sqlite3_stmt *stmt;
	int err =
		sql_prepare(trace_db(trace),
			    "SELECT DISTINCT path FROM module WHERE path LIKE '%/libibverbs.so%'"
			    " OR path LIKE '%/librdmacm.so%' OR path LIKE '%-rdmav%.so' ORDER BY 1",
			    &stmt);

	while (!err && (err = sql_step(stmt)) > 0) {
		add_row(to, "library", (const char *)sqlite3_column_text(stmt, 0));
		err = 0;
	}
	sqlite3_finalize(stmt);
	return err;
}

int inventory_add_versions(struct trace *trace, bool here, struct text *to)
{
	struct utsname machine;
	char format[16];
	int err;

	snprintf(format, sizeof(format), "%lld",
		 (long long)sql_int(trace_db(trace), "PRAGMA user_version", SCHEMA_VERSION));
	add_row(to, "recorded by verbatim", trace_meta(trace, "version"));
	add_row(to, "bundled by verbatim", VERBATIM_VERSION);
	add_row(to, "format of the trace", format);
	add_row(to, "kernel", trace_meta(trace, "kernel"));
	add_row(to, "machine", trace_meta(trace, "machine"));
	add_row(to, "device", trace_meta(trace, "device"));
	err = add_libraries(trace, to);
	if (here && !uname(&machine))
		add_row(to, "kernel of the bundler", machine.release);
	return err ? err : to->failed ? log_err(-ENOMEM, "bundle") : 0;
}
