/*
 * The set-up and the loop post by the same wrappers, two calls deep; the loop changes with the
 * argument: slow: it spins before each post; register: it registers a region in each round. The
 * set-up sleeps for longer than all of that takes, so that most of the time is in its gaps.
 */
#include <time.h>

#include "tests/apps/self.h"

enum { FILL = 20, ROUNDS = 3000, SPIN_NS = 20000, SLEEP_NS = 20000000 };

static void post_one(void)
{
	MUST(self_post(1, IBV_SEND_SIGNALED));
}

static __attribute__((noinline)) void post_request(void)
{
	post_one();
	self_poll(1);
}

static struct ibv_mr *register_one(void)
{
	return ibv_reg_mr(self.pd, self.buffer, 64, 0);
}

static __attribute__((noinline)) void register_buffer(void)
{
	MUST(ibv_dereg_mr(NEED(register_one())));
}

static int64_t read_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void spin_for(int64_t ns)
{
	for (int64_t end = read_clock() + ns; read_clock() < end;)
		;
}

static void set_up(bool slow)
{
	/* a run with the change sleeps less: the mean gap of this place changes more */
	struct timespec pause = { 0, slow ? SLEEP_NS / 4 : SLEEP_NS };

	for (int i = 0; i < FILL; i++) {
		register_buffer(); /* register set-up */
		post_request();    /* set-up */
		nanosleep(&pause, NULL);
	}
}

static void run_rounds(bool slow, bool registers)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (slow)
			spin_for(SPIN_NS);
		if (registers && i % 10 == 0)
			register_buffer(); /* register loop */
		post_request();            /* loop */
	}
}

int main(int argc, char **argv)
{
	const char *change = argc > 1 ? argv[1] : "";

	self_open(8);
	set_up(!strcmp(change, "slow"));
	run_rounds(!strcmp(change, "slow"), !strcmp(change, "register"));
	self_close();
	return 0;
}
