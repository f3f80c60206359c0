/*
 * Each queue pair with its peer, capabilities and last state
 *
 * One row for each queue pair of the trace; a pass of the model fills them when the table is first
 * used, and they are stored. Peers, capabilities and attributes need a pass over the control verbs
 * alone; states and counts need all events.
 */
#include "analyzer/tables/qps.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/tables/pass.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/store/finish/connections.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

/* The counts of one direction. */
struct side_counts {
	bool known;
	uint64_t posted;
	uint32_t high;
};

struct qp_row {
	const struct object *object;
	uint32_t peer; /* object; 0: not known */
	bool made;     /* the creation is in the trace: the fields below are known */
	bool all_signalled;
	uint32_t send_cq, recv_cq, srq;
	struct qp qp;
	struct side_counts send, recv;
	unsigned int doubt;
};

struct qps {
	struct trace *trace;
	struct qp_row *rows;
	size_t nrows;
	struct map by_id; /* to 1 + index */
	bool listed, read, counted;
	struct pass pass; /* the pass that reads the rows */
};

struct qps_rows {
	const struct qps *qps;
	size_t at; /* 1 + index of the current row */
	struct computed_bounds bounds;
};

/* clang-format off */
enum { OBJECT, NAME, PROCESS, TYPE, NUMBER, STATE, PEER, PEER_PROCESS, PEER_NAME, SEND_CQ, RECV_CQ,
       SRQ, PD, MAX_SEND_WR, MAX_RECV_WR, MAX_SEND_SGE, MAX_RECV_SGE, MAX_INLINE_DATA, SQ_SIG_ALL,
       PORT, PATH_MTU, DEST_QP_NUM, TIMEOUT, RETRY_CNT, RNR_RETRY, MIN_RNR_TIMER, CREATED_AT,
       DESTROYED_AT, SENDS, SEND_HIGH, RECVS, RECV_HIGH, DOUBT };

static const struct computed_column columns[] = {
	[OBJECT] = BOUND_COLUMN("object", COMPUTED_OBJECT), [NAME] = TEXT_COLUMN("name"),
	[PROCESS] = BOUND_COLUMN("process", COMPUTED_PROCESS), [TYPE] = TEXT_COLUMN("type"),
	[NUMBER] = INTEGER_COLUMN("number"), [STATE] = TEXT_COLUMN("state"),
	[PEER] = INTEGER_COLUMN("peer"), [PEER_PROCESS] = INTEGER_COLUMN("peer_process"),
	[PEER_NAME] = TEXT_COLUMN("peer_name"), [SEND_CQ] = INTEGER_COLUMN("send_cq"),
	[RECV_CQ] = INTEGER_COLUMN("recv_cq"), [SRQ] = INTEGER_COLUMN("srq"),
	[PD] = INTEGER_COLUMN("pd"), [MAX_SEND_WR] = INTEGER_COLUMN("max_send_wr"),
	[MAX_RECV_WR] = INTEGER_COLUMN("max_recv_wr"),
	[MAX_SEND_SGE] = INTEGER_COLUMN("max_send_sge"),
	[MAX_RECV_SGE] = INTEGER_COLUMN("max_recv_sge"),
	[MAX_INLINE_DATA] = INTEGER_COLUMN("max_inline_data"),
	[SQ_SIG_ALL] = INTEGER_COLUMN("sq_sig_all"), [PORT] = INTEGER_COLUMN("port"),
	[PATH_MTU] = INTEGER_COLUMN("path_mtu"), [DEST_QP_NUM] = INTEGER_COLUMN("dest_qp_num"),
	[TIMEOUT] = INTEGER_COLUMN("timeout"), [RETRY_CNT] = INTEGER_COLUMN("retry_cnt"),
	[RNR_RETRY] = INTEGER_COLUMN("rnr_retry"),
	[MIN_RNR_TIMER] = INTEGER_COLUMN("min_rnr_timer"),
	[CREATED_AT] = INTEGER_COLUMN("created_at"),
	[DESTROYED_AT] = INTEGER_COLUMN("destroyed_at"), [SENDS] = INTEGER_COLUMN("sends"),
	[SEND_HIGH] = INTEGER_COLUMN("send_high"), [RECVS] = INTEGER_COLUMN("recvs"),
	[RECV_HIGH] = INTEGER_COLUMN("recv_high"), [DOUBT] = TEXT_COLUMN("doubt"), { 0 },
};

/* the columns that need all events */
static const uint64_t counts = 1ull << STATE | 1ull << SENDS | 1ull << SEND_HIGH | 1ull << RECVS |
			       1ull << RECV_HIGH | 1ull << DOUBT;
/* clang-format on */

struct qps *qps_new(struct trace *trace)
{
	struct qps *qps = calloc(1, sizeof(*qps));

	if (qps)
		qps->trace = trace;
	return qps;
}

void qps_free(struct qps *qps)
{
	if (!qps)
		return;
	map_fini(&qps->by_id);
	free(qps->rows);
	free(qps);
}

/* Reading */

int qps_begin(struct qps *qps)
{
	const struct object *object;

	for (uint32_t id = 1; !qps->listed && (object = trace_object(qps->trace, id)); id++) {
		struct qp_row *row;

		if (object->kind != OBJECT_qp)
			continue;
		row = vec_push(qps->rows, qps->nrows);
		if (!row || map_put(&qps->by_id, id, qps->nrows))
			return log_err(-ENOMEM, "queue pairs");
		row->object = object;
	}
	qps->listed = true;
	return 0;
}

static struct qp_row *find_row(struct qps *qps, uint32_t id)
{
	uint64_t at;

	return id && map_get(&qps->by_id, id, &at) ? &qps->rows[at - 1] : NULL;
}

static struct side_counts count_side(const struct life *life, const struct queue *queue)
{
	if (!queue || queue->owner != life)
		return (struct side_counts){ 0 };
	return (struct side_counts){ true, queue->posted, queue->high };
}

static uint32_t find_id(const struct qps *qps, const struct life *life, enum object_kind kind,
			uint64_t handle)
{
	const struct object *object = handle ? trace_object_at(qps->trace, life->process, kind,
							       handle, life->created.time)
					     : NULL;

	return object ? object->id : 0;
}

void qps_leave(void *arg, const struct life *life)
{
	struct qps *qps = arg;
	struct qp_row *row =
		life->kind == OBJECT_qp && !life->inherited ? find_row(qps, life->id) : NULL;

	if (!row || !life->qp)
		return;
	row->made = true;
	row->qp = *life->qp;
	row->send_cq = find_id(qps, life, OBJECT_cq, row->qp.send_cq);
	row->recv_cq = find_id(qps, life, OBJECT_cq, row->qp.recv_cq);
	row->srq = find_id(qps, life, OBJECT_srq, row->qp.srq);
	row->all_signalled = life->sq && life->sq->all_signalled;
	row->send = count_side(life, life->sq);
	row->recv = count_side(life, life->rq);
	row->doubt = (life->sq ? life->sq->doubt : 0) | (life->rq ? life->rq->doubt : 0);
}

int qps_end(struct qps *qps)
{
	const struct connections *connections;
	int err = trace_connections(qps->trace, &connections);

	for (size_t i = 0; i < qps->nrows && !err; i++)
		qps->rows[i].peer =
			connections_peer(connections, qps->rows[i].object->id, INT64_MAX);
	qps->read = qps->counted = !err;
	return err;
}

static int read_qps(struct qps *qps, bool counted)
{
	struct model_watcher watcher = { .leave = qps_leave, .arg = qps };
	int err = qps_begin(qps);

	if (err || (qps->read && qps->counted >= counted))
		return err;
	err = pass_init(&qps->pass, qps->trace, NULL, !counted, &watcher);
	while (!err && (err = pass_step(&qps->pass)) == 1)
		err = 0;
	pass_fini(&qps->pass);
	err = err ?: qps_end(qps);
	qps->counted = !err && counted;
	return err;
}

/* Rows */

static int qps_open(void *arg, const struct computed_bounds *bounds, void **ret_rows)
{
	struct qps *qps = arg;
	struct qps_rows *rows = calloc(1, sizeof(*rows));
	int err = rows ? read_qps(qps, bounds->used & counts) : log_err(-ENOMEM, "queue pairs");

	if (err) {
		free(rows);
		return err;
	}
	rows->qps = qps;
	rows->bounds = *bounds;
	*ret_rows = rows;
	return 0;
}

static int qps_next(void *rows)
{
	struct qps_rows *r = rows;
	uint64_t at;

	if (r->bounds.object) { /* only one object */
		if (r->at || !map_get(&r->qps->by_id, r->bounds.object, &at))
			return 0;
		r->at = at;
		return 1;
	}
	return r->at++ < r->qps->nrows;
}

static void put_known(struct computed_value *value, bool known, int64_t number)
{
	if (known)
		computed_set_int(value, number);
}

static void put_attr(const struct qp *qp, int column, struct computed_value *value)
{
	bool known;

	switch (column) {
	case PORT:
		put_known(value, qp->set & ABI_QP_PORT, qp->port);
		break;
	case PATH_MTU:
		known = qp->set & ABI_QP_PATH_MTU && qp->path_mtu >= 1 && qp->path_mtu <= 5;
		put_known(value, known, known ? 128l << qp->path_mtu : 0);
		break;
	case DEST_QP_NUM:
		put_known(value, qp->set & ABI_QP_DEST_QPN, qp->dest_qp_num);
		break;
	case TIMEOUT:
		put_known(value, qp->set & ABI_QP_TIMEOUT, qp->timeout);
		break;
	case RETRY_CNT:
		put_known(value, qp->set & ABI_QP_RETRY_CNT, qp->retry_cnt);
		break;
	case RNR_RETRY:
		put_known(value, qp->set & ABI_QP_RNR_RETRY, qp->rnr_retry);
		break;
	default:
		put_known(value, qp->set & ABI_QP_MIN_RNR_TIMER, qp->min_rnr_timer);
	}
}

static void put_counts(const struct qp_row *row, int column, struct computed_value *value)
{
	switch (column) {
	case STATE:
		if (row->qp.state != QP_UNKNOWN)
			computed_set_text(value, qp_state_name(row->qp.state));
		break;
	case SENDS:
		put_known(value, row->send.known, (int64_t)row->send.posted);
		break;
	case SEND_HIGH:
		put_known(value, row->send.known, row->send.high);
		break;
	case RECVS:
		put_known(value, row->recv.known, (int64_t)row->recv.posted);
		break;
	case RECV_HIGH:
		put_known(value, row->recv.known, row->recv.high);
		break;
	case DOUBT:
		computed_set_text(value, pass_doubt(row->doubt));
		break;
	default:
		put_attr(&row->qp, column, value);
	}
}

static void put_made(const struct qp_row *row, int column, struct computed_value *value)
{
	const struct qp *qp = &row->qp;

	switch (column) {
	case TYPE:
		if (qp->type != QP_UNKNOWN)
			computed_set_text(value, qp_type_name(qp->type));
		break;
	case SEND_CQ:
		put_known(value, row->send_cq, row->send_cq);
		break;
	case RECV_CQ:
		put_known(value, row->recv_cq, row->recv_cq);
		break;
	case SRQ:
		put_known(value, row->srq, row->srq);
		break;
	case MAX_SEND_WR:
		computed_set_int(value, qp->cap.max_send_wr);
		break;
	case MAX_RECV_WR:
		computed_set_int(value, qp->cap.max_recv_wr);
		break;
	case MAX_SEND_SGE:
		computed_set_int(value, qp->cap.max_send_sge);
		break;
	case MAX_RECV_SGE:
		computed_set_int(value, qp->cap.max_recv_sge);
		break;
	case MAX_INLINE_DATA:
		computed_set_int(value, qp->cap.max_inline_data);
		break;
	case SQ_SIG_ALL:
		computed_set_int(value, row->all_signalled);
		break;
	default:
		put_counts(row, column, value);
	}
}

static void qps_value(void *rows, int column, struct computed_value *value)
{
	const struct qps_rows *r = rows;
	const struct qp_row *row = &r->qps->rows[r->at - 1];
	const struct object *object = row->object, *peer = trace_object(r->qps->trace, row->peer);

	switch (column) {
	case OBJECT:
		computed_set_int(value, object->id);
		break;
	case NAME:
		computed_set_text(value, object->name);
		break;
	case PROCESS:
		computed_set_int(value, object->process);
		break;
	case NUMBER:
		computed_set_int(value, object->number);
		break;
	case PD:
		put_known(value, object->parent, object->parent);
		break;
	case PEER:
		put_known(value, peer, row->peer);
		break;
	case PEER_PROCESS:
		put_known(value, peer, peer ? peer->process : 0);
		break;
	case PEER_NAME:
		computed_set_text(value, peer ? peer->name : NULL);
		break;
	case CREATED_AT:
		put_known(value, object->created.thread, object->created_at);
		break;
	case DESTROYED_AT:
		put_known(value, object->destroyed_at != INT64_MAX, object->destroyed_at);
		break;
	default:
		if (row->made)
			put_made(row, column, value);
	}
}

const struct computed_table qps_table = {
	.name = "qps",
	.key = "object",
	.columns = columns,
	.open = qps_open,
	.next = qps_next,
	.value = qps_value,
	.close = free,
};
