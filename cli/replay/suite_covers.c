/*
 * What a trace covers
 */
#include "cli/replay/suite_covers.h"

#include <errno.h>
#include <string.h>

#include "core/store/db/sql.h"
#include "core/store/read/trace.h"

/* Groups of words, each a query; the common beginning of a group is removed. */
static const struct group {
	const char *prefix, *before, *sql;
} groups[] = {
	{ "IBV_QPT_", "",
	  "SELECT DISTINCT value FROM call, json_tree(call.args) WHERE verb GLOB 'ibv_create_qp*'"
	  " AND NOT failed AND key = 'qp_type' AND json_tree.type = 'text' ORDER BY 1" },
	{ "", "",
	  "SELECT DISTINCT CASE kind WHEN 'srq' THEN 'SRQ' WHEN 'xrcd' THEN 'XRC domain'"
	  " WHEN 'mw' THEN 'windows' WHEN 'dm' THEN 'device memory' WHEN 'wq' THEN 'WQ'"
	  " WHEN 'flow' THEN 'flows' WHEN 'comp_channel' THEN 'events' ELSE kind END"
	  " FROM object WHERE kind IN ('srq', 'xrcd', 'mw', 'dm', 'wq', 'flow', 'counters',"
	  " 'comp_channel', 'td') UNION SELECT DISTINCT 'rdma_cm' FROM call"
	  " WHERE verb IN ('rdma_connect', 'rdma_accept', 'rdma_resolve_addr')"
	  " UNION SELECT DISTINCT 'extended CQ' FROM call WHERE verb = 'ibv_create_cq_ex'"
	  " AND NOT failed ORDER BY 1" },
	{ "IBV_WR_", "", "SELECT DISTINCT opcode_name FROM wr WHERE opcode_name <> '' ORDER BY 1" },
	{ "IBV_WC_", "", "SELECT DISTINCT status_name FROM wc WHERE status <> 0 ORDER BY 1" },
	{ "ibv_", "refused ",
	  "SELECT DISTINCT verb FROM call WHERE failed AND depth = 0 AND NOT ours ORDER BY 1" },
};

static const char alone[] =
	"SELECT 1 FROM call WHERE verb GLOB 'rdma_*' OR verb IN ('ibv_attach_mcast',"
	" 'ibv_create_flow') LIMIT 1";

static int add_group(struct trace *trace, const struct group *group, struct text *covers)
{
	const char *before = covers->used ? "; " : "";
	sqlite3_stmt *stmt;
	int err = sql_prepare(trace_db(trace), group->sql, &stmt);
	size_t n = strlen(group->prefix);

	if (err)
		return err;
	while ((err = sql_step(stmt)) > 0) {
		const char *word = (const char *)sqlite3_column_text(stmt, 0);

		if (!word)
			continue;
		text_addf(covers, "%s%s%s", before, *before == ',' ? "" : group->before,
			  strncmp(word, group->prefix, n) ? word : word + n);
		before = ", ";
	}
	sqlite3_finalize(stmt);
	return err < 0 ? err : 0;
}

int suite_covers(struct trace *trace, struct text *covers, bool *ret_alone)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups) && !err; i++)
		err = add_group(trace, &groups[i], covers);
	if (!err)
		*ret_alone = sql_int(trace_db(trace), alone, 0);
	return err ?: covers->failed ? -ENOMEM : 0;
}
