#pragma once
/*
 * What else the analysis says about a story, besides its report: the tables that need the model,
 * and the report for programs. A transcript has their digests, since they are long; SHOW=3 in the
 * environment prints those of the third report.
 *
 * Included by tests/analyzer/story.h.
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "analyzer/report/report.h"
#include "analyzer/tables/tables.h"
#include "core/store/read/trace.h"
#include "tests/test.h"
#include "tests/transcript.h"

static const char *const outputs_tables[] = { "requests", "qps", "queue_depth", "waits", "delays" };

static inline uint32_t outputs_digest(const struct text *text)
{
	uint32_t hash = 0x811c9dc5;

	for (size_t i = 0; i < text->used; i++)
		hash = (hash ^ (unsigned char)text->at[i]) * 0x1000193;
	return hash;
}

/* Append the digest of @from, without addresses. */
static inline void outputs_add(struct text *to, const char *name, const char *from, bool shown)
{
	struct text clean = { 0 };

	transcript_clean(&clean, from);
	text_addf(to, " %s %08x", name, outputs_digest(&clean));
	if (shown)
		fprintf(stderr, "%s: %s\n", name, clean.at ?: "");
	text_fini(&clean);
}

static inline void outputs_add_rows(struct text *to, sqlite3 *db, const char *table, bool shown)
{
	struct text rows = { 0 };
	sqlite3_stmt *stmt;
	char sql[64];

	snprintf(sql, sizeof(sql), "SELECT * FROM %s", table);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(stmt); i++)
			text_addf(&rows, "%s|", (const char *)sqlite3_column_text(stmt, i) ?: "");
		text_char(&rows, '\n');
	}
	sqlite3_finalize(stmt);
	if (rows.used)
		outputs_add(to, table, rows.at, shown);
	text_fini(&rows);
}

static struct model_tables *outputs_model; /* of the story */

/* A line of digests; tables without rows are left out. */
static inline void outputs_put(struct text *to, struct report *report, int number)
{
	bool shown = getenv("SHOW") && atoi(getenv("SHOW")) == number;
	char *text = NULL;
	size_t size = 0;

	report->out = open_memstream(&text, &size);
	assert_int_equal(report_json(report), 0);
	fclose(report->out);
	text_addf(to, "outputs:");
	outputs_add(to, "json", text, shown);
	free(text);
	assert_int_equal(model_tables_add(report->trace, &outputs_model), 0);
	for (size_t i = 0; i < sizeof(outputs_tables) / sizeof(*outputs_tables); i++)
		outputs_add_rows(to, trace_db(report->trace), outputs_tables[i], shown);
	text_addf(to, "\n");
}

/* After its trace was closed. */
static inline void outputs_end(void)
{
	model_tables_free(outputs_model);
	outputs_model = NULL;
}
