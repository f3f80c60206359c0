/*
 * Both ends of connections of librdmacm, without queue pairs: only private data is exchanged
 *
 * 	cm_ends listen PORT	rejects the first that asks ("full"), accepts the second ("welcome")
 * 	cm_ends connect PORT	asks twice ("first", "second"), goes when it was accepted
 *
 * A client identifies itself by numbers of queue pairs that do not exist.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rdma_event_channel *channel;

static void check_result(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static struct sockaddr_in make_address(const char *port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };

	inet_pton(AF_INET, "127.0.0.1", &in.sin_addr);
	return in;
}

static struct rdma_conn_param make_parameters(const char *text, uint32_t number)
{
	return (struct rdma_conn_param){ .private_data = text,
					 .private_data_len = (uint8_t)strlen(text),
					 .responder_resources = 3,
					 .initiator_depth = 2,
					 .retry_count = 5,
					 .rnr_retry_count = 4,
					 .qp_num = number };
}

/* The next event, which must be one of two; returns its identifier. */
static struct rdma_cm_id *get_event(enum rdma_cm_event_type either, enum rdma_cm_event_type or,
				    enum rdma_cm_event_type *ret_type, int *ret_status)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	check_result(!rdma_get_cm_event(channel, &event), "get an event");
	printf("%s %d\n", rdma_event_str(event->event), event->status);
	check_result(event->event == either || event->event == or, "another event");
	*ret_type = event->event;
	*ret_status = event->status;
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static struct rdma_cm_id *await_event(enum rdma_cm_event_type type)
{
	int status;

	return get_event(type, type, &type, &status);
}

static void listen_at(const char *port)
{
	struct rdma_conn_param param = make_parameters("welcome", 0x777);
	struct sockaddr_in in = make_address(port);
	struct rdma_cm_id *listener, *id;

	check_result(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), "make a listener");
	check_result(!rdma_bind_addr(listener, (struct sockaddr *)&in), "bind it");
	check_result(!rdma_listen(listener, 4), "listen");
	id = await_event(RDMA_CM_EVENT_CONNECT_REQUEST);
	check_result(!rdma_reject(id, "full", 4), "reject");
	rdma_destroy_id(id);
	id = await_event(RDMA_CM_EVENT_CONNECT_REQUEST);
	check_result(!rdma_accept(id, &param), "accept");
	await_event(RDMA_CM_EVENT_ESTABLISHED);
	await_event(RDMA_CM_EVENT_DISCONNECTED);
	check_result(!rdma_disconnect(id), "disconnect");
	rdma_destroy_id(id);
	rdma_destroy_id(listener);
}

/* Returns the resulting event; there may be no listener yet. */
static enum rdma_cm_event_type request_connection(const char *port, const char *text,
						  uint32_t number, struct rdma_cm_id **ret_id,
						  int *ret_status)
{
	struct rdma_conn_param param = make_parameters(text, number);
	struct sockaddr_in in = make_address(port);
	enum rdma_cm_event_type type;

	check_result(!rdma_create_id(channel, ret_id, NULL, RDMA_PS_TCP), "make an identifier");
	check_result(!rdma_resolve_addr(*ret_id, NULL, (struct sockaddr *)&in, 2000), "resolve");
	await_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	check_result(!rdma_resolve_route(*ret_id, 2000), "find the route");
	await_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	check_result(!rdma_connect(*ret_id, &param), "connect");
	get_event(RDMA_CM_EVENT_CONNECT_RESPONSE, RDMA_CM_EVENT_REJECTED, &type, ret_status);
	return type;
}

static void connect_to(const char *port)
{
	enum { NOBODY_LISTENS = 8 };
	struct rdma_cm_id *id;
	int status;

	while (request_connection(port, "first", 0x111, &id, &status) == RDMA_CM_EVENT_REJECTED &&
	       status == NOBODY_LISTENS)
		rdma_destroy_id(id);
	rdma_destroy_id(id);
	check_result(request_connection(port, "second", 0x222, &id, &status) ==
			     RDMA_CM_EVENT_CONNECT_RESPONSE,
		     "it was rejected");
	check_result(!rdma_establish(id), "establish");
	check_result(!rdma_disconnect(id), "disconnect");
	await_event(RDMA_CM_EVENT_DISCONNECTED);
	await_event(RDMA_CM_EVENT_TIMEWAIT_EXIT);
	rdma_destroy_id(id);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	channel = rdma_create_event_channel();
	check_result(channel, "make a channel");
	if (!strcmp(argv[1], "listen"))
		listen_at(argv[2]);
	else
		connect_to(argv[2]);
	rdma_destroy_event_channel(channel);
	return 0;
}
