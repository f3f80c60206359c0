/*
 * LIFE-004: each request registers its buffer, and nobody deregisters it.
 */
#include "tests/apps/app.h"

enum { REQUESTS = 20 };

static char buffers[REQUESTS][4096];
static struct ibv_mr *mrs[REQUESTS];

static void serve_request(struct ibv_pd *pd, int i)
{
	mrs[i] = NEED(ibv_reg_mr(pd, buffers[i], sizeof(buffers[i]), IBV_ACCESS_LOCAL_WRITE));
}

static void clean_up(struct ibv_pd *pd, struct ibv_context *context)
{
	for (int i = 0; i < REQUESTS; i++)
		MUST(ibv_dereg_mr(mrs[i]));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));

	for (int i = 0; i < REQUESTS; i++)
		serve_request(pd, i);
	if (is_good(argc, argv))
		clean_up(pd, context);
	return 0;
}
