/*
 * A queue pair that talks to itself, and a count of what is outstanding on its queues.
 *
 *	depth rc|uc|ud SEED [srq] [all]
 *
 * It posts and polls at random: lists of sends, some signalled (all: by sq_sig_all), some inline,
 * receives (srq: of a shared queue), posts into full queues; then an error, a drain, and all of it
 * once more after a reset; at last a reset and a destroy with requests outstanding. After each call
 * that changes a count it prints that: "qp1 send 3". The count is kept by the rules of the man
 * pages alone: a request is outstanding from its post until its completion, or that of a later one
 * of the send queue, was polled.
 */
#include "tests/apps/app.h"

enum { ROOM = 24, BYTES = 32, STEPS = 400, KEY = 0x1234 };

static struct {
	uint64_t numbers[2 * ROOM]; /* wr_ids of the sends that are outstanding, oldest first */
	unsigned int sends, receives;
	unsigned int told_sends, told_receives;
} count;

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_srq *srq;
static struct ibv_qp *qp;
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
	if (wrong && type == IBV_QPT_RC)
		wr->wr.rdma.rkey ^= 0x5a5a00;
	if (wrong && type != IBV_QPT_RC) {
		sge->lkey ^= 0x5a5a00;
		wr->send_flags = 0;
	}
	if (type != IBV_QPT_UD)
		return;
	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = qp->qp_num;
	wr->wr.ud.remote_qkey = KEY;
}

static void post_sends(bool wrong)
{
	struct ibv_send_wr wrs[5], *bad = NULL;
	struct ibv_sge sges[5];
	unsigned int n = 1 + roll_dice(5), taken = n;

	for (unsigned int i = 0; i < n; i++) {
		fill_send(&wrs[i], &sges[i], wrong && !i);
		wrs[i].next = i + 1 < n ? &wrs[i + 1] : NULL;
	}
	if (ibv_post_send(qp, wrs, &bad))
		taken = (unsigned int)(bad - wrs);
	for (unsigned int i = 0; i < taken; i++)
		count.numbers[count.sends++] = wrs[i].wr_id;
	tell_counts();
}

/* A number that is of a send: it and all before it are done. */
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

static int poll_some(unsigned int most)
{
	struct ibv_wc wcs[8];
	int n = ibv_poll_cq(cq, (int)most, wcs);

	for (int i = 0; i < n; i++)
		if (!take_send(wcs[i].wr_id))
			count.receives--;
	tell_counts();
	return n;
}

static void move_qp(enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	if (state != IBV_QPS_RESET)
		return;
	count.sends = 0;
	if (!srq)
		count.receives = 0;
	tell_counts();
}

static void connect_uc(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = qp->qp_num,
				    .ah_attr = own_address(context, 0) };

	to_init(qp);
	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN));
	attr.qp_state = IBV_QPS_RTS;
	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

static void connect_ud(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = KEY };

	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	move_qp(IBV_QPS_RTR);
	attr.qp_state = IBV_QPS_RTS;
	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

static void make_ready(void)
{
	if (type == IBV_QPT_RC)
		connect_to_itself(context, qp);
	else if (type == IBV_QPT_UC)
		connect_uc();
	else
		connect_ud();
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
		/* unsignalled ones fill the queue for good */
		if (count.sends == ROOM && !poll_some(8))
			move_qp(IBV_QPS_ERR), move_qp(IBV_QPS_RESET), make_ready();
	}
	while (poll_some(8))
		;
}

static void open_all(bool shared)
{
	struct ibv_srq_init_attr pool = { .attr = { .max_wr = ROOM, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = { .cap = { ROOM, ROOM, 1, 1, 64 },
					 .qp_type = type,
					 .sq_sig_all = all };

	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	cq = attr.send_cq = attr.recv_cq = NEED(ibv_create_cq(context, 4096, NULL, NULL, 0));
	mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	if (shared)
		attr.srq = srq = NEED(ibv_create_srq(pd, &pool));
	qp = NEED(ibv_create_qp(pd, &attr));
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
	tell_counts(); /* what is told of the destroy */
	MUST(ibv_destroy_qp(qp));
	if (srq) {
		count.receives = 0;
		tell_counts();
		MUST(ibv_destroy_srq(srq));
	}
	if (ah)
		MUST(ibv_destroy_ah(ah));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
}

int main(int argc, char **argv)
{
	bool shared = false;

	NEED(argc > 2);
	type = !strcmp(argv[1], "rc")   ? IBV_QPT_RC
	       : !strcmp(argv[1], "uc") ? IBV_QPT_UC
					: IBV_QPT_UD;
	dice = strtoull(argv[2], NULL, 10);
	for (int i = 3; i < argc; i++) {
		shared |= !strcmp(argv[i], "srq");
		all |= !strcmp(argv[i], "all");
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
	make_ready();
	post_receives();
	post_sends(false);
	close_all();
	return 0;
}
