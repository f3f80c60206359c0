/*
 * Sends a message while there is another queue pair on the same completion queue, which is idle,
 * and prints the states of the sender, of that one, and of the receiver, which has its own queue.
 */
#include "tests/apps/ends.h"

static void print_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	MUST(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	printf("%s\n", attr.qp_state == IBV_QPS_ERR ? "error" : "good");
}

int main(void)
{
	struct ibv_qp *idle;

	ends_open();
	idle = ends_create(0);
	connect_to_itself(ends.context, idle);
	MUST(ends_receive(1));
	MUST(ends_send(2, IBV_WR_SEND, IBV_SEND_SIGNALED));
	ends_await(0, 1);
	print_state(ends.qp[0]);
	print_state(idle);
	print_state(ends.qp[1]);
	return 0;
}
