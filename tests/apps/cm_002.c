/*
 * CM-002: an identifier is destroyed while its event is not acknowledged, and waits for that until
 * an alarm ends the program.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include "tests/apps/app.h"

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(7471) };
	struct rdma_event_channel *channel = NEED(rdma_create_event_channel());
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	alarm(2);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000));
	MUST(rdma_get_cm_event(channel, &event));
	MUST(event->event != RDMA_CM_EVENT_ADDR_RESOLVED);
	if (is_good(argc, argv))
		MUST(rdma_ack_cm_event(event));
	MUST(rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
	return 0;
}
