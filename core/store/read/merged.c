/*
 * The source traces of a merged trace
 */
#include "core/store/read/merged.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/read/trace_priv.h"
#include "core/wire/log.h"

static const char *const clock_names[] = { "first", "same machine", "estimated", "time of day" };

const char *merged_clock_name(enum clock_source source)
{
	return clock_names[source];
}

size_t trace_nmerged(const struct trace *trace)
{
	return trace->nmerged;
}

const char *trace_merged_name(const struct trace *trace, size_t i)
{
	return trace->merged[i].name;
}

const char *trace_merged_host(const struct trace *trace, size_t i)
{
	return trace->merged[i].host;
}

struct trace_clock trace_merged_clock(const struct trace *trace, size_t i)
{
	return trace->merged[i].clock;
}

int64_t trace_merged_ahead(const struct trace *trace, size_t i)
{
	return trace->merged[i].ahead;
}

static bool is_merged_before(const void *merged, const void *process)
{
	return ((const struct merged_source *)merged)->first_process <= *(const uint32_t *)process;
}

size_t trace_merged_of(const struct trace *trace, uint32_t process)
{
	size_t n = vec_count_before(trace->merged, trace->nmerged, sizeof(*trace->merged),
				    is_merged_before, &process);

	return n ? n - 1 : 0;
}

static const char *meta_of(const struct merged_source *merged, const char *key)
{
	for (size_t i = 0; i < merged->nmeta; i++)
		if (!strcmp(merged->meta[i].key, key))
			return merged->meta[i].value;
	return NULL;
}

const char *trace_merged_meta(struct trace *trace, size_t i, const char *key)
{
	return trace->nmerged ? meta_of(&trace->merged[i], key) : trace_meta(trace, key);
}

/* Sum @column over the processes of the @i-th merged trace. */
static uint64_t sum_loss(struct trace *trace, size_t i, const char *column)
{
	uint32_t first = trace->merged[i].first_process;
	uint32_t next = i + 1 < trace->nmerged ? trace->merged[i + 1].first_process : UINT32_MAX;
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT sum(%s) FROM loss WHERE process >= %u AND process < %u",
		 column, first, next);
	return (uint64_t)sql_int(trace->db, sql, 0);
}

struct trace_loss trace_merged_loss(struct trace *trace, size_t i)
{
	const char *state = trace_merged_meta(trace, i, "state");
	const char *damaged = trace_merged_meta(trace, i, "damaged");

	return (struct trace_loss){ .events = sum_loss(trace, i, "events"),
				    .overwritten = sum_loss(trace, i, "overwritten"),
				    .damaged = damaged ? strtoull(damaged, NULL, 10) : 0,
				    .interrupted = !state || strcmp(state, "complete") != 0 };
}

/* Loading */

static enum clock_source find_source(const char *name)
{
	for (int i = 0; name && i < CLOCK_ASSUMED; i++)
		if (!strcmp(name, clock_names[i]))
			return (enum clock_source)i;
	return CLOCK_ASSUMED;
}

static int load_row(struct trace *trace, sqlite3_stmt *stmt)
{
	struct merged_source *merged = vec_push(trace->merged, trace->nmerged);
	uint32_t first = sql_u32(stmt, 2);

	if (!merged)
		return log_err(-ENOMEM, "read table merged");
	if (!first || (trace->nmerged > 1 && first < merged[-1].first_process))
		return log_why(-EINVAL, "table merged has invalid numbers");
	merged->name = sql_strdup(stmt, 0);
	merged->host = sql_strdup(stmt, 1);
	merged->first_process = first;
	merged->clock = (struct trace_clock){
		.source = find_source((const char *)sqlite3_column_text(stmt, 3)),
		.offset = sql_time(stmt, 4),
		.drift = sqlite3_column_double(stmt, 5),
		.error = sql_time_or(stmt, 6, INT64_MAX),
		.drift_error = sqlite3_column_double(stmt, 7),
		.pairs = sql_u32(stmt, 9),
		.messages = (uint64_t)sqlite3_column_int64(stmt, 10),
		.contradicts = sqlite3_column_int(stmt, 11),
	};
	trace_clock_bound(&merged->clock);
	if (merged->clock.error < 0)
		merged->clock.error = INT64_MAX;
	merged->ahead = sql_time(stmt, 8);
	return merged->name && merged->host
		       ? 0
		       : log_why(-EINVAL,
				 "damaged trace: a row of table merged has no name or host");
}

static int load_meta(struct trace *trace, sqlite3_stmt *stmt)
{
	uint32_t i = sql_u32(stmt, 0);
	struct merged_source *merged = i && i <= trace->nmerged ? &trace->merged[i - 1] : NULL;
	struct meta *meta = merged ? vec_push(merged->meta, merged->nmeta) : NULL;

	if (!merged)
		return log_why(-EINVAL, "table merged_meta has invalid numbers");
	if (!meta)
		return log_err(-ENOMEM, "read table merged_meta");
	meta->key = sql_strdup(stmt, 1);
	meta->value = sql_strdup(stmt, 2);
	return meta->key ? 0 : log_why(-EINVAL, "table merged_meta has no names");
}

static int load_rows(struct trace *trace, const char *sql,
		     int (*load)(struct trace *trace, sqlite3_stmt *stmt))
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(trace->db, sql, &stmt);

	while (!err && (err = sql_step(stmt)) > 0)
		err = load(trace, stmt);
	sqlite3_finalize(stmt);
	return err;
}

int merged_load(struct trace *trace)
{
	if (!sql_has_table(trace->db, "merged"))
		return 0; /* an older format lacks the table */
	return load_rows(trace,
			 "SELECT name, host, first_process, clock, offset, drift, error,"
			 " drift_error, ahead, pairs, messages, contradicts FROM merged"
			 " ORDER BY id",
			 load_row)
		       ?: load_rows(trace,
				    "SELECT merged, key, value FROM merged_meta WHERE key IN"
				    " ('device', 'copies_on_fork', 'recorder', 'state',"
				    " 'damaged', 'snapshot', 'until',"
				    " 'recorder_start', 'recorder_boot', 'clock_start',"
				    " 'realtime')",
				    load_meta);
}

void merged_unload(struct trace *trace)
{
	for (size_t i = 0; i < trace->nmerged; i++) {
		struct merged_source *merged = &trace->merged[i];

		for (size_t k = 0; k < merged->nmeta; k++) {
			free(merged->meta[k].key);
			free(merged->meta[k].value);
		}
		free(merged->meta);
		free(merged->name);
		free(merged->host);
	}
	free(trace->merged);
}
