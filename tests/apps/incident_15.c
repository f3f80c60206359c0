/*
 * The peer is on another rail: going to RTR fails with ETIMEDOUT (nccl#2013). The device's file of
 * faults has it fail.
 */
#include "tests/apps/ends.h"

int main(void)
{
	int err;

	ends_make();
	for (int i = 0; i < 2; i++)
		to_init(ends.qp[i]);
	err = ends_to_rtr(ends.qp[0], ends.qp[1]->qp_num);
	if (err)
		fprintf(stderr, "ibv_modify_qp failed with error %d\n", err);
	ends_close();
	return 0;
}
