/*
 * Calls control verbs without a pause, for a recording
 *
 *	control CALLS
 *
 * Regions of one protection domain are registered and deregistered, a few of them alive at a time.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALIVE = 16, LENGTH = 4096 };

static char buffer[ALIVE * LENGTH];

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 1;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
	struct ibv_mr *mrs[ALIVE] = { NULL };

	if (!pd) {
		fputs("control: no device\n", stderr);
		return 1;
	}
	for (long i = 0; i < calls / 2; i++) {
		struct ibv_mr **at = &mrs[i % ALIVE];

		if (*at)
			ibv_dereg_mr(*at);
		*at = ibv_reg_mr(pd, buffer + i % ALIVE * LENGTH, LENGTH, IBV_ACCESS_LOCAL_WRITE);
	}
	for (int i = 0; i < ALIVE; i++)
		if (mrs[i])
			ibv_dereg_mr(mrs[i]);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	ibv_free_device_list(list);
	return 0;
}
