/*
 * Each operation of each transport, by ibv_post_send() and by the builders
 *
 * For each transport and each of the two ways this program has a requester and a responder, and
 * does the operations one after the other. Operations that a device lacks are left out: a queue
 * pair that it cannot make, and all operations after a request that it refuses or completes with an
 * error.
 */
#include <fcntl.h>

#include "tests/apps/app.h"

enum { DEPTH = 8, GRH = 40, LENGTH = 64, ATOMIC = 8, QKEY = 0x1234 };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_ah *ah;
static struct ibv_xrcd *xrcd;
static char memory[2][4096] __attribute__((aligned(4096))); /* of the requester, of the other */

struct pair {
	enum ibv_qp_type type;
	bool builders;
	struct ibv_cq *cq;
	struct ibv_qp *from, *to;
	struct ibv_srq *srq; /* of XRC */
	struct ibv_mw *mw;
	uint32_t key; /* of the window */
};

#define BIT(name) (1u << IBV_WR_##name)
#define REACHES   (BIT(RDMA_READ) | BIT(ATOMIC_CMP_AND_SWP) | BIT(ATOMIC_FETCH_AND_ADD))
#define SENDS     (BIT(SEND) | BIT(SEND_WITH_IMM))
#define WRITES    (BIT(RDMA_WRITE) | BIT(RDMA_WRITE_WITH_IMM))
#define WINDOWS   (BIT(BIND_MW) | BIT(SEND_WITH_INV) | BIT(LOCAL_INV))

static const struct {
	enum ibv_qp_type type;
	unsigned int opcodes;
} transports[] = {
	{ IBV_QPT_RC, SENDS | WRITES | REACHES | WINDOWS },
	{ IBV_QPT_UC, SENDS | WRITES },
	{ IBV_QPT_UD, SENDS },
	{ IBV_QPT_XRC_SEND, SENDS | WRITES | REACHES },
};

/* A window is bound before it is invalidated, by the other end and by its own. */
static const enum ibv_wr_opcode order[] = {
	IBV_WR_SEND,      IBV_WR_SEND_WITH_IMM,       IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_BIND_MW,   IBV_WR_SEND_WITH_INV,       IBV_WR_ATOMIC_FETCH_AND_ADD,
	IBV_WR_BIND_MW,   IBV_WR_LOCAL_INV,
};

/* The objects of the two */

static struct ibv_qp *create_qp(const struct pair *pair, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = pair->cq,
		.recv_cq = pair->cq,
		.cap = { DEPTH, DEPTH, 1, 1, LENGTH },
		.qp_type = type,
		.sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};

	if (type == IBV_QPT_XRC_RECV) {
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attr.xrcd = xrcd;
	} else if (pair->builders) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		for (size_t i = 0; i < sizeof(transports) / sizeof(*transports); i++)
			if (transports[i].type == type)
				attr.send_ops_flags = transports[i].opcodes;
	}
	return ibv_create_qp_ex(context, &attr);
}

static struct ibv_srq *create_srq(const struct pair *pair)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = DEPTH, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = pair->cq,
	};

	return ibv_create_srq_ex(context, &attr);
}

static bool make_pair(struct pair *pair)
{
	bool xrc = pair->type == IBV_QPT_XRC_SEND;

	if (xrc && (!xrcd || !(pair->srq = create_srq(pair))))
		return false;
	pair->from = create_qp(pair, pair->type);
	pair->to = pair->from ? create_qp(pair, xrc ? IBV_QPT_XRC_RECV : pair->type) : NULL;
	if (!pair->to)
		return false;
	connect_to(context, pair->from, pair->to->qp_num);
	connect_to(context, pair->to, pair->from->qp_num);
	if (pair->type == IBV_QPT_RC)
		pair->mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	return true;
}

static void free_pair(struct pair *pair)
{
	if (pair->mw)
		MUST(ibv_dealloc_mw(pair->mw));
	if (pair->to)
		MUST(ibv_destroy_qp(pair->to));
	if (pair->from)
		MUST(ibv_destroy_qp(pair->from));
	if (pair->srq)
		MUST(ibv_destroy_srq(pair->srq));
	MUST(ibv_destroy_cq(pair->cq));
}

/* Requests */

static struct ibv_mw_bind_info bound_range(void)
{
	return (struct ibv_mw_bind_info){ .mr = mr,
					  .addr = (uintptr_t)memory[1],
					  .length = LENGTH,
					  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
}

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void fill_request(struct pair *pair, struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		wr->imm_data = htobe32(0x1234);
		break;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		wr->invalidate_rkey = pair->key;
		break;
	case IBV_WR_BIND_MW:
		pair->key = ibv_inc_rkey(pair->mw->rkey);
		wr->bind_mw.mw = pair->mw;
		wr->bind_mw.rkey = pair->key;
		wr->bind_mw.bind_info = bound_range();
		break;
	default:
		break;
	}
	if (is_atomic(wr->opcode)) {
		wr->wr.atomic.remote_addr = (uintptr_t)memory[1];
		wr->wr.atomic.rkey = mr->rkey;
		wr->wr.atomic.compare_add = 1;
		wr->wr.atomic.swap = 2;
	} else if (pair->type == IBV_QPT_UD) {
		wr->wr.ud.ah = ah;
		wr->wr.ud.remote_qpn = pair->to->qp_num;
		wr->wr.ud.remote_qkey = QKEY;
	} else {
		wr->wr.rdma.remote_addr = (uintptr_t)memory[1];
		wr->wr.rdma.rkey = mr->rkey;
	}
	if (pair->srq)
		MUST(ibv_get_srq_num(pair->srq, &wr->qp_type.xrc.remote_srqn));
}

static void start_request(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
		return ibv_wr_send(qp);
	case IBV_WR_SEND_WITH_IMM:
		return ibv_wr_send_imm(qp, wr->imm_data);
	case IBV_WR_SEND_WITH_INV:
		return ibv_wr_send_inv(qp, wr->invalidate_rkey);
	case IBV_WR_RDMA_WRITE:
		return ibv_wr_rdma_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return ibv_wr_rdma_write_imm(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr,
					     wr->imm_data);
	case IBV_WR_RDMA_READ:
		return ibv_wr_rdma_read(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return ibv_wr_atomic_cmp_swp(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					     wr->wr.atomic.compare_add, wr->wr.atomic.swap);
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return ibv_wr_atomic_fetch_add(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					       wr->wr.atomic.compare_add);
	case IBV_WR_BIND_MW:
		return ibv_wr_bind_mw(qp, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
	default:
		return ibv_wr_local_inv(qp, wr->invalidate_rkey);
	}
}

/* A list of one element for writes, copied bytes for a send with immediate data. */
static int build_request(const struct pair *pair, struct ibv_qp *on, const struct ibv_send_wr *wr)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(on);

	ibv_wr_start(qp);
	qp->wr_id = wr->wr_id;
	qp->wr_flags = wr->send_flags;
	start_request(qp, wr);
	if (pair->type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(qp, ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	if (pair->srq)
		ibv_wr_set_xrc_srqn(qp, wr->qp_type.xrc.remote_srqn);
	if (wr->send_flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(qp, memory[0], LENGTH);
	else if (wr->opcode == IBV_WR_RDMA_WRITE)
		ibv_wr_set_sge_list(qp, 1, wr->sg_list);
	else if (wr->num_sge)
		ibv_wr_set_sge(qp, wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length);
	return ibv_wr_complete(qp);
}

static void post_receive(struct pair *pair)
{
	struct ibv_sge sge = { (uintptr_t)memory[1], GRH + LENGTH, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 100, .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(pair->srq ? ibv_post_srq_recv(pair->srq, &wr, &bad)
		       : ibv_post_recv(pair->to, &wr, &bad));
}

static bool await_completions(struct pair *pair, int n)
{
	struct ibv_wc wc;
	int got;

	for (; n; n -= got) {
		got = ibv_poll_cq(pair->cq, 1, &wc);
		if (got < 0 || (got && wc.status != IBV_WC_SUCCESS))
			return false;
	}
	return true;
}

/* A window belongs to the responder, whose queue pair binds and invalidates it. */
static bool carry_out(struct pair *pair, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = { (uintptr_t)memory[0], is_atomic(opcode) ? ATOMIC : LENGTH,
			       mr->lkey };
	bool windows = opcode == IBV_WR_BIND_MW || opcode == IBV_WR_LOCAL_INV;
	bool taken = BIT(RDMA_WRITE_WITH_IMM) & 1u << opcode ||
		     (SENDS | BIT(SEND_WITH_INV)) & 1u << opcode;
	struct ibv_send_wr wr = { .wr_id = 1 + opcode,
				  .sg_list = &sge,
				  .num_sge = !windows,
				  .opcode = opcode },
			   *bad;
	struct ibv_qp *on = windows ? pair->to : pair->from;

	if (opcode == IBV_WR_SEND_WITH_IMM)
		wr.send_flags = IBV_SEND_INLINE;
	fill_request(pair, &wr);
	if (taken)
		post_receive(pair);
	if (pair->builders ? build_request(pair, on, &wr) : ibv_post_send(on, &wr, &bad))
		return false;
	if (!await_completions(pair, 1 + taken))
		return false;
	if (opcode == IBV_WR_BIND_MW) /* some devices find it by this */
		pair->mw->rkey = pair->key;
	return true;
}

static void go_each_way(size_t transport, bool builders)
{
	struct pair pair = { .type = transports[transport].type, .builders = builders };
	unsigned int opcodes = transports[transport].opcodes;

	pair.cq = NEED(ibv_create_cq(context, 4 * DEPTH, NULL, NULL, 0));
	if (make_pair(&pair)) {
		if (pair.type == IBV_QPT_RC && !pair.mw)
			opcodes &= ~WINDOWS;
		for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
			if (opcodes & 1u << order[i] && !carry_out(&pair, order[i]))
				break;
	}
	free_pair(&pair);
}

int main(void)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = -1,
					   .oflags = O_CREAT };
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_ah_attr address;

	connected_with.qp_access_flags = access;
	connected_with.qkey = QKEY;
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	mr = NEED(ibv_reg_mr(pd, memory, sizeof(memory), access | IBV_ACCESS_MW_BIND));
	address = own_address(context, 0);
	ah = ibv_create_ah(pd, &address);
	xrcd = ibv_open_xrcd(context, &attr);
	for (size_t i = 0; i < sizeof(transports) / sizeof(*transports); i++) {
		go_each_way(i, false);
		go_each_way(i, true);
	}
	if (xrcd)
		MUST(ibv_close_xrcd(xrcd));
	if (ah)
		MUST(ibv_destroy_ah(ah));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	return ibv_close_device(context);
}
