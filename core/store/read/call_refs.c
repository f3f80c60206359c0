/* Objects of a call */
#include "core/store/read/call_refs.h"

#include <errno.h>
#include <stdlib.h>

#include "core/store/db/sql.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

struct call_refs {
	sqlite3_stmt *stmt;
};

int call_refs_open(struct trace *trace, struct call_refs **ret_refs)
{
	struct call_refs *refs = calloc(1, sizeof(*refs));
	int err = refs ? sql_prepare(trace_db(trace),
				     "SELECT object, path FROM ref WHERE thread = ?1 AND n = ?2"
				     " AND object > 0 ORDER BY object, path",
				     &refs->stmt)
		       : log_err(-ENOMEM, "read the objects of calls");

	if (err)
		free(refs);
	else
		*ret_refs = refs;
	return err;
}

void call_refs_begin(struct call_refs *refs, struct event_id call)
{
	sqlite3_reset(refs->stmt);
	sql_bind(refs->stmt, "ui", call.thread, call.n);
}

int call_refs_next(struct call_refs *refs, struct call_ref *ret_ref)
{
	int found = sql_step(refs->stmt);

	if (found > 0)
		*ret_ref = (struct call_ref){ sql_u32(refs->stmt, 0),
					      (const char *)sqlite3_column_text(refs->stmt, 1) };
	else
		sqlite3_reset(refs->stmt);
	return found;
}

void call_refs_close(struct call_refs *refs)
{
	if (!refs)
		return;
	sqlite3_finalize(refs->stmt);
	free(refs);
}
