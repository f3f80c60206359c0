/*
 * PERF-009: pages are sent in packets of 256 bytes, though the port has packets of 4096.
 */
#include "tests/apps/self.h"

enum { WRITES = 128, PAGE = 4096 };

int main(int argc, char **argv)
{
	connected_with.path_mtu = is_good(argc, argv) ? IBV_MTU_4096 : IBV_MTU_256;
	self_open(8);
	for (int i = 0; i < WRITES; i++) {
		self_write_to(self.mr, PAGE, self.buffer, self.mr->rkey);
		self_poll(1);
	}
	self_close();
	return 0;
}
