/*
 * min_rnr_timer 0, which is 655 ms and not nothing, and a receiver that is now and then too late:
 * everything works, slowly (nbs#5790).
 */
#include "tests/apps/ends.h"

int main(int argc, char **argv)
{
	if (!is_good(argc, argv))
		wish.min_rnr_timer = 0;
	ends_open();
	for (uint64_t i = 0; i < 4; i++) {
		if (is_good(argc, argv))
			MUST(ends_receive(i));
		MUST(ends_send(i, IBV_WR_SEND, IBV_SEND_SIGNALED));
		if (!is_good(argc, argv))
			MUST(ends_receive(i));
		ends_await(0, 1);
		ends_await(1, 1);
	}
	ends_close();
	return 0;
}
