/*
 * Streams are destroyed in the wrong order: the completion queue is busy, the error is ignored, and
 * its buffer is leaked, one per stream (spead2#134).
 */
#include "tests/apps/ends.h"

static void run_stream(bool good)
{
	ends_open();
	if (good)
		MUST(ibv_destroy_qp(ends.qp[1]));
	ibv_destroy_cq(ends.cq[1]);
	if (!good)
		MUST(ibv_destroy_qp(ends.qp[1]));
	ends.qp[1] = NULL;
	ends.cq[1] = NULL;
}

static void close_rest(void)
{
	MUST(ibv_destroy_qp(ends.qp[0]));
	MUST(ibv_destroy_cq(ends.cq[0]));
	for (int i = 0; i < 2; i++)
		MUST(ibv_dereg_mr(ends.mr[i]));
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++) {
		run_stream(is_good(argc, argv));
		close_rest();
	}
	MUST(ibv_dealloc_pd(ends.pd));
	MUST(ibv_close_device(ends.context));
	return 0;
}
