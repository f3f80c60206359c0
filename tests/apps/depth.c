/*
 * A queue pair that is connected to itself, and the numbers of outstanding requests on its queues.
 *
 * 	depth rc|uc|ud|xrc SEED [srq] [all] [wr] [ex]
 *
 * It posts and polls at random: lists of sends, some signalled (all: by sq_sig_all), some inline,
 * receives (srq: of a shared queue), posts into full queues (wr: by ibv_wr_*(), ex: polled by
 * ibv_start_poll()); then an error, a drain, and the same once more after a reset; at last a reset
 * and a destroy with requests outstanding. After each call that changes a count it prints the
 * count: "qp1 send 3". The count follows the rules of the man pages alone: a request is outstanding
 * from its post until its completion, or that of a later one of the send queue, was polled.
 */
#include <fcntl.h>

#include "tests/apps/app.h"

enum { ROOM = 24, BYTES = 32, STEPS = 400, KEY = 0x1234 };

static struct {
	uint64_t numbers[2 * ROOM]; /* wr_ids of the outstanding sends, oldest first */
	unsigned int sends, receives;
	unsigned int told_sends, told_receives;
} count;

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_srq *srq;
static struct ibv_qp *qp, *receiver; /* the receiver of XRC; else the same as @qp */
static struct ibv_xrcd *xrcd;
static uint32_t srqn;
static bool by_wr, extended;
static struct ibv_ah *ah;
static enum ibv_qp_type type;
static bool all;
static char buffer[4096];
static uint64_t dice, next = 1;

static unsigned int roll_dice(unsigned int n)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(dice >> 33) % n;
}

static void tell_counts(void)
{
	if (count.sends != count.told_sends)
		printf("qp1 send %u\n", count.sends);
	if (count.receives != count.told_receives)
		printf("%s recv %u\n", srq ? "srq1" : "qp1", count.receives);
	count.told_sends = count.sends;
	count.told_receives = count.receives;
}

static struct ibv_sge one_sge(void)
{
	return (struct ibv_sge){ .addr = (uintptr_t)buffer + roll_dice(32) * 64,
				 .length = BYTES + (type == IBV_QPT_UD ? 40 : 0),
				 .lkey = mr->lkey };
}

static void post_receives(void)
{
	struct ibv_recv_wr wrs[4], *bad = NULL;
	struct ibv_sge sges[4];
	unsigned int n = 1 + roll_dice(4), taken = n;
	int err;

	for (unsigned int i = 0; i < n; i++) {
		sges[i] = one_sge();
		wrs[i] = (struct ibv_recv_wr){ .wr_id = next++,
					       .next = i + 1 < n ? &wrs[i + 1] : NULL,
					       .sg_list = &sges[i],
					       .num_sge = 1 };
	}
	err = srq ? ibv_post_srq_recv(srq, wrs, &bad) : ibv_post_recv(qp, wrs, &bad);
	if (err)
		taken = (unsigned int)(bad - wrs);
	count.receives += taken;
	tell_counts();
}

/* @wrong: it will fail. */
static void fill_send(struct ibv_send_wr *wr, struct ibv_sge *sge, bool wrong)
{
	bool write = type != IBV_QPT_UD && (wrong || roll_dice(2));

	*sge = one_sge();
	sge->length = BYTES;
	*wr = (struct ibv_send_wr){ .wr_id = next++, .sg_list = sge, .num_sge = 1 };
	wr->opcode = write ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
	wr->send_flags =
		(roll_dice(3) ? 0 : IBV_SEND_SIGNALED) | (roll_dice(2) ? 0 : IBV_SEND_INLINE);
	wr->wr.rdma.remote_addr = (uintptr_t)buffer;
	wr->wr.rdma.rkey = mr->rkey;
	wr->qp_type.xrc.remote_srqn = srqn;
	if (wrong && (type == IBV_QPT_RC || xrcd)) {
		wr->wr.rdma.rkey ^= 0x5a5a00;
	} else if (wrong) {
		sge->lkey ^= 0x5a5a00;
		wr->send_flags = 0;
	}
	if (type != IBV_QPT_UD)
		return;
	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = qp->qp_num;
	wr->wr.ud.remote_qkey = KEY;
}

static void build_send(struct ibv_qp_ex *ex, const struct ibv_send_wr *wr)
{
	void *from = (void *)(uintptr_t)wr->sg_list->addr;

	ex->wr_id = wr->wr_id;
	ex->wr_flags = wr->send_flags;
	if (wr->opcode == IBV_WR_SEND)
		ibv_wr_send(ex);
	else
		ibv_wr_rdma_write(ex, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
	if (ah)
		ibv_wr_set_ud_addr(ex, ah, qp->qp_num, KEY);
	if (xrcd)
		ibv_wr_set_xrc_srqn(ex, srqn);
	if (wr->send_flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(ex, from, wr->sg_list->length);
	else
		ibv_wr_set_sge(ex, wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length);
}

/* Returns how many were accepted. */
static unsigned int send_list(struct ibv_send_wr *wrs, unsigned int n)
{
	struct ibv_send_wr *bad = NULL;

	if (by_wr) {
		struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

		ibv_wr_start(ex);
		for (unsigned int i = 0; i < n; i++)
			build_send(ex, &wrs[i]);
		return ibv_wr_complete(ex) ? 0 : n;
	}
	return ibv_post_send(qp, wrs, &bad) ? (unsigned int)(bad - wrs) : n;
}

static void post_sends(bool wrong)
{
	struct ibv_send_wr wrs[5];
	struct ibv_sge sges[5];
	unsigned int n = 1 + roll_dice(5), taken;

	for (unsigned int i = 0; i < n; i++) {
		fill_send(&wrs[i], &sges[i], wrong && !i);
		wrs[i].next = i + 1 < n ? &wrs[i + 1] : NULL;
	}
	taken = send_list(wrs, n);
	for (unsigned int i = 0; i < taken; i++)
		count.numbers[count.sends++] = wrs[i].wr_id;
	tell_counts();
}

/* The wr_id of a send: it and all before it are done. */
static bool take_send(uint64_t number)
{
	unsigned int i = 0;

	while (i < count.sends && count.numbers[i] != number)
		i++;
	if (i == count.sends)
		return false;
	count.sends -= i + 1;
	memmove(count.numbers, count.numbers + i + 1, count.sends * sizeof(count.numbers[0]));
	return true;
}

static void take_completion(uint64_t number)
{
	if (!take_send(number))
		count.receives--;
}

/* Each is an event of its own. */
static int poll_extended(unsigned int most)
{
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)cq; /* the CQ was created as an extended one */
	struct ibv_poll_cq_attr none = { 0 };
	unsigned int n = 0;

	if (ibv_start_poll(ex, &none))
		return 0;
	do {
		take_completion(ex->wr_id);
		tell_counts();
	} while (++n < most && !ibv_next_poll(ex));
	ibv_end_poll(ex);
	return (int)n;
}

static int poll_some(unsigned int most)
{
	struct ibv_wc wcs[8];
	int n;

	if (extended)
		return poll_extended(most);
	n = ibv_poll_cq(cq, (int)most, wcs);
	for (int i = 0; i < n; i++)
		take_completion(wcs[i].wr_id);
	tell_counts();
	return n;
}

static void move_qp(enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	if (receiver != qp && (state == IBV_QPS_RESET || state == IBV_QPS_ERR))
		MUST(ibv_modify_qp(receiver, &attr, IBV_QP_STATE));
	if (state != IBV_QPS_RESET)
		return;
	count.sends = 0;
	if (!srq)
		count.receives = 0;
	tell_counts();
}

/* Connect the sending and the receiving queue pair with each other. */
static void connect_xrc(void)
{
	const int rtr =
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	struct ibv_qp_attr attr = attributes_of(IBV_QPS_RTR);

	attr.ah_attr = own_address(context, 0);
	attr.dest_qp_num = qp->qp_num;
	to_init(receiver);
	MUST(ibv_modify_qp(receiver, &attr,
			   rtr | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	to_init(qp);
	attr.dest_qp_num = receiver->qp_num;
	MUST(ibv_modify_qp(qp, &attr, rtr));
	attr.qp_state = IBV_QPS_RTS;
	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void make_ready(void)
{
	connected_with.qkey = KEY;
	if (type == IBV_QPT_XRC_SEND)
		connect_xrc();
	else
		connect_to_itself(context, qp);
}

/* A send of a reliable queue pair waits for its receive. */
static bool has_receives(void)
{
	return count.receives > 8;
}

static void run_steps(void)
{
	for (int i = 0; i < STEPS; i++) {
		if (!has_receives() || !roll_dice(6))
			post_receives();
		else if (roll_dice(3))
			post_sends(false);
		else
			poll_some(1 + roll_dice(8));
		/* unsignalled ones fill the queue permanently */
		if (count.sends == ROOM && !poll_some(8))
			move_qp(IBV_QPS_ERR), move_qp(IBV_QPS_RESET), make_ready();
	}
	while (poll_some(8))
		;
}

static struct ibv_cq *create_cq(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4096, .wc_flags = IBV_WC_STANDARD_FLAGS };

	if (extended)
		return ibv_cq_ex_to_cq(NEED(ibv_create_cq_ex(context, &attr)));
	return NEED(ibv_create_cq(context, 4096, NULL, NULL, 0));
}

/* The domain, its shared queue, and the queue pair that receives. */
static void open_xrc(void)
{
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							  IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = -1,
					     .oflags = O_CREAT };
	struct ibv_srq_init_attr_ex pool = { .attr = { .max_wr = ROOM, .max_sge = 1 },
					     .comp_mask =
						     IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					     .srq_type = IBV_SRQT_XRC,
					     .pd = pd,
					     .cq = cq };
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD };

	xrcd = NEED(ibv_open_xrcd(context, &domain));
	pool.xrcd = attr.xrcd = xrcd;
	srq = NEED(ibv_create_srq_ex(context, &pool));
	MUST(ibv_get_srq_num(srq, &srqn));
	receiver = NEED(ibv_create_qp_ex(context, &attr));
}

static struct ibv_qp *create_qp(void)
{
	struct ibv_qp_init_attr_ex attr = { .send_cq = cq,
					    .recv_cq = cq,
					    .srq = srq,
					    .cap = { ROOM, ROOM, 1, 1, 64 },
					    .qp_type = type,
					    .sq_sig_all = all,
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = pd };

	if (type == IBV_QPT_XRC_SEND)
		attr.cap.max_recv_wr = attr.cap.max_recv_sge = 0;
	if (by_wr) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
		attr.send_ops_flags |= type == IBV_QPT_UD ? 0 : IBV_QP_EX_WITH_RDMA_WRITE;
	}
	return NEED(ibv_create_qp_ex(context, &attr));
}

static void open_all(bool shared)
{
	struct ibv_srq_init_attr pool = { .attr = { .max_wr = ROOM, .max_sge = 1 } };

	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	cq = create_cq();
	mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	if (shared)
		srq = NEED(ibv_create_srq(pd, &pool));
	qp = receiver = create_qp();
	if (type == IBV_QPT_XRC_SEND)
		open_xrc();
	if (type == IBV_QPT_UD) {
		struct ibv_ah_attr address = own_address(context, 0);

		ah = NEED(ibv_create_ah(pd, &address));
	}
}

static void close_all(void)
{
	count.sends = 0;
	if (!srq)
		count.receives = 0;
	tell_counts(); /* what is printed about the destroy */
	MUST(ibv_destroy_qp(qp));
	if (receiver != qp)
		MUST(ibv_destroy_qp(receiver));
	if (srq) {
		count.receives = 0;
		tell_counts();
		MUST(ibv_destroy_srq(srq));
	}
	if (ah)
		MUST(ibv_destroy_ah(ah));
	if (xrcd)
		MUST(ibv_close_xrcd(xrcd));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
}

int main(int argc, char **argv)
{
	bool shared = false;

	NEED(argc > 2);
	type = !strcmp(argv[1], "rc")    ? IBV_QPT_RC
	       : !strcmp(argv[1], "uc")  ? IBV_QPT_UC
	       : !strcmp(argv[1], "xrc") ? IBV_QPT_XRC_SEND
					 : IBV_QPT_UD;
	dice = strtoull(argv[2], NULL, 10);
	for (int i = 3; i < argc; i++) {
		shared |= !strcmp(argv[i], "srq");
		all |= !strcmp(argv[i], "all");
		by_wr |= !strcmp(argv[i], "wr");
		extended |= !strcmp(argv[i], "ex");
	}
	open_all(shared);
	for (int round = 0; round < 2; round++) {
		make_ready();
		run_steps();
		post_receives();
		post_sends(true);
		post_sends(false);
		move_qp(IBV_QPS_ERR);
		while (poll_some(8))
			;
		move_qp(IBV_QPS_RESET);
	}
	for (int last = 0; last < 2; last++) {
		make_ready();
		post_receives();
		post_sends(false);
		if (!last)
			move_qp(IBV_QPS_RESET);
	}
	close_all();
	return 0;
}
