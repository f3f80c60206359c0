/*
 * STATE-005: a queue pair sends from another PSN than its peer, which is itself, expects.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	connected_with.sq_psn = is_good(argc, argv) ? 0 : 77;
	self_open(8);
	MUST(self_receive(1));
	self_send(2);
	self_poll(2);
	self_close();
	return 0;
}
