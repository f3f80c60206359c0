/*
 * cm_failures ADDRESS: prints what a program sees of each failure, and survives all of them
 *
 * It connects to itself by librdmacm at ADDRESS, so it works on any device, and does 6 rounds of a
 * send, a write and a receive, with an event for each completion. The order in which the two ends
 * get their events makes no difference. What takes longer than LATE is printed as such.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <time.h>

#include "tests/apps/app.h"

enum { ROUNDS = 6, BYTES = 64, LATE = 700, GIVE_UP = 3000 /* ms */ };

enum side { CLIENT, SERVER };

static const char *const side_names[] = { "client", "server" };

static struct end {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char memory[BYTES];
	int outstanding;  /* requests */
	unsigned int got; /* events of the CQ */
} ends[2];

static struct rdma_cm_id *listener;
static struct ibv_pd *pd;

/* Did it fail? Then print how. */
static bool print_failure(bool failed, const char *what)
{
	if (failed)
		printf("%s: %s\n", what, strerrorname_np(errno));
	return failed;
}

/* The same, of a verb that returns an errno. */
static bool print_error(int error, const char *what)
{
	errno = error;
	return print_failure(error, what);
}

static long read_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void print_if_late(long began, const char *what)
{
	if (read_ms() - began > LATE)
		printf("%s: late\n", what);
}

static bool becomes_readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* The next event of an end is of this type. Else print it. */
static bool await_event(enum side side, enum rdma_cm_event_type type)
{
	long began = read_ms();
	struct rdma_cm_event *event;
	bool good;

	if (!becomes_readable(ends[side].events->fd, GIVE_UP)) {
		printf("%s: no %s\n", side_names[side], rdma_event_str(type));
		return false;
	}
	if (print_failure(rdma_get_cm_event(ends[side].events, &event), "rdma_get_cm_event"))
		return false;
	good = event->event == type;
	if (!good)
		printf("%s: %s %d\n", side_names[side], rdma_event_str(event->event),
		       event->status);
	print_if_late(began, rdma_event_str(event->event));
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST && good)
		ends[side].id = event->id;
	rdma_ack_cm_event(event);
	return good;
}

/* Remaining events, of both ends. */
static void take_events(void)
{
	struct rdma_cm_event *event;

	for (int i = 0; i < 2; i++)
		while (ends[i].events && becomes_readable(ends[i].events->fd, 0)) {
			MUST(rdma_get_cm_event(ends[i].events, &event));
			rdma_ack_cm_event(event);
		}
}

static bool create_queue(enum side side)
{
	struct end *end = &ends[side];
	struct ibv_qp_init_attr attr = { .cap = { 8, 8, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_context *context = ends[CLIENT].id->verbs;

	end->channel = ibv_create_comp_channel(context);
	if (print_failure(!end->channel, "ibv_create_comp_channel"))
		return false;
	end->cq = ibv_create_cq(context, 16, NULL, end->channel, 0);
	if (print_failure(!end->cq, "ibv_create_cq"))
		return false;
	end->mr = ibv_reg_mr(pd, end->memory, BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (print_failure(!end->mr, "ibv_reg_mr"))
		return false;
	attr.send_cq = attr.recv_cq = end->cq;
	return !print_failure(rdma_create_qp(end->id, pd, &attr), "rdma_create_qp");
}

static bool resolve_address(const char *at)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct rdma_cm_id *id;

	inet_pton(AF_INET, at, &address.sin_addr);
	for (int i = 0; i < 2; i++)
		ends[i].events = NEED(rdma_create_event_channel());
	MUST(rdma_create_id(ends[SERVER].events, &listener, NULL, RDMA_PS_TCP));
	MUST(rdma_bind_addr(listener, (struct sockaddr *)&address));
	MUST(rdma_listen(listener, 1));
	address.sin_port = rdma_get_src_port(listener);
	MUST(rdma_create_id(ends[CLIENT].events, &id, NULL, RDMA_PS_TCP));
	ends[CLIENT].id = id;
	if (print_failure(rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, GIVE_UP),
			  "resolve") ||
	    !await_event(CLIENT, RDMA_CM_EVENT_ADDR_RESOLVED))
		return false;
	return !print_failure(rdma_resolve_route(id, GIVE_UP), "rdma_resolve_route") &&
	       await_event(CLIENT, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static bool connect_ends(const char *at)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7,
					 .rnr_retry_count = 7 };

	if (!resolve_address(at))
		return false;
	pd = ibv_alloc_pd(ends[CLIENT].id->verbs);
	if (print_failure(!pd, "ibv_alloc_pd") || !create_queue(CLIENT))
		return false;
	if (print_failure(rdma_connect(ends[CLIENT].id, &param), "rdma_connect") ||
	    !await_event(SERVER, RDMA_CM_EVENT_CONNECT_REQUEST) || !create_queue(SERVER))
		return false;
	return !print_failure(rdma_accept(ends[SERVER].id, &param), "rdma_accept") &&
	       await_event(CLIENT, RDMA_CM_EVENT_ESTABLISHED) &&
	       await_event(SERVER, RDMA_CM_EVENT_ESTABLISHED);
}

static struct ibv_sge sge_of(const struct end *end)
{
	return (struct ibv_sge){ (uintptr_t)end->memory, BYTES, end->mr->lkey };
}

static bool post_receive(void)
{
	struct ibv_sge sge = sge_of(&ends[SERVER]);
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;
	int error = ibv_post_recv(ends[SERVER].id->qp, &wr, &bad);

	ends[SERVER].outstanding += !error;
	return !print_error(error, "ibv_post_recv");
}

static bool post_sends(void)
{
	struct ibv_sge sge = sge_of(&ends[CLIENT]);
	struct ibv_send_wr send = { .wr_id = 2,
				    .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr write = send, *bad = NULL;
	int error;

	send.next = &write;
	write.wr_id = 3;
	write.opcode = IBV_WR_RDMA_WRITE;
	write.wr.rdma.remote_addr = (uintptr_t)ends[SERVER].memory;
	write.wr.rdma.rkey = ends[SERVER].mr->rkey;
	error = ibv_post_send(ends[CLIENT].id->qp, &send, &bad);
	ends[CLIENT].outstanding += !error ? 2 : bad == &write;
	if (error)
		printf("the first that failed: %s\n", bad == &send ? "send" : "write");
	return !print_error(error, "ibv_post_send");
}

/* Wait for the event of a CQ. */
static bool await_cq_event(struct end *end)
{
	struct ibv_cq *cq;
	void *context;

	if (!becomes_readable(end->channel->fd, GIVE_UP) ||
	    print_failure(ibv_get_cq_event(end->channel, &cq, &context), "ibv_get_cq_event"))
		return false;
	end->got++;
	return true;
}

static bool arm_queue(const struct end *end)
{
	return !print_error(ibv_req_notify_cq(end->cq, 0), "ibv_req_notify_cq");
}

/* The next completion of an end, whose CQ is armed. */
static bool await_completion(struct end *end, struct ibv_wc *wc)
{
	int n = ibv_poll_cq(end->cq, 1, wc);

	while (!n) {
		if (!await_cq_event(end) || !arm_queue(end))
			return false;
		n = ibv_poll_cq(end->cq, 1, wc);
	}
	return !print_failure(n < 0, "ibv_poll_cq");
}

static bool complete_all(struct end *end)
{
	static const char *const names[] = { "", "receive", "send", "write" };
	long began = read_ms();
	struct ibv_wc wc;
	bool good = true;

	while (end->outstanding) {
		if (!await_completion(end, &wc)) {
			printf("%s: %d requests are not completed\n", side_names[end - ends],
			       end->outstanding);
			return false;
		}
		end->outstanding--;
		good &= wc.status == IBV_WC_SUCCESS;
		print_if_late(began, names[wc.wr_id]);
		if (wc.status)
			printf("%s: %s\n", names[wc.wr_id], ibv_wc_status_str(wc.status));
	}
	return good;
}

static void take_async_events(void)
{
	struct ibv_context *context = ends[CLIENT].id->verbs;
	struct ibv_async_event event;

	while (context && becomes_readable(context->async_fd, 0)) {
		MUST(ibv_get_async_event(context, &event));
		printf("%s\n", ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
	}
}

static enum ibv_qp_state state_of(const struct end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = { 0 };

	print_error(ibv_query_qp(end->id->qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	return attr.qp_state;
}

static void fail_all(bool has_states)
{
	if (has_states)
		printf("client: state %d\n", state_of(&ends[CLIENT]));
	for (int i = 0; i < 2; i++) {
		to_err(ends[i].id->qp);
		complete_all(&ends[i]);
	}
}

static void run_rounds(void)
{
	bool has_states = state_of(&ends[CLIENT]) == IBV_QPS_RTS; /* siw does not report them */
	bool good = true;

	for (int i = 0; i < ROUNDS && good; i++) {
		long began = read_ms();

		good = arm_queue(&ends[CLIENT]) && arm_queue(&ends[SERVER]) && post_receive() &&
		       post_sends();
		print_if_late(began, "posts");
		good = good && complete_all(&ends[CLIENT]) && complete_all(&ends[SERVER]);
		take_async_events();
		printf("round %d %s\n", i + 1, good ? "done" : "failed");
	}
	if (!good)
		fail_all(has_states);
}

/* The server first: the client gets its event when both have disconnected. */
static void disconnect_ends(void)
{
	print_failure(rdma_disconnect(ends[CLIENT].id), "rdma_disconnect");
	await_event(SERVER, RDMA_CM_EVENT_DISCONNECTED);
	rdma_disconnect(ends[SERVER].id); /* or it is disconnected by now */
	await_event(CLIENT, RDMA_CM_EVENT_DISCONNECTED);
}

static void destroy_end(struct end *end)
{
	if (end->id && end->id->qp)
		rdma_destroy_qp(end->id);
	if (end->mr)
		print_error(ibv_dereg_mr(end->mr), "ibv_dereg_mr");
	if (end->got)
		ibv_ack_cq_events(end->cq, end->got);
	if (end->cq)
		print_error(ibv_destroy_cq(end->cq), "ibv_destroy_cq");
	if (end->channel)
		print_error(ibv_destroy_comp_channel(end->channel), "ibv_destroy_comp_channel");
}

static void destroy_all(void)
{
	take_events();
	for (int i = 0; i < 2; i++)
		destroy_end(&ends[i]);
	if (pd)
		print_error(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	for (int i = 0; i < 2; i++)
		if (ends[i].id)
			print_failure(rdma_destroy_id(ends[i].id), "rdma_destroy_id");
	print_failure(rdma_destroy_id(listener), "rdma_destroy_id");
	for (int i = 0; i < 2; i++)
		rdma_destroy_event_channel(ends[i].events);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (connect_ends(argv[1])) {
		run_rounds();
		disconnect_ends();
	}
	destroy_all();
	puts("end");
	return 0;
}
