/*
 * A client resolves the address of its server.
 *
 * Bad: with a timeout of 0, which does not mean that there is no limit.
 */
#include <rdma/rdma_cma.h>

#include "rep.h"

#ifndef MS
#define MS 0
#endif

int main(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(7471),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	need(channel && !rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, MS));
	need(!rdma_get_cm_event(channel, &event) && !rdma_ack_cm_event(event));
	need(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	return 0;
}
