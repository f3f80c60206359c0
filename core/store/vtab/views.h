#pragma once
/*
 * Views over the tables of a trace.
 *
 * They are temporary views of a connection: a view in the file would be foreign code
 * (schema_check()).
 */
#include <stdbool.h>

#include "core/store/db/sql.h"
#include "core/store/vtab/made.h"

struct view {
	const char *name;
	const char
		*columns; /* "event TEXT, thread, n": integers unless it says so; NULL: of @table */
	const char *select; /* uses no other view */
	bool model;         /* over a table that needs the model: not in the loadable extension */
	/* a table that traces of older versions lack, or whose columns the view has; NULL: none */
	const char *table;
};

extern const struct view views[]; /* the last has no name */

/*
 * The columns of a view that lists its own; the last one has no name. The caller frees them. NULL
 * if there is no such view, or no memory.
 */
struct made_column *view_columns(const char *name);

/*
 * Create the views that @query may use (NULL: all) and whose tables the trace has; those that need
 * the model only if @model. Parsing all views takes longer than most queries. 0 or -errno after
 * log_err().
 */
int views_create(sqlite3 *db, bool model, const char *query);
