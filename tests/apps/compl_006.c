/*
 * COMPL-006: after many requests, each with its own number, one gets that of another that is still
 * outstanding.
 */
#include "tests/apps/self.h"

enum { REQUESTS = 400 };

int main(int argc, char **argv)
{
	self_open(16);
	for (int i = 0; i < REQUESTS; i++) {
		MUST(self_post(i, IBV_SEND_SIGNALED));
		self_poll(1);
	}
	MUST(self_post(REQUESTS, IBV_SEND_SIGNALED));
	MUST(self_post(is_good(argc, argv) ? REQUESTS + 1 : REQUESTS, IBV_SEND_SIGNALED));
	self_poll(2);
	self_close();
	return 0;
}
