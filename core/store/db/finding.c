/*
 * Rows of table `finding`
 */
#include "core/store/db/finding.h"

int finding_insert(sqlite3_stmt *stmt, const struct stored_finding *f)
{
	return sql_run(stmt, "tttuiiutttti", f->rule, f->name, f->severity, f->event.thread,
		       f->event.n, f->time, f->process, f->place, f->object, f->message,
		       f->fingerprint, f->count);
}
