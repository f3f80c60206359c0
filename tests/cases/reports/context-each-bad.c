/*
 * A client asks for the state of its port, and writes.
 *
 * The mistake: it opens the device again each time.
 */
#include "each.h"

static void prepare(struct end *e, int i)
{
	struct ibv_context *context = ibv_open_device(e->ctx->device);
	struct ibv_port_attr port;

	(void)i;
	need(context && !ibv_query_port(context, 1, &port));
	ibv_close_device(context);
}

int main(void)
{
	return write_each(prepare);
}
