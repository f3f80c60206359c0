/*
 * Posts by one queue pair that is connected to itself
 *
 *	posts receives    64 receives, as many as its queue holds
 *	posts writes      64 writes, of which the last signals
 *	posts built       requests built by ibv_wr_*(): inline lists of more pieces than
 *	                  max_send_sge, lists of elements, an aborted and a refused batch
 *	posts refused     a list of three messages, of which the second is refused, and another
 *	                  list, of other sizes
 */
#include "tests/apps/app.h"

enum { ROOM = 64 };

static char buffer[4096] __attribute__((aligned(4096)));
static struct ibv_context *context;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qp;
static struct ibv_qp_ex *ex;

static void open_all(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.cap = { ROOM, ROOM, 1, 1, 64 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE,
	};

	context = open_first_device();
	attr.pd = NEED(ibv_alloc_pd(context));
	cq = attr.send_cq = attr.recv_cq = NEED(ibv_create_cq(context, 4 * ROOM, NULL, NULL, 0));
	mr = NEED(ibv_reg_mr(attr.pd, buffer, sizeof(buffer),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	qp = NEED(ibv_create_qp_ex(context, &attr));
	ex = NEED(ibv_qp_to_qp_ex(qp));
	connect_to(context, qp, qp->qp_num);
}

static void post_receive(uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)buffer, sizeof(buffer), mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(qp, &wr, &bad));
}

static void post_write(uint64_t wr_id, bool signals)
{
	struct ibv_sge sge = { (uintptr_t)buffer, 64, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = signals ? IBV_SEND_SIGNALED : 0,
				  .wr.rdma = { (uintptr_t)buffer + 2048, mr->rkey } },
			   *bad;

	MUST(ibv_post_send(qp, &wr, &bad));
}

static void poll_one(void)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		;
}

/* A request with wr_id @wr_id, whose data is set next. */
static void begin_send(uint64_t wr_id)
{
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
}

static void build_all(void)
{
	struct ibv_data_buf bufs[] = { { buffer, 3 }, { buffer + 8, 5 }, { buffer + 16, 7 } };
	struct ibv_sge sges[] = { { (uintptr_t)buffer, 8, mr->lkey },
				  { (uintptr_t)buffer, 8, mr->lkey } };

	for (int i = 0; i < 3; i++)
		post_receive(100 + i);
	ibv_wr_start(ex);
	begin_send(1);
	ibv_wr_set_inline_data_list(ex, 3, bufs);
	begin_send(2);
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)buffer, 32);
	MUST(ibv_wr_complete(ex));
	ibv_wr_start(ex);
	begin_send(3);
	ibv_wr_set_inline_data(ex, buffer, 8);
	ibv_wr_abort(ex);
	ibv_wr_start(ex);
	begin_send(4);
	ibv_wr_set_sge_list(ex, 2, sges); /* one too many */
	NEED(ibv_wr_complete(ex));
	ibv_wr_start(ex);
	begin_send(5);
	ibv_wr_set_sge_list(ex, 1, sges);
	MUST(ibv_wr_complete(ex));
	for (int i = 0; i < 6; i++)
		poll_one();
}

/* Messages of @least bytes, and 8 more each; the refused one has an element too many. */
static int post_messages(int n, uint32_t least, int refused)
{
	struct ibv_sge sges[3][2] = { 0 };
	struct ibv_send_wr wrs[3] = { 0 }, *bad;

	for (int i = 0; i < n; i++) {
		for (int e = 0; e < 2; e++)
			sges[i][e] = (struct ibv_sge){ (uintptr_t)buffer + 1024,
						       least + 8 * (uint32_t)i, mr->lkey };
		wrs[i] = (struct ibv_send_wr){ .wr_id = (uint64_t)i,
					       .next = i + 1 < n ? &wrs[i + 1] : NULL,
					       .sg_list = sges[i],
					       .num_sge = i == refused ? 2 : 1,
					       .opcode = IBV_WR_SEND,
					       .send_flags = IBV_SEND_SIGNALED };
	}
	return ibv_post_send(qp, wrs, &bad);
}

static void refuse_one(void)
{
	for (int i = 0; i < 4; i++)
		post_receive(100 + i);
	strcpy(buffer + 1024, "the first one");
	NEED(post_messages(3, 8, 1));
	poll_one();
	poll_one();
	strcpy(buffer + 1024, "another, which is longer");
	MUST(post_messages(3, 16, -1));
	for (int i = 0; i < 6; i++)
		poll_one();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	open_all();
	if (!strcmp(what, "receives"))
		for (int i = 0; i < ROOM; i++)
			post_receive(i);
	if (!strcmp(what, "writes")) {
		for (int i = 0; i < ROOM; i++)
			post_write(i, i == ROOM - 1);
		poll_one();
	}
	if (!strcmp(what, "built"))
		build_all();
	if (!strcmp(what, "refused"))
		refuse_one();
	MUST(ibv_destroy_qp(qp));
	return 0;
}
