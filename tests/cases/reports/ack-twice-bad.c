/*
 * The handler of an event accepts a connection or refuses it, and the loop that calls it
 * acknowledges the event.
 *
 * Bad: the handler has acknowledged it already, and so freed it.
 */
#include <rdma/rdma_cma.h>

#include "rep.h"

static void handle(struct rdma_cm_event *event)
{
	if (event->event != RDMA_CM_EVENT_ADDR_RESOLVED)
		exit(1);
#ifndef GOOD
	rdma_ack_cm_event(event);
#endif
}

int main(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(7471),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	need(channel && !rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 2000));
	need(!rdma_get_cm_event(channel, &event));
	handle(event);
	rdma_ack_cm_event(event);
	need(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	return 0;
}
