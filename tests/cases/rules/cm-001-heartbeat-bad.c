/* expect: CM-001 */
/* also: LIFE-003 */
/*
 * A heartbeat over rdma_cm. Both ends live here and share an event channel;
 * the connection is made anew for each of some rounds.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include "common.h"

#define ROUNDS 3
#define BEATS  5

struct end {
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint64_t *mem; /* [0] is sent, [8..] are received */
};

static struct rdma_event_channel *channel;
static struct rdma_conn_param param = {
	.responder_resources = 1,
	.initiator_depth = 1,
	.retry_count = 7,
	.rnr_retry_count = 7,
};

static struct rdma_cm_id *await(enum rdma_cm_event_type type)
{
	enum rdma_cm_event_type came;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	do {
		need(!rdma_get_cm_event(channel, &event));
		id = event->id;
		came = event->event;
		need(!event->status && !rdma_ack_cm_event(event));
	} while (came == RDMA_CM_EVENT_TIMEWAIT_EXIT);
	need(came == type);
	return id;
}

static void end_make(struct end *e, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { BEATS, BEATS, 1, 1, 0 } };

	e->id = id;
	e->pd = ibv_alloc_pd(id->verbs);
	e->cq = ibv_create_cq(id->verbs, 4 * BEATS, NULL, NULL, 0);
	e->mem = page_alloc(4096);
	need(e->pd && e->cq);
	e->mr = ibv_reg_mr(e->pd, e->mem, 4096, IBV_ACCESS_LOCAL_WRITE);
	need(e->mr);
	init.send_cq = init.recv_cq = e->cq;
	need(!rdma_create_qp(id, e->pd, &init));
	for (uint64_t i = 0; i < BEATS; i++) {
		struct ibv_sge sge = { (uintptr_t)&e->mem[8 + i], 8, e->mr->lkey };
		struct ibv_recv_wr *bad, wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		need(!ibv_post_recv(id->qp, &wr, &bad));
	}
}

static void end_drop(struct end *e)
{
	struct ibv_qp *qp = e->id->qp;

	need(!rdma_destroy_id(e->id));
	need(!ibv_destroy_qp(qp));
	need(!ibv_dereg_mr(e->mr) && !ibv_destroy_cq(e->cq) && !ibv_dealloc_pd(e->pd));
	free(e->mem);
}

static void beat(struct end *from, struct end *to, uint64_t i)
{
	struct ibv_sge sge = { (uintptr_t)from->mem, 8, from->mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = 100 + i,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	from->mem[0] = 60 + i;
	need(!ibv_post_send(from->id->qp, &wr, &bad));
	need(wait_wc(from->cq, &wc, 1, 2000) == 1 && wc.status == IBV_WC_SUCCESS);
	need(wait_wc(to->cq, &wc, 1, 2000) == 1 && wc.status == IBV_WC_SUCCESS);
	need(wc.wr_id == i && to->mem[8 + i] == 60 + i);
}

static void run_round(struct sockaddr_in *to)
{
	struct end active, passive;
	struct rdma_cm_id *id;

	need(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	need(!rdma_resolve_addr(id, NULL, (struct sockaddr *)to, 2000));
	await(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(!rdma_resolve_route(id, 2000));
	await(RDMA_CM_EVENT_ROUTE_RESOLVED);
	end_make(&active, id);
	need(!rdma_connect(id, &param));
	end_make(&passive, await(RDMA_CM_EVENT_CONNECT_REQUEST));
	need(!rdma_accept(passive.id, &param));
	await(RDMA_CM_EVENT_ESTABLISHED);
	await(RDMA_CM_EVENT_ESTABLISHED);
	for (uint64_t i = 0; i < BEATS; i++) {
		beat(&active, &passive, i);
		beat(&passive, &active, i);
	}
	need(!rdma_disconnect(active.id));
	need(await(RDMA_CM_EVENT_DISCONNECTED) == passive.id);
	need(!rdma_disconnect(passive.id));
	need(await(RDMA_CM_EVENT_DISCONNECTED) == active.id);
	end_drop(&active);
	end_drop(&passive);
}

int main(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_cm_id *listener;

	alarm(10);
	channel = rdma_create_event_channel();
	need(channel && !rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	need(!rdma_bind_addr(listener, (struct sockaddr *)&any) && !rdma_listen(listener, 4));
	any.sin_port = rdma_get_src_port(listener);
	need(inet_pton(AF_INET, getenv("ADDR") ?: "127.0.0.1", &any.sin_addr) == 1);
	for (int i = 0; i < ROUNDS; i++)
		run_round(&any);
	printf("%d rounds\n", ROUNDS);
	need(!rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
	return 0;
}
