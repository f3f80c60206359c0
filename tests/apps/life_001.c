/*
 * LIFE-001: completion events are acknowledged for a CQ that is destroyed.
 *
 * Acknowledging only changes the counters in the handle, so that the mistake causes no crash.
 */
#include "tests/apps/app.h"

static void forget_cq(struct ibv_cq *cq)
{
	MUST(ibv_destroy_cq(cq));
}

static void acknowledge_late(struct ibv_cq *cq)
{
	ibv_ack_cq_events(cq, 0);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));

	if (is_good(argc, argv))
		acknowledge_late(cq);
	forget_cq(cq);
	if (!is_good(argc, argv))
		acknowledge_late(cq);
	MUST(ibv_close_device(context));
	return 0;
}
