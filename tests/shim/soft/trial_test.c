/*
 * Each kind of request on each kind of queue pair, right and wrong: results in trial_test.txt
 *
 * A trial connects two queue pairs, posts a receive, one request and a message after it, and shows
 * what both ends notice: results of the calls, completions with all members, changed memory, states
 * and events. Each trial differs from a good one in one respect, and only what differs from that
 * one's result is shown. A request that has a function of ibv_qp_ex is also posted with it: the
 * results must be the same.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "core/base/text.h"
#include "tests/shim/soft/change.h"
#include "tests/shim/soft/pair.h"
#include "tests/transcript.h"

enum {
	LENGTH = 24,
	LOCAL = 64,   /* place of a request's data */
	REMOTE = 640, /* place that the request reads or writes */
	RECV = 1280,  /* place of the buffers of receives */
	USED = 2048,
	QKEY = 0x1234,
	LAST_ID = 99,
	INLINE_MOST = 64,
	ANYTHING = ALL_ACCESS | IBV_ACCESS_MW_BIND,
};

enum kind { RC, UC, UD, XRC, RC_SRQ, KINDS };

static const char *const kind_names[] = { "RC", "UC", "UD", "XRC", "RC with SRQ" };

/* One trial; an alteration changes something of it. */
struct trial {
	enum kind kind;
	struct ibv_send_wr wr;
	struct ibv_sge sge[5];
	struct ibv_sge recv_sge[2];
	int recvs, recv_num_sge;
	int access; /* of the responder's queue pair */
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint32_t qkey;
	bool builder;
};

static struct {
	struct pair pair;
	struct end *a, *b; /* requester and responder */
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq, *xrc_srq;
	struct ibv_ah *ah;
	struct ibv_qp *from[KINDS], *to[KINDS];
	struct ibv_mr *readable, *foreign; /* of the responder; of another domain */
	struct ibv_pd *other_pd;
	struct ibv_mw *mw;
} w;

/* clang-format off */
static const struct {
	enum ibv_wr_opcode opcode;
	const char *name;
} opcodes[] = {
	{ IBV_WR_RDMA_WRITE, "RDMA_WRITE" },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, "RDMA_WRITE_WITH_IMM" },
	{ IBV_WR_SEND, "SEND" },
	{ IBV_WR_SEND_WITH_IMM, "SEND_WITH_IMM" },
	{ IBV_WR_RDMA_READ, "RDMA_READ" },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, "ATOMIC_CMP_AND_SWP" },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, "ATOMIC_FETCH_AND_ADD" },
	{ IBV_WR_LOCAL_INV, "LOCAL_INV" },
	{ IBV_WR_BIND_MW, "BIND_MW" },
	{ IBV_WR_SEND_WITH_INV, "SEND_WITH_INV" },
	{ IBV_WR_TSO, "TSO" },
	{ IBV_WR_DRIVER1, "DRIVER1" },
	{ IBV_WR_ATOMIC_WRITE, "ATOMIC_WRITE" },
	{ (enum ibv_wr_opcode)77, "77" },
};
/* clang-format on */

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Not so requests of windows. */
static bool moves_data(enum ibv_wr_opcode opcode)
{
	return opcode != IBV_WR_LOCAL_INV && opcode != IBV_WR_BIND_MW;
}

static struct ibv_qp *make_trial_qp(struct end *e, enum ibv_qp_type type, struct ibv_srq *srq)
{
	const uint64_t sends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	const uint64_t writes = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	const uint64_t others = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
				IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV |
				IBV_QP_EX_WITH_ATOMIC_WRITE;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.srq = srq,
		.cap = { 4, 4, 4, 4, INLINE_MOST },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = e->pd,
		.xrcd = w.xrcd,
		.send_ops_flags = type == IBV_QPT_UD   ? sends
				  : type == IBV_QPT_UC ? sends | writes
						       : sends | writes | others,
	};
	struct ibv_qp *qp;

	if (type == IBV_QPT_XRC_RECV)
		attr = (struct ibv_qp_init_attr_ex){ .comp_mask = IBV_QP_INIT_ATTR_XRCD,
						     .xrcd = w.xrcd,
						     .qp_type = type };
	qp = ibv_create_qp_ex(e->context, &attr);
	assert_non_null(qp);
	return qp;
}

static void make_xrc(void)
{
	struct ibv_xrcd_init_attr xrcd = { .comp_mask = 3, .fd = -1, .oflags = O_CREAT };
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 4 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = w.b->pd,
		.cq = w.b->cq,
	};

	w.xrcd = ibv_open_xrcd(w.b->context, &xrcd);
	attr.xrcd = w.xrcd;
	w.xrc_srq = ibv_create_srq_ex(w.b->context, &attr);
	assert_non_null(w.xrc_srq);
}

static void reopen_mr(struct end *e)
{
	assert_int_equal(ibv_dereg_mr(e->mr), 0);
	e->mr = ibv_reg_mr(e->pd, e->buf, USED, ANYTHING);
	assert_non_null(e->mr);
}

static void open_world(void)
{
	static const enum ibv_qp_type from[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
						 IBV_QPT_XRC_SEND, IBV_QPT_RC };
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 4 } };
	struct ibv_ah_attr ah = { .dlid = 1, .sl = 3, .port_num = 1 };

	w.a = &w.pair.a;
	w.b = &w.pair.b;
	end_open(w.a);
	end_open(w.b);
	reopen_mr(w.a);
	reopen_mr(w.b);
	make_xrc();
	w.srq = ibv_create_srq(w.b->pd, &srq);
	w.ah = ibv_create_ah(w.a->pd, &ah);
	w.other_pd = ibv_alloc_pd(w.a->context);
	w.foreign = ibv_reg_mr(w.other_pd, w.a->buf, USED, ANYTHING);
	w.readable = ibv_reg_mr(w.b->pd, w.b->buf, USED, IBV_ACCESS_REMOTE_READ);
	w.mw = ibv_alloc_mw(w.a->pd, IBV_MW_TYPE_2);
	for (enum kind kind = 0; kind < KINDS; kind++) {
		enum ibv_qp_type to = kind == XRC ? IBV_QPT_XRC_RECV : from[kind];

		w.from[kind] = make_trial_qp(w.a, from[kind], NULL);
		w.to[kind] = make_trial_qp(w.b, to, kind == RC_SRQ ? w.srq : NULL);
	}
}

static void set_state(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state,
		      int mask)
{
	attr->qp_state = state;
	assert_int_equal(ibv_modify_qp(qp, attr, mask | IBV_QP_STATE), 0);
}

static void connect_qp(const struct trial *t, struct ibv_qp *qp, struct ibv_qp *peer, int access)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = (unsigned int)access,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.rq_psn = 5,
		.sq_psn = 5,
		.max_dest_rd_atomic = t->max_dest_rd_atomic,
		.max_rd_atomic = t->max_rd_atomic,
		.min_rnr_timer = 1,
		.ah_attr = { .dlid = 1, .sl = 2, .port_num = 1 },
		.timeout = 1,
		.retry_cnt = 1,
		.rnr_retry = 1,
	};
	bool datagrams = qp->qp_type == IBV_QPT_UD, uc = qp->qp_type == IBV_QPT_UC;
	int path = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	int timers = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

	set_state(qp, &attr, IBV_QPS_RESET, 0);
	set_state(qp, &attr, IBV_QPS_INIT,
		  IBV_QP_PORT | IBV_QP_PKEY_INDEX |
			  (datagrams ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
	if (!uc && qp->qp_type != IBV_QPT_XRC_SEND)
		path |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	set_state(qp, &attr, IBV_QPS_RTR, datagrams ? 0 : path);
	if (qp->qp_type == IBV_QPT_XRC_RECV)
		timers = IBV_QP_TIMEOUT;
	set_state(qp, &attr, IBV_QPS_RTS, IBV_QP_SQ_PSN | (datagrams || uc ? 0 : timers));
}

static uint8_t byte_at(const struct end *e, size_t i)
{
	return (uint8_t)(i * 7 + (e == w.b ? 100 : 0));
}

static void fill_memory(struct end *e)
{
	for (size_t i = 0; i < USED; i++)
		e->buf[i] = byte_at(e, i);
}

/* Changed bytes, in pieces. */
static void show_memory(struct text *text, const struct end *e, const char *name)
{
	for (size_t i = 0; i < USED; i++) {
		size_t n = 0, sum = 0;

		while (i + n < USED && e->buf[i + n] != byte_at(e, i + n))
			sum = sum * 31 % 65521 + e->buf[i + n++];
		if (n)
			text_addf(text, ", %s[%zu..%zu] %02x sum %zu", name, i, i + n - 1,
				  e->buf[i], sum);
		i += n;
	}
}

static const char *qp_name(const struct trial *t, uint32_t qpn)
{
	return !qpn                             ? "0"
	       : qpn == w.from[t->kind]->qp_num ? "from"
	       : qpn == w.to[t->kind]->qp_num   ? "to"
						: "another";
}

static void show_wc(struct text *text, const struct trial *t, const struct ibv_wc *wc,
		    const char *end)
{
	const struct {
		const char *name;
		unsigned int value;
	} members[] = { { "opcode", wc->opcode },
			{ "vendor_err", wc->vendor_err },
			{ "byte_len", wc->byte_len },
			{ "imm_data", ntohl(wc->imm_data) },
			{ "wc_flags", wc->wc_flags },
			{ "pkey_index", wc->pkey_index },
			{ "slid", wc->slid },
			{ "sl", wc->sl },
			{ "dlid_path_bits", wc->dlid_path_bits } };
	int id = (int)wc->wr_id;

	text_addf(text, ", %s %d status %d", end, id, wc->status);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (members[i].value)
			text_addf(text, ", %s %d %s %#x", end, id, members[i].name,
				  members[i].value);
	text_addf(text, ", %s %d qp %s", end, id, qp_name(t, wc->qp_num));
	if (wc->src_qp)
		text_addf(text, ", %s %d src_qp %s", end, id, qp_name(t, wc->src_qp));
}

static bool poll_once(struct text *text, const struct trial *t, struct end *e, const char *name,
		      uint64_t *ret_id)
{
	struct ibv_wc wc = { 0 };

	if (ibv_poll_cq(e->cq, 1, &wc) < 1)
		return false;
	show_wc(text, t, &wc, name);
	*ret_id = wc.wr_id;
	return true;
}

/* Until the message behind the request has been completed. */
static void show_completions(struct text *text, const struct trial *t)
{
	uint64_t id = 0;

	for (int tries = 0; id != LAST_ID && tries < 200000; tries++)
		if (!poll_once(text, t, w.a, "from", &id) && tries > 1000)
			usleep(50);
	assert_int_equal(id, LAST_ID);
	while (poll_once(text, t, w.b, "to", &id))
		;
}

static void show_events(struct text *text, struct end *e, const char *name)
{
	struct ibv_async_event event;
	struct pollfd ready = { .fd = e->context->async_fd, .events = POLLIN };

	while (poll(&ready, 1, 0) == 1 && !ibv_get_async_event(e->context, &event)) {
		text_addf(text, ", %s event %s", name, ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
	}
}

static int post_by_builder(struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	uint64_t addr = wr->wr.rdma.remote_addr;
	uint32_t rkey = wr->wr.rdma.rkey;

	ibv_wr_start(ex);
	ex->wr_id = wr->wr_id;
	ex->wr_flags = wr->send_flags & ~(unsigned int)IBV_SEND_INLINE;
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(ex, rkey, addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(ex, rkey, addr, wr->imm_data);
		break;
	case IBV_WR_SEND:
		ibv_wr_send(ex);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(ex, wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(ex, rkey, addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(ex, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
				      wr->wr.atomic.compare_add, wr->wr.atomic.swap);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(ex, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
		break;
	case IBV_WR_LOCAL_INV:
		ibv_wr_local_inv(ex, wr->invalidate_rkey);
		break;
	case IBV_WR_BIND_MW:
		ibv_wr_bind_mw(ex, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
		break;
	default:
		ibv_wr_send_inv(ex, wr->invalidate_rkey);
		break;
	}
	if (qp->qp_type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(ex, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	if (qp->qp_type == IBV_QPT_XRC_SEND && moves_data(wr->opcode))
		ibv_wr_set_xrc_srqn(ex, wr->qp_type.xrc.remote_srqn);
	if (wr->send_flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(ex, (void *)(uintptr_t)wr->sg_list->addr,
				       wr->sg_list->length);
	else if (moves_data(wr->opcode))
		ibv_wr_set_sge_list(ex, (size_t)wr->num_sge, wr->sg_list);
	return ibv_wr_complete(ex);
}

static int post_request(const struct trial *t, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int err = ibv_post_send(w.from[t->kind], wr, &bad);

	assert_true(err ? bad == wr : !bad);
	return err;
}

static int post_receive(const struct trial *t, uint64_t id)
{
	struct ibv_sge list[2] = { t->recv_sge[0], t->recv_sge[1] };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = list, .num_sge = t->recv_num_sge };

	if (t->kind == XRC || t->kind == RC_SRQ)
		return ibv_post_srq_recv(t->kind == XRC ? w.xrc_srq : w.srq, &wr, &bad);
	return ibv_post_recv(w.to[t->kind], &wr, &bad);
}

/* Receives of shared queues outlive their queue pairs. */
static void empty_srqs(void)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 4 } };

	assert_int_equal(ibv_destroy_qp(w.to[RC_SRQ]), 0);
	assert_int_equal(ibv_destroy_srq(w.srq), 0);
	w.srq = ibv_create_srq(w.b->pd, &srq);
	w.to[RC_SRQ] = make_trial_qp(w.b, IBV_QPT_RC, w.srq);
	assert_int_equal(ibv_destroy_srq(w.xrc_srq), 0);
	assert_int_equal(ibv_destroy_qp(w.to[XRC]), 0);
	assert_int_equal(ibv_close_xrcd(w.xrcd), 0);
	make_xrc();
	w.to[XRC] = make_trial_qp(w.b, IBV_QPT_XRC_RECV, NULL);
}

static void address_request(const struct trial *t, struct ibv_send_wr *wr)
{
	if (t->kind == UD) {
		wr->wr.ud.ah = w.ah;
		wr->wr.ud.remote_qpn = w.to[UD]->qp_num;
		wr->wr.ud.remote_qkey = t->qkey;
	}
	if (t->kind == XRC)
		assert_int_equal(ibv_get_srq_num(w.xrc_srq, &wr->qp_type.xrc.remote_srqn), 0);
}

static void run_trial(struct text *text, struct trial *t)
{
	struct ibv_sge sge = sge_of(w.a, 0, 8);
	struct ibv_send_wr last = { .wr_id = LAST_ID,
				    .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED };
	int err;

	if (t->kind == XRC || t->kind == RC_SRQ)
		empty_srqs();
	address_request(t, &t->wr);
	address_request(t, &last);
	connect_qp(t, w.from[t->kind], w.to[t->kind], ANYTHING);
	connect_qp(t, w.to[t->kind], w.from[t->kind], t->access);
	fill_memory(w.a);
	fill_memory(w.b);
	for (int i = 0; i < t->recvs; i++)
		text_addf(text, "%d, ", post_receive(t, 1u + (unsigned int)i));
	t->wr.wr_id = 9;
	t->wr.sg_list = t->sge;
	err = t->builder ? post_by_builder(w.from[t->kind], &t->wr) : post_request(t, &t->wr);
	text_addf(text, "%d, %d", err, post_request(t, &last));
	show_completions(text, t);
	text_addf(text, ", states %d %d", state_of(w.from[t->kind]), state_of(w.to[t->kind]));
	show_events(text, w.a, "from");
	show_events(text, w.b, "to");
	show_memory(text, w.a, "from");
	show_memory(text, w.b, "to");
}

static void make_good(struct trial *t, enum kind kind, enum ibv_wr_opcode opcode)
{
	uint32_t length = is_atomic(opcode) || opcode == IBV_WR_ATOMIC_WRITE ? 8 : LENGTH;

	*t = (struct trial){ .kind = kind,
			     .recvs = 2,
			     .recv_num_sge = 1,
			     .access = ALL_ACCESS,
			     .max_rd_atomic = 1,
			     .max_dest_rd_atomic = 1,
			     .qkey = QKEY };
	t->sge[0] = sge_of(w.a, LOCAL, length);
	t->recv_sge[0] = sge_of(w.b, RECV, 100);
	t->wr.opcode = opcode;
	t->wr.num_sge = moves_data(opcode);
	t->wr.send_flags = IBV_SEND_SIGNALED;
	t->wr.imm_data = htonl(0x11223344);
	if (kind == UD)
		return;
	t->wr.wr.rdma.remote_addr = (uintptr_t)w.b->buf + REMOTE;
	t->wr.wr.rdma.rkey = w.b->mr->rkey;
	if (is_atomic(opcode)) {
		t->wr.wr.atomic.rkey = w.b->mr->rkey;
		t->wr.wr.atomic.swap = 0x0102030405060708;
		fill_memory(w.b);
		memcpy(&t->wr.wr.atomic.compare_add, w.b->buf + REMOTE, 8);
	}
	if (opcode == IBV_WR_BIND_MW)
		t->wr.bind_mw.mw = w.mw;
	if (opcode == IBV_WR_BIND_MW) {
		t->wr.bind_mw.rkey = ibv_inc_rkey(w.mw->rkey);
		t->wr.bind_mw.bind_info = (struct ibv_mw_bind_info){ w.a->mr, (uintptr_t)w.a->buf,
								     64, IBV_ACCESS_REMOTE_READ };
	}
	if (opcode == IBV_WR_LOCAL_INV || opcode == IBV_WR_SEND_WITH_INV)
		t->wr.invalidate_rkey = w.mw->rkey;
}

static uint32_t *rkey_of(struct trial *t)
{
	return is_atomic(t->wr.opcode) ? &t->wr.wr.atomic.rkey : &t->wr.wr.rdma.rkey;
}

/* The bytes that a receive of this message needs. */
static uint32_t room_of(const struct trial *t)
{
	return t->sge[0].length + (t->kind == UD ? 40 : 0);
}

/* clang-format off */
#define LENGTH_IS(n) t->sge[0].length = (n)
#define ALTERATIONS(A)										\
	A("no data", LENGTH_IS(0))								\
	A("1 byte", LENGTH_IS(1))								\
	A("7 bytes", LENGTH_IS(7))								\
	A("9 bytes", LENGTH_IS(9))								\
	A("as long as the receive", LENGTH_IS(100))						\
	A("longer than the receive", LENGTH_IS(101))						\
	A("as long as the datagram", LENGTH_IS(60))						\
	A("longer than the datagram", LENGTH_IS(61))						\
	A("the path MTU", (LENGTH_IS(1024), t->sge[0].addr -= LOCAL))				\
	A("longer than the MTU", (LENGTH_IS(1025), t->sge[0].addr -= LOCAL))			\
	A("no element", t->wr.num_sge = 0)							\
	A("5 elements", t->wr.num_sge = 5)							\
	A("2 elements", (t->wr.num_sge = 2, t->sge[0].length = 4,				\
			 t->sge[1] = sge_of(w.a, 200, 4)))					\
	A("elements with a hole", (t->wr.num_sge = 3, t->sge[0].length = 5,			\
				   t->sge[2] = sge_of(w.a, 300, 3)))				\
	A("unknown lkey", t->sge[0].lkey ^= 0x1000)						\
	A("lkey of another domain", t->sge[0].lkey = w.foreign->lkey)				\
	A("rkey for lkey", t->sge[0].lkey = w.a->mr->rkey)					\
	A("before the region", t->sge[0].addr = (uintptr_t)w.a->buf - 1)			\
	A("first byte", t->sge[0].addr = (uintptr_t)w.a->buf)					\
	A("end of the region", t->sge[0].addr = (uintptr_t)w.a->buf + USED - t->sge[0].length)	\
	A("behind the region", t->sge[0].addr = (uintptr_t)w.a->buf + USED + 1 - t->sge[0].length) \
	A("not signaled", t->wr.send_flags = 0)							\
	A("fence", t->wr.send_flags |= IBV_SEND_FENCE)						\
	A("solicited", t->wr.send_flags |= IBV_SEND_SOLICITED)					\
	A("inline", t->wr.send_flags |= IBV_SEND_INLINE)					\
	A("inline of all", (t->wr.send_flags |= IBV_SEND_INLINE, LENGTH_IS(INLINE_MOST)))	\
	A("inline too long", (t->wr.send_flags |= IBV_SEND_INLINE, LENGTH_IS(INLINE_MOST + 1)))	\
	A("checksums", t->wr.send_flags |= IBV_SEND_IP_CSUM)					\
	A("unknown flag", t->wr.send_flags |= 1u << 8)						\
	A("3 receives", t->recvs = 3)								\
	A("too many receives", t->recvs = 5)							\
	A("receive of nothing", t->recv_num_sge = 0)						\
	A("receive of 2 elements", (t->recv_num_sge = 2, t->recv_sge[0].length = 43,		\
				    t->recv_sge[1] = sge_of(w.b, RECV + 200, 60)))		\
	A("receive just fits", t->recv_sge[0].length = room_of(t))				\
	A("receive too short", t->recv_sge[0].length = room_of(t) - 1)				\
	A("receive with unknown lkey", t->recv_sge[0].lkey ^= 0x1000)				\
	A("receive not writable", t->recv_sge[0].lkey = w.readable->lkey)			\
	A("receive behind its region", t->recv_sge[0].addr = (uintptr_t)w.b->buf + USED - 7)	\
	A("no access", t->access = 0)								\
	A("reads only", t->access = IBV_ACCESS_REMOTE_READ)					\
	A("writes only", t->access = IBV_ACCESS_REMOTE_WRITE)					\
	A("atomics only", t->access = IBV_ACCESS_REMOTE_ATOMIC)					\
	A("no reads outstanding", t->max_rd_atomic = 0)						\
	A("no reads served", t->max_dest_rd_atomic = 0)						\
	A("other qkey", t->qkey = QKEY + 1)							\
	A("own qkey", t->qkey = 0x80000000)
#define WAITING_ALTERATIONS(A)									\
	A("no receive", t->recvs = 0)								\
	A("one receive", t->recvs = 1)								\
	A("receive of -1 elements", t->recv_num_sge = -1)
#define REMOTE_ALTERATIONS(A)									\
	A("remote first byte", t->wr.wr.rdma.remote_addr = (uintptr_t)w.b->buf)			\
	A("before the remote region", t->wr.wr.rdma.remote_addr = (uintptr_t)w.b->buf - 8)	\
	A("remote end", t->wr.wr.rdma.remote_addr = (uintptr_t)w.b->buf + USED - t->sge[0].length) \
	A("behind the remote region", t->wr.wr.rdma.remote_addr = (uintptr_t)w.b->buf + USED +	\
								  8 - t->sge[0].length)		\
	A("remote address not aligned", t->wr.wr.rdma.remote_addr += 4)				\
	A("unknown rkey", *rkey_of(t) ^= 0x1000)						\
	A("lkey for rkey", *rkey_of(t) = w.b->mr->lkey)						\
	A("rkey of what is readable", *rkey_of(t) = w.readable->rkey)				\
	A("rkey of nobody without data", (*rkey_of(t) = 0, LENGTH_IS(0)))			\
	A("compare fails", t->wr.wr.atomic.compare_add++)
/* clang-format on */

/* Make that alteration, and return its name; NULL: there are no more. */
static const char *alter_trial(struct trial *t, int n)
{
	int i = 0;

#define A(name, change)      \
	if (n == i++) {      \
		change;      \
		return name; \
	}
	ALTERATIONS(A)
	if (t->wr.opcode == IBV_WR_SEND) {
		WAITING_ALTERATIONS(A)
	}
	if (t->kind != UD && t->wr.opcode != IBV_WR_SEND && t->wr.opcode != IBV_WR_SEND_WITH_IMM) {
		REMOTE_ALTERATIONS(A)
	}
#undef A
	return NULL;
}

/* Builders of windows take no elements, so they are the same only with good ones (@is_good). */
static bool has_builder(const struct trial *t, bool is_good)
{
	enum ibv_wr_opcode opcode = t->wr.opcode;

	if (t->kind == UD)
		return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
	if (t->kind == UC)
		return opcode <= IBV_WR_SEND_WITH_IMM;
	if (!moves_data(opcode))
		return is_good;
	return opcode <= IBV_WR_SEND_WITH_INV;
}

/* One alteration of a good trial; with the builder of requests the result is the same. */
static const char *try_alteration(struct text *text, enum kind kind, enum ibv_wr_opcode opcode,
				  int n)
{
	const char *name = "";
	struct trial t;

	make_good(&t, kind, opcode);
	if (n >= 0)
		name = alter_trial(&t, n);
	if (!name)
		return NULL;
	run_trial(text, &t);
	return name;
}

static void expect_same_with_builder(const struct text *text, enum kind kind,
				     enum ibv_wr_opcode opcode, int n)
{
	struct text other = { 0 };
	struct trial t;

	make_good(&t, kind, opcode);
	if (n >= 0)
		alter_trial(&t, n);
	if (!has_builder(&t, n < 0))
		return;
	t.builder = true;
	run_trial(&other, &t);
	assert_string_equal(other.at, text->at);
	text_fini(&other);
}

static void try_opcode(struct text *text, enum kind kind, enum ibv_wr_opcode opcode)
{
	static struct change_result results[80];
	struct text one = { 0 };
	const char *name;
	size_t n = 0;

	try_alteration(&one, kind, opcode, -1);
	expect_same_with_builder(&one, kind, opcode, -1);
	text_addf(text, "%s\n", one.at);
	change_add(results, &n, "good", one.at);
	text_cut(&one, 0);
	for (int i = 0; (name = try_alteration(&one, kind, opcode, i)); i++) {
		expect_same_with_builder(&one, kind, opcode, i);
		change_add(results, &n, name, one.at);
		text_cut(&one, 0);
	}
	text_fini(&one);
	change_show_all(text, results, n);
}

GROUP(fabric_setup, NULL);

TEST(each_request_with_each_mistake)
{
	struct text text = { 0 };

	open_world();
	for (enum kind kind = 0; kind < KINDS; kind++)
		for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
			text_addf(&text, "%s %s: ", kind_names[kind], opcodes[i].name);
			try_opcode(&text, kind, opcodes[i].opcode);
		}
	transcript_expect(__FILE__, &text);
}
