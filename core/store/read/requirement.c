/* What a replay of a trace requires of a device */
#include "core/store/read/requirement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/store/db/sql.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

#define QP_TYPE(type)                                                 \
	"verb IN ('ibv_create_qp', 'ibv_create_qp_ex') AND coalesce(" \
	"json_extract(args, '$.qp_init_attr.qp_type'),"               \
	" json_extract(args, '$.qp_init_attr_ex.qp_type')) = '" #type "'"

/* clang-format off */
/* Conditions for rows of table `call`. */
static const char *const conditions[NEEDING_COUNT] = {
	[NEEDING_XRC] = "verb = 'ibv_open_xrcd' OR (" QP_TYPE(IBV_QPT_XRC_SEND) ")",
	[NEEDING_UD] = QP_TYPE(IBV_QPT_UD),
	[NEEDING_UC] = QP_TYPE(IBV_QPT_UC),
	[NEEDING_HANDLES] = "verb IN ('ibv_create_ah', 'ibv_create_ah_from_wc')",
	[NEEDING_IWARP] =
	  "verb LIKE 'ibv_create_qp%' AND EXISTS (SELECT 1 FROM device"
	  " WHERE transport_type = 'IBV_TRANSPORT_IWARP' AND attr IS NOT NULL)"
	  " AND NOT EXISTS (SELECT 1 FROM device"
	  " WHERE transport_type <> 'IBV_TRANSPORT_IWARP' AND attr IS NOT NULL)",
	[NEEDING_RAW_PACKETS] = QP_TYPE(IBV_QPT_RAW_PACKET),
	[NEEDING_ODP] = "verb LIKE 'ibv_reg_mr%' AND json_extract(args, '$.access') & 64",
	[NEEDING_WINDOWS] =
	  "verb = 'ibv_alloc_mw' AND json_extract(args, '$.type') = 'IBV_MW_TYPE_1'",
	[NEEDING_WINDOWS_2] =
	  "verb = 'ibv_alloc_mw' AND json_extract(args, '$.type') = 'IBV_MW_TYPE_2'",
	[NEEDING_DEVICE_MEMORY] = "verb = 'ibv_alloc_dm'",
	[NEEDING_TIMESTAMPS] =
	  "verb = 'ibv_create_cq_ex' AND json_extract(args, '$.init_attr.wc_flags') & 2176",
	[NEEDING_SHARED_QUEUES] = "verb LIKE 'ibv_create_srq%'",
	[NEEDING_MULTICAST] = "verb = 'ibv_attach_mcast'",
	[NEEDING_WORK_QUEUES] = "verb = 'ibv_create_wq'",
	[NEEDING_ATOMICS] =
	  ("(SELECT count(*) FROM (SELECT 1 FROM wr WHERE opcode IN (5, 6) LIMIT 1))"
	   " AND verb LIKE 'ibv_create_qp%'"),
};
/* clang-format on */

int requirement_visit_calls(struct trace *trace, enum requirement_kind what,
			    int (*each)(void *arg, struct event_id call), void *arg)
{
	sqlite3_stmt *stmt = NULL;
	char *sql = NULL;
	int err;

	if (asprintf(&sql,
		     "SELECT thread, n FROM call WHERE NOT failed AND NOT ours AND (%s)"
		     " ORDER BY begin",
		     conditions[what]) < 0)
		return log_err(-ENOMEM, "find the requirements of the trace");
	err = sql_prepare(trace_db(trace), sql, &stmt);
	while (!err && (err = sql_step(stmt)) > 0)
		err = each(arg, (struct event_id){ sql_u32(stmt, 0),
						   (uint64_t)sqlite3_column_int64(stmt, 1) });
	sqlite3_finalize(stmt);
	free(sql);
	return err;
}

/* Count the result of @format, SQL in which each %s stands for the name of the kind. */
static int64_t count_kind(struct trace *trace, const char *format, enum object_kind kind)
{
	const char *name = object_names[kind];
	char sql[512];

	snprintf(sql, sizeof(sql), format, name, name);
	return sql_int(trace_db(trace), sql, 0);
}

int64_t requirement_count_objects(struct trace *trace, enum object_kind kind)
{
	return count_kind(trace, "SELECT count(*) FROM object WHERE kind = '%s'", kind);
}

int64_t requirement_most_live(struct trace *trace, enum object_kind kind)
{
	return count_kind(trace,
			  "SELECT max(live) FROM (SELECT sum(d) OVER (ORDER BY t, d) live FROM ("
			  "SELECT created_at t, 1 d FROM object WHERE kind = '%s' UNION ALL"
			  " SELECT destroyed_at, -1 FROM object WHERE kind = '%s'"
			  " AND destroyed_at IS NOT NULL))",
			  kind);
}

uint64_t requirement_largest_region(struct trace *trace)
{
	return (uint64_t)sql_int(trace_db(trace),
				 "SELECT max(json_extract(args, '$.length')) FROM call"
				 " WHERE NOT failed AND verb LIKE 'ibv_reg_mr%'"
				 " AND json_extract(args, '$.length') > 0",
				 0);
}
