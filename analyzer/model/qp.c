/*
 * Attributes of queue pairs, work queues and shared receive queues
 *
 * 	created          RESET, capabilities
 * 	modified         the state and attributes of its mask; RESET clears all of them
 * 	queried          the state in the result
 * 	error            ERR of a reliable queue pair; of the others it depends on the side and the
 * 	                 device, so that their state is not known from then on
 *
 * While a modify is in progress, and after a process ended during one, the state is not known:
 * `changing`.
 */
#include "analyzer/model/qp.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/device.h"
#include "core/store/db/args.h"

/* Members of struct ibv_qp_attr, and their offset in struct qp. */
struct attr_row {
	const char *name;
	uint32_t bit;
	size_t offset;
};

#define ROW(name, bit, member)                                  \
	{                                                       \
		name, ABI_QP_##bit, offsetof(struct qp, member) \
	}

static const struct attr_row attr_rows[] = {
	ROW("path_mtu", PATH_MTU, path_mtu),
	ROW("qkey", QKEY, qkey),
	ROW("rq_psn", RQ_PSN, rq_psn),
	ROW("sq_psn", SQ_PSN, sq_psn),
	ROW("dest_qp_num", DEST_QPN, dest_qp_num),
	ROW("qp_access_flags", ACCESS_FLAGS, access),
	ROW("pkey_index", PKEY_INDEX, pkey_index),
	ROW("max_rd_atomic", MAX_QP_RD_ATOMIC, max_rd_atomic),
	ROW("max_dest_rd_atomic", MAX_DEST_RD_ATOMIC, max_dest_rd_atomic),
	ROW("min_rnr_timer", MIN_RNR_TIMER, min_rnr_timer),
	ROW("port_num", PORT, port),
	ROW("timeout", TIMEOUT, timeout),
	ROW("retry_cnt", RETRY_CNT, retry_cnt),
	ROW("rnr_retry", RNR_RETRY, rnr_retry),
};

#undef ROW

enum { ATTR_ROWS = sizeof(attr_rows) / sizeof(attr_rows[0]) };

static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

int64_t qp_retry_time(const struct qp *qp)
{
	if (!(qp->set & ABI_QP_TIMEOUT) || !(qp->set & ABI_QP_RETRY_CNT) || !(qp->timeout & 31))
		return 0;
	return (INT64_C(4096) << (qp->timeout & 31)) * (1 + (int64_t)qp->retry_cnt);
}

const char *qp_state_name(int state)
{
	return state >= 0 && state <= ABI_QPS_ERR ? states[state] : "?";
}

const char *qp_type_name(int type)
{
	switch (type) {
	case ABI_QPT_RC:
		return "RC";
	case ABI_QPT_UC:
		return "UC";
	case ABI_QPT_UD:
		return "UD";
	case ABI_QPT_RAW_PACKET:
		return "RAW_PACKET";
	case ABI_QPT_XRC_SEND:
		return "XRC_SEND";
	case ABI_QPT_XRC_RECV:
		return "XRC_RECV";
	case ABI_QPT_DRIVER:
		return "DRIVER";
	default:
		return "?";
	}
}

/* Most names differ in the first letter. */
static inline bool is_named(const struct json_node *node, const char *name)
{
	return node->name && node->name[0] == name[0] && !strcmp(node->name, name);
}

/* The value of a number, or of the name of a state or an MTU: "IBV_QPS_RTR", "IBV_MTU_1024". */
static int64_t read_enum(const struct json_node *node)
{
	const char *last;

	if (node->kind == JSON_INT)
		return node->number;
	last = node->kind == JSON_TEXT ? strrchr(node->text, '_') : NULL;
	if (!last)
		return QP_UNKNOWN;
	for (int i = 0; i <= ABI_QPS_ERR; i++)
		if (!strcmp(last + 1, states[i]))
			return i;
	for (int mtu = 1; mtu <= 5; mtu++)
		if (atoi(last + 1) == 128 << mtu)
			return mtu;
	return QP_UNKNOWN;
}

/* The value of a hexadecimal digit; -1: @c is none. */
static int read_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static void read_gid(const struct json_node *gid, uint8_t to[QP_GID])
{
	const struct json_node *raw = json_first(gid);

	if (!raw || raw->kind != JSON_TEXT || raw->length != 2 * QP_GID)
		return;
	for (int i = 0; i < QP_GID; i++) {
		int high = read_digit(raw->text[2 * i]), low = read_digit(raw->text[2 * i + 1]);

		if (high >= 0 && low >= 0)
			to[i] = (uint8_t)(high << 4 | low);
	}
}

static void read_route(const struct json_node *grh, struct qp_path *path)
{
	for (const struct json_node *n = json_first(grh); n; n = json_next(n)) {
		if (is_named(n, "dgid"))
			read_gid(n, path->dgid);
		else if (is_named(n, "sgid_index"))
			path->sgid_index = (uint8_t)n->number;
		else if (is_named(n, "hop_limit"))
			path->hop_limit = (uint8_t)n->number;
		else if (is_named(n, "traffic_class"))
			path->traffic_class = (uint8_t)n->number;
		else if (is_named(n, "flow_label"))
			path->flow_label = (uint32_t)n->number;
	}
}

static void read_path(const struct json_node *av, struct qp_path *path)
{
	memset(path, 0, sizeof(*path));
	for (const struct json_node *n = json_first(av); n; n = json_next(n)) {
		if (is_named(n, "grh"))
			read_route(n, path);
		else if (is_named(n, "dlid"))
			path->dlid = (uint16_t)n->number;
		else if (is_named(n, "sl"))
			path->sl = (uint8_t)n->number;
		else if (is_named(n, "is_global"))
			path->is_global = (uint8_t)n->number;
		else if (is_named(n, "src_path_bits"))
			path->src_path_bits = (uint8_t)n->number;
		else if (is_named(n, "static_rate"))
			path->static_rate = (uint8_t)n->number;
		else if (is_named(n, "port_num"))
			path->port = (uint8_t)n->number;
	}
}

static void read_cap(const struct json_node *cap, struct qp_cap *to)
{
	static const char *const names[] = { "max_send_wr", "max_recv_wr", "max_send_sge",
					     "max_recv_sge", "max_inline_data" };
	uint32_t *const values[] = { &to->max_send_wr, &to->max_recv_wr, &to->max_send_sge,
				     &to->max_recv_sge, &to->max_inline_data };

	for (const struct json_node *n = json_first(cap); n; n = json_next(n))
		for (int i = 0; i < 5; i++)
			if (is_named(n, names[i]))
				*values[i] = (uint32_t)n->number;
}

static void read_attr(struct qp *qp, const struct json_node *n)
{
	for (int i = 0; i < ATTR_ROWS; i++)
		if (is_named(n, attr_rows[i].name)) {
			*(uint32_t *)((char *)qp + attr_rows[i].offset) = (uint32_t)read_enum(n);
			qp->set |= attr_rows[i].bit;
			return;
		}
	if (is_named(n, "ah_attr")) {
		read_path(n, &qp->path);
		qp->set |= ABI_QP_AV;
	} else if (is_named(n, "cap")) {
		read_cap(n, &qp->cap);
	}
}

/* Creation */

/*
 * The opcodes that ibv_post_send(3) lists for the type. Those of newer headers are allowed on
 * reliable transports.
 */
uint32_t qp_type_opcodes(int type)
{
	const uint32_t sends = 1u << ABI_WR_SEND | 1u << ABI_WR_SEND_WITH_IMM;
	const uint32_t writes = sends | 1u << ABI_WR_RDMA_WRITE | 1u << ABI_WR_RDMA_WRITE_WITH_IMM |
				1u << ABI_WR_LOCAL_INV | 1u << ABI_WR_BIND_MW |
				1u << ABI_WR_SEND_WITH_INV;

	switch (type) {
	case ABI_QPT_UD:
		return sends | 1u << ABI_WR_TSO;
	case ABI_QPT_UC:
		return writes;
	case ABI_QPT_RC:
	case ABI_QPT_XRC_SEND:
		return ~(1u << ABI_WR_TSO);
	case ABI_QPT_RAW_PACKET:
		return 1u << ABI_WR_SEND | 1u << ABI_WR_TSO;
	case ABI_QPT_XRC_RECV:
		return 0;
	default:
		return ~0u;
	}
}

static void read_created_qp(struct qp *qp, const struct json_node *ret, enum object_kind kind)
{
	for (const struct json_node *n = json_first(ret); n; n = json_next(n)) {
		if (is_named(n, "send_cq"))
			qp->send_cq = (uint64_t)n->number;
		else if (is_named(n, "recv_cq") || is_named(n, "cq"))
			qp->recv_cq = (uint64_t)n->number;
		else if (is_named(n, "srq"))
			qp->srq = (uint64_t)n->number;
		else if (is_named(n, "pd"))
			qp->pd = (uint64_t)n->number;
		else if (is_named(n, "context"))
			qp->context = (uint64_t)n->number;
		else if (is_named(n, "state") && kind == OBJECT_qp)
			qp->state = (int)read_enum(n);
	}
}

static int read_qp_type(const struct json_node *n)
{
	static const int types[] = { ABI_QPT_RC,         ABI_QPT_UC,       ABI_QPT_UD,
				     ABI_QPT_RAW_PACKET, ABI_QPT_XRC_SEND, ABI_QPT_XRC_RECV,
				     ABI_QPT_DRIVER };

	if (n->kind == JSON_INT)
		return (int)n->number;
	for (size_t i = 0; n->kind == JSON_TEXT && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strncmp(n->text, "IBV_QPT_", 8) &&
		    !strcmp(n->text + 8, qp_type_name(types[i])))
			return types[i];
	return QP_UNKNOWN;
}

/* struct ibv_qp_init_attr, ..._ex; for an SRQ and a WQ its equivalent. */
static void read_init(struct qp *qp, const struct json_node *init)
{
	for (const struct json_node *n = json_first(init); n; n = json_next(n)) {
		if (is_named(n, "cap"))
			read_cap(n, &qp->cap);
		else if (is_named(n, "qp_type"))
			qp->type = read_qp_type(n);
		else if (is_named(n, "send_ops_flags")) {
			qp->has_send_ops = n->number != 0;
			qp->send_ops = (uint64_t)n->number;
		} else if (is_named(n, "attr"))
			read_init(qp, n);
		else if (is_named(n, "max_wr"))
			qp->cap.max_recv_wr = (uint32_t)n->number;
		else if (is_named(n, "max_sge"))
			qp->cap.max_recv_sge = (uint32_t)n->number;
	}
}

int qp_note_created(struct life *life, enum verb verb, const struct args *args,
		    const struct args *out)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return -ENOMEM;
	life->qp = qp;
	qp->type = qp->state = QP_UNKNOWN;
	qp->moved = life->created;
	for (const struct json_node *n = json_first(args_root(args)); n; n = json_next(n))
		if (n->kind == JSON_OBJECT)
			read_init(qp, n);
	for (const struct json_node *n = json_first(args_root(out)); n; n = json_next(n)) {
		if (is_named(n, "ret"))
			read_created_qp(qp, n, life->kind);
		else if (n->kind == JSON_OBJECT)
			read_init(qp, n);
	}
	if (life->kind == OBJECT_wq)
		qp->state = ABI_WQS_RESET;
	qp->shared = verb == VERB_open_qp;
	if (qp->shared)
		qp->state = QP_UNKNOWN;
	qp->opcodes = qp_type_opcodes(qp->type);
	return 0;
}

/* Modification */

static void enter_state(struct qp *qp, int state, const struct moment *moment)
{
	qp->error_reported = qp->judged = false;
	qp->status = 0;
	qp->moved = *moment;
	qp->state = state;
	memset(qp->after, 0, sizeof(qp->after));
	memset(qp->marked, 0, sizeof(qp->marked));
	memset(&qp->late, 0, sizeof(qp->late));
	memset(&qp->spare, 0, sizeof(qp->spare));
}

void qp_begin_modify(struct life *life)
{
	if (life->qp)
		life->qp->changing++;
}

static int read_wq_state(const struct json_node *n)
{
	if (n->kind != JSON_TEXT)
		return QP_UNKNOWN;
	return !strcmp(n->text, "IBV_WQS_RDY")     ? ABI_WQS_RDY
	       : !strcmp(n->text, "IBV_WQS_ERR")   ? ABI_WQS_ERR
	       : !strcmp(n->text, "IBV_WQS_RESET") ? ABI_WQS_RESET
						   : QP_UNKNOWN;
}

/*
 * Is its state moved by other processes (ibv_open_qp()), or by the kernel (iWARP, rdma_connect())?
 */
static bool is_state_hidden(const struct qp *qp, int state)
{
	return qp->shared || (qp->iwarp && state != ABI_QPS_RESET && state != ABI_QPS_ERR);
}

/* The change that a query's result reports, as qp_read_change() for a modify. */
struct qp_change qp_read_change(const struct life *life, const struct args *args)
{
	struct qp_change change = { .to = QP_UNKNOWN, .cur = QP_UNKNOWN };
	const bool wq = life->kind == OBJECT_wq;
	const struct json_node *mask = args_find(args, ARG(attr_mask));
	const struct json_node *n = json_first(args_find(args, wq ? ARG(wq_attr) : ARG(attr)));

	for (; n; n = json_next(n)) {
		if (is_named(n, "qp_state"))
			change.to = (int)read_enum(n);
		else if (is_named(n, "cur_qp_state"))
			change.cur = (int)read_enum(n);
		else if (is_named(n, "wq_state"))
			change.to = read_wq_state(n);
	}
	if (mask && mask->kind == JSON_INT)
		change.mask = (uint32_t)mask->number;
	return change;
}

bool qp_read_path(const struct args *args, struct qp_path *ret_path)
{
	const struct json_node *n = json_first(args_find(args, ARG(attr)));

	while (n && !is_named(n, "ah_attr"))
		n = json_next(n);
	if (n)
		read_path(n, ret_path);
	return n != NULL;
}

/* The sender's address, from the header: a GRH, IPv6, or IPv4 in the last 20 bytes. */
static void reverse_route(const struct args *args, struct qp_path *path)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const char *raw;
	uint8_t gid[QP_GID] = { 0 };
	int64_t flow = 0;
	bool ipv4;

	args_get(args, ARG(grh.version_tclass_flow), &flow);
	ipv4 = flow >> 28 != 6;
	raw = args_text(args, ipv4 ? ARG(grh.dgid.raw) : ARG(grh.sgid.raw));
	if (!raw || !place_parse_gid(raw, gid))
		return;
	if (ipv4) {
		memcpy(path->dgid, mapped, sizeof(mapped));
		memcpy(path->dgid + sizeof(mapped), gid + 8, sizeof(gid) - sizeof(mapped));
	} else {
		memcpy(path->dgid, gid, sizeof(gid));
		path->flow_label = flow & 0xfffff;
		path->traffic_class = (uint8_t)(flow >> 20);
	}
}

/* The path that ibv_init_ah_from_wc(3) fills in. */
static void reverse_path_of_wc(const struct args *args, struct qp_path *path)
{
	int64_t dlid = 0, sl = 0, bits = 0, port = 0, flags = 0;

	args_get(args, ARG(wc.slid), &dlid);
	args_get(args, ARG(wc.sl), &sl);
	args_get(args, ARG(wc.dlid_path_bits), &bits);
	args_get(args, ARG(port_num), &port);
	args_get(args, ARG(wc.wc_flags), &flags);
	*path = (struct qp_path){ .dlid = (uint16_t)dlid,
				  .sl = (uint8_t)sl,
				  .src_path_bits = (uint8_t)bits,
				  .port = (uint8_t)port,
				  .is_global = (flags & ABI_WC_GRH) != 0,
				  .back = true };
	if (path->is_global)
		reverse_route(args, path);
}

int qp_note_ah_created(struct life *life, enum verb verb, const struct args *args)
{
	const struct json_node *attr = args_find(args, ARG(attr));

	if (verb != VERB_create_ah_from_wc && !attr)
		return 0;
	life->path = malloc(sizeof(*life->path));
	if (!life->path)
		return -ENOMEM;
	if (verb == VERB_create_ah_from_wc)
		reverse_path_of_wc(args, life->path);
	else
		read_path(attr, life->path);
	return 0;
}

static void read_attrs(struct qp *qp, const struct json_node *attr)
{
	for (const struct json_node *n = json_first(attr); n; n = json_next(n))
		read_attr(qp, n);
}

void qp_note_modified(struct life *life, const struct trace_event *event)
{
	const struct args *args = event->call->args;
	struct moment moment = moment_of(event);
	struct qp *qp = life->qp;
	int state;

	if (!qp)
		return;
	if (qp->changing)
		qp->changing--;
	qp->settled = event->time;
	state = qp_read_change(life, args).to;
	qp->refused = (struct moment){ 0 };
	if (event->call->failed) {
		qp->refused = moment;
		qp->refused_to = state;
		qp->refused_error = (int)event->call->ret;
		return;
	}
	if (life->kind == OBJECT_qp && state == ABI_QPS_RESET) {
		qp->set = qp->polled = 0;
		qp->reset = event->time;
	}
	if (life->kind == OBJECT_qp)
		read_attrs(qp, args_find(args, ARG(attr)));
	if (life->kind == OBJECT_qp && state == ABI_QPS_RTR)
		qp->rtr = moment;
	if (state != QP_UNKNOWN)
		enter_state(qp, is_state_hidden(qp, state) ? QP_UNKNOWN : state, &moment);
}

void qp_note_queried(struct life *life, const struct trace_event *event)
{
	struct qp *qp = life->qp;
	struct moment moment = moment_of(event);
	int state;

	/*
	 * A modify may have returned since the query began; and the kernel's soft iWARP always
	 * reports RESET.
	 */
	if (!qp || qp->changing || qp->shared || qp->iwarp || event->call->failed ||
	    event->call->begin <= qp->settled)
		return;
	state = qp_read_change(life, event->call->out).to;
	if (state != QP_UNKNOWN && state != qp->state)
		enter_state(qp, state, &moment);
}

void qp_note_failed(struct life *life, const struct moment *moment, int status, int64_t posted)
{
	struct qp *qp = life->qp;
	bool reliable;

	if (!qp || qp->changing || life->kind != OBJECT_qp || qp->state == ABI_QPS_ERR ||
	    qp->state == ABI_QPS_RESET)
		return;
	/* the request was posted, perhaps, before the queue pair was reset */
	if (qp->reset && posted <= qp->reset)
		return;
	reliable = qp->type == ABI_QPT_RC || qp->type == ABI_QPT_XRC_SEND;
	enter_state(qp, reliable ? ABI_QPS_ERR : QP_UNKNOWN, moment);
	qp->error_reported = reliable;
	qp->status = status;
}

int64_t qp_rnr_time(unsigned int code)
{
	static const int64_t us[32] = {
		655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
		480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
		20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520
	};

	return us[code & 31] * 1000;
}

const struct life *qp_find_unmade(const struct life *qp)
{
	const struct life *id = life_cm_id(qp);

	return id && id->unmade.id.thread && !qp->qp->rtr.id.thread &&
			       qp->qp->moved.time <= id->unmade_at
		       ? id
		       : NULL;
}
