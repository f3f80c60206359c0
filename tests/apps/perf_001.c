/*
 * PERF-001: the thread that posts registers memory for each message, after its first posts.
 */
#include "tests/apps/self.h"

enum { WARM = 1200, MESSAGES = 200 };

static char other[1 << 20];

int main(int argc, char **argv)
{
	struct ibv_mr *mr = NULL;

	self_open(16);
	for (int i = 0; i < WARM + MESSAGES; i++) {
		if (i >= WARM && !is_good(argc, argv))
			mr = NEED(
				ibv_reg_mr(self.pd, other, sizeof(other), IBV_ACCESS_LOCAL_WRITE));
		MUST(self_post(i, IBV_SEND_SIGNALED));
		self_poll(1);
		if (mr)
			MUST(ibv_dereg_mr(mr));
	}
	self_close();
	return 0;
}
