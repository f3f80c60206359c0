/*
 * Table `meta` of a merged trace
 *
 * It has the values that are equal in all traces; for others it has a value that is true for all of
 * them. Tables `merged` and `merged_meta` describe each single trace.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/store/db/schema.h"
#include "core/store/merge/merge_priv.h"
#include "core/store/read/joint.h"
#include "core/store/read/merged.h"
#include "core/store/read/trace_priv.h"
#include "core/wire/log.h"

enum rule {
	IF_SAME,  /* the value, if all parts have the same; else none */
	OR_MIXED, /* the value, if all parts have the same; else "several" */
	ALL_OF,   /* all texts of the parts, each once */
	SUM,
	MOST,
};

/*
 * The keys of table meta, without those of the time line (below), and without recorder and
 * recorder_start, since a merged trace has no recorder.
 */
static const struct {
	const char *key;
	enum rule rule;
} rules[] = {
	{ "version", ALL_OF },       { "command", ALL_OF },       { "device", OR_MIXED },
	{ "clock", ALL_OF },         { "damaged", SUM },          { "kernel", ALL_OF },
	{ "host", ALL_OF },          { "machine", ALL_OF },       { "sqlite", ALL_OF },
	{ "excerpt", ALL_OF },       { "snapshot", ALL_OF },      { "copies_on_fork", IF_SAME },
	{ "memory", IF_SAME },       { "waits", IF_SAME },        { "strict", IF_SAME },
	{ "thread_ends", IF_SAME },  { "fingerprint", IF_SAME },  { "recorder_boot", IF_SAME },
	{ "payload", OR_MIXED },     { "payload_seed", IF_SAME }, { "filter", ALL_OF },
	{ "one_of", MOST },          { "ring_budget", MOST },     { "withheld_rings", SUM },
	{ "withheld_threads", SUM }, { "waits_given_up", SUM },   { "gone_thread", SUM },
	{ "gone_process", SUM },     { "gone_stack", SUM },
};

static const char *meta_of(const struct merge *merge, size_t i, const char *key)
{
	return trace_meta(merge->parts[i].joint->trace, key);
}

static int64_t number_of(const struct merge *merge, size_t i, const char *key)
{
	const char *text = meta_of(merge, i, key);

	return text ? strtoll(text, NULL, 10) : 0;
}

/* The value of @key that all traces have; NULL: they differ, or lack it. */
static const char *find_same(const struct merge *merge, const char *key)
{
	const char *first = meta_of(merge, 0, key);

	for (size_t i = 1; i < merge->n && first; i++) {
		const char *its = meta_of(merge, i, key);

		if (!its || strcmp(its, first) != 0)
			return NULL;
	}
	return first;
}

static bool has_any(const struct merge *merge, const char *key)
{
	for (size_t i = 0; i < merge->n; i++)
		if (meta_of(merge, i, key))
			return true;
	return false;
}

/* Does no trace before trace @i have its text for @key? */
static bool is_new(const struct merge *merge, size_t i, const char *key)
{
	const char *its = meta_of(merge, i, key);

	for (size_t k = 0; k < i && its; k++) {
		const char *other = meta_of(merge, k, key);

		if (other && !strcmp(other, its))
			return false;
	}
	return its && *its;
}

static int put_joined_values(const struct merge *merge, const char *key)
{
	struct text all = { 0 };
	int err;

	for (size_t i = 0; i < merge->n; i++)
		if (is_new(merge, i, key))
			text_addf(&all, "%s%s", all.used ? ", " : "", meta_of(merge, i, key));
	err = all.failed ? log_err(-ENOMEM, "merge traces")
			 : schema_set_meta(merge->to, key, all.at ?: "");
	text_fini(&all);
	return err;
}

static int put_number(const struct merge *merge, const char *key, bool sum)
{
	int64_t all = 0;

	for (size_t i = 0; i < merge->n; i++) {
		int64_t its = number_of(merge, i, key);

		all = sum ? all + its : its > all ? its : all;
	}
	return schema_set_meta_int(merge->to, key, all);
}

static int put_rule(const struct merge *merge, const char *key, enum rule rule)
{
	const char *same = find_same(merge, key);

	if (!has_any(merge, key))
		return 0;
	if (same && rule != SUM)
		return schema_set_meta(merge->to, key, same);
	switch (rule) {
	case IF_SAME:
		return strcmp(key, "fingerprint") && strcmp(key, "recorder_boot")
			       ? schema_set_meta(merge->to, key, "")
			       : 0;
	case OR_MIXED:
		return schema_set_meta(merge->to, key, "several");
	case ALL_OF:
		return put_joined_values(merge, key);
	default:
		return put_number(merge, key, rule == SUM);
	}
}

/*
 * Write time 0 of the merged trace on the clock of the first trace; in ticks, too, if all traces
 * count the same ticks.
 */
static int put_time_zero(const struct merge *merge)
{
	int64_t before = merge->parts[0].joint->clock.offset;
	uint64_t mult = (uint64_t)number_of(merge, 0, "clock_mult");
	uint64_t shift = (uint64_t)number_of(merge, 0, "clock_shift") & 63;
	double rate = (double)mult / (double)(1ull << shift);
	int err = schema_set_meta_int(merge->to, "realtime",
				      number_of(merge, 0, "realtime") - before);

	if (err || !mult || !find_same(merge, "recorder_boot"))
		return err;
	return schema_set_meta_int(merge->to, "clock_start",
				   number_of(merge, 0, "clock_start") -
					   (int64_t)((double)before / rate))
		       ?: schema_set_meta_int(merge->to, "clock_mult", (int64_t)mult)
		       ?: schema_set_meta_int(merge->to, "clock_shift", (int64_t)shift);
}

static int put_summary_line(const struct merge *merge)
{
	int64_t end = 0, cut = INT64_MIN;
	bool interrupted = false;
	int err = put_time_zero(merge);

	for (size_t i = 0; i < merge->n; i++) {
		const struct merge_part *part = &merge->parts[i];
		int64_t its = merge_time(part, number_of(merge, i, "duration"));

		end = its > end ? its : end;
		if (meta_of(merge, i, "cut")) {
			its = merge_time(part, number_of(merge, i, "cut"));
			cut = its > cut ? its : cut;
		}
		interrupted |= part->joint->trace->loss.interrupted;
	}
	if (!err)
		err = schema_set_meta_int(merge->to, "duration", end);
	if (!err && cut != INT64_MIN)
		err = schema_set_meta_int(merge->to, "cut", cut);
	return err ?: schema_set_meta(merge->to, "state", interrupted ? "interrupted" : "complete");
}

/* Each single trace */

static int put_part_meta(const struct merge *merge, size_t i)
{
	sqlite3_stmt *from = NULL, *to = NULL;
	int err = sql_prepare(merge->parts[i].db, "SELECT key, value FROM meta", &from);

	if (!err)
		err = sql_prepare(merge->to, "INSERT INTO merged_meta VALUES(?, ?, ?)", &to);
	while (!err && (err = sql_step(from)) > 0) {
		sqlite3_bind_value(to, 2, sqlite3_column_value(from, 0));
		sqlite3_bind_value(to, 3, sqlite3_column_value(from, 1));
		err = sql_run(to, "u", (unsigned int)i + 1);
	}
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return err;
}

static int put_merged(const struct merge *merge, size_t i, sqlite3_stmt *to)
{
	const struct joint_part *part = merge->parts[i].joint;
	const struct trace_clock *clock = &part->clock;

	sqlite3_bind_double(to, 11, clock->drift);
	if (clock->error == INT64_MAX)
		sqlite3_bind_null(to, 12);
	else
		sqlite3_bind_int64(to, 12, clock->error);
	sqlite3_bind_double(to, 13, clock->drift_error);
	sqlite3_bind_int64(to, 14, trace_clock_ahead(merge->joint, i));
	sqlite3_bind_int64(to, 15, clock->pairs);
	sqlite3_bind_int64(to, 16, (int64_t)clock->messages);
	sqlite3_bind_int(to, 17, clock->contradicts);
	return sql_run(to, "utttuuuuti", (unsigned int)i + 1, part->ids.name,
		       meta_of(merge, i, "host"), part->path, part->ids.processes + 1,
		       part->ids.threads + 1, part->objects + 1, part->stacks + 1,
		       merged_clock_name(clock->source), clock->offset);
}

int merge_describe(struct merge *merge)
{
	sqlite3_stmt *to = NULL;
	int err = 0;

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules) && !err; i++)
		err = put_rule(merge, rules[i].key, rules[i].rule);
	if (!err)
		err = put_summary_line(merge);
	if (!err)
		err = sql_prepare(merge->to,
				  "INSERT INTO merged VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
				  " ?, ?, ?, ?, ?)",
				  &to);
	for (size_t i = 0; i < merge->n && !err; i++)
		err = put_merged(merge, i, to) ?: put_part_meta(merge, i);
	sqlite3_finalize(to);
	return err;
}
