/*
 * STATE-007: with rnr_retry 0 the second message finds no receive, and fails at once.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	bool good = is_good(argc, argv);

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
