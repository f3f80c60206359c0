/*
 * An identifier's address is resolved, and a protection domain made for its device.
 *
 * Bad: it is made at once, when id->verbs is still NULL.
 */
#include <rdma/rdma_cma.h>

#include "rep.h"

int main(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(7777),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;

	need(channel && !rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 2000));
	pd = ibv_alloc_pd(id->verbs);
	need(!rdma_get_cm_event(channel, &event) && !rdma_ack_cm_event(event));
	need(pd && !ibv_dealloc_pd(pd) && !rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	return 0;
}
