#pragma once
/*
 * Functions for SQL that need no trace: event(thread, n), errno_name(error), shown(name,
 * value), launcher(name), rank_facts(process), and the aggregates percentile(x, p) and median(x).
 *
 *	event		"3:1042"
 *	errno_name	"EINVAL"; NULL: there is no such error
 *	shown		the value of a variable that a trace may hold; or "(not shown)"
 *	launcher	1 if a job launcher sets the variable, else 0
 *	rank_facts	JSON of the launcher's variables of that process: rank, size, local, job,
 *			step, node and launcher; NULL: it has no rank
 *	percentile	the p-th percentile of all x, exact, p from 0 to 100: of the sorted values
 *			the one at p / 100 of the way from the first to the last, between two of
 *			them in proportion. NULLs do not count; of none it is NULL. It keeps 8
 *			bytes for each x.
 *	median		percentile(x, 50)
 */
#include "core/store/db/sql.h"

/* 0 or -errno after log_err(). */
int functions_add(sqlite3 *db);

/*
 * What to SELECT from to copy the rows of @table without values of variables that are no longer
 * recorded.
 */
const char *functions_source(const char *table);
