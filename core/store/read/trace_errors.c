/*
 * Has any completion of a trace failed?
 *
 * Column `status` of each chunk shows this, usually by its directory entry alone: if all
 * completions succeeded, the column has no bytes.
 */
#include "core/store/chunk/block.h"
#include "core/store/db/sql.h"
#include "core/store/read/part.h"
#include "core/store/read/trace_priv.h"

static bool has_rows(struct trace *trace, const char *sql)
{
	sqlite3_stmt *stmt;
	bool found;

	if (sqlite3_prepare_v2(trace->db, sql, -1, &stmt, NULL))
		return false;
	found = sqlite3_step(stmt) == SQLITE_ROW;
	sqlite3_finalize(stmt);
	return found;
}

/*
 * Has the chunk a failed completion? Also true if it cannot be read: its reader will report that.
 */
static bool is_chunk_with_errors(struct block *block, const void *bytes, size_t n)
{
	const struct column_view *view = &block->views[COLUMN_status];

	if (block_load(block, bytes, n, 0) || block_need(block, COLUMN_status))
		return true;
	if (view->code == COLUMN_LINEAR && !view->step)
		return view->count && view->base;
	for (uint32_t i = 0; i < view->count; i++)
		if (block_get(block, COLUMN_status, i))
			return true;
	return false;
}

bool trace_has_errors(struct trace *trace)
{
	struct block block = { 0 };
	sqlite3_stmt *stmt;
	bool found = false;

	for (size_t i = 0; trace->joint && i < trace->joint->n && !found; i++)
		found = trace_has_errors(trace->joint->parts[i].trace);
	if (trace->joint)
		return found;
	if (trace->plain)
		return has_rows(trace, "SELECT 1 FROM wc WHERE status > 0 LIMIT 1");
	if (sqlite3_prepare_v2(trace->db, "SELECT data FROM chunk", -1, &stmt, NULL))
		return true;
	while (!found && sqlite3_step(stmt) == SQLITE_ROW)
		found = is_chunk_with_errors(&block, sqlite3_column_blob(stmt, 0),
					     (size_t)sqlite3_column_bytes(stmt, 0));
	sqlite3_finalize(stmt);
	block_fini(&block);
	return found;
}
