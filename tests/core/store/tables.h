#pragma once
/*
 * All rows of a trace as text, table by table. Not thread-safe.
 */
#include <sqlite3.h>

#include "core/store/read/trace.h"
#include "tests/test.h"
#include "tests/transcript.h"

static inline void tables_add_cell(struct text *out, sqlite3_stmt *row, int i)
{
	if (sqlite3_column_type(row, i) == SQLITE_NULL)
		text_addf(out, "-");
	else if (sqlite3_column_type(row, i) == SQLITE_BLOB)
		for (int byte = 0; byte < sqlite3_column_bytes(row, i); byte++)
			text_addf(out, "%02x",
				  ((const uint8_t *)sqlite3_column_blob(row, i))[byte]);
	else
		text_addf(out, "%s", sqlite3_column_text(row, i));
}

/* The rows that @sql selects, or nothing if there is none, below @name. */
static inline void tables_add_rows(struct text *out, sqlite3 *db, const char *name, const char *sql)
{
	sqlite3_stmt *row;
	bool any = false;

	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
		fail_msg("%s: %s", name, sqlite3_errmsg(db));
	while (sqlite3_step(row) == SQLITE_ROW) {
		if (!any) {
			text_addf(out, "%s:", name);
			for (int i = 0; i < sqlite3_column_count(row); i++)
				text_addf(out, " %s", sqlite3_column_name(row, i));
			text_addf(out, "\n");
		}
		any = true;
		for (int i = 0; i < sqlite3_column_count(row); i++) {
			text_addf(out, "%c", i ? '|' : '\t');
			tables_add_cell(out, row, i);
		}
		text_addf(out, "\n");
	}
	sqlite3_finalize(row);
}

/* The events of the data plane. */
static inline void tables_add_data(struct text *out, struct trace *trace)
{
	static const char *const names[] = {
		"post", "wr", "sge", "poll", "wc", "notify", "payload"
	};
	char sql[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY thread, n%s", names[i],
			 strcmp(names[i], "sge") == 0 ? ", i, j"
			 : i == 1 || i == 4 || i == 6 ? ", i"
						      : "");
		tables_add_rows(out, trace_db(trace), names[i], sql);
	}
}

/* All others, but for what differs in each recording. */
static inline void tables_add_all(struct text *out, struct trace *trace)
{
	sqlite3 *db = trace_db(trace);
	sqlite3_stmt *name;
	char sql[128];

	tables_add_rows(
		out, db, "meta",
		"SELECT * FROM meta WHERE key NOT IN ('host', 'kernel', 'machine', 'sqlite', "
		"'monotonic', 'recorder', 'recorder_boot', 'recorder_start', 'payload_seed', "
		"'fingerprint', 'version') ORDER BY key");
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT name FROM sqlite_master WHERE type = 'table' "
					    "AND name NOT IN ('meta', 'chunk', 'payload_chunk', "
					    "'call_chunk', 'row_chunk') "
					    "AND name NOT LIKE 'sqlite%' ORDER BY name",
					    -1, &name, NULL),
			 SQLITE_OK);
	while (sqlite3_step(name) == SQLITE_ROW) {
		snprintf(sql, sizeof(sql), "SELECT * FROM %s", sqlite3_column_text(name, 0));
		tables_add_rows(out, db, (const char *)sqlite3_column_text(name, 0), sql);
	}
	sqlite3_finalize(name);
	tables_add_data(out, trace);
}
