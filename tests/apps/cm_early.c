/*
 * A client resolves an address to which a server is bound that does not listen yet: the system has
 * chosen the server's port, which the server has read and sent.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include "tests/apps/app.h"

static struct rdma_cm_id *await_event(struct rdma_event_channel *channel,
				      enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	MUST(rdma_get_cm_event(channel, &event));
	MUST(event->event != type);
	id = event->id;
	MUST(rdma_ack_cm_event(event));
	return id;
}

static struct rdma_cm_id *bind_any(struct rdma_event_channel *channel, struct sockaddr_in *in)
{
	struct rdma_cm_id *id;

	MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	MUST(rdma_bind_addr(id, (struct sockaddr *)in));
	in->sin_port = rdma_get_src_port(id);
	return id;
}

static struct rdma_cm_id *resolve_address(struct rdma_event_channel *channel,
					  struct sockaddr_in *in)
{
	struct rdma_cm_id *id;

	MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)in, 2000));
	await_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_resolve_route(id, 2000));
	await_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

int main(void)
{
	struct rdma_event_channel *server = NEED(rdma_create_event_channel());
	struct rdma_event_channel *client = NEED(rdma_create_event_channel());
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_conn_param param = { .qp_num = 7, .retry_count = 5 };
	struct rdma_cm_id *listener = bind_any(server, &in), *asked,
			  *asks = resolve_address(client, &in);

	MUST(rdma_listen(listener, 1));
	MUST(rdma_connect(asks, &param));
	asked = await_event(server, RDMA_CM_EVENT_CONNECT_REQUEST);
	MUST(rdma_reject(asked, "no", 2));
	await_event(client, RDMA_CM_EVENT_REJECTED);
	MUST(rdma_destroy_id(asked));
	MUST(rdma_destroy_id(asks));
	MUST(rdma_destroy_id(listener));
	rdma_destroy_event_channel(client);
	rdma_destroy_event_channel(server);
	return 0;
}
