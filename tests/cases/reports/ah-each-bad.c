/*
 * A client of one server.
 *
 * The mistake: it makes an address handle of the server for each message.
 */
#include "each.h"

static void prepare(struct end *e, int i)
{
	struct ibv_ah_attr attr = { .dlid = e->peer.lid, .port_num = 1 };
	struct ibv_ah *ah;

	(void)i;
	attr.is_global = e->port.link_layer == IBV_LINK_LAYER_ETHERNET;
	attr.grh.dgid = e->peer.gid;
	ah = ibv_create_ah(e->pd, &attr);
	need(ah);
	ibv_destroy_ah(ah);
}

int main(void)
{
	return write_each(prepare);
}
