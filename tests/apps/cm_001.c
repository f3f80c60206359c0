/*
 * CM-001: an identifier is destroyed before its queue pair, which cannot be destroyed afterwards.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include "tests/apps/app.h"

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(7471) };
	struct rdma_event_channel *channel = NEED(rdma_create_event_channel());
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000));
	MUST(rdma_get_cm_event(channel, &event));
	MUST(event->event != RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_ack_cm_event(event));
	pd = NEED(ibv_alloc_pd(id->verbs));
	cq = NEED(ibv_create_cq(id->verbs, 8, NULL, NULL, 0));
	attr.send_cq = attr.recv_cq = cq;
	MUST(rdma_create_qp(id, pd, &attr));
	if (!is_good(argc, argv)) {
		MUST(rdma_destroy_id(id));
		rdma_destroy_event_channel(channel);
		return 0;
	}
	rdma_destroy_qp(id);
	MUST(rdma_destroy_id(id));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	rdma_destroy_event_channel(channel);
	return 0;
}
