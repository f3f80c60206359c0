/*
 * Both ends of connections of librdmacm whose queue pairs come in other ways than by
 * rdma_create_qp() on the identifier that is connected
 *
 * 	cm_queues listen PORT WAY	accepts
 * 	cm_queues connect PORT WAY	asks, until it is accepted
 *
 * For each WAY of ways[] both ends send a message, and disconnect at the same time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 64, DEPTH = 4 };

static struct rdma_event_channel *channel;
static struct rdma_cm_id *spare;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_mr *mr;
static char memory[2 * LENGTH];

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

/* The next event: its type, and its identifier. */
static enum rdma_cm_event_type get_event(struct rdma_cm_id **ret_id)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;

	check_result(!rdma_get_cm_event(channel, &event), "get an event");
	type = event->event;
	*ret_id = event->id;
	rdma_ack_cm_event(event);
	return type;
}

static struct rdma_cm_id *await_event(enum rdma_cm_event_type type)
{
	struct rdma_cm_id *id;

	check_result(get_event(&id) == type, rdma_event_str(type));
	return id;
}

static void post_receive(struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)memory, LENGTH, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };

	check_result(!(srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad)),
		     "receive");
}

static void create_objects(struct ibv_context *context)
{
	if (pd)
		return;
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 4 * DEPTH, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	check_result(pd && cq && mr, "make objects");
}

static struct ibv_qp_init_attr make_attributes(void)
{
	return (struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC,
					  .send_cq = cq,
					  .recv_cq = cq,
					  .srq = srq,
					  .cap = { DEPTH, srq ? 0 : DEPTH, 1, srq ? 0 : 1, 0 } };
}

static void create_usual(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = make_attributes();

	check_result(!rdma_create_qp(id, pd, &attr), "make a queue pair");
}

static void create_shared(struct rdma_cm_id *id)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };

	srq = ibv_create_srq(pd, &attr);
	check_result(srq, "make a shared queue");
	create_usual(id);
}

/* The program makes it by verbs, and gives it to the identifier. */
static void create_attached(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = make_attributes();

	id->qp = ibv_create_qp(pd, &attr);
	check_result(id->qp, "make a queue pair");
}

/* The queue pair was created on another identifier, as DAPL does. */
static void create_moved(struct rdma_cm_id *id)
{
	struct sockaddr_in in = make_address("0");

	check_result(!rdma_create_id(channel, &spare, NULL, RDMA_PS_TCP), "make an identifier");
	check_result(!rdma_bind_addr(spare, (struct sockaddr *)&in), "bind it");
	create_usual(spare);
	id->qp = spare->qp;
	spare->qp = NULL;
}

static const struct way {
	const char *name;
	void (*create)(struct rdma_cm_id *id);
} ways[] = {
	{ "usual", create_usual },
	{ "shared", create_shared },
	{ "attached", create_attached },
	{ "moved", create_moved },
};

static const struct way *find_way(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(name, ways[i].name))
			return &ways[i];
	exit(2);
}

static void exchange_messages(struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)memory + LENGTH, LENGTH, mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = 2,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	check_result(!ibv_post_send(qp, &wr, &bad), "send");
	for (int i = 0; i < 2; i++) {
		while (!ibv_poll_cq(cq, 1, &wc))
			;
		check_result(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
	}
}

/* Both ends disconnect before they know that the other one does. */
static void disconnect_and_end(struct rdma_cm_id *id)
{
	struct ibv_qp *qp = id->qp;

	check_result(!rdma_disconnect(id), "disconnect");
	await_event(RDMA_CM_EVENT_DISCONNECTED);
	check_result(!ibv_destroy_qp(qp), "destroy the queue pair");
	id->qp = NULL;
	if (srq)
		check_result(!ibv_destroy_srq(srq), "destroy the shared queue");
	rdma_destroy_id(id);
	if (spare)
		rdma_destroy_id(spare);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
}

static void prepare_queue(const struct way *way, struct rdma_cm_id *id)
{
	create_objects(id->verbs);
	way->create(id);
	if (srq) {
		post_receive(id->qp);
		return;
	}
	if (way->create == create_attached || way->create == create_moved) {
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
		int mask;

		check_result(!rdma_init_qp_attr(id, &attr, &mask), "ask for attributes");
		check_result(!ibv_modify_qp(id->qp, &attr, mask), "initialise it");
	}
	post_receive(id->qp);
}

static void listen_at(const char *port, const struct way *way)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct sockaddr_in in = make_address(port);
	struct rdma_cm_id *listener, *again, *id;

	check_result(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), "make a listener");
	check_result(!rdma_bind_addr(listener, (struct sockaddr *)&in), "bind it");
	check_result(!rdma_create_id(channel, &again, NULL, RDMA_PS_TCP), "make another");
	for (int i = 0; i < 2; i++)
		check_result(rdma_bind_addr(again, (struct sockaddr *)&in) && errno == EADDRINUSE,
			     "bind again");
	rdma_destroy_id(again);
	check_result(!rdma_listen(listener, 4), "listen");
	id = await_event(RDMA_CM_EVENT_CONNECT_REQUEST);
	prepare_queue(way, id);
	check_result(!rdma_accept(id, &param), "accept");
	await_event(RDMA_CM_EVENT_ESTABLISHED);
	exchange_messages(id->qp);
	disconnect_and_end(id);
	rdma_destroy_id(listener);
}

static bool request_connection(const char *port, const struct way *way, struct rdma_cm_id **ret_id)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7,
					 .rnr_retry_count = 7 };
	struct sockaddr_in in = make_address(port);

	check_result(!rdma_create_id(channel, ret_id, NULL, RDMA_PS_TCP), "make an identifier");
	check_result(!rdma_resolve_addr(*ret_id, NULL, (struct sockaddr *)&in, 2000), "resolve");
	await_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	check_result(!rdma_resolve_route(*ret_id, 2000), "find the route");
	await_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	prepare_queue(way, *ret_id);
	check_result(!rdma_connect(*ret_id, &param), "connect");
	return get_event(ret_id) == RDMA_CM_EVENT_ESTABLISHED;
}

int main(int argc, char **argv)
{
	const struct way *way;
	struct rdma_cm_id *id;

	if (argc < 4)
		return 2;
	way = find_way(argv[3]);
	channel = rdma_create_event_channel();
	check_result(channel, "make a channel");
	if (!strcmp(argv[1], "listen")) {
		listen_at(argv[2], way);
	} else {
		check_result(request_connection(argv[2], way, &id), "it was rejected");
		exchange_messages(id->qp);
		disconnect_and_end(id);
	}
	rdma_destroy_event_channel(channel);
	return 0;
}
