/*
 * A client resolves addresses in one thread's channel and moves each identifier to the channel of
 * the thread that serves it. rdma_migrate_id() waits for the acknowledgement of the identifier's
 * events.
 *
 * Bad: it moves the identifier while it handles the event. Good: it acknowledges the event first.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef GOOD
#define GOOD 0
#endif

int main(void)
{
	struct sockaddr_in there = { .sin_family = AF_INET, .sin_port = htons(7471) };
	struct rdma_event_channel *resolver = rdma_create_event_channel();
	struct rdma_event_channel *worker = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	alarm(1); /* the watchdog of the program */
	if (rdma_create_id(resolver, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)&there, 1000) ||
	    rdma_get_cm_event(resolver, &event))
		return 1;
	if (event->event != RDMA_CM_EVENT_ADDR_RESOLVED)
		return 1;
	if (GOOD)
		rdma_ack_cm_event(event);
	if (rdma_migrate_id(id, worker))
		return 1;
	if (!GOOD)
		rdma_ack_cm_event(event);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(worker);
	rdma_destroy_event_channel(resolver);
	return 0;
}
