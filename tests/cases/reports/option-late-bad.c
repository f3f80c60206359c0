/*
 * A connection is to use another type of service.
 *
 * Bad: it is set when the route is resolved, with the type of before. GOOD: before that.
 */
#include <rdma/rdma_cma.h>

#include "rep.h"

static void take(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	need(!rdma_get_cm_event(channel, &event));
	need(event->event == type);
	need(!rdma_ack_cm_event(event));
}

static void set_service(struct rdma_cm_id *id)
{
	uint8_t tos = 0x68;

	need(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
}

int main(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(7777),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	need(channel && !rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 2000));
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
#ifdef GOOD
	set_service(id);
#endif
	need(!rdma_resolve_route(id, 2000));
	take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	need(!rdma_create_qp(id, NULL, &attr));
#ifndef GOOD
	set_service(id);
#endif
	rdma_destroy_qp(id);
	need(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	return 0;
}
