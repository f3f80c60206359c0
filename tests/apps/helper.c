/*
 * A program with a helper around each verb, as most have: its posts are told apart only by their
 * callers, and its failures at one line have several reasons.
 */
#include "tests/apps/ends.h"

#ifdef __clang__ /* it makes no clones */
#define HELPER __attribute__((noinline)) static
#else
#define HELPER __attribute__((noinline, noclone)) static
#endif

/* A call at the end of a function would be a jump, which leaves no frame. */
static volatile int done;

HELPER int send_post(uint64_t wr_id)
{
	int ret = ends_send(wr_id, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED);

	done += ret;
	return ret;
}

HELPER void send_reply(uint64_t wr_id)
{
	MUST(send_post(wr_id));
	ends_await(0, 1);
}

HELPER void request_arrived(void)
{
	send_reply(1);
	done++;
}

HELPER void timer_fired(void)
{
	send_reply(2);
	done++;
}

HELPER int change_qp(struct ibv_qp *qp, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int ret = ibv_modify_qp(qp, &attr, mask);

	done += ret;
	return ret;
}

/* Calls that fail in the same way. */
HELPER void forget_index(void)
{
	for (int i = 0; i < 2; i++) {
		struct ibv_qp *qp = ends_create(0);

		if (!change_qp(qp, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PORT))
			exit(1);
		MUST(ibv_destroy_qp(qp));
	}
}

HELPER void forget_port(void)
{
	struct ibv_qp *qp = ends_create(0);

	if (!change_qp(qp, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX))
		exit(1);
	MUST(ibv_destroy_qp(qp));
}

int main(void)
{
	ends_open();
	request_arrived();
	timer_fired();
	MUST(send_post(3));
	ends_await(0, 1);
	forget_index();
	forget_port();
	ends_close();
	return 0;
}
