/*
 * A server that has enough clients.
 *
 * Bad: it forgets the request of a further one. Good: it rejects the request.
 */
#include <rdma/rdma_cma.h>

#include "rep.h"

static struct rdma_event_channel *channel;

static struct rdma_cm_id *await(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	need(!rdma_get_cm_event(channel, &event) && event->event == type);
	id = event->id;
	need(!rdma_ack_cm_event(event));
	return id;
}

int main(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(7471),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *listener, *id, *request;

	need(channel = rdma_create_event_channel());
	need(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	need(!rdma_bind_addr(listener, (struct sockaddr *)&in) && !rdma_listen(listener, 4));
	need(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 2000));
	await(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(!rdma_resolve_route(id, 2000));
	await(RDMA_CM_EVENT_ROUTE_RESOLVED);
	need(!rdma_create_qp(id, NULL, &attr) && !rdma_connect(id, &param));
	request = await(RDMA_CM_EVENT_CONNECT_REQUEST);
#ifdef GOOD
	need(!rdma_reject(request, NULL, 0) && !rdma_destroy_id(request));
	await(RDMA_CM_EVENT_REJECTED);
#else
	(void)request;
#endif
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	rdma_destroy_id(listener);
	return 0;
}
