/*
 * MKEY-004: a write names deregistered memory of its peer, which is the program itself.
 */
#include "tests/apps/self.h"

enum { LENGTH = 256 };

int main(int argc, char **argv)
{
	char *target = self.buffer + 2048;
	struct ibv_mr *to;
	uint32_t rkey;

	self_open(8);
	to = NEED(ibv_reg_mr(self.pd, target, 2048,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	rkey = to->rkey;
	if (!is_good(argc, argv))
		MUST(ibv_dereg_mr(to));
	self_write_to(self.mr, LENGTH, target, rkey);
	self_poll(1);
	if (is_good(argc, argv))
		MUST(ibv_dereg_mr(to));
	self_close();
	return 0;
}
