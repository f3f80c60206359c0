/*
 * Messages, an RDMA write and a read between memory that only an implicit region covers: no
 * registration names their addresses.
 *
 * Prints "none" if the device has no such region.
 */
#include "tests/apps/app.h"

#include <stdint.h>

enum { ROOM = 1 << 16, LENGTH = 5000 };

static struct ibv_qp *qp;
static struct ibv_cq *cq;

static void await_completion(int n)
{
	struct ibv_wc wc;

	while (n > 0) {
		int got = ibv_poll_cq(cq, 1, &wc);

		MUST(got < 0 || (got && wc.status));
		n -= got;
	}
}

static void send_to(struct ibv_sge *out, struct ibv_sge *in)
{
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = in, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = { .wr_id = 2,
				  .sg_list = out,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	MUST(ibv_post_recv(qp, &recv, &bad_recv));
	MUST(ibv_post_send(qp, &wr, &bad));
	await_completion(2);
}

static void one_sided(enum ibv_wr_opcode opcode, struct ibv_sge *here, void *there, uint32_t rkey)
{
	struct ibv_send_wr wr = { .wr_id = 3,
				  .sg_list = here,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)there, rkey } },
			   *bad;

	MUST(ibv_post_send(qp, &wr, &bad));
	await_completion(1);
}

int main(void)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_qp_attr attr = { .qp_access_flags =
					    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	int access = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		     IBV_ACCESS_REMOTE_READ;
	struct ibv_mr *mr = ibv_reg_mr(pd, NULL, SIZE_MAX, access);
	char *from = NEED(calloc(1, ROOM)), *to = NEED(calloc(1, ROOM));

	if (!mr) {
		puts("none");
		return 0;
	}
	cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	init.send_cq = init.recv_cq = cq;
	qp = NEED(ibv_create_qp(pd, &init));
	connect_to_itself(context, qp);
	MUST(ibv_modify_qp(qp, &attr, IBV_QP_ACCESS_FLAGS));
	for (int i = 0; i < 4; i++) {
		struct ibv_sge out = { (uintptr_t)from + i * LENGTH, LENGTH, mr->lkey };
		struct ibv_sge in = { (uintptr_t)to + i * LENGTH, LENGTH, mr->lkey };

		memset(from + i * LENGTH, 'a' + i, LENGTH);
		send_to(&out, &in);
		one_sided(IBV_WR_RDMA_WRITE, &out, to + 30000, mr->rkey);
		one_sided(IBV_WR_RDMA_READ, &in, from + 30000, mr->rkey);
	}
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	free(from);
	free(to);
	return 0;
}
