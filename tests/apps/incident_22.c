/*
 * rnr_retry is 0, and the first send comes before the first receive (spdk#2429).
 */
#include "tests/apps/ends.h"

int main(int argc, char **argv)
{
	bool good = is_good(argc, argv);

	connected_with.rnr_retry = good ? 7 : 0;
	ends_open();
	if (good)
		MUST(ends_receive(1));
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED));
	ends_await(0, 1);
	if (!good) {
		MUST(ends_receive(1));
		ends_drain(1, 1);
	} else {
		ends_await(1, 1);
	}
	ends_close();
	return 0;
}
