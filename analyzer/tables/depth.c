/*
 * The number of outstanding requests of a queue over time
 *
 * A row for each event that changes it: a post that the device accepted, a poll with completions
 * (one row, however many), a reset, a destroy, the end of the process.
 *
 * 	post of 4 ----> depth 4      poll of 3 ----> depth 1      reset ----> depth 0
 *
 * While the model processes an event its queues are noted; their rows are made after it, or, for a
 * queue that ends, just before.
 */
#include "analyzer/tables/depth.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/queue.h"
#include "analyzer/tables/pass.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

struct depth_row {
	struct event_id id; /* thread is 0: the process has ended */
	int64_t time;
	uint32_t process, object, depth, signalled, room;
	int64_t change;
	unsigned int doubt;
	bool send;
};

/* A queue that the current event changes. */
struct changed_queue {
	const struct queue *queue;
	uint32_t before; /* outstanding */
};

struct depth_rows {
	struct pass pass;
	struct depth_row *rows; /* rows that the last event has made */
	size_t nrows, size, at;
	struct changed_queue *touched;
	size_t ntouched, touched_size;
	uint32_t object; /* 0: all */
	bool failed;     /* no memory for a row */
};

/* clang-format off */
enum { TIME, THREAD, N, EVENT, PROCESS, OBJECT, NAME, SIDE, DEPTH, CHANGE, SIGNALED, ROOM, DOUBT,
       QP };

static const struct computed_column columns[] = {
	[TIME] = BOUND_COLUMN("time", COMPUTED_TIME), [THREAD] = INTEGER_COLUMN("thread"),
	[N] = INTEGER_COLUMN("n"), [EVENT] = TEXT_COLUMN("event"),
	[PROCESS] = BOUND_COLUMN("process", COMPUTED_PROCESS),
	[OBJECT] = BOUND_COLUMN("object", COMPUTED_OBJECT), [NAME] = TEXT_COLUMN("name"),
	[SIDE] = TEXT_COLUMN("side"), [DEPTH] = INTEGER_COLUMN("depth"),
	[CHANGE] = INTEGER_COLUMN("change"), [SIGNALED] = INTEGER_COLUMN("signaled"),
	[ROOM] = INTEGER_COLUMN("room"), [DOUBT] = TEXT_COLUMN("doubt"),
	[QP] = { "qp", "", COMPUTED_OBJECT, true }, { 0 },
};
/* clang-format on */

static void add_row(struct depth_rows *rows, const struct changed_queue *t, bool ends)
{
	const struct queue *queue = t->queue;
	uint32_t room = queue->limits.given ? queue->limits.given : queue->limits.asked;
	struct depth_row *row;

	if (vec_reserve(rows->rows, rows->size, rows->nrows + 1)) {
		rows->failed = true;
		return;
	}
	row = &rows->rows[rows->nrows++];
	*row = (struct depth_row){ .id = rows->pass.event ? rows->pass.event->id
							  : (struct event_id){ 0 },
				   .time = rows->pass.now,
				   .process = queue->owner->process,
				   .object = queue->owner->id,
				   .depth = ends ? 0 : queue->outstanding,
				   .signalled = ends ? 0 : queue->signalled,
				   .room = room,
				   .doubt = queue->doubt,
				   .send = queue->send };
	row->change = (int64_t)row->depth - t->before;
}

static struct changed_queue *find_changed(struct depth_rows *rows, const struct queue *queue)
{
	for (size_t i = 0; i < rows->ntouched; i++)
		if (rows->touched[i].queue == queue)
			return &rows->touched[i];
	return NULL;
}

/* The event changes @queue, which had @before outstanding. */
static void mark_changed(struct depth_rows *rows, const struct queue *queue, uint32_t before)
{
	if (!queue || !queue->owner || (rows->object && queue->owner->id != rows->object) ||
	    find_changed(rows, queue))
		return;
	if (vec_reserve(rows->touched, rows->touched_size, rows->ntouched + 1))
		rows->failed = true;
	else
		rows->touched[rows->ntouched++] = (struct changed_queue){ queue, before };
}

static void on_post(void *arg, const struct model_post *post)
{
	if (post->queue && post->taken)
		mark_changed(arg, post->queue, post->queue->outstanding - post->taken);
}

static void on_bind(void *arg, const struct queue *queue)
{
	mark_changed(arg, queue, queue->outstanding - 1);
}

static void on_complete(void *arg, const struct model_complete *complete)
{
	if (complete->request)
		mark_changed(arg, complete->queue, complete->queue->outstanding);
}

static void on_forget(void *arg, const struct model_forget *forget)
{
	mark_changed(arg, forget->queue, forget->queue->outstanding);
}

static void leave_queue(struct depth_rows *rows, const struct life *owner,
			const struct queue *queue)
{
	struct changed_queue *t;

	if (!queue || queue->owner != owner || (!rows->pass.event && !pass_ended(&rows->pass)))
		return;
	if (queue->outstanding)
		mark_changed(rows, queue, queue->outstanding);
	t = find_changed(rows, queue);
	if (!t)
		return;
	add_row(rows, t, true);
	*t = rows->touched[--rows->ntouched]; /* a process may end with very many */
}

static void on_leave(void *arg, const struct life *object)
{
	if (object->inherited)
		return;
	leave_queue(arg, object, object->sq);
	leave_queue(arg, object, object->rq);
}

static void depth_close(void *rows)
{
	struct depth_rows *r = rows;

	if (!r)
		return;
	pass_fini(&r->pass);
	free(r->rows);
	free(r->touched);
	free(r);
}

static int depth_open(void *arg, const struct computed_bounds *bounds, void **ret_rows)
{
	struct depth_rows *rows = calloc(1, sizeof(*rows));
	struct model_watcher watcher = { .post = on_post,
					 .bind = on_bind,
					 .complete = on_complete,
					 .forget = on_forget,
					 .leave = on_leave,
					 .states_only = true,
					 .arg = rows };
	int err;

	if (!rows)
		return log_err(-ENOMEM, "depth of queues");
	rows->object = bounds->object;
	err = pass_init(&rows->pass, arg, bounds, false, &watcher);
	if (err)
		depth_close(rows);
	else
		*ret_rows = rows;
	return err;
}

static int depth_next(void *rows)
{
	struct depth_rows *r = rows;

	r->at++;
	while (r->at >= r->nrows) {
		int more;

		r->nrows = r->at = r->ntouched = 0;
		more = pass_step(&r->pass);
		if (more <= 0)
			return more;
		for (size_t i = 0; i < r->ntouched; i++)
			add_row(r, &r->touched[i], false);
		if (r->failed)
			return log_err(-ENOMEM, "depth of queues");
	}
	return 1;
}

static void put_depth(const struct depth_row *row, int column, struct computed_value *value)
{
	switch (column) {
	case SIDE:
		computed_set_text(value, row->send ? "send" : "recv");
		break;
	case DEPTH:
		computed_set_int(value, row->depth);
		break;
	case CHANGE:
		computed_set_int(value, row->change);
		break;
	case SIGNALED:
		computed_set_int(value, row->signalled);
		break;
	case ROOM:
		if (row->room)
			computed_set_int(value, row->room);
		break;
	default:
		computed_set_text(value, pass_doubt(row->doubt));
	}
}

static void depth_value(void *rows, int column, struct computed_value *value)
{
	const struct depth_rows *r = rows;
	const struct depth_row *row = &r->rows[r->at];
	const struct object *object;
	char text[32];

	switch (column) {
	case TIME:
		computed_set_int(value, row->time);
		break;
	case THREAD:
		computed_set_int(value, row->id.thread);
		break;
	case N:
		computed_set_int(value, (int64_t)row->id.n);
		break;
	case EVENT:
		computed_set_text(value, row->id.thread ? event_id_text(row->id, text) : NULL);
		break;
	case PROCESS:
		computed_set_int(value, row->process);
		break;
	case OBJECT:
		computed_set_int(value, row->object);
		break;
	case NAME:
		object = trace_object(r->pass.trace, row->object);
		computed_set_text(value, object ? object->name : NULL);
		break;
	default:
		put_depth(row, column, value);
	}
}

const struct computed_table depth_table = {
	.name = "queue_depth",
	.key = "thread, n, object, side",
	.columns = columns,
	.reads_all = true,
	.open = depth_open,
	.next = depth_next,
	.value = depth_value,
	.close = depth_close,
};
