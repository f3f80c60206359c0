#pragma once
/*
 * Programs for recorder_test.c: they print what each verb returns, and what completes.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "shim/trace/memory.h"
#include "tests/shim/soft/pair.h"
#include "tests/shim/trace/ring_text.h"

enum { PART = 4096, TRIES = 16, PATIENCE = 200000 };

/* What a call returned, and errno if it has changed. */
static void show_result(const char *what, int64_t result, int error)
{
	printf("\t%s: ", what);
	if (ring_text_is_address((uint64_t)result))
		printf("an object");
	else
		printf("%" PRId64, result);
	if (error != ERANGE)
		printf(" errno %d", error);
	printf("\n");
}

#define SHOW(call)                                  \
	do {                                        \
		int64_t result_;                    \
                                                    \
		errno = ERANGE;                     \
		result_ = (int64_t)(call);          \
		show_result(#call, result_, errno); \
	} while (0)

/* If there is the object. */
#define USE(object, call)           \
	do {                        \
		if (object)         \
			SHOW(call); \
	} while (0)

static void show_wc(const struct ibv_wc *wc)
{
	printf("\t\twr_id %" PRIu64 " status %d", wc->wr_id, wc->status);
	if (wc->status)
		printf(" vendor_err %u", wc->vendor_err);
	else
		printf(" opcode %d byte_len %u flags %u imm %u", wc->opcode, wc->byte_len,
		       wc->wc_flags, wc->wc_flags & IBV_WC_WITH_IMM ? ntohl(wc->imm_data) : 0);
	printf("\n");
}

/* Something is late in this scenario: its completions come, in their own time. */
static bool timed;

/* All completions until @n have come, @most in a call. */
static void poll_all(struct ibv_cq *cq, int n, int most)
{
	int got, tries = timed ? PATIENCE : TRIES;
	struct ibv_wc wc[8];

	for (; n > 0 && tries; tries--) {
		got = ibv_poll_cq(cq, timed ? 1 : most, wc);
		for (int i = 0; i < got; i++)
			show_wc(&wc[i]);
		if (got < 0)
			printf("\t\tpoll %d\n", got);
		n -= got > 0 ? got : 0;
		if (timed && got <= 0)
			usleep(50);
	}
	if (n > 0)
		printf("\t\t%d more did not come\n", n);
}

static void show_rest(struct ibv_cq *cq)
{
	struct ibv_wc wc[8];
	int got = ibv_poll_cq(cq, 8, wc);

	printf("\t\tpoll %d\n", got);
	for (int i = 0; i < got; i++)
		show_wc(&wc[i]);
}

static struct pair *p;

static void open_pair(void)
{
	void *state;

	pair_setup(&state);
	p = state;
}

static void close_pair(void)
{
	SHOW(ibv_destroy_qp(p->a.qp));
	SHOW(ibv_destroy_qp(p->b.qp));
	p->a.qp = p->b.qp = NULL;
	end_close(&p->a);
	end_close(&p->b);
	free(p);
}

static void make_memory(struct ibv_context *context, struct ibv_pd *pd)
{
	static char buf[PART];
	struct ibv_alloc_dm_attr size = { 256, 3, 0 };
	struct ibv_mr *mr = NULL, *of_dm = NULL;
	struct ibv_dm *dm = NULL;
	struct ibv_mw *mw = NULL;

	SHOW(mr = ibv_reg_mr(pd, buf, PART, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
	SHOW(ibv_reg_mr(pd, buf, PART, IBV_ACCESS_REMOTE_WRITE));
	USE(mr, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0));
	USE(mr, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, buf, 64, 0));
	USE(mr, ibv_rereg_mr(mr, 64, NULL, buf, 64, 0));
	USE(mr, ibv_dereg_mr(mr));
	SHOW(mr = ibv_reg_mr_iova(pd, buf, PART, 0x10000, IBV_ACCESS_LOCAL_WRITE));
	USE(mr, ibv_dereg_mr(mr));
	SHOW(mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2));
	USE(mw, ibv_dealloc_mw(mw));
	SHOW(dm = ibv_alloc_dm(context, &size));
	USE(dm, ibv_memcpy_to_dm(dm, 8, "12345678", 8));
	USE(dm, ibv_memcpy_from_dm(buf, dm, 8, 8));
	USE(dm, ibv_memcpy_from_dm(buf, dm, 252, 8));
	USE(dm,
	    of_dm = ibv_reg_dm_mr(pd, dm, 0, 128, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE));
	USE(dm, ibv_free_dm(dm));
	USE(of_dm, ibv_dereg_mr(of_dm));
	USE(dm, ibv_free_dm(dm));
}

static void make_queues(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_comp_channel *channel = NULL;
	struct ibv_cq *cq = NULL;
	struct ibv_srq *srq = NULL;
	struct ibv_modify_cq_attr moderation = { IBV_CQ_ATTR_MODERATE, { 4, 100 } };
	struct ibv_srq_init_attr init = { (void *)0x55, { 32, 2, 0 } };
	struct ibv_srq_attr limit = { .srq_limit = 7 }, got;

	SHOW(channel = ibv_create_comp_channel(context));
	SHOW(cq = ibv_create_cq(context, 10, (void *)0x77, channel, 0));
	SHOW(ibv_create_cq(context, 0, NULL, NULL, 0));
	SHOW(ibv_create_cq(context, 10, NULL, NULL, 1000));
	USE(cq, ibv_resize_cq(cq, 100));
	USE(cq, ibv_modify_cq(cq, &moderation));
	USE(cq, ibv_req_notify_cq(cq, 0));
	USE(cq, ibv_req_notify_cq(cq, 1));
	USE(channel, ibv_destroy_comp_channel(channel));
	USE(cq, ibv_destroy_cq(cq));
	USE(channel, ibv_destroy_comp_channel(channel));
	SHOW(srq = ibv_create_srq(pd, &init));
	USE(srq, ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT));
	USE(srq, ibv_modify_srq(srq, &limit, 1 << 20));
	USE(srq, ibv_query_srq(srq, &got));
	USE(srq, ibv_destroy_srq(srq));
}

static void make_others(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_td_init_attr of_td = { 0 };
	struct ibv_parent_domain_init_attr of_domain = { .pd = pd };
	struct ibv_xrcd_init_attr of_xrcd = { IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, -1,
					      O_CREAT };
	struct ibv_counters_init_attr of_counters = { 0 };
	struct ibv_ah_attr of_ah = { .dlid = 1, .port_num = 1, .sl = 3 };
	struct ibv_counters *counters = NULL;
	struct ibv_pd *domain = NULL;
	struct ibv_xrcd *xrcd = NULL;
	struct ibv_td *td = NULL;
	struct ibv_ah *ah = NULL;

	SHOW(td = ibv_alloc_td(context, &of_td));
	of_domain.td = td;
	SHOW(domain = ibv_alloc_parent_domain(context, &of_domain));
	USE(td, ibv_dealloc_td(td));
	USE(domain, ibv_dealloc_pd(domain));
	USE(td, ibv_dealloc_td(td));
	SHOW(xrcd = ibv_open_xrcd(context, &of_xrcd));
	USE(xrcd, ibv_close_xrcd(xrcd));
	SHOW(counters = ibv_create_counters(context, &of_counters));
	USE(counters, ibv_destroy_counters(counters));
	SHOW(ah = ibv_create_ah(pd, &of_ah));
	USE(ah, ibv_destroy_ah(ah));
	of_ah.port_num = 9;
	SHOW(ibv_create_ah(pd, &of_ah));
}

/* Most control verbs, with and without errors. */
static void run_control(void)
{
	struct ibv_query_device_ex_input input = { 0 };
	struct ibv_context *context = NULL;
	struct ibv_device_attr_ex more;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	struct ibv_device **list = NULL;
	struct ibv_pd *pd = NULL;
	union ibv_gid gid;
	__be16 pkey;
	int n = 0;

	SHOW(list = ibv_get_device_list(&n));
	SHOW(context = ibv_open_device(list[0]));
	ibv_free_device_list(list);
	SHOW(ibv_query_device(context, &attr));
	SHOW(ibv_query_device_ex(context, &input, &more));
	SHOW(ibv_query_port(context, 1, &port));
	SHOW(ibv_query_port(context, 77, &port));
	SHOW(ibv_query_gid(context, 1, 0, &gid));
	SHOW(ibv_query_pkey(context, 1, 0, &pkey));
	SHOW(pd = ibv_alloc_pd(context));
	if (!pd)
		return;
	make_memory(context, pd);
	make_queues(context, pd);
	make_others(context, pd);
	SHOW(ibv_dealloc_pd(pd));
	SHOW(ibv_close_device(context));
}

static struct ibv_send_wr make_request(uint64_t wr_id, enum ibv_wr_opcode opcode,
				       struct ibv_sge *sges, int n)
{
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = sges,
				  .num_sge = n,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED,
				  .imm_data = htonl(0xabc) };

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)p->b.buf + 64;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 6;
		wr.wr.atomic.rkey = p->b.mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)p->b.buf + 128;
		wr.wr.rdma.rkey = p->b.mr->rkey;
	}
	return wr;
}

static void post_receives(int n)
{
	for (int i = 0; i < n; i++)
		SHOW(recv_at(&p->b, 100 + (unsigned int)i, PART + 64 * (unsigned int)i, 64));
}

/* A request of each kind, alone. */
static void send_each(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	struct ibv_sge sge = sge_of(&p->a, 0, 8);
	struct ibv_send_wr *bad = NULL;

	post_receives(3);
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
		struct ibv_send_wr wr = make_request(i, opcodes[i], &sge, 1);

		wr.send_flags |= i == 1 ? IBV_SEND_SOLICITED | IBV_SEND_INLINE : i == 4 ? 2 : 0;
		SHOW(ibv_post_send(p->a.qp, &wr, &bad));
		poll_all(p->a.cq, 1, 1);
	}
	poll_all(p->b.cq, 3, 8);
}

/* Lists, of which a request in the middle may be refused, and odd elements. */
static void send_lists(void)
{
	struct ibv_sge sges[3] = { sge_of(&p->a, 0, 8), sge_of(&p->a, 16, 0),
				   sge_of(&p->a, 32, 7) };
	struct ibv_send_wr wrs[3], *bad = NULL;
	int i;

	memcpy(p->a.buf, "abcdefgh", 8);
	post_receives(3);
	for (i = 0; i < 3; i++) {
		wrs[i] = make_request(10 + (unsigned int)i, IBV_WR_SEND, sges, 3 - i);
		wrs[i].next = i < 2 ? &wrs[i + 1] : NULL;
		wrs[i].send_flags = i == 2 ? IBV_SEND_SIGNALED : 0;
	}
	SHOW(ibv_post_send(p->a.qp, wrs, &bad));
	poll_all(p->a.cq, 1, 1);
	poll_all(p->b.cq, 3, 2);
	wrs[1].num_sge = 99;
	wrs[0].opcode = IBV_WR_RDMA_WRITE;
	bad = NULL;
	SHOW(ibv_post_send(p->a.qp, wrs, &bad));
	SHOW(bad - wrs);
	wrs[0].next = NULL;
	wrs[0].send_flags = IBV_SEND_SIGNALED;
	wrs[0].num_sge = 0;
	wrs[0].sg_list = NULL;
	SHOW(ibv_post_send(p->a.qp, wrs, &bad));
	poll_all(p->a.cq, 1, 1);
}

static void recv_lists(void)
{
	struct ibv_sge sges[2] = { sge_of(&p->b, 0, 4), sge_of(&p->b, 64, 60) };
	struct ibv_recv_wr wrs[2] = { { 200, &wrs[1], sges, 2 }, { 201, NULL, sges + 1, 1 } }, *bad;

	bad = NULL;
	SHOW(ibv_post_recv(p->b.qp, wrs, &bad));
	wrs[1].num_sge = 88;
	SHOW(ibv_post_recv(p->b.qp, wrs, &bad));
	SHOW(bad - wrs);
	for (int i = 0; i < 3; i++)
		SHOW(send_at(&p->a, 20 + (unsigned int)i, 0, 8 + (unsigned int)i));
	poll_all(p->a.cq, 3, 3);
	poll_all(p->b.cq, 3, 3);
}

/* An access that is denied, and what is flushed then. */
static void send_denied(void)
{
	struct ibv_sge sge = sge_of(&p->a, 0, 8);
	struct ibv_send_wr wr = make_request(30, IBV_WR_RDMA_WRITE, &sge, 1), *bad;

	post_receives(2);
	wr.wr.rdma.rkey += 12345;
	SHOW(ibv_post_send(p->a.qp, &wr, &bad));
	SHOW(send_at(&p->a, 31, 0, 8));
	SHOW(send_at(&p->a, 32, 0, 8));
	poll_all(p->a.cq, 3, 8);
	poll_all(p->b.cq, 2, 8);
	SHOW(to_state(p->a.qp, IBV_QPS_RESET));
	SHOW(to_state(p->b.qp, IBV_QPS_RESET));
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
}

void verbatim_record_mark(int kind, const char *text); /* shim/trace/verbatim.h */

static void run_data(void)
{
	open_pair();
	send_each();
	verbatim_record_mark(0, "lists");
	send_lists();
	verbatim_record_mark(1, "receives");
	recv_lists();
	verbatim_record_mark(2, "receives");
	send_denied();
	post_receives(1);
	SHOW(send_at(&p->a, 40, 0, 64));
	poll_all(p->a.cq, 1, 1);
	poll_all(p->b.cq, 1, 1);
	show_rest(p->a.cq);
	show_rest(p->b.cq);
	close_pair();
}

/* Completions by events of a channel, and events of the device. */
static void run_events(void)
{
	struct ibv_async_event event;
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	open_pair();
	SHOW(ibv_req_notify_cq(p->b.cq, 0));
	post_receives(2);
	SHOW(send_at(&p->a, 1, 0, 8));
	SHOW(ibv_get_cq_event(p->b.channel, &cq, &context));
	SHOW(cq == p->b.cq && context == &p->b);
	ibv_ack_cq_events(cq, 1);
	SHOW(ibv_req_notify_cq(p->b.cq, 1));
	poll_all(p->b.cq, 1, 8);
	poll_all(p->a.cq, 1, 8);
	fcntl(p->b.context->async_fd, F_SETFL, O_NONBLOCK);
	SHOW(ibv_get_async_event(p->b.context, &event));
	SHOW(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 2, 8, 0x1000, p->b.mr->rkey));
	poll_all(p->a.cq, 1, 8);
	poll_all(p->b.cq, 1, 8);
	SHOW(ibv_get_async_event(p->b.context, &event));
	SHOW(event.event_type);
	SHOW(event.element.qp == p->b.qp);
	ibv_ack_async_event(&event);
	close_pair();
}

static struct ibv_qp_ex *builder;

static void make_builder(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = p->a.cq,
		.recv_cq = p->a.cq,
		.qp_type = IBV_QPT_RC,
		.cap = { END_DEPTH, END_DEPTH, 4, 4, 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = p->a.pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
				  IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_LOCAL_INV |
				  IBV_QP_EX_WITH_BIND_MW,
	};

	SHOW(ibv_destroy_qp(p->a.qp));
	SHOW(p->a.qp = ibv_create_qp_ex(p->a.context, &attr));
	SHOW(builder = ibv_qp_to_qp_ex(p->a.qp));
	SHOW(to_state(p->b.qp, IBV_QPS_RESET));
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
}

static void begin_request(uint64_t wr_id)
{
	builder->wr_id = wr_id;
	builder->wr_flags = IBV_SEND_SIGNALED;
}

static void build_all(void)
{
	uint64_t to = (uintptr_t)p->b.buf + 64;
	struct ibv_data_buf parts[2] = { { p->a.buf, 3 }, { p->a.buf + 8, 5 } };
	struct ibv_sge sges[2] = { sge_of(&p->a, 0, 8), sge_of(&p->a, 64, 4) };
	uint32_t rkey = p->b.mr->rkey;

	ibv_wr_start(builder);
	begin_request(1);
	ibv_wr_send(builder);
	ibv_wr_set_sge(builder, p->a.mr->lkey, (uintptr_t)p->a.buf, 8);
	begin_request(2);
	ibv_wr_send_imm(builder, htonl(0xdef));
	ibv_wr_set_sge_list(builder, 2, sges);
	begin_request(3);
	ibv_wr_rdma_write(builder, rkey, to);
	ibv_wr_set_inline_data(builder, p->a.buf, 9);
	begin_request(4);
	ibv_wr_rdma_write_imm(builder, rkey, to, htonl(0x123));
	ibv_wr_set_inline_data_list(builder, 2, parts);
	SHOW(ibv_wr_complete(builder));
	ibv_wr_start(builder);
	begin_request(5);
	ibv_wr_rdma_read(builder, rkey, to);
	ibv_wr_set_sge(builder, p->a.mr->lkey, (uintptr_t)p->a.buf, 8);
	begin_request(6);
	ibv_wr_atomic_fetch_add(builder, rkey, to, 3);
	ibv_wr_set_sge(builder, p->a.mr->lkey, (uintptr_t)p->a.buf, 8);
	begin_request(7);
	ibv_wr_atomic_cmp_swp(builder, rkey, to, 3, 4);
	ibv_wr_set_sge(builder, p->a.mr->lkey, (uintptr_t)p->a.buf, 8);
	SHOW(ibv_wr_complete(builder));
}

static void run_builders(void)
{
	open_pair();
	make_builder();
	post_receives(3);
	build_all();
	poll_all(p->a.cq, 7, 4);
	poll_all(p->b.cq, 3, 4);
	ibv_wr_start(builder);
	begin_request(8);
	ibv_wr_send(builder);
	ibv_wr_abort(builder);
	ibv_wr_start(builder);
	SHOW(ibv_wr_complete(builder));
	ibv_wr_start(builder);
	begin_request(9);
	ibv_wr_send(builder);
	ibv_wr_set_sge(builder, p->a.mr->lkey + 99, (uintptr_t)p->a.buf, 8);
	SHOW(ibv_wr_complete(builder));
	poll_all(p->a.cq, 1, 8);
	close_pair();
}

/* Further fields of the extended completion queue. */
static uint64_t more_fields;

static struct ibv_cq_ex *make_cq_ex(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = END_CQE,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
			    IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL |
			    IBV_WC_EX_WITH_DLID_PATH_BITS | more_fields,
	};

	return ibv_create_cq_ex(p->a.context, &attr);
}

/* Print these fields; times only as present or absent. */
static void show_more(struct ibv_cq_ex *cq)
{
	struct ibv_wc_tm_info info = { 0 };

	ibv_wc_read_tm_info(cq, &info);
	printf("\t\ttime %d %d cvlan %u flow_tag %u tag %" PRIu64 " priv %u\n",
	       ibv_wc_read_completion_ts(cq) > 1000, ibv_wc_read_completion_wallclock_ns(cq) > 1000,
	       ibv_wc_read_cvlan(cq), ibv_wc_read_flow_tag(cq), info.tag, info.priv);
}

static void show_current(struct ibv_cq_ex *cq)
{
	printf("\t\twr_id %" PRIu64 " status %d", cq->wr_id, cq->status);
	if (cq->status)
		printf(" vendor_err %u\n", ibv_wc_read_vendor_err(cq));
	else
		printf(" opcode %d byte_len %u flags %u src_qp %u slid %u sl %u bits %u\n",
		       ibv_wc_read_opcode(cq), ibv_wc_read_byte_len(cq), ibv_wc_read_wc_flags(cq),
		       ibv_wc_read_src_qp(cq), ibv_wc_read_slid(cq), ibv_wc_read_sl(cq),
		       ibv_wc_read_dlid_path_bits(cq));
	if (more_fields && !cq->status)
		show_more(cq);
}

/* Two batches; a completion more than is there is asked for. */
static void iterate_all(struct ibv_cq_ex *cq, int n)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int ret = ENOENT, i;

	while (ret == ENOENT)
		ret = ibv_start_poll(cq, &attr);
	for (i = 1; !ret && i < n; i++) {
		show_current(cq);
		do
			ret = ibv_next_poll(cq);
		while (timed && ret == ENOENT); /* the next one is not due yet */
	}
	show_current(cq);
	SHOW(ibv_next_poll(cq));
	ibv_end_poll(cq);
	SHOW(ibv_start_poll(cq, &attr));
}

static void run_iterator(void)
{
	struct ibv_cq_ex *cq = NULL;

	open_pair();
	SHOW(cq = make_cq_ex());
	SHOW(ibv_destroy_qp(p->a.qp));
	SHOW(ibv_destroy_cq(p->a.cq));
	p->a.cq = ibv_cq_ex_to_cq(cq);
	p->a.qp = make_qp(&p->a, NULL);
	SHOW(to_state(p->b.qp, IBV_QPS_RESET));
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	post_receives(2);
	for (int i = 0; i < 2; i++)
		SHOW(send_at(&p->a, 1 + (unsigned int)i, 0, 8));
	iterate_all(cq, 2);
	SHOW(recv_at(&p->a, 50, 0, 64));
	SHOW(send_at(&p->b, 51, 0, 8));
	iterate_all(cq, 1);
	SHOW(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 3, 8, 0x1000, p->b.mr->rkey));
	SHOW(recv_at(&p->a, 52, 0, 64));
	iterate_all(cq, 2);
	close_pair();
}

/* With fields that ibv_poll_cq() does not return. */
static void run_extras(void)
{
	more_fields = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
		      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK | IBV_WC_EX_WITH_CVLAN |
		      IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_TM_INFO;
	run_iterator();
}

/* Open the device, and a few verbs. */
static void use_device_once(void)
{
	static char buf[64];
	struct ibv_context *context = open_context();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, sizeof(buf), 0);

	USE(mr, ibv_dereg_mr(mr));
	SHOW(ibv_dealloc_pd(pd));
	SHOW(ibv_close_device(context));
	fflush(stdout);
}

static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

static void *use_device_in_thread(void *arg)
{
	pthread_mutex_lock(&printing);
	use_device_once();
	pthread_mutex_unlock(&printing);
	return arg;
}

/* The thread prints after its pthread_create(). */
static void run_thread(void)
{
	pthread_t thread;

	pthread_mutex_lock(&printing);
	SHOW(pthread_create(&thread, NULL, use_device_in_thread, NULL));
	pthread_mutex_unlock(&printing);
	SHOW(pthread_join(thread, NULL));
}

static int wait_for(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Children of all kinds, and a thread. */
static void run_processes(void)
{
	char *const argv[] = { "true", NULL };
	pid_t pid = -1;
	FILE *file;

	use_device_once();
	pid = fork();
	if (!pid) {
		use_device_once();
		_exit(3);
	}
	SHOW(wait_for(pid));
	run_thread();
	run_thread();
	SHOW(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ));
	SHOW(wait_for(pid));
	SHOW(posix_spawn(&pid, "/no/such/program", NULL, NULL, argv, environ));
	SHOW(posix_spawnp(&pid, "true", NULL, NULL, argv, environ));
	SHOW(wait_for(pid));
	SHOW(system("exit 5"));
	SHOW(system(NULL) != 0);
	file = popen("exit 6", "r");
	SHOW(pclose(file));
	pid = vfork();
	if (!pid)
		_exit(7);
	SHOW(wait_for(pid));
	SHOW(execl("/no/such/program", "none", (char *)NULL));
	use_device_once();
}

/* Memory windows, and the rest of the requests of a reliable queue pair. */
static void run_windows(void)
{
	struct ibv_mw_bind_info info = { 0 };
	struct ibv_send_wr wr = { .wr_id = 5, .opcode = IBV_WR_LOCAL_INV }, *bad;
	struct ibv_sge sge;
	struct ibv_mw *mw = NULL;
	struct ibv_mr *mr = NULL;

	open_pair();
	make_builder();
	sge = sge_of(&p->a, 0, 8);
	SHOW(mr = ibv_reg_mr(p->a.pd, p->a.buf, PART, ALL_ACCESS | IBV_ACCESS_MW_BIND));
	USE(mr, mw = ibv_alloc_mw(p->a.pd, IBV_MW_TYPE_2));
	if (!mw)
		return;
	info = (struct ibv_mw_bind_info){ mr, (uintptr_t)p->a.buf + 16, 64,
					  IBV_ACCESS_REMOTE_WRITE };
	ibv_wr_start(builder);
	begin_request(1);
	ibv_wr_bind_mw(builder, mw, ibv_inc_rkey(mw->rkey), &info);
	begin_request(2);
	ibv_wr_local_inv(builder, ibv_inc_rkey(mw->rkey));
	SHOW(ibv_wr_complete(builder));
	poll_all(p->a.cq, 2, 4);
	wr.opcode = IBV_WR_BIND_MW;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = mw->rkey + 2;
	wr.bind_mw.bind_info = info;
	SHOW(ibv_post_send(p->a.qp, &wr, &bad));
	wr = make_request(6, IBV_WR_LOCAL_INV, NULL, 0);
	wr.invalidate_rkey = mw->rkey + 2;
	SHOW(ibv_post_send(p->a.qp, &wr, &bad));
	post_receives(1);
	wr = make_request(7, IBV_WR_SEND_WITH_INV, &sge, 1);
	wr.invalidate_rkey = 0x999;
	SHOW(ibv_post_send(p->a.qp, &wr, &bad));
	poll_all(p->a.cq, 3, 4);
	poll_all(p->b.cq, 1, 4);
	SHOW(ibv_dealloc_mw(mw));
	SHOW(ibv_dereg_mr(mr));
	close_pair();
}

/* Datagrams, a shared receive queue, and completions of it. */
static void run_datagrams(void)
{
	struct ibv_ah_attr path = { .dlid = 1, .port_num = 1 };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x77 };
	struct ibv_srq_init_attr init = { .attr = { 8, 1, 0 } };
	struct ibv_sge sge, to;
	struct ibv_recv_wr recv = { 300, NULL, &to, 1 }, *bad_recv;
	struct ibv_send_wr wr, *bad;
	struct ibv_srq *srq = NULL;
	struct ibv_ah *ah = NULL;

	open_pair();
	sge = sge_of(&p->a, 0, 8);
	to = sge_of(&p->b, 0, 64);
	SHOW(srq = ibv_create_srq(p->b.pd, &init));
	SHOW(ah = ibv_create_ah(p->a.pd, &path));
	if (!srq || !ah)
		return;
	use_qp_of(&p->a, IBV_QPT_UD, NULL);
	use_qp_of(&p->b, IBV_QPT_UD, srq);
	for (int i = 0; i < 2; i++) {
		struct ibv_qp *qp = i ? p->b.qp : p->a.qp;

		attr.qp_state = IBV_QPS_INIT;
		SHOW(ibv_modify_qp(qp, &attr,
				   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
		SHOW(to_state(qp, IBV_QPS_RTR));
		attr.qp_state = IBV_QPS_RTS;
		SHOW(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	}
	for (int i = 0; i < 3; i++, recv.wr_id++)
		SHOW(ibv_post_srq_recv(srq, &recv, &bad_recv));
	for (unsigned int i = 0; i < 3; i++) {
		wr = make_request(i, i ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, &sge, 1);
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = p->b.qp->qp_num;
		wr.wr.ud.remote_qkey = i < 2 ? 0x77 : 0x78;
		SHOW(ibv_post_send(p->a.qp, &wr, &bad));
	}
	poll_all(p->a.cq, 3, 2);
	poll_all(p->b.cq, 2, 4);
	SHOW(ibv_destroy_ah(ah));
	SHOW(ibv_destroy_qp(p->b.qp));
	SHOW(ibv_destroy_srq(srq));
	p->b.qp = make_qp(&p->b, NULL);
	close_pair();
}

/* What record --strict reports. */
static void run_misuses(void)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex *cq = NULL;

	open_pair();
	SHOW(cq = make_cq_ex());
	SHOW(ibv_destroy_qp(p->a.qp));
	SHOW(ibv_destroy_cq(p->a.cq));
	p->a.cq = ibv_cq_ex_to_cq(cq);
	p->a.qp = make_qp(&p->a, NULL);
	SHOW(to_state(p->b.qp, IBV_QPS_RESET));
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	post_receives(2);
	for (unsigned int i = 0; i < 2; i++)
		SHOW(send_at(&p->a, i, 0, 8));
	SHOW(ibv_start_poll(cq, &attr));
	SHOW(ibv_wc_read_byte_len(cq));
	SHOW(ibv_next_poll(cq));
	ibv_end_poll(cq);
	SHOW(ibv_wc_read_byte_len(cq));
	SHOW(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 3, 8, 0x1000, p->b.mr->rkey));
	SHOW(ibv_start_poll(cq, &attr));
	SHOW(cq->status);
	SHOW(ibv_wc_read_qp_num(cq) == p->a.qp->qp_num);
	ibv_wc_read_opcode(cq);
	ibv_wc_read_vendor_err(cq);
	ibv_end_poll(cq);
	close_pair();
}

static void on_bus(int number)
{
	printf("\tsignal %d\n", number);
}

static void show_handler(const char *when)
{
	struct sigaction now;

	sigaction(SIGBUS, NULL, &now);
	printf("\t%s: %s\n", when,
	       now.sa_handler == SIG_DFL   ? "default"
	       : now.sa_handler == on_bus  ? "of the program"
	       : now.sa_handler == SIG_IGN ? "ignored"
					   : "another");
}

/* The program's handlers of SIGBUS, which the recorder has, too. */
static void run_signals(void)
{
	struct sigaction ours = { .sa_handler = on_bus }, none = { .sa_handler = SIG_DFL };

	show_handler("before");
	use_device_once();
	show_handler("after");
	SHOW(sigaction(SIGBUS, &none, NULL));
	show_handler("default");
	SHOW(signal(SIGBUS, SIG_IGN) == SIG_DFL);
	show_handler("ignored");
	SHOW(sigaction(SIGBUS, &ours, &none));
	SHOW(none.sa_handler == SIG_IGN);
	SHOW(raise(SIGBUS));
	SHOW(signal(SIGBUS, SIG_DFL) == on_bus);
	show_handler("default again");
	use_device_once();
	fflush(stdout);
	raise(SIGBUS);
}

/* A filter that forbids some of the system calls that the recorder makes. */
static int shut_in(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void *return_at_once(void *arg)
{
	return arg;
}

static void run_shut_in(void)
{
	pthread_t thread;
	pid_t pid = -1;

	open_pair();
	SHOW(shut_in());
	post_receives(2);
	SHOW(send_at(&p->a, 1, 0, 8));
	poll_all(p->a.cq, 1, 1);
	poll_all(p->b.cq, 1, 1);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(3);
	SHOW(wait_for(pid));
	SHOW(pthread_create(&thread, NULL, return_at_once, NULL));
	SHOW(pthread_join(thread, NULL));
	SHOW(send_at(&p->a, 2, 0, 8));
	poll_all(p->a.cq, 1, 1);
	poll_all(p->b.cq, 1, 1);
	fflush(stdout);
	_exit(0);
}

static void post_and_poll(struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;

	SHOW(ibv_post_send(p->a.qp, &wr, &bad));
	poll_all(p->a.cq, 1, 1);
}

/* Sends from, and reads to, memory that is not plain. */
static void send_odd_memory(void)
{
	struct ibv_alloc_dm_attr size = { 256, 0, 0 };
	uint8_t *page =
		mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_dm *dm = ibv_alloc_dm(p->a.context, &size);
	struct ibv_mr *gone = ibv_reg_mr(p->a.pd, page, PART, ALL_ACCESS);
	struct ibv_mr *moved = ibv_reg_mr_iova(p->a.pd, p->a.buf, PART, 0x10000, ALL_ACCESS);
	struct ibv_mr *of_dm =
		ibv_reg_dm_mr(p->a.pd, dm, 0, 128, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { 0x10004, 6, moved->lkey }, two[2];

	post_and_poll(make_request(1, IBV_WR_RDMA_WRITE, &sge, 1));
	sge = (struct ibv_sge){ 8, 5, of_dm->lkey };
	post_and_poll(make_request(2, IBV_WR_RDMA_WRITE, &sge, 1));
	sge = (struct ibv_sge){ 0x10008, 8, moved->lkey };
	post_and_poll(make_request(3, IBV_WR_RDMA_READ, &sge, 1));
	two[0] = sge_of(&p->a, 100, 3);
	two[1] = (struct ibv_sge){ 0x10010, 9, moved->lkey };
	post_and_poll(make_request(4, IBV_WR_RDMA_READ, two, 2));
	post_and_poll(make_request(5, IBV_WR_RDMA_WRITE, two, 2));
	two[1].length = 0;
	post_and_poll(make_request(6, IBV_WR_RDMA_WRITE, two, 2));
	munmap(page, PART);
	SHOW(ibv_dereg_mr(gone));
	SHOW(ibv_dereg_mr(moved));
	SHOW(ibv_dereg_mr(of_dm));
	SHOW(ibv_free_dm(dm));
}

static void connect_again(void)
{
	SHOW(to_state(p->a.qp, IBV_QPS_RESET));
	SHOW(to_state(p->b.qp, IBV_QPS_RESET));
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
}

/* Requests of one number, whose buffers differ, or are the same. */
static void receive_ambiguously(void)
{
	for (unsigned int i = 0; i < 4; i++)
		SHOW(recv_at(&p->b, 7, PART + 64 * (i / 2), 64));
	for (unsigned int i = 0; i < 4; i++)
		SHOW(send_at(&p->a, i, 64 * i, 5 + i));
	poll_all(p->b.cq, 1, 1);
	poll_all(p->b.cq, 3, 8);
	poll_all(p->a.cq, 4, 8);
}

/* Reads without completions of their own, and such that are refused. */
static void read_unsignaled(void)
{
	struct ibv_sge sge = sge_of(&p->a, 0, 8), many[40];
	struct ibv_send_wr wrs[3], *bad = NULL;
	struct ibv_recv_wr recv = { 9, NULL, many, 40 }, *bad_recv;

	for (unsigned int i = 0; i < 40; i++)
		many[i] = sge_of(&p->a, i, 1);
	for (unsigned int i = 0; i < 3; i++) {
		wrs[i] =
			make_request(10 + i, i < 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, &sge, 1);
		wrs[i].next = i < 2 ? &wrs[i + 1] : NULL;
	}
	wrs[0].send_flags = 0;
	SHOW(ibv_post_send(p->a.qp, wrs, &bad));
	poll_all(p->a.cq, 2, 1);
	wrs[1].sg_list = many;
	wrs[1].num_sge = 40;
	SHOW(ibv_post_send(p->a.qp, wrs, &bad));
	SHOW(bad - wrs);
	SHOW(ibv_post_recv(p->b.qp, &recv, &bad_recv));
	SHOW(send_at(&p->a, 20, 0, 8));
	poll_all(p->a.cq, 1, 8);
}

static void run_payloads(void)
{
	open_pair();
	for (unsigned int i = 0; i < 2 * PART; i++) {
		p->a.buf[i] = (uint8_t)('a' + i % 26);
		p->b.buf[i] = (uint8_t)('A' + i % 26);
	}
	receive_ambiguously();
	read_unsignaled();
	connect_again();
	send_odd_memory();
	close_pair();
}

/* A write from @addr, whose bytes are recorded if its key is known. */
static void write_from(const struct ibv_mr *mr, const void *addr)
{
	static uint64_t wr_id = 30;
	struct ibv_sge sge = { (uintptr_t)addr, 6, mr->lkey };

	post_and_poll(make_request(wr_id++, IBV_WR_RDMA_WRITE, &sge, 1));
}

static void change_region(struct ibv_mr *mr)
{
	const int writable = IBV_ACCESS_LOCAL_WRITE, based = writable | IBV_ACCESS_ZERO_BASED;

	SHOW(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p->a.buf + 64, 32, 0));
	write_from(mr, p->a.buf + 64);
	SHOW(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, writable));
	write_from(mr, p->a.buf + 70);
	SHOW(ibv_rereg_mr(mr, 1 << 20, NULL, NULL, 0, 0));
	write_from(mr, p->a.buf + 76);
	SHOW(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, based));
	write_from(mr, NULL);
	connect_again();
}

/* Regions of each kind, and how they change. */
static void run_regions(void)
{
	struct ibv_mr *mr = NULL, *imported = NULL, *null = NULL;

	open_pair();
	for (unsigned int i = 0; i < PART; i++)
		p->a.buf[i] = (uint8_t)('a' + i % 26);
	mr = ibv_reg_mr(p->a.pd, p->a.buf, 32, ALL_ACCESS);
	write_from(mr, p->a.buf + 3);
	change_region(mr);
	SHOW(ibv_dereg_mr(mr));
	mr = ibv_reg_mr(p->a.pd, p->a.buf + 128, 32, ALL_ACCESS | IBV_ACCESS_ZERO_BASED);
	USE(mr, (write_from(mr, NULL), 0));
	USE(mr, ibv_dereg_mr(mr));
	SHOW(null = ibv_alloc_null_mr(p->a.pd));
	USE(null, (write_from(null, NULL), 0));
	USE(null, ibv_dereg_mr(null));
	SHOW(imported = ibv_import_mr(p->a.pd, p->a.mr->handle));
	USE(imported, (write_from(imported, p->a.buf), 0));
	USE(imported, (ibv_unimport_mr(imported), 0));
	close_pair();
}

/* What the recorder knows of the region @length bytes from @at, and what it records of its end. */
static void release_part(uint8_t *at, size_t length)
{
	SHOW(verbatim_memory_holds(at, length, false));
	SHOW(verbatim_memory_holds(at, length, true));
	SHOW(verbatim_memory_holds(at + length, 8, false));
	verbatim_memory_gone(MEMORY_MADVISE, at, length);
}

/* Memory that libverbatim-memory.so (shim/memory) reports. */
static void run_memory(void)
{
	const int huge_size = 2 << 20;
	struct ibv_mr *mr = NULL;

	SHOW(verbatim_memory_holds(&mr, 8, false));
	open_pair();
	SHOW(mr = ibv_reg_mr(p->a.pd, p->a.buf + 64, 32, ALL_ACCESS));
	SHOW(ibv_dereg_mr(p->a.mr));
	release_part(p->a.buf + 64, 32);
	SHOW(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p->a.buf + 256, 64, 0));
	release_part(p->a.buf + 64, 32);
	release_part(p->a.buf + 256, 64);
	SHOW(ibv_rereg_mr(mr, 1 << 20, NULL, p->a.buf, 64, 0));
	SHOW(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, p->a.buf, 64, 1));
	release_part(p->a.buf, 64);
	SHOW(ibv_dereg_mr(mr));
	release_part(p->a.buf + 256, 64);
	verbatim_memory_mapped(p->a.buf, huge_size, true);
	SHOW(mr = ibv_reg_mr(p->a.pd, p->a.buf, 64, ALL_ACCESS)); /* is recorded: huge pages */
	SHOW(ibv_dereg_mr(mr));
	verbatim_memory_mapped(p->a.buf, huge_size, false);
	SHOW(p->a.mr = ibv_reg_mr(p->a.pd, p->a.buf, 64, ALL_ACCESS));
	close_pair();
}

static void send_and_receive(unsigned int length)
{
	SHOW(send_at(&p->a, 1, 0, length));
	poll_all(p->a.cq, 1, 1);
	poll_all(p->b.cq, 1, 1);
}

static void receive_from(struct ibv_srq *srq, uint64_t wr_id, uint64_t at)
{
	struct ibv_sge sge = sge_of(&p->b, at, 64);
	struct ibv_recv_wr recv = { wr_id, NULL, &sge, 1 }, *bad;

	SHOW(ibv_post_srq_recv(srq, &recv, &bad));
}

/* Receives of a shared queue, which is resized and made again; its requests have one number. */
static void use_shared_queue(void)
{
	struct ibv_srq_init_attr init = { .attr = { 4, 1, 0 } };
	struct ibv_srq_init_attr_ex more = { .attr = { 4, 1, 0 },
					     .comp_mask = IBV_SRQ_INIT_ATTR_PD,
					     .pd = p->b.pd };
	struct ibv_srq_attr size = { .max_wr = 64 };
	struct ibv_srq *srq = NULL;

	SHOW(srq = ibv_create_srq(p->b.pd, &init));
	if (!srq)
		return;
	use_qp_of(&p->b, IBV_QPT_RC, srq);
	connect_again();
	receive_from(srq, 9, 0);
	SHOW(ibv_modify_srq(srq, &size, IBV_SRQ_MAX_WR));
	for (unsigned int i = 1; i < 8; i++)
		receive_from(srq, 9 + i, 64 * i);
	for (unsigned int i = 0; i < 8; i++)
		send_and_receive(5 + i);
	SHOW(ibv_destroy_qp(p->b.qp));
	SHOW(ibv_destroy_srq(srq));
	SHOW(srq = ibv_create_srq_ex(p->b.context, &more));
	p->b.qp = make_qp(&p->b, srq);
	connect_again();
	receive_from(srq, 9, 640);
	send_and_receive(7);
	SHOW(ibv_destroy_qp(p->b.qp));
	SHOW(ibv_destroy_srq(srq));
	p->b.qp = make_qp(&p->b, NULL);
}

/* Queues that are cleared, resized and destroyed while requests are outstanding. */
static void run_queues(void)
{
	open_pair();
	for (unsigned int i = 0; i < PART; i++)
		p->a.buf[i] = (uint8_t)('a' + i % 26);
	SHOW(recv_at(&p->b, 7, 0, 64));
	connect_again(); /* without that receive */
	SHOW(recv_at(&p->b, 7, 128, 64));
	send_and_receive(9);
	SHOW(recv_at(&p->b, 7, 0, 64));
	SHOW(ibv_destroy_qp(p->b.qp));
	p->b.qp = make_qp(&p->b, NULL);
	connect_again();
	SHOW(recv_at(&p->b, 7, 256, 64));
	send_and_receive(10);
	use_shared_queue();
	close_pair();
}

static int call_through(void *verb, struct ibv_context *context)
{
	struct ibv_pd *(*alloc)(struct ibv_context *) =
		(struct ibv_pd * (*)(struct ibv_context *)) verb;
	struct ibv_pd *pd = alloc ? alloc(context) : NULL;

	return pd ? ibv_dealloc_pd(pd) : -1;
}

/* Verbs that are looked up by their names. */
static void run_lookups(void)
{
	struct ibv_context *context = open_context();
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW), *at;

	SHOW(dlsym(RTLD_DEFAULT, "ibv_alloc_pd") == (void *)ibv_alloc_pd);
	SHOW(dlsym(RTLD_DEFAULT, "no_such_verb"));
	SHOW(dlerror() != NULL);
	SHOW(dlsym(RTLD_DEFAULT, "getpid") != NULL);
	SHOW(dlsym(RTLD_NEXT, "ibv_alloc_pd") != NULL);
	SHOW(lib != NULL);
	at = dlsym(lib, "ibv_alloc_pd");
	SHOW(at == (void *)ibv_alloc_pd);
	SHOW(call_through(at, context));
	at = dlvsym(lib, "ibv_alloc_pd", "IBVERBS_1.1");
	SHOW(at == (void *)ibv_alloc_pd);
	SHOW(call_through(at, context));
	SHOW(dlvsym(lib, "ibv_alloc_pd", "IBVERBS_9.9") != NULL);
	SHOW(dlsym(lib, "ibv_no_such") != NULL);
	SHOW(dlclose(lib));
	SHOW(call_through(dlsym(RTLD_DEFAULT, "ibv_alloc_pd"), context));
	SHOW(dlopen("libno_such.so", RTLD_NOW) != NULL);
	SHOW(ibv_close_device(context));
}

/* The file of the ring is truncated by somebody else. */
static void run_cut(void)
{
	char path[PATH_MAX];

	open_pair();
	snprintf(path, sizeof(path), "%s/ring.0", getenv("VERBATIM_DIR"));
	SHOW(truncate(path, PART));
	post_receives(1);
	SHOW(send_at(&p->a, 1, 0, 8));
	poll_all(p->a.cq, 1, 1);
	poll_all(p->b.cq, 1, 1);
	close_pair();
}
