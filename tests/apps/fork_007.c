/*
 * FORK-007: memory is registered for each message, under fork support. A busy machine gets several
 * attempts at more than a thousand within a second, wherever in them the first second begins.
 */
#include <time.h>

#include "tests/apps/app.h"

enum { MESSAGES = 2100, ATTEMPTS = 60, SECOND_NS = 1000000000 };

static char buffer[4096];

static int64_t read_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * (int64_t)SECOND_NS + now.tv_nsec;
}

/* Returns the nanoseconds that the registrations took. */
static int64_t register_many(struct ibv_pd *pd)
{
	int64_t begin = read_clock();

	for (int i = 0; i < MESSAGES; i++) {
		struct ibv_mr *mr =
			NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));

		MUST(ibv_dereg_mr(mr));
	}
	return read_clock() - begin;
}

int main(int argc, char **argv)
{
	struct ibv_context *context;
	struct ibv_pd *pd;

	MUST(setenv("VERBATIM_SOFT_FORK", "disabled", 1));
	if (!is_good(argc, argv))
		MUST(ibv_fork_init());
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	for (int i = 0; i < ATTEMPTS && register_many(pd) >= SECOND_NS; i++)
		;
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
