/*
 * STATE-006: a message is sent before its peer, the queue pair itself, has posted a receive.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	self_open(8);
	if (is_good(argc, argv))
		MUST(self_receive(1));
	self_send(2);
	if (!is_good(argc, argv))
		MUST(self_receive(1));
	self_poll(2);
	self_close();
	return 0;
}
