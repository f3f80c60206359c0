/*
 * A client waits for its server, which serves others first, and gives up.
 *
 * Bad: the server answers the request when the client has gone. GOOD: at once.
 */
#include <rdma/rdma_cma.h>

#include "rep.h"

static struct rdma_event_channel *channel;
static struct sockaddr_in address = { .sin_family = AF_INET };
static struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };

static struct rdma_cm_id *take(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	need(!rdma_get_cm_event(channel, &event));
	need(event->event == type);
	id = event->id;
	need(!rdma_ack_cm_event(event));
	return id;
}

static void make_queue_pair(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };

	need(!rdma_create_qp(id, NULL, &attr));
}

static void leave(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	need(!rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

static int run_client(int fd, int done)
{
	struct rdma_cm_id *id;
	struct pollfd event;
	int answered;

	need(read(fd, &address.sin_port, sizeof(address.sin_port)) == sizeof(address.sin_port));
	need(channel = rdma_create_event_channel());
	need(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 2000));
	take(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(!rdma_resolve_route(id, 2000));
	take(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_queue_pair(id);
	need(!rdma_connect(id, &param));
	event = (struct pollfd){ .fd = channel->fd, .events = POLLIN };
#ifdef GOOD
	answered = poll(&event, 1, 8000) == 1;
#else
	answered = poll(&event, 1, 50) == 1;
#endif
	if (answered) {
		take(RDMA_CM_EVENT_ESTABLISHED);
		need(!rdma_disconnect(id));
		take(RDMA_CM_EVENT_DISCONNECTED);
	}
	leave(id);
	need(write(done, "", 1) == 1);
	return !answered;
}

static int serve(struct rdma_cm_id *id)
{
	make_queue_pair(id);
	if (rdma_accept(id, &param))
		return 1;
	take(RDMA_CM_EVENT_ESTABLISHED);
	take(RDMA_CM_EVENT_DISCONNECTED);
	return 0;
}

int main(void)
{
	struct rdma_cm_id *listener, *id;
	int status, failed, ends[2], done[2];
	char others;
	pid_t pid;

	alarm(10);
	need(!pipe(ends) && !pipe(done));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	pid = fork();
	if (!pid)
		_exit(run_client(ends[0], done[1]));
	need(channel = rdma_create_event_channel());
	need(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	need(!rdma_bind_addr(listener, (struct sockaddr *)&address));
	address.sin_port = rdma_get_src_port(listener);
	need(!rdma_listen(listener, 1));
	need(write(ends[1], &address.sin_port, sizeof(address.sin_port)) ==
	     sizeof(address.sin_port));
#ifndef GOOD
	need(read(done[0], &others, 1) == 1); /* other clients */
#endif
	id = take(RDMA_CM_EVENT_CONNECT_REQUEST);
	failed = serve(id);
	rdma_destroy_qp(id);
	need(!rdma_destroy_id(id) && !rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
	need(waitpid(pid, &status, 0) == pid);
	(void)others;
	return failed || status;
}
