/* A plug-in whose functions are called in the way chosen by the compiler's options. */
#include <infiniband/verbs.h>

static char buffer[64];

__attribute__((noinline)) static int POST(struct ibv_qp *qp)
{
	struct ibv_recv_wr wr = { .wr_id = 7 }, *bad;
	int err = ibv_post_recv(qp, &wr, &bad);

	__asm__ volatile("" ::: "memory");
	return err;
}

__attribute__((noinline)) static int REGISTER(struct ibv_pd *pd)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);

	return mr ? ibv_dereg_mr(mr) : 1;
}

int run_plugin(struct ibv_pd *pd, struct ibv_qp *qp)
{
	return REGISTER(pd) || POST(qp);
}
