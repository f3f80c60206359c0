/* expect: COMPL-002 */
/*
 * A server takes one client after the other; all messages come into one shared
 * receive queue. The last message of a client says goodbye, and comes while the
 * client closes its end.
 *
 * The mistake: the queue pair of the client is destroyed before that message is
 * polled, and its buffer is never posted again.
 */
#include <poll.h>
#include "common.h"

enum { CLIENTS = 3, SIZE = 64, RECEIVES = 8 };

struct server {
	struct dev dev;
	struct ibv_pd *pd;
	struct ibv_cq *sends, *receives;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	char *memory;
};

static void post_receive(struct server *s, uint64_t i)
{
	struct ibv_sge sge = { (uintptr_t)s->memory + i * SIZE, SIZE, s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	need(!ibv_post_srq_recv(s->srq, &wr, &bad));
}

static void send_message(struct server *s, struct ibv_qp *client)
{
	struct ibv_sge sge = { (uintptr_t)s->memory + RECEIVES * SIZE, SIZE, s->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	need(!ibv_post_send(client, &wr, &bad));
	need(wait_wc(s->sends, &wc, 1, 2000) == 1 && wc.status == IBV_WC_SUCCESS);
}

static void take_message(struct server *s)
{
	struct ibv_wc wc;

	need(wait_wc(s->receives, &wc, 1, 2000) == 1 && wc.status == IBV_WC_SUCCESS);
	post_receive(s, wc.wr_id);
}

#ifdef GOOD
/* All that the queue pair still receives is in the CQ when its last event has come. */
static void drain(struct server *s, struct ibv_qp *qp)
{
	struct pollfd fd = { .fd = s->dev.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	qp_flush(qp, s->receives, 0);
	need(poll(&fd, 1, 2000) == 1 && !ibv_get_async_event(s->dev.ctx, &event));
	need(event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED);
	ibv_ack_async_event(&event);
	take_message(s);
}
#endif

static void serve(struct server *s)
{
	struct ibv_qp_init_attr attr = { .send_cq = s->sends,
					 .recv_cq = s->receives,
					 .srq = s->srq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 1, .max_send_sge = 1 } };
	struct ibv_qp *client = qp_make(s->pd, IBV_QPT_RC, s->sends, s->sends, 4);
	struct ibv_qp *qp = ibv_create_qp(s->pd, &attr);

	need(qp);
	rc_connect(&s->dev, client, qp);
	send_message(s, client);
	take_message(s);
	send_message(s, client); /* goodbye */
	ibv_destroy_qp(client);
#ifdef GOOD
	drain(s, qp);
#endif
	ibv_destroy_qp(qp);
}

int main(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct server s;

	alarm(10);
	dev_open(&s.dev);
	need(s.pd = ibv_alloc_pd(s.dev.ctx));
	need(s.sends = ibv_create_cq(s.dev.ctx, 16, NULL, NULL, 0));
	need(s.receives = ibv_create_cq(s.dev.ctx, 32, NULL, NULL, 0));
	need(s.srq = ibv_create_srq(s.pd, &attr));
	s.memory = page_alloc(4096);
	need(s.mr = ibv_reg_mr(s.pd, s.memory, 4096, IBV_ACCESS_LOCAL_WRITE));
	for (uint64_t i = 0; i < RECEIVES; i++)
		post_receive(&s, i);
	for (int i = 0; i < CLIENTS; i++)
		serve(&s);

	ibv_destroy_srq(s.srq);
	ibv_dereg_mr(s.mr);
	ibv_destroy_cq(s.sends);
	ibv_destroy_cq(s.receives);
	ibv_dealloc_pd(s.pd);
	dev_close(&s.dev);
	free(s.memory);
	return 0;
}
