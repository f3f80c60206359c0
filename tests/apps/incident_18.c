/*
 * At the end the initiator deregisters its memory while the target still writes to it (spdk#1387).
 */
#include "tests/apps/ends.h"

static void stop_initiator(void)
{
	MUST(ibv_dereg_mr(ends.mr[1]));
}

int main(int argc, char **argv)
{
	uint32_t rkey;

	ends_open();
	rkey = ends.mr[1]->rkey;
	if (!is_good(argc, argv))
		stop_initiator();
	MUST(ends_write(rkey));
	ends_await(0, 1);
	if (is_good(argc, argv))
		stop_initiator();
	ends.mr[1] = NULL;
	ends_close();
	return 0;
}
