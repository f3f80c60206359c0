/* Tables `connection` and `queue` of a trace whose version does not have them */
#include "core/store/vtab/derived.h"

#include <errno.h>
#include <stdlib.h>

#include "core/store/finish/connections.h"
#include "core/store/finish/queue_table.h"
#include "core/store/read/trace.h"
#include "core/store/vtab/computed.h"
#include "core/wire/log.h"

enum { THREAD, N, PROCESS, SINCE, UNTIL, QP, PEER, KNOWN, DEST, LID, GID };
enum { OBJECT = QP, SIDE, CQ, SRQ, ASKED, GIVEN };

/* clang-format off */
#define EVENT_COLUMNS                                                                   \
	[THREAD] = INTEGER_COLUMN("thread"), [N] = INTEGER_COLUMN("n"),                 \
	[PROCESS] = INTEGER_COLUMN("process"), [SINCE] = INTEGER_COLUMN("since"),       \
	[UNTIL] = INTEGER_COLUMN("until")

static const struct computed_column connection_columns[] = {
	EVENT_COLUMNS, [QP] = INTEGER_COLUMN("qp"),
	[PEER] = INTEGER_COLUMN("peer"), [KNOWN] = TEXT_COLUMN("known"),
	[DEST] = INTEGER_COLUMN("dest_qp_num"), [LID] = INTEGER_COLUMN("dlid"),
	[GID] = TEXT_COLUMN("dgid"), { 0 },
};

static const struct computed_column queue_columns[] = {
	EVENT_COLUMNS, [OBJECT] = INTEGER_COLUMN("object"), [SIDE] = TEXT_COLUMN("side"),
	[CQ] = INTEGER_COLUMN("cq"), [SRQ] = INTEGER_COLUMN("srq"),
	[ASKED] = INTEGER_COLUMN("asked"), [GIVEN] = INTEGER_COLUMN("given"), { 0 },
};
/* clang-format on */

struct rows {
	const struct connections *connections; /* only one of the two is set */
	const struct queue_table *queues;
	size_t count, next;
};

/* Shared argument of both tables. */
struct table_source {
	struct trace *(*find)(void *arg);
	void (*release)(void *arg);
	void *arg;
	unsigned int tables; /* number of tables that refer to it */
};

static int find_rows(struct rows *rows, const struct table_source *source, bool queues)
{
	struct trace *trace = source->find(source->arg);
	int err = -EINVAL;

	if (trace)
		err = queues ? trace_queues(trace, &rows->queues)
			     : trace_connections(trace, &rows->connections);
	if (!err)
		rows->count = queues ? rows->queues->count : rows->connections->count;
	return err;
}

static int open_rows(const struct table_source *source, bool queues, void **ret_rows)
{
	struct rows *rows = calloc(1, sizeof(*rows));
	int err = rows ? find_rows(rows, source, queues) : log_err(-ENOMEM, "derived tables");

	if (err)
		free(rows);
	else
		*ret_rows = rows;
	return err;
}

static int open_connections(void *arg, const struct computed_bounds *bounds, void **ret_rows)
{
	(void)bounds;
	return open_rows(arg, false, ret_rows);
}

static int open_queues(void *arg, const struct computed_bounds *bounds, void **ret_rows)
{
	(void)bounds;
	return open_rows(arg, true, ret_rows);
}

static int next_row(void *arg)
{
	struct rows *rows = arg;

	return rows->next++ < rows->count;
}

static void put_known(struct computed_value *value, int64_t number, int64_t unknown)
{
	if (number != unknown)
		computed_set_int(value, number);
}

static void put_event(int column, struct event_id id, uint32_t process, int64_t since,
		      int64_t until, struct computed_value *value)
{
	const int64_t values[] = { id.thread, (int64_t)id.n, process, since };

	if (column == UNTIL)
		put_known(value, until, INT64_MAX);
	else
		computed_set_int(value, values[column]);
}

static void put_connection(void *arg, int column, struct computed_value *value)
{
	const struct rows *rows = arg;
	const struct connection *c = &rows->connections->list[rows->next - 1];
	char gid[CONNECTION_GID];

	switch (column) {
	case QP:
		computed_set_int(value, c->qp);
		break;
	case PEER:
		put_known(value, c->peer, 0);
		break;
	case KNOWN:
		computed_set_text(value, peers_known_name(c->how));
		break;
	case DEST:
		computed_set_int(value, c->dest);
		break;
	case LID:
		put_known(value, c->place.lid, 0);
		break;
	case GID:
		computed_set_text(value, connection_gid(c, gid));
		break;
	default:
		put_event(column, c->id, c->process, c->since, c->until, value);
		break;
	}
}

static void put_queue(void *arg, int column, struct computed_value *value)
{
	const struct rows *rows = arg;
	const struct queue_row *row = &rows->queues->list[rows->next - 1];

	switch (column) {
	case OBJECT:
		computed_set_int(value, row->object);
		break;
	case SIDE:
		computed_set_text(value, queue_side_name(row->side));
		break;
	case CQ:
		put_known(value, row->cq, 0);
		break;
	case SRQ:
		put_known(value, row->srq, 0);
		break;
	case ASKED:
		put_known(value, row->asked, -1);
		break;
	case GIVEN:
		put_known(value, row->given, -1);
		break;
	default:
		put_event(column, row->id, row->process, row->since, row->until, value);
		break;
	}
}

static const struct computed_table derived[] = {
	{ "connection", "thread, n", connection_columns, false, open_connections, next_row,
	  put_connection, free },
	{ "queue", "thread, n, side", queue_columns, false, open_queues, next_row, put_queue,
	  free },
};

static void release_source(void *arg)
{
	struct table_source *source = arg;

	if (--source->tables)
		return;
	source->release(source->arg);
	free(source);
}

int derived_add(struct sqlite3 *db, struct trace *(*find)(void *arg), void (*release)(void *arg),
		void *arg)
{
	struct table_source *source = malloc(sizeof(*source));
	int err = 0;

	if (!source) {
		release(arg);
		return log_err(-ENOMEM, "derived tables");
	}
	*source = (struct table_source){ find, release, arg, 1 };
	for (size_t i = 0; i < sizeof(derived) / sizeof(*derived) && !err; i++) {
		if (!sqlite3_table_column_metadata(db, "main", derived[i].name, NULL, NULL, NULL,
						   NULL, NULL, NULL))
			continue;
		source->tables++;
		err = computed_add_released(db, &derived[i], source, release_source);
	}
	release_source(source);
	return err;
}
