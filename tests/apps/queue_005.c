/*
 * QUEUE-005: a send has two elements, where the queue takes one.
 */
#include <errno.h>

#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	struct ibv_sge sges[2];
	struct ibv_send_wr wr, *bad;

	self_open(16);
	wr = self_write(0, sges, IBV_SEND_SIGNALED);
	sges[1] = self_sge(1);
	if (is_good(argc, argv)) {
		MUST(ibv_post_send(self.qp, &wr, &bad));
		self_poll(1);
	} else {
		wr.num_sge = 2;
		NEED(ibv_post_send(self.qp, &wr, &bad) == EINVAL);
	}
	self_close();
	return 0;
}
