/*
 * A server takes messages until its client ends the connection.
 *
 * Bad: its thread waits for an event of the CQ alone. GOOD: also for one of the connection.
 */
#include <rdma/rdma_cma.h>

#include "rep.h"

enum { MESSAGES = 3, SIZE = 64 };

struct link {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *events;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char memory[MESSAGES * SIZE];
};

static struct sockaddr_in address = { .sin_family = AF_INET };

static struct rdma_cm_id *take(struct link *l, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	need(!rdma_get_cm_event(l->channel, &event));
	need(event->event == type);
	id = event->id;
	need(!rdma_ack_cm_event(event));
	return id;
}

static void make_queues(struct link *l)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };

	need(l->pd = ibv_alloc_pd(l->id->verbs));
	need(l->events = ibv_create_comp_channel(l->id->verbs));
	need(l->cq = ibv_create_cq(l->id->verbs, 8, NULL, l->events, 0));
	need(l->mr = ibv_reg_mr(l->pd, l->memory, sizeof(l->memory), IBV_ACCESS_LOCAL_WRITE));
	attr.send_cq = attr.recv_cq = l->cq;
	need(!rdma_create_qp(l->id, l->pd, &attr));
}

static void free_queues(struct link *l)
{
	rdma_destroy_qp(l->id);
	need(!ibv_dereg_mr(l->mr) && !ibv_destroy_cq(l->cq));
	need(!ibv_destroy_comp_channel(l->events) && !ibv_dealloc_pd(l->pd));
	need(!rdma_destroy_id(l->id));
}

static void send_messages(struct link *l)
{
	struct ibv_sge sge = { (uintptr_t)l->memory, SIZE, l->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_wc wc;

	for (int i = 0; i < MESSAGES - 1; i++) {
		need(!ibv_post_send(l->id->qp, &wr, &bad));
		need(wait_wc(l->cq, &wc, 5000) && !wc.status);
	}
}

static int run_client(int fd)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct link l;

	need(read(fd, &address.sin_port, sizeof(address.sin_port)) == sizeof(address.sin_port));
	need(l.channel = rdma_create_event_channel());
	need(!rdma_create_id(l.channel, &l.id, NULL, RDMA_PS_TCP));
	need(!rdma_resolve_addr(l.id, NULL, (struct sockaddr *)&address, 2000));
	take(&l, RDMA_CM_EVENT_ADDR_RESOLVED);
	need(!rdma_resolve_route(l.id, 2000));
	take(&l, RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_queues(&l);
	need(!rdma_connect(l.id, &param));
	take(&l, RDMA_CM_EVENT_ESTABLISHED);
	send_messages(&l);
	need(!rdma_disconnect(l.id));
	take(&l, RDMA_CM_EVENT_DISCONNECTED);
	free_queues(&l);
	rdma_destroy_event_channel(l.channel);
	return 0;
}

/* Returns 0 at the end of the connection. */
static int wait_for_event(struct link *l)
{
	struct pollfd fds[] = {
		{ .fd = l->events->fd, .events = POLLIN },
#ifdef GOOD
		{ .fd = l->channel->fd, .events = POLLIN },
#endif
	};
	const int n = sizeof(fds) / sizeof(fds[0]);
	struct ibv_cq *cq;
	void *context;

	if (poll(fds, n, 1000) <= 0 || !(fds[0].revents & POLLIN))
		return 0;
	need(!ibv_get_cq_event(l->events, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	return 1;
}

static void serve(struct link *l)
{
	struct ibv_wc wc;

	do {
		need(!ibv_req_notify_cq(l->cq, 0));
		while (ibv_poll_cq(l->cq, 1, &wc) > 0)
			need(!wc.status || wc.status == IBV_WC_WR_FLUSH_ERR);
	} while (wait_for_event(l));
}

int main(void)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	struct rdma_cm_id *listener;
	struct link l;
	int status, ends[2];
	pid_t pid;

	alarm(10);
	need(!pipe(ends));

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	pid = fork();
	if (!pid)
		_exit(run_client(ends[0]));
	need(l.channel = rdma_create_event_channel());
	need(!rdma_create_id(l.channel, &listener, NULL, RDMA_PS_TCP));
	need(!rdma_bind_addr(listener, (struct sockaddr *)&address));
	address.sin_port = rdma_get_src_port(listener);
	need(!rdma_listen(listener, 1));
	need(write(ends[1], &address.sin_port, sizeof(address.sin_port)) ==
	     sizeof(address.sin_port));
	l.id = take(&l, RDMA_CM_EVENT_CONNECT_REQUEST);
	make_queues(&l);
	for (int i = 0; i < MESSAGES; i++) {
		struct ibv_sge sge = { (uintptr_t)l.memory + i * SIZE, SIZE, l.mr->lkey };
		struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

		need(!ibv_post_recv(l.id->qp, &wr, &bad));
	}
	need(!rdma_accept(l.id, &param));
	take(&l, RDMA_CM_EVENT_ESTABLISHED);
	serve(&l);
#ifdef GOOD
	take(&l, RDMA_CM_EVENT_DISCONNECTED);
#else
	kill(getpid(), SIGTERM); /* as its user does */
#endif
	free_queues(&l);
	need(!rdma_destroy_id(listener) && waitpid(pid, &status, 0) == pid);
	rdma_destroy_event_channel(l.channel);
	return status != 0;
}
