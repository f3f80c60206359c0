#pragma once
/*
 * A recording with most kinds of objects: a completion channel, a shared receive queue, a memory
 * window, an address handle, datagrams, a fork, an asynchronous event; messages in a loop.
 *
 * Included by tests/cli/run.h.
 */
#include "tests/core/store/example.h"

static struct rich {
	struct ibv_comp_channel channel;
	struct ibv_cq cq; /* with the channel */
	struct ibv_mw mw;
	struct ibv_ah ah;
	struct ibv_qp ud;
	struct ibv_mr mr;
} rich;

static inline void rich_make_objects(struct example_end *one)
{
	rich.channel = (struct ibv_comp_channel){ .context = &one->context, .fd = 7 };
	rich.cq = (struct ibv_cq){ .context = &one->context, .channel = &rich.channel, .cqe = 64 };
	rich.mw = (struct ibv_mw){
		.context = &one->context, .pd = &one->pd, .rkey = 0x99, .type = IBV_MW_TYPE_1
	};
	rich.mr = (struct ibv_mr){ .context = &one->context,
				   .pd = &one->pd,
				   .lkey = 0x71,
				   .rkey = 0x72,
				   .addr = (void *)0x40000,
				   .length = 4096 };
	make_verb(&one->m, VERB_create_comp_channel, MAKE_ARGS(MAKE_PTR(&one->context)),
		  (int64_t)MAKE_PTR(&rich.channel), 0);
	make_verb(&one->m, VERB_create_cq,
		  MAKE_ARGS(MAKE_PTR(&one->context), 40, 0x1234, MAKE_PTR(&rich.channel), 0),
		  (int64_t)MAKE_PTR(&rich.cq), 0);
	make_verb(&one->m, VERB_alloc_mw, MAKE_ARGS(MAKE_PTR(&one->pd), IBV_MW_TYPE_1),
		  (int64_t)MAKE_PTR(&rich.mw), 0);
	make_verb(&one->m, VERB_reg_mr, MAKE_ARGS(MAKE_PTR(&one->pd), 0x40000, 4096, 17),
		  (int64_t)MAKE_PTR(&rich.mr), 0);
}

static inline void rich_make_datagrams(struct example_end *one)
{
	struct ibv_qp_init_attr init = { .send_cq = &rich.cq,
					 .recv_cq = &rich.cq,
					 .qp_type = IBV_QPT_UD,
					 .cap = { 4, 4, 1, 1, 32 },
					 .sq_sig_all = 1 };
	struct ibv_ah_attr to = { .dlid = 0x21,
				  .port_num = 1,
				  .sl = 2,
				  .is_global = 1,
				  .grh = { example_gid(6, false), 5, 3, 9, 8 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x777 };
	const uint64_t qp = MAKE_PTR(&rich.ud);

	rich.ah = (struct ibv_ah){ .context = &one->context, .pd = &one->pd };
	rich.ud = (struct ibv_qp){ .context = &one->context,
				   .pd = &one->pd,
				   .send_cq = &rich.cq,
				   .recv_cq = &rich.cq,
				   .qp_num = 0x333,
				   .qp_type = IBV_QPT_UD };
	make_verb(&one->m, VERB_create_qp, MAKE_ARGS(MAKE_PTR(&one->pd), MAKE_PTR(&init)),
		  (int64_t)qp, 0);
	make_verb(&one->m, VERB_create_ah, MAKE_ARGS(MAKE_PTR(&one->pd), MAKE_PTR(&to)),
		  (int64_t)MAKE_PTR(&rich.ah), 0);
	make_verb(&one->m, VERB_modify_qp,
		  MAKE_ARGS(qp, MAKE_PTR(&attr),
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		  0, 0);
	attr.qp_state = IBV_QPS_RTR;
	make_verb(&one->m, VERB_modify_qp, MAKE_ARGS(qp, MAKE_PTR(&attr), IBV_QP_STATE), 0, 0);
	attr.qp_state = IBV_QPS_RTS;
	make_verb(&one->m, VERB_modify_qp,
		  MAKE_ARGS(qp, MAKE_PTR(&attr), IBV_QP_STATE | IBV_QP_SQ_PSN), 0, 0);
}

/* Each is received into the shared queue, and waited for. */
static inline void rich_send_messages(struct example_end *one, struct example_end *two)
{
	for (uint64_t i = 0; i < 8; i++) {
		example_at(1000 + 100 * i);
		example_receive(two, 20 + i, 512);
		example_at(1010 + 100 * i);
		example_post(one, (struct example_wr){ .wr_id = i,
						       .opcode = IBV_WR_SEND,
						       .flags = IBV_SEND_SIGNALED,
						       .lengths = { 256, (uint32_t)i } });
		example_at(1030 + 100 * i);
		make_poll(&two->m, &two->cq, i + 1,
			  (const struct event_wc[]){
				  example_wc(two, 20 + i, 0, IBV_WC_RECV, 256 + (uint32_t)i) },
			  1);
		example_at(1050 + 10 * (i % 3) + 100 * i);
		example_poll(one, i, 0, IBV_WC_SEND, 0);
	}
}

/* A datagram, whose completion is announced by an event. */
static inline void rich_send_datagram(struct example_end *one)
{
	struct ibv_cq *cq = &rich.cq;
	void *context = (void *)0x1234;
	struct example_wr wr = { .wr_id = 0x50,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .imm = 0x77,
				 .lengths = { 48 },
				 .ud = { MAKE_PTR(&rich.ah), 0x444, 0x777 },
				 .parts = WR_UD };
	struct event_wc wc;

	example_at(2000);
	make_notify(&one->m, &rich.cq);
	example_post_list(one, VERB_post_send, &rich.ud, &wr, 1, 0);
	example_at(2100);
	make_verb(&one->m, VERB_get_cq_event,
		  MAKE_ARGS(MAKE_PTR(&rich.channel), MAKE_PTR(&cq), MAKE_PTR(&context)), 0, 0);
	wc = make_wc(0x50, 0, IBV_WC_SEND, 0x333);
	make_poll(&one->m, &rich.cq, 2, &wc, 1);
	make_verb(&one->m, VERB_ack_cq_events, MAKE_ARGS(MAKE_PTR(&rich.cq), 1), 0, 0);
}

static inline void rich_use_memory(struct example_end *one)
{
	struct ibv_mw_bind bind = { .wr_id = 0x60,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = &rich.mr,
						   .addr = 0x40100,
						   .length = 256,
						   .mw_access_flags = IBV_ACCESS_REMOTE_WRITE } };

	example_at(2200);
	make_verb(&one->m, VERB_bind_mw,
		  MAKE_ARGS(MAKE_PTR(&one->qp), MAKE_PTR(&rich.mw), MAKE_PTR(&bind)), 0, 0);
	example_at(2210);
	example_poll(one, 0x60, 0, IBV_WC_BIND_MW, 0);
	rich.mr.addr = (void *)0x48000;
	rich.mr.length = 8192;
	make_verb(&one->m, VERB_rereg_mr,
		  MAKE_ARGS(MAKE_PTR(&rich.mr), IBV_REREG_MR_CHANGE_TRANSLATION, MAKE_PTR(&one->pd),
			    0x48000, 8192, 17),
		  0, 0);
}

static inline void rich_see_event(struct example_end *one)
{
	struct ibv_async_event event = { .element.qp = NULL };

	event.event_type = IBV_EVENT_PORT_ACTIVE;
	event.element.port_num = 1;
	make_verb(&one->m, VERB_get_async_event,
		  MAKE_ARGS(MAKE_PTR(&one->context), MAKE_PTR(&event)), 0, 0);
	make_verb(&one->m, VERB_ack_async_event, MAKE_ARGS(MAKE_PTR(&event)), 0, 0);
}

/* All are destroyed, the last one first. */
static inline void rich_end(struct example_end *one, struct example_end *two)
{
	example_at(3000);
	make_verb(&one->m, VERB_dealloc_mw, MAKE_ARGS(MAKE_PTR(&rich.mw)), 0, 0);
	make_verb(&one->m, VERB_dereg_mr, MAKE_ARGS(MAKE_PTR(&rich.mr)), 0, 0);
	make_verb(&one->m, VERB_destroy_ah, MAKE_ARGS(MAKE_PTR(&rich.ah)), 0, 0);
	make_verb(&one->m, VERB_destroy_qp, MAKE_ARGS(MAKE_PTR(&rich.ud)), 0, 0);
	make_verb(&one->m, VERB_destroy_qp, MAKE_ARGS(MAKE_PTR(&one->qp)), 0, 0);
	make_verb(&one->m, VERB_destroy_cq, MAKE_ARGS(MAKE_PTR(&rich.cq)), 0, 0);
	make_verb(&one->m, VERB_destroy_comp_channel, MAKE_ARGS(MAKE_PTR(&rich.channel)), 0, 0);
	make_verb(&one->m, VERB_dereg_mr, MAKE_ARGS(MAKE_PTR(&one->mr)), 0, 0);
	make_verb(&one->m, VERB_destroy_cq, MAKE_ARGS(MAKE_PTR(&one->cq)), 0, 0);
	make_verb(&one->m, VERB_dealloc_pd, MAKE_ARGS(MAKE_PTR(&one->pd)), 0, 0);
	make_verb(&one->m, VERB_close_device, MAKE_ARGS(MAKE_PTR(&one->context)), 0, 0);
	make_verb(&two->m, VERB_destroy_qp, MAKE_ARGS(MAKE_PTR(&two->qp)), 0, 0);
	make_verb(&two->m, VERB_destroy_srq, MAKE_ARGS(MAKE_PTR(&two->srq)), 0, 0);
}

static inline void rich_record(struct example *x)
{
	struct example_end *one = &x->ends[0], *two = &x->ends[1];

	example_begin(x);
	rich_make_objects(one);
	example_create_srq(two);
	example_create_qp(one, IBV_QPT_RC, 0x111, false);
	example_create_qp(two, IBV_QPT_RC, 0x222, true);
	for (int i = 0; i < EXAMPLE_ENDS; i++)
		example_connect(x, i, (struct ibv_qp_attr[]){ example_attr(x, i, false, true) });
	rich_make_datagrams(one);
	make_fork(&one->m, 1);
	rich_see_event(one);
	rich_send_messages(one, two);
	rich_send_datagram(one);
	rich_use_memory(one);
	rich_end(one, two);
	writer_end_process(x->writer, 100, 3100000, 0);
	writer_end_process(x->writer, 200, 3200000, 1 << 8);
	example_finish(x);
}
