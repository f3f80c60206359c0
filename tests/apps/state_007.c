/*
 * STATE-007: with rnr_retry 0 the second message finds no receive, and fails at once. `timer` is a
 * hazard: it would be sent again after 655 ms, but finds its receive.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	bool timer = argc > 1 && !strcmp(argv[1], "timer"), good = timer || is_good(argc, argv);

	if (timer)
		connected_with.min_rnr_timer = 0;
	connected_with.rnr_retry = good ? 7 : 0;
	self_open(8);
	MUST(self_receive(1));
	if (good)
		MUST(self_receive(2));
	self_send(3);
	self_send(4);
	self_poll(good ? 4 : 3);
	self_close();
	return 0;
}
