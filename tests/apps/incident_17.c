/*
 * The peer is sent the lkey of the region instead of its rkey, which are the same on most devices
 * (rdma-example#4).
 */
#include "tests/apps/ends.h"

int main(int argc, char **argv)
{
	ends_open();
	MUST(ends_write(is_good(argc, argv) ? ends.mr[1]->rkey : ends.mr[1]->lkey));
	ends_await(0, 1);
	ends_close();
	return 0;
}
