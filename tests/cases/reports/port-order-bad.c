/*
 * A client connects to the port of a server.
 *
 * Bad: in the byte order of the host.
 */
#include <rdma/rdma_cma.h>

#include "rep.h"

#ifndef ORDER
#define ORDER(port) (port)
#endif

static struct rdma_event_channel *channel;

static enum rdma_cm_event_type take(void)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;

	need(!rdma_get_cm_event(channel, &event));
	type = event->event;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
		rdma_destroy_id(event->id); /* the server is shutting down */
	need(!rdma_ack_cm_event(event));
	return type;
}

int main(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(7471),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *listener, *id;

	channel = rdma_create_event_channel();
	need(channel && !rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	need(!rdma_bind_addr(listener, (struct sockaddr *)&in) && !rdma_listen(listener, 4));
	in.sin_port = ORDER(7471);
	need(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 2000));
	need(take() == RDMA_CM_EVENT_ADDR_RESOLVED && !rdma_resolve_route(id, 2000));
	need(take() == RDMA_CM_EVENT_ROUTE_RESOLVED && !rdma_create_qp(id, NULL, &attr));
	need(!rdma_connect(id, &param));
	while (take() != RDMA_CM_EVENT_REJECTED)
		;
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
	return 0;
}
