/*
 * min_rnr_timer 0, which is 655 ms and not nothing, and a receiver that is sometimes late:
 * everything works, slowly (nbs#5790). The software device waits for that timer if
 * VERBATIM_SOFT_TIMERS=real.
 */
#include <time.h>

#include "tests/apps/ends.h"

enum { MESSAGES = 3, MOST = 40, TIMER_US = 655360, NEAR_US = 10000 };

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

/* Did it take a multiple of the timer? On a busy machine it may take longer. */
static bool is_slow(bool late)
{
	int64_t lasted = now_us();

	if (!late)
		MUST(ends_receive(1));
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED));
	if (late)
		MUST(ends_receive(1));
	ends_await(0, 1);
	lasted = now_us() - lasted;
	ends_await(1, 1);
	return lasted >= TIMER_US && lasted % TIMER_US < NEAR_US;
}

int main(int argc, char **argv)
{
	bool good = is_good(argc, argv);
	int slow = 0;

	connected_with.min_rnr_timer = good ? 12 : 0;
	ends_open();
	for (int i = 0; i < (good ? MESSAGES : MOST) && slow < MESSAGES; i++)
		slow += is_slow(i % 2);
	ends_close();
	return 0;
}
