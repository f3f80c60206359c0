#pragma once
/*
 * Views over the tables of a trace.
 *
 * They are temporary views of a connection: a view in the file would be foreign code
 * (schema_check()).
 */
#include <stdbool.h>

#include "core/store/db/sql.h"
#include "core/store/vtab/computed.h"

struct view {
	const char *name;
	const char
		/* "event TEXT, thread, n": INTEGER by default; NULL: the columns of @table */
		*columns;
	const char *select; /* must not use other views */
	/* uses a table that needs the model, so the loadable extension does not have it */
	bool model;
	/*
	 * a table that older traces lack, or with columns NULL whose columns the view has; NULL:
	 * none
	 */
	const char *table;
};

extern const struct view views[]; /* the last has no name */

/*
 * The columns of a view with its own list of columns; the last one has no name. The caller frees
 * them. NULL if there is no such view, or no memory.
 */
struct computed_column *view_columns(const char *name);

/*
 * Create the views that @query may use (NULL: all) and whose tables the trace has; views that need
 * the model only if @model. Not all views are created, since parsing them takes longer than most
 * queries. 0 or -errno after log_err().
 */
int views_create(sqlite3 *db, bool model, const char *query);
