/*
 * A client sends its last message and ends the connection.
 *
 * Bad: it does not wait until the message was sent.
 */
#include <rdma/rdma_cma.h>

#include "rep.h"

#ifndef GOOD
#define GOOD 0
#endif
#ifndef STRIPS
#define STRIPS 0
#endif

static struct rdma_event_channel *channel;

struct side {
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char *mem;
};

static struct rdma_cm_id *await(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	need(!rdma_get_cm_event(channel, &event) && event->event == type);
	id = event->id;
	need(!rdma_ack_cm_event(event));
	return id;
}

static void equip(struct side *s)
{
	struct ibv_qp_init_attr a = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };

	need(s->pd = ibv_alloc_pd(s->id->verbs));
	need(a.send_cq = a.recv_cq = s->cq = ibv_create_cq(s->id->verbs, 8, NULL, NULL, 0));
	need(!rdma_create_qp(s->id, s->pd, &a) && (s->mem = calloc(1, 4096)));
	need(s->mr = ibv_reg_mr(s->pd, s->mem, 4096, IBV_ACCESS_LOCAL_WRITE));
}

static void strip(struct side *s)
{
	rdma_destroy_qp(s->id);
	ibv_dereg_mr(s->mr);
	ibv_destroy_cq(s->cq);
	ibv_dealloc_pd(s->pd);
	rdma_destroy_id(s->id);
	free(s->mem);
}

int main(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(7471),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct side server, client;
	struct rdma_cm_id *listener;
	struct ibv_sge g = { .length = 4096 };
	struct ibv_recv_wr r = { .wr_id = 1, .sg_list = &g, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr w = { .wr_id = 2,
				 .sg_list = &g,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_wc wc;

	need(channel = rdma_create_event_channel());
	need(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	need(!rdma_bind_addr(listener, (struct sockaddr *)&in) && !rdma_listen(listener, 4));
	need(!rdma_create_id(channel, &client.id, NULL, RDMA_PS_TCP));
	need(!rdma_resolve_addr(client.id, NULL, (struct sockaddr *)&in, 2000));
	await(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(!rdma_resolve_route(client.id, 2000));
	await(RDMA_CM_EVENT_ROUTE_RESOLVED);
	equip(&client);
	need(!rdma_connect(client.id, &param));
	server.id = await(RDMA_CM_EVENT_CONNECT_REQUEST);
	equip(&server);
	g.addr = (uintptr_t)server.mem;
	g.lkey = server.mr->lkey;
	need(!ibv_post_recv(server.id->qp, &r, &bad_recv) && !rdma_accept(server.id, &param));
	await(RDMA_CM_EVENT_ESTABLISHED);
	await(RDMA_CM_EVENT_ESTABLISHED);
	g.addr = (uintptr_t)client.mem;
	g.lkey = client.mr->lkey;
	need(!ibv_post_send(client.id->qp, &w, &bad));
	if (GOOD)
		need(wait_wc(client.cq, &wc, 5000) && !wc.status);
	if (STRIPS) {
		strip(&client);
		await(RDMA_CM_EVENT_DISCONNECTED);
	} else {
		need(!rdma_disconnect(client.id));
		await(RDMA_CM_EVENT_DISCONNECTED);
		need(wait_wc(server.cq, &wc, 5000) && !rdma_disconnect(server.id));
		await(RDMA_CM_EVENT_DISCONNECTED);
		strip(&client);
	}
	strip(&server);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
	return 0;
}
