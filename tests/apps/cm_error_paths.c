/*
 * cm_error_paths KIND[,KIND...] [good]: a program whose error paths of these kinds are broken, or
 * not; here of librdmacm
 *
 * It connects to itself at 127.0.0.1, sends a message, and disconnects. It ends with 0; with a
 * failure with 1, unless its error path has the mistake (tests/e2e/torture.sh).
 */
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include "tests/apps/app.h"

enum { BYTES = 64, GIVE_UP = 2000 /* ms */ };

static struct rdma_event_channel *channels[2]; /* of the client, and of the server */
static struct rdma_cm_id *ids[2], *listener;
static struct ibv_pd *pd;
static struct ibv_cq *cqs[2];
static struct ibv_mr *mr;
static char memory[2 * BYTES];
static struct rdma_cm_event *kept;
static const char *kind;
static bool good;

static bool has_mistake(const char *mistake)
{
	return !good && strstr(kind, mistake);
}

static bool next_event(int end, struct rdma_cm_event **event, bool forever)
{
	struct pollfd polled = { channels[end]->fd, POLLIN, 0 };

	if (!forever && poll(&polled, 1, GIVE_UP) != 1)
		return false;
	return !rdma_get_cm_event(channels[end], event);
}

/* The next event of an end is of this type. */
static bool await_event(int end, enum rdma_cm_event_type type)
{
	bool forever = has_mistake("waits-for-established") && type == RDMA_CM_EVENT_ESTABLISHED;
	struct rdma_cm_event *event;
	bool found;

	do {
		if (!next_event(end, &event, forever))
			return false;
		found = event->event == type;
		if (found && type == RDMA_CM_EVENT_CONNECT_REQUEST)
			ids[1] = event->id;
		if (!found && has_mistake("error-event-kept"))
			kept = event;
		else
			rdma_ack_cm_event(event);
	} while (!found && forever);
	return found;
}

/* What remains, in any order of the two ends. */
static void take_events(void)
{
	struct rdma_cm_event *event;
	struct pollfd polled;

	for (int i = 0; i < 2; i++)
		while (channels[i] && (polled = (struct pollfd){ channels[i]->fd, POLLIN, 0 },
				       poll(&polled, 1, 0) == 1)) {
			if (rdma_get_cm_event(channels[i], &event))
				break;
			rdma_ack_cm_event(event);
		}
}

static int destroy_end(int i)
{
	if (ids[i] && ids[i]->qp)
		rdma_destroy_qp(ids[i]);
	return cqs[i] && ibv_destroy_cq(cqs[i]);
}

/* The status of the program: @status, or 1 if something could not be destroyed. */
static int destroy_all(int status)
{
	int failed = status;

	if (status && ids[0] && has_mistake("pair-left-to-id")) {
		rdma_destroy_id(ids[0]);
		ids[0] = NULL;
	}
	take_events();
	for (int i = 0; i < 2; i++)
		failed |= destroy_end(i);
	if (mr)
		failed |= ibv_dereg_mr(mr) != 0;
	if (pd)
		failed |= ibv_dealloc_pd(pd) != 0;
	for (int i = 0; i < 2; i++)
		if (ids[i] && !(status && i && has_mistake("request-left")))
			failed |= rdma_destroy_id(ids[i]) != 0;
	if (listener)
		failed |= rdma_destroy_id(listener) != 0;
	for (int i = 0; i < 2; i++)
		if (channels[i])
			rdma_destroy_event_channel(channels[i]);
	return failed;
}

static int fail_address(void)
{
	if (has_mistake("id-destroyed-twice"))
		rdma_destroy_id(ids[0]);
	return destroy_all(1);
}

static int resolve_address(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };

	inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
	for (int i = 0; i < 2; i++)
		channels[i] = NEED(rdma_create_event_channel());
	if (rdma_create_id(channels[1], &listener, NULL, RDMA_PS_TCP)) {
		listener = NULL;
		return destroy_all(1);
	}
	if (rdma_bind_addr(listener, (struct sockaddr *)&address) || rdma_listen(listener, 1))
		return destroy_all(1);
	address.sin_port = rdma_get_src_port(listener);
	if (rdma_create_id(channels[0], &ids[0], NULL, RDMA_PS_TCP)) {
		ids[0] = NULL;
		return destroy_all(1);
	}
	if (rdma_resolve_addr(ids[0], NULL, (struct sockaddr *)&address, GIVE_UP) ||
	    !await_event(0, RDMA_CM_EVENT_ADDR_RESOLVED) || rdma_resolve_route(ids[0], GIVE_UP) ||
	    !await_event(0, RDMA_CM_EVENT_ROUTE_RESOLVED))
		return fail_address();
	return 0;
}

static bool create_queue(int i)
{
	struct ibv_qp_init_attr attr = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	cqs[i] = ibv_create_cq(ids[0]->verbs, 8, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = cqs[i];
	return cqs[i] && !rdma_create_qp(ids[i], pd, &attr);
}

static int connect_ends(void)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7,
					 .rnr_retry_count = 7 };

	pd = ibv_alloc_pd(ids[0]->verbs);
	mr = pd ? ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!mr || !create_queue(0))
		return destroy_all(1);
	if (rdma_connect(ids[0], &param) || !await_event(1, RDMA_CM_EVENT_CONNECT_REQUEST))
		return destroy_all(1);
	if (!create_queue(1)) {
		if (!has_mistake("request-left"))
			rdma_reject(ids[1], NULL, 0);
		return destroy_all(1);
	}
	if (rdma_accept(ids[1], &param) || !await_event(0, RDMA_CM_EVENT_ESTABLISHED) ||
	    !await_event(1, RDMA_CM_EVENT_ESTABLISHED))
		return destroy_all(1);
	return 0;
}

static bool take_completion(int i)
{
	struct ibv_wc wc;
	int n = 0;

	for (int turn = 0; !n && turn < GIVE_UP; turn++) {
		n = ibv_poll_cq(cqs[i], 1, &wc);
		if (!n)
			usleep(1000);
	}
	return n == 1 && !wc.status;
}

static int send_message(void)
{
	struct ibv_sge from = { (uintptr_t)memory, BYTES, mr->lkey };
	struct ibv_sge to = { (uintptr_t)memory + BYTES, BYTES, mr->lkey };
	struct ibv_recv_wr receive = { .sg_list = &to, .num_sge = 1 }, *bad_receive;
	struct ibv_send_wr send = { .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	if (ibv_post_recv(ids[1]->qp, &receive, &bad_receive) ||
	    ibv_post_send(ids[0]->qp, &send, &bad))
		return destroy_all(1);
	return take_completion(0) && take_completion(1) ? 0 : destroy_all(1);
}

int main(int argc, char **argv)
{
	kind = argc > 1 ? argv[1] : "";
	good = argc > 2 && !strcmp(argv[2], "good");
	if (resolve_address() || connect_ends() || send_message())
		return 1;
	rdma_disconnect(ids[0]);
	await_event(1, RDMA_CM_EVENT_DISCONNECTED);
	rdma_disconnect(ids[1]);
	await_event(0, RDMA_CM_EVENT_DISCONNECTED);
	return destroy_all(0);
}
