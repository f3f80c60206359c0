/*
 * PERF-010: before each message the program asks for the state of its queue pair.
 */
#include "tests/apps/self.h"

enum { MESSAGES = 400 };

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	self_open(16);
	for (int i = 0; i < MESSAGES; i++) {
		if (i == 0 || !is_good(argc, argv))
			MUST(ibv_query_qp(self.qp, &attr, IBV_QP_STATE, &init));
		MUST(self_post(i, IBV_SEND_SIGNALED));
		self_poll(1);
	}
	self_close();
	return 0;
}
