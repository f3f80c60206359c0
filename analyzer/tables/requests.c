/*
 * Each work request with its outcome
 *
 * The model reports when a request is retired or forgotten, which makes its row; so rows come in
 * the order in which requests end, and memory is limited by the number outstanding.
 *
 * 	completed	its own completion was polled, with success
 * 	error, flushed	likewise, with an error
 * 	retired		unsignalled: a later one of its queue has completed
 * 	refused		the post failed at it or before it, or was discarded by ibv_wr_abort()
 * 	reset		its queue was reset, ...
 * 	destroyed	... or destroyed, ...
 * 	ended		... or the process ended, before that
 * 	outstanding	none of these until the end of the trace
 * 	unknown		the content of its queue is not known, or its completion was not seen
 */
#include "analyzer/tables/requests.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/queue.h"
#include "analyzer/tables/pass.h"
#include "core/base/vec.h"
#include "core/wire/desc.h"
#include "core/wire/log.h"

enum { NOT_GIVEN = -1 };

/* The fields that many requests have in common. No padding, since structs are compared as words. */
struct request_class {
	uint32_t object;
	int32_t opcode;
	uint32_t process, thread, nsge, flags, rkey, stack;
	uint32_t retired_thread; /* 0: not known */
	uint32_t doubt, signalled;
	int32_t status; /* NOT_GIVEN: it has no completion of its own */
	uint64_t rdma;  /* its remote address is valid */
	const char *outcome;
};

_Static_assert(sizeof(struct request_class) == REQUESTS_KEY * sizeof(uint64_t), "a key");

struct request_row {
	struct request_class class;
	uint64_t n, retired_n;
	uint32_t i, retired_i;
	int64_t time, completed; /* completed: NOT_GIVEN none */
	uint64_t wr_id, bytes, remote_addr;
};

struct request_rows {
	struct pass pass;
	struct request_row *rows; /* rows that the last event has made */
	size_t nrows, size, at;
	size_t least; /* the least number of rows that are collected */
	const struct enum_info *opcodes, *statuses;
	bool failed; /* no memory for a row */
	struct requests_watcher watcher;
};

/* clang-format off */
enum { THREAD, N, I, EVENT, TIME, PROCESS, OBJECT, NAME, SIDE, OPCODE, OPCODE_NAME, WR_ID, BYTES,
       NUM_SGE, SEND_FLAGS, IS_INLINE, IS_SIGNALED, REMOTE_ADDR, RKEY, STACK, OUTCOME, STATUS,
       STATUS_NAME, COMPLETED, LATENCY, RETIRED_BY, RETIRED_THREAD, RETIRED_N, RETIRED_I, DOUBT };

static const struct computed_column columns[] = {
	[THREAD] = INTEGER_COLUMN("thread"), [N] = INTEGER_COLUMN("n"),
	[I] = INTEGER_COLUMN("i"), [EVENT] = TEXT_COLUMN("event"),
	[TIME] = INTEGER_COLUMN("time"), [PROCESS] = BOUND_COLUMN("process", COMPUTED_PROCESS),
	[OBJECT] = BOUND_COLUMN("object", COMPUTED_OBJECT), [NAME] = TEXT_COLUMN("name"),
	[SIDE] = TEXT_COLUMN("side"), [OPCODE] = INTEGER_COLUMN("opcode"),
	[OPCODE_NAME] = TEXT_COLUMN("opcode_name"), [WR_ID] = INTEGER_COLUMN("wr_id"),
	[BYTES] = INTEGER_COLUMN("bytes"), [NUM_SGE] = INTEGER_COLUMN("num_sge"),
	[SEND_FLAGS] = INTEGER_COLUMN("send_flags"), [IS_INLINE] = INTEGER_COLUMN("is_inline"),
	[IS_SIGNALED] = INTEGER_COLUMN("is_signaled"),
	[REMOTE_ADDR] = INTEGER_COLUMN("remote_addr"), [RKEY] = INTEGER_COLUMN("rkey"),
	[STACK] = INTEGER_COLUMN("stack"), [OUTCOME] = TEXT_COLUMN("outcome"),
	[STATUS] = INTEGER_COLUMN("status"), [STATUS_NAME] = TEXT_COLUMN("status_name"),
	[COMPLETED] = INTEGER_COLUMN("completed"), [LATENCY] = INTEGER_COLUMN("latency"),
	[RETIRED_BY] = TEXT_COLUMN("retired_by"),
	[RETIRED_THREAD] = INTEGER_COLUMN("retired_thread"),
	[RETIRED_N] = INTEGER_COLUMN("retired_n"), [RETIRED_I] = INTEGER_COLUMN("retired_i"),
	[DOUBT] = TEXT_COLUMN("doubt"), { 0 },
};
/* clang-format on */

static struct request_row *add_row(struct request_rows *rows)
{
	static struct request_row lost;
	struct request_row *row = &lost;

	if (vec_reserve(rows->rows, rows->size, rows->nrows + 1))
		rows->failed = true;
	else
		row = &rows->rows[rows->nrows++];
	*row = (struct request_row){ .completed = NOT_GIVEN, .class.status = NOT_GIVEN };
	return row;
}

/* A request that was accepted. */
static struct request_row *add_request(struct request_rows *rows, const struct queue *queue,
				       const struct queue_request *request)
{
	struct request_row *row = add_row(rows);

	row->class.thread = request->thread;
	row->n = request->n;
	row->i = request->index;
	row->class.process = queue->owner ? queue->owner->process : 0;
	row->class.object = queue->owner ? queue->owner->id : 0;
	row->class.nsge = request->nsge;
	row->class.flags = request->flags;
	row->class.stack = request->stack;
	row->time = request->time;
	row->wr_id = request->wr_id;
	row->class.opcode = request->opcode;
	row->remote_addr = request->remote_addr;
	row->class.rkey = request->rkey;
	row->class.rdma = request->remote_addr || request->rkey;
	row->class.signalled = request->signalled;
	row->class.doubt = queue->doubt;
	for (uint32_t i = 0; i < request->nsge; i++)
		row->bytes += queue_sge(queue, request, i)->length;
	return row;
}

static struct request_row *add_retired(struct request_rows *rows, const struct queue *queue,
				       const struct queue_request *request,
				       const struct model_complete *complete)
{
	struct request_row *row = add_request(rows, queue, request);

	row->class.retired_thread = complete->event->id.thread;
	row->retired_n = complete->event->id.n;
	row->retired_i = complete->index;
	row->completed = complete->event->time;
	row->class.outcome = "retired";
	return row;
}

static void on_complete(void *arg, const struct model_complete *complete)
{
	const struct wc *wc = &complete->event->poll->wc[complete->index];
	const struct queue *queue = complete->queue;
	struct request_rows *rows = arg;
	struct request_row *row;

	if (!complete->request)
		return;
	for (uint32_t i = 0; queue->send && queue_at(queue, i) != complete->request; i++)
		if (!queue_at(queue, i)->done && !queue_at(queue, i)->signalled)
			add_retired(rows, queue, queue_at(queue, i), complete);
	row = add_retired(rows, queue, complete->request, complete);
	row->class.status = (int)wc->status;
	row->class.outcome = !wc->status                         ? "completed"
			     : wc->status == ABI_WC_WR_FLUSH_ERR ? "flushed"
								 : "error";
}

static void on_forget(void *arg, const struct model_forget *forget)
{
	struct request_row *row = add_request(arg, forget->queue, forget->request);

	row->class.outcome = forget->reset ? "reset" : "unknown";
}

/* Add the requests outstanding on a queue that ends with its object or process. */
static void leave_queue(struct request_rows *rows, const struct life *owner,
			const struct queue *queue)
{
	const char *outcome = rows->pass.event          ? "destroyed"
			      : pass_ended(&rows->pass) ? "ended"
							: "outstanding";

	for (uint32_t i = 0; queue && queue->owner == owner && i < queue->count; i++)
		if (!queue_at(queue, i)->done)
			add_request(rows, queue, queue_at(queue, i))->class.outcome = outcome;
}

static void on_leave(void *arg, const struct life *object)
{
	struct request_rows *rows = arg;

	if (rows->watcher.leave)
		rows->watcher.leave(rows->watcher.arg, object);
	if (object->inherited)
		return;
	leave_queue(rows, object, object->sq);
	leave_queue(rows, object, object->rq);
}

/* Add a request that was refused, or whose queue is not known. */
static void add_refused_request(struct request_rows *rows, const struct model_post *post,
				uint32_t i)
{
	const struct wr *wr = &post->event->post->wr[i];
	struct request_row *row = add_row(rows);

	row->class.thread = post->event->id.thread;
	row->n = post->event->id.n;
	row->i = i;
	row->class.process = post->event->process;
	row->class.object = post->event->post->object;
	row->class.nsge = wr->nsge;
	row->class.flags = wr->send_flags;
	row->class.stack = post->event->post->stack;
	row->time = post->event->time;
	row->wr_id = wr->wr_id;
	row->class.opcode = wr->opcode;
	row->remote_addr = wr->remote_addr;
	row->class.rkey = wr->rkey;
	row->class.rdma = wr->remote_addr || wr->rkey;
	row->bytes = wr_bytes(wr);
	row->class.signalled = !post_is_send(post->event->post) ||
			       (wr->send_flags & ABI_SEND_SIGNALED) ||
			       (post->queue && post->queue->all_signalled);
	row->class.doubt = post->queue ? post->queue->doubt : QUEUE_OLDER;
	row->class.outcome = i < post->taken ? "unknown" : "refused";
}

static void on_post(void *arg, const struct model_post *post)
{
	for (uint32_t i = post->queue ? post->taken : 0; i < post->event->post->nwr; i++)
		add_refused_request(arg, post, i);
}

static void requests_close(void *rows)
{
	struct request_rows *r = rows;

	if (!r)
		return;
	pass_fini(&r->pass);
	free(r->rows);
	free(r);
}

static int requests_open(void *arg, const struct computed_bounds *bounds, void **ret_rows)
{
	struct request_rows *rows = calloc(1, sizeof(*rows));
	struct model_watcher watcher = { .post = on_post,
					 .complete = on_complete,
					 .forget = on_forget,
					 .leave = on_leave,
					 .states_only = true,
					 .arg = rows };
	struct computed_bounds all = *bounds;
	int err;

	if (!rows)
		return log_err(-ENOMEM, "requests");
	all.to = INT64_MAX; /* a bound of the post does not apply to the completion */
	rows->opcodes = enum_find("ibv_wr_opcode");
	rows->statuses = enum_find("ibv_wc_status");
	err = pass_init(&rows->pass, arg, &all, false, &watcher);
	if (err)
		requests_close(rows);
	else
		*ret_rows = rows;
	return err;
}

void requests_watch(void *rows, const struct requests_watcher *watcher)
{
	((struct request_rows *)rows)->watcher = *watcher;
}

void requests_collect(void *rows, uint32_t least)
{
	((struct request_rows *)rows)->least = least;
}

uint32_t requests_count(const void *rows)
{
	const struct request_rows *r = rows;
	size_t n = r->nrows - r->at;

	return n < CELLS_ROWS ? (uint32_t)n : CELLS_ROWS;
}

uint32_t requests_process(const void *rows, uint32_t ahead)
{
	const struct request_rows *r = rows;

	return r->rows[r->at + ahead].class.process;
}

void requests_skip(void *rows, uint32_t n)
{
	((struct request_rows *)rows)->at += n;
}

static int requests_next(void *rows)
{
	struct request_rows *r = rows;

	r->at++;
	if (r->at < r->nrows)
		return 1;
	r->nrows = r->at = 0;
	while (r->nrows <= r->least) {
		int more = pass_step(&r->pass);

		if (!more && r->nrows)
			break;
		if (more <= 0)
			return more;
		if (r->watcher.see && r->pass.event)
			r->watcher.see(r->watcher.arg, r->pass.event);
		if (r->failed)
			return log_err(-ENOMEM, "requests");
	}
	return 1;
}

/* From here on: rows by column (core/store/vtab/cells.h). */
static struct event_id posted_id(const struct request_row *row)
{
	return (struct event_id){ row->class.thread, row->n };
}

static struct event_id retired_id(const struct request_row *row)
{
	return (struct event_id){ row->class.retired_thread, row->retired_n };
}

static void fill_end(const struct request_rows *r, const struct request_row *rows, uint32_t n,
		     int column, struct cells *cells)
{
	switch (column) {
	case OUTCOME:
		cells_texts(cells, n, i, rows[i].class.outcome);
		break;
	case STATUS:
		cells_numbers_if(cells, n, i, rows[i].class.status != NOT_GIVEN,
				 rows[i].class.status);
		break;
	case STATUS_NAME:
		cells_texts(cells, n, i, enum_name(r->statuses, rows[i].class.status));
		break;
	case COMPLETED:
		cells_numbers_if(cells, n, i, rows[i].class.retired_thread, rows[i].completed);
		break;
	case LATENCY:
		cells_numbers_if(cells, n, i, rows[i].class.status != NOT_GIVEN,
				 rows[i].completed - rows[i].time);
		break;
	case RETIRED_BY:
		cells_events(cells, n, i, retired_id(&rows[i]));
		break;
	case RETIRED_THREAD:
		cells_numbers_if(cells, n, i, rows[i].class.retired_thread,
				 rows[i].class.retired_thread);
		break;
	case RETIRED_N:
		cells_numbers_if(cells, n, i, rows[i].class.retired_thread, rows[i].retired_n);
		break;
	case RETIRED_I:
		cells_numbers_if(cells, n, i, rows[i].class.retired_thread, rows[i].retired_i);
		break;
	default:
		cells_texts(cells, n, i, pass_doubt(rows[i].class.doubt));
	}
}

static bool is_send(const struct request_row *row)
{
	return row->class.opcode != QUEUE_RECEIVE;
}

static void fill_request(const struct request_rows *r, const struct request_row *rows, uint32_t n,
			 int column, struct cells *cells)
{
	switch (column) {
	case SIDE:
		cells_texts(cells, n, i, is_send(&rows[i]) ? "send" : "recv");
		break;
	case OPCODE:
		cells_numbers_if(cells, n, i, is_send(&rows[i]), rows[i].class.opcode);
		break;
	case OPCODE_NAME:
		cells_texts(cells, n, i,
			    is_send(&rows[i]) ? enum_name(r->opcodes, rows[i].class.opcode) : NULL);
		break;
	case WR_ID:
		cells_numbers(cells, n, i, rows[i].wr_id);
		break;
	case BYTES:
		cells_numbers(cells, n, i, rows[i].bytes);
		break;
	case NUM_SGE:
		cells_numbers(cells, n, i, rows[i].class.nsge);
		break;
	case SEND_FLAGS:
		cells_numbers_if(cells, n, i, is_send(&rows[i]), rows[i].class.flags);
		break;
	case IS_INLINE:
		cells_numbers_if(cells, n, i, is_send(&rows[i]),
				 !!(rows[i].class.flags & ABI_SEND_INLINE));
		break;
	case IS_SIGNALED:
		cells_numbers(cells, n, i, rows[i].class.signalled);
		break;
	case REMOTE_ADDR:
		cells_numbers_if(cells, n, i, rows[i].class.rdma, rows[i].remote_addr);
		break;
	case RKEY:
		cells_numbers_if(cells, n, i, rows[i].class.rdma, rows[i].class.rkey);
		break;
	case STACK:
		cells_numbers_if(cells, n, i, rows[i].class.stack, rows[i].class.stack);
		break;
	default:
		fill_end(r, rows, n, column, cells);
	}
}

static const char *name_of(struct trace *trace, uint32_t id)
{
	const struct object *object = trace_object(trace, id);

	return object ? object->name : NULL;
}

void requests_fill(const void *rows, uint32_t from, uint32_t n, int column, struct cells *cells)
{
	const struct request_rows *r = rows;
	const struct request_row *at = &r->rows[r->at + from];

	switch (column) {
	case THREAD:
		cells_numbers(cells, n, i, at[i].class.thread);
		break;
	case N:
		cells_numbers(cells, n, i, at[i].n);
		break;
	case I:
		cells_numbers(cells, n, i, at[i].i);
		break;
	case EVENT:
		cells_events(cells, n, i, posted_id(&at[i]));
		break;
	case TIME:
		cells_numbers(cells, n, i, at[i].time);
		break;
	case PROCESS:
		cells_numbers_if(cells, n, i, at[i].class.process, at[i].class.process);
		break;
	case OBJECT:
		cells_numbers_if(cells, n, i, at[i].class.object, at[i].class.object);
		break;
	case NAME:
		cells_texts(cells, n, i, name_of(r->pass.trace, at[i].class.object));
		break;
	default:
		fill_request(r, at, n, column, cells);
	}
}

const uint64_t requests_varying = 1ull << N | 1ull << I | 1ull << EVENT | 1ull << TIME |
				  1ull << WR_ID | 1ull << BYTES | 1ull << REMOTE_ADDR |
				  1ull << COMPLETED | 1ull << LATENCY | 1ull << RETIRED_BY |
				  1ull << RETIRED_N | 1ull << RETIRED_I;

const void *requests_key(const void *rows, uint32_t ahead)
{
	const struct request_rows *r = rows;

	return &r->rows[r->at + ahead].class;
}

static void requests_value(void *rows, int column, struct computed_value *value)
{
	struct cells cells;

	requests_fill(rows, 0, 1, column, &cells);
	cells_value(&cells, 0, value);
}

const struct computed_table requests_table = {
	.name = "requests",
	.key = "thread, n, i",
	.columns = columns,
	.reads_all = true,
	.open = requests_open,
	.next = requests_next,
	.value = requests_value,
	.close = requests_close,
};
