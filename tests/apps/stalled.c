/*
 * A send to a queue pair that has no receive: it waits (rnr_retry 7) until a line comes on standard
 * input, and then gets its receive.
 */
#include <stdio.h>

#include "tests/apps/self.h"

int main(void)
{
	connected_with.rnr_retry = 7;
	self_open(8);
	self_send(1);
	(void)!getchar();
	MUST(self_receive(2));
	self_poll(2);
	self_close();
	return 0;
}
