/*
 * Data that only a page shows: the run over time, and rows of tables
 *
 * The number of rows is limited, and their total is added: a page of a large trace must stay small.
 */
#include "cli/report/page_data.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "analyzer/profile/timeline.h"
#include "core/store/read/merged.h"
#include "core/wire/log.h"

enum { HEAT_BINS = TIMELINE_BINS / 2, DEPTHS = 12 };

/* Rows; the words of a query between SELECT and FROM are its columns' names. */
/* clang-format off */
static const struct page_table {
	const char *name;
	const char *sql;
	int most;
} page_tables[] = {
	{ "control",
	  "SELECT event, process, thread, begin, end - begin AS duration, verb, name, ret, error,"
	  " failed FROM calls WHERE NOT ours AND depth = 0 AND end >= begin"
	  " ORDER BY failed DESC, end - begin DESC, begin", 2000 },
	{ "qps",
	  "SELECT object, name, process, type, number, state, peer_name, peer_process, max_send_wr,"
	  " max_recv_wr, max_inline_data, path_mtu, timeout, retry_cnt, rnr_retry, min_rnr_timer,"
	  " created_at, destroyed_at, sends, recvs FROM qps ORDER BY sends + recvs DESC, object",
	  200 },
	{ "states",
	  "SELECT c.object, c.end AS time, CASE WHEN json_valid(c.args)"
	  " THEN json_extract(c.args, '$.attr.qp_state') ELSE 'unreadable' END AS state,"
	  " event(c.thread, c.n) AS event FROM call c WHERE c.verb = 'ibv_modify_qp'"
	  " AND NOT c.failed AND c.end >= 0 AND c.args IS NOT NULL AND state IS NOT NULL"
	  " ORDER BY c.object, c.end",
	  2000 },
	{ "regions",
	  "SELECT name, process, length, since, until, event FROM mrs ORDER BY since", 4000 },
	{ "marks", "SELECT process, time, kind, text FROM mark ORDER BY time", 1000 },
	{ "processes",
	  "SELECT id, pid, start, end, status, ending,"
	  " coalesce(nullif(cmdline, ''), exe) AS command,"
	  " CASE memlock WHEN -1 THEN 'unlimited' ELSE memlock END AS memlock,"
	  " CASE ipc_lock WHEN 1 THEN 'yes' WHEN 0 THEN 'no' END AS cap_ipc_lock"
	  " FROM process ORDER BY id", 200 },
	{ "devices",
	  "SELECT name, node_type, transport_type, fw_ver, p.port, p.state, p.active_mtu, p.lid"
	  " FROM device d LEFT JOIN port p ON p.device = d.id ORDER BY d.id, p.port", 64 },
	{ "environ",
	  "SELECT name, shown(name, value) AS value, count(*) AS processes FROM environ"
	  " GROUP BY 1, 2 ORDER BY name", 200 },
	{ "modules",
	  "SELECT path, build_id, count(DISTINCT process) AS processes FROM module"
	  " GROUP BY path, build_id ORDER BY path", 300 },
	{ "coverage",
	  "SELECT what, detail, sum(times) AS times, count(DISTINCT process) AS processes"
	  " FROM coverage GROUP BY what, detail ORDER BY what", 200 },
	{ "loss", "SELECT thread, process, events, first, last, overwritten FROM loss", 200 },
	{ "meta", "SELECT key, value FROM meta ORDER BY key", 200 },
};

static const struct page_table merged_table = {
	"merged", "SELECT name, host, clock, error, ahead, pairs, messages FROM merged", 64
};
/* clang-format on */

static void put_cell(struct json *json, sqlite3_stmt *stmt, int column)
{
	char text[32];

	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_INTEGER:
		json_put_int(json, NULL, sqlite3_column_int64(stmt, column));
		break;
	case SQLITE_FLOAT:
		sqlite3_snprintf(sizeof(text), text, "%.9g", sqlite3_column_double(stmt, column));
		json_put_text(json, NULL, text);
		break;
	case SQLITE_NULL:
		json_put_text(json, NULL, NULL);
		break;
	default:
		json_put_text(json, NULL, (const char *)sqlite3_column_text(stmt, column));
	}
}

static void put_row(struct json *json, sqlite3_stmt *stmt)
{
	json_open(json, NULL, '[');
	for (int i = 0; i < sqlite3_column_count(stmt); i++)
		put_cell(json, stmt, i);
	json_close(json, ']');
}

static int put_table(struct json *json, sqlite3 *db, const struct page_table *table)
{
	sqlite3_stmt *stmt = NULL;
	int code = sqlite3_prepare_v2(db, table->sql, -1, &stmt, NULL);
	int64_t n = 0;

	json_open(json, table->name, '{');
	json_open(json, "columns", '[');
	for (int i = 0; !code && i < sqlite3_column_count(stmt); i++)
		json_put_text(json, NULL, sqlite3_column_name(stmt, i));
	json_close(json, ']');
	json_open(json, "rows", '[');
	while (!code && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (n++ < table->most)
			put_row(json, stmt);
		code = SQLITE_OK;
	}
	json_close(json, ']');
	json_put_int(json, "of", n);
	json_close(json, '}');
	if (code != SQLITE_DONE)
		log_err(0, "report: table %s: %s", table->name, sqlite3_errmsg(db));
	sqlite3_finalize(stmt);
	return code == SQLITE_DONE ? 0 : -EBADMSG;
}

static int put_tables(struct json *json, struct trace *trace)
{
	size_t n = sizeof(page_tables) / sizeof(page_tables[0]);
	int err = 0;

	json_open(json, "tables", '{');
	for (size_t i = 0; i < n && !err; i++)
		err = put_table(json, trace_db(trace), &page_tables[i]);
	if (!err && trace_nmerged(trace))
		err = put_table(json, trace_db(trace), &merged_table);
	json_close(json, '}');
	return err;
}

/* The run over time */

static void put_bins(struct json *json, const struct timeline *timeline)
{
	json_open(json, "bins", '[');
	for (size_t i = 0; i < timeline->nbins; i++) {
		const struct timeline_bin *bin = &timeline->bins[i];

		json_open(json, NULL, '[');
		json_put_uint(json, NULL, bin->requests * timeline->one_of);
		json_put_uint(json, NULL, bin->bytes * timeline->one_of);
		json_put_uint(json, NULL, bin->receives * timeline->one_of);
		json_put_uint(json, NULL, bin->completions * timeline->one_of);
		json_put_uint(json, NULL, bin->errors);
		json_put_uint(json, NULL, (uint64_t)bin->doorbells * timeline->one_of);
		json_close(json, ']');
	}
	json_close(json, ']');
}

/* [bin, class, count] of those with any: two bins make one. */
static void put_heat(struct json *json, const char *name, const struct timeline_heat *heat)
{
	json_open(json, name, '[');
	for (size_t i = 0; i < HEAT_BINS; i++)
		for (size_t c = 0; c < TIMELINE_CLASSES; c++) {
			uint64_t n = (uint64_t)heat->n[2 * i][c] + heat->n[2 * i + 1][c];

			if (!n)
				continue;
			json_open(json, NULL, '[');
			json_put_uint(json, NULL, i);
			json_put_uint(json, NULL, c);
			json_put_uint(json, NULL, n);
			json_close(json, ']');
		}
	json_close(json, ']');
}

static void put_heats(struct json *json, const struct timeline *timeline)
{
	json_open(json, "heat", '{');
	for (unsigned int i = 0; i < PROFILE_OPCODES; i++)
		if (timeline->heat[i])
			put_heat(json, profile_opcode_name(i), timeline->heat[i]);
	json_close(json, '}');
	json_open(json, "classes", '[');
	for (unsigned int i = 0; i < TIMELINE_CLASSES; i++)
		json_put_int(json, NULL, timeline_class_from(i));
	json_close(json, ']');
}

/* [bin, least, most] of the bins in which it changed. */
static void put_depth(struct json *json, const struct timeline_queue *queue,
		      const struct object *object)
{
	json_open(json, NULL, '{');
	json_put_text(json, "queue", object ? object->name : NULL);
	json_put_uint(json, "process", object ? object->process : 0);
	json_put_bool(json, "send", queue->send);
	json_put_uint(json, "room", queue->room);
	json_put_bool(json, "unsure", queue->unsure);
	json_open(json, "depth", '[');
	for (size_t i = 0; i < TIMELINE_BINS; i++) {
		if (queue->depth[i].least > queue->depth[i].most)
			continue;
		json_open(json, NULL, '[');
		json_put_uint(json, NULL, i);
		json_put_uint(json, NULL, queue->depth[i].least);
		json_put_uint(json, NULL, queue->depth[i].most);
		json_close(json, ']');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static int compare_queues(const void *a, const void *b)
{
	const struct timeline_queue *x = a, *y = b;

	if (x->requests != y->requests)
		return x->requests < y->requests ? 1 : -1;
	return x->object < y->object ? -1 : x->object > y->object;
}

/* The busiest. */
static void put_depths(struct json *json, struct trace *trace, struct timeline *timeline)
{
	if (timeline->nqueues)
		qsort(timeline->queues, timeline->nqueues, sizeof(*timeline->queues),
		      compare_queues);
	json_open(json, "queues", '[');
	for (size_t i = 0; i < timeline->nqueues && i < DEPTHS; i++)
		put_depth(json, &timeline->queues[i],
			  trace_object(trace, timeline->queues[i].object));
	json_close(json, ']');
	json_put_bool(json, "more_queues", timeline->more || timeline->nqueues > DEPTHS);
}

static int put_timeline(struct json *json, struct trace *trace)
{
	struct timeline *timeline;
	int err = timeline_make(trace, &timeline);

	if (err)
		return err;
	json_open(json, "timeline", '{');
	json_put_int(json, "begin", timeline->begin);
	json_put_int(json, "width", timeline->width);
	put_bins(json, timeline);
	put_heats(json, timeline);
	put_depths(json, trace, timeline);
	json_close(json, '}');
	timeline_free(timeline);
	return 0;
}

int page_data_put(struct json *json, struct trace *trace)
{
	int err = put_timeline(json, trace);

	return err ? err : put_tables(json, trace);
}
