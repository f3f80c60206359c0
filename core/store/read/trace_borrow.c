/*
 * Opening a trace on an open database, whether it is finished or still being written
 */
#include <errno.h>
#include <stdlib.h>

#include "core/store/db/call_tables.h"
#include "core/store/db/ids.h"
#include "core/store/db/row_tables.h"
#include "core/store/db/schema.h"
#include "core/store/read/live.h"
#include "core/store/read/part.h"
#include "core/store/read/trace_priv.h"
#include "core/store/write/writer.h"
#include "core/wire/log.h"

int trace_borrow(sqlite3 *db, bool again, struct trace **ret_trace)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	int err;

	if (!trace)
		return log_err(-ENOMEM, "read the trace");
	trace->db = db;
	trace->borrowed = true;
	trace->again = again;
	err = call_tables_create(db) ?: row_tables_create(db) ?: trace_load(trace);
	if (err) {
		trace_close(trace);
		return err;
	}
	*ret_trace = trace;
	return 0;
}

int trace_follow(struct writer *writer, struct trace **ret_trace)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	int err;

	if (!trace)
		return log_err(-ENOMEM, "follow the trace");
	trace->db = writer_db(writer);
	trace->borrowed = true;
	err = schema_follow(trace->db) ?: call_tables_follow(trace->db);
	if (!err)
		err = trace_load_meta(trace);
	if (!err)
		err = live_new(trace, writer, &trace->live);
	if (err) {
		trace_close(trace);
		return err;
	}
	*ret_trace = trace;
	return 0;
}

static void free_joint(struct joint *joint)
{
	if (!joint)
		return;
	ids_set_ranges(NULL, 0);
	for (size_t i = 0; i < joint->n; i++) {
		trace_close(joint->parts[i].trace);
		free(joint->parts[i].rares);
	}
	free(joint->ranges);
	free(joint->parts);
	free(joint);
}

void trace_close(struct trace *trace)
{
	if (!trace)
		return;
	sqlite3_finalize(trace->frames);
	if (trace->names)
		ids_set_process_names(NULL, 0);
	free(trace->names);
	trace_payloads_fini(trace);
	connections_fini(&trace->connections);
	queue_table_fini(&trace->queues);
	trace_unload(trace);
	free_joint(trace->joint);
	live_free(trace->live);
	if (!trace->borrowed)
		sqlite3_close(trace->db);
	free(trace);
}
