/*
 * Table `connection` of a trace that is older than it
 */
#include "core/store/vtab/connection_table.h"

#include <errno.h>
#include <stdlib.h>

#include "core/store/finish/connections.h"
#include "core/store/read/trace.h"
#include "core/store/vtab/made.h"
#include "core/wire/log.h"

enum { THREAD, N, PROCESS, SINCE, UNTIL, QP, PEER, KNOWN, DEST, LID, GID };

/* clang-format off */
static const struct made_column columns[] = {
	[THREAD] = INTEGER_COLUMN("thread"), [N] = INTEGER_COLUMN("n"),
	[PROCESS] = INTEGER_COLUMN("process"), [SINCE] = INTEGER_COLUMN("since"),
	[UNTIL] = INTEGER_COLUMN("until"), [QP] = INTEGER_COLUMN("qp"),
	[PEER] = INTEGER_COLUMN("peer"), [KNOWN] = TEXT_COLUMN("known"),
	[DEST] = INTEGER_COLUMN("dest_qp_num"), [LID] = INTEGER_COLUMN("dlid"),
	[GID] = TEXT_COLUMN("dgid"), { 0 },
};
/* clang-format on */

struct rows {
	const struct connections *connections;
	size_t next;
};

static int open_rows(void *arg, const struct made_bounds *bounds, void **ret_rows)
{
	struct rows *rows = calloc(1, sizeof(*rows));
	int err = rows ? trace_connections(arg, &rows->connections)
		       : log_err(-ENOMEM, "table connection");

	(void)bounds;
	if (err) {
		free(rows);
		return err;
	}
	*ret_rows = rows;
	return 0;
}

static int next_row(void *arg)
{
	struct rows *rows = arg;

	return rows->next++ < rows->connections->count;
}

static void put_known(struct made_value *value, int64_t number, int64_t unknown)
{
	if (number != unknown)
		made_int(value, number);
}

static void put_value(void *arg, int column, struct made_value *value)
{
	const struct rows *rows = arg;
	const struct connection *c = &rows->connections->list[rows->next - 1];
	char gid[CONNECTION_GID];

	switch (column) {
	case THREAD:
		made_int(value, c->id.thread);
		break;
	case N:
		made_int(value, (int64_t)c->id.n);
		break;
	case PROCESS:
		made_int(value, c->process);
		break;
	case SINCE:
		made_int(value, c->since);
		break;
	case UNTIL:
		put_known(value, c->until, INT64_MAX);
		break;
	case QP:
		made_int(value, c->qp);
		break;
	case PEER:
		put_known(value, c->peer, 0);
		break;
	case KNOWN:
		made_text(value, peers_known_name(c->how));
		break;
	case DEST:
		made_int(value, c->dest);
		break;
	case LID:
		put_known(value, c->place.lid, 0);
		break;
	case GID:
		made_text(value, connection_gid(c, gid));
		break;
	}
}

static const struct made_table table = { "connection", "thread, n", columns,   false,
					 open_rows,    next_row,    put_value, free };

int connection_table_add(struct trace *trace)
{
	sqlite3 *db = trace_db(trace);

	if (!sqlite3_table_column_metadata(db, "main", "connection", NULL, NULL, NULL, NULL, NULL,
					   NULL))
		return 0;
	return made_add(trace, &table, trace);
}
