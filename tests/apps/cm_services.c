/*
 * Three services, as they are for a long time:
 *
 * 	cm_services events N         waits for N completions, as a server that sleeps between them
 * 	cm_services regions N        registers and deregisters memory N times
 * 	cm_services connections N    N clients connect by librdmacm, one after the other, and leave
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include "tests/apps/app.h"

enum { BYTES = 4096, DEPTH = 8 };

static char memory[16][BYTES];

/* Each message is awaited: the CQ is armed, the event fetched and acknowledged, the CQ polled. */
static void serve_events(long n)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_comp_channel *channel = NEED(ibv_create_comp_channel(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, DEPTH, NULL, channel, 0)), *told;
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	struct ibv_recv_wr receive = { .num_sge = 1 }, *bad_receive;
	struct ibv_send_wr send = { .num_sge = 1, .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_wc wc;
	void *unused;

	connect_to_itself(context, qp);
	for (long i = 0; i < n; i++) {
		struct ibv_sge to = { (uintptr_t)memory[i % 8], 64, mr->lkey };
		struct ibv_sge from = { (uintptr_t)memory[8 + i % 8], 64, mr->lkey };

		receive.wr_id = send.wr_id = (uint64_t)i;
		receive.sg_list = &to;
		send.sg_list = &from;
		send.send_flags = i % DEPTH == DEPTH - 1 ? IBV_SEND_SIGNALED : 0;
		MUST(ibv_post_recv(qp, &receive, &bad_receive));
		MUST(ibv_req_notify_cq(cq, 0));
		MUST(ibv_post_send(qp, &send, &bad_send));
		MUST(ibv_get_cq_event(channel, &told, &unused));
		ibv_ack_cq_events(told, 1);
		while (ibv_poll_cq(cq, 1, &wc) > 0)
			MUST(wc.status);
	}
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_destroy_comp_channel(channel));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
}

static void serve_regions(long n)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));

	for (long i = 0; i < n; i++)
		MUST(ibv_dereg_mr(NEED(ibv_reg_mr(pd, memory[i % 16], (size_t)(64 + i % 3000),
						  IBV_ACCESS_LOCAL_WRITE))));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
}

static struct rdma_cm_id *await_event(struct rdma_event_channel *channel,
				      enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	MUST(rdma_get_cm_event(channel, &event));
	NEED(event->event == type);
	id = event->id;
	MUST(rdma_ack_cm_event(event));
	return id;
}

static void create_queue(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	MUST(rdma_create_qp(id, NULL, &init));
}

static void destroy_end(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	MUST(rdma_destroy_id(id));
}

static void serve_client(struct rdma_event_channel *server, struct rdma_event_channel *client,
			 struct sockaddr *address)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct rdma_cm_id *one, *other;

	MUST(rdma_create_id(client, &one, NULL, RDMA_PS_TCP));
	MUST(rdma_resolve_addr(one, NULL, address, 2000));
	await_event(client, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_resolve_route(one, 2000));
	await_event(client, RDMA_CM_EVENT_ROUTE_RESOLVED);
	create_queue(one);
	MUST(rdma_connect(one, &param));
	other = await_event(server, RDMA_CM_EVENT_CONNECT_REQUEST);
	create_queue(other);
	MUST(rdma_accept(other, &param));
	await_event(client, RDMA_CM_EVENT_ESTABLISHED);
	await_event(server, RDMA_CM_EVENT_ESTABLISHED);
	MUST(rdma_disconnect(one));
	await_event(server, RDMA_CM_EVENT_DISCONNECTED);
	MUST(rdma_disconnect(other));
	await_event(client, RDMA_CM_EVENT_DISCONNECTED);
	destroy_end(one);
	destroy_end(other);
}

static void serve_connections(long n)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct rdma_event_channel *server = NEED(rdma_create_event_channel());
	struct rdma_event_channel *client = NEED(rdma_create_event_channel());
	struct rdma_cm_id *listener;

	inet_pton(AF_INET, "127.0.0.1", &in.sin_addr);
	MUST(rdma_create_id(server, &listener, NULL, RDMA_PS_TCP));
	MUST(rdma_bind_addr(listener, (struct sockaddr *)&in));
	MUST(rdma_listen(listener, 4));
	in.sin_port = rdma_get_src_port(listener);
	while (n--)
		serve_client(server, client, (struct sockaddr *)&in);
	MUST(rdma_destroy_id(listener));
	rdma_destroy_event_channel(client);
	rdma_destroy_event_channel(server);
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;
	const char *what = argc > 2 ? argv[1] : "";

	if (!strcmp(what, "events"))
		serve_events(n);
	else if (!strcmp(what, "regions"))
		serve_regions(n);
	else if (!strcmp(what, "connections"))
		serve_connections(n);
	else
		return 2;
	return 0;
}
