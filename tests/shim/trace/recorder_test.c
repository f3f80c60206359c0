/*
 * The recorder as a whole: what it records of small programs, and what these see
 *
 * Each scenario runs in a process of its own, with the recorder linked in and the software device
 * as its libibverbs: build/dropin. What its verbs return, and then all events of its rings, are in
 * recorder_test.txt: a field, a call, a count or a fault that is not as it was shows there.
 */
#define TEST_MAIN
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#include "core/wire/ring.h"
#include "core/wire/session.h"
#include "tests/shim/soft/pair.h"
#include "tests/shim/trace/ring_text.h"
#include "tests/transcript.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

enum { RING = 4 << 20, PART = 4096, TRIES = 16, PATIENCE = 200000 };

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
				  IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_LOCAL_INV,
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

static struct ibv_cq_ex *make_cq_ex(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = END_CQE,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
			    IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL |
			    IBV_WC_EX_WITH_DLID_PATH_BITS,
	};

	return ibv_create_cq_ex(p->a.context, &attr);
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
		ret = ibv_next_poll(cq);
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

static void *use_device_in_thread(void *arg)
{
	use_device_once();
	return arg;
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
	pthread_t thread;
	pid_t pid = -1;
	FILE *file;

	use_device_once();
	pid = fork();
	if (!pid) {
		use_device_once();
		_exit(3);
	}
	SHOW(wait_for(pid));
	SHOW(pthread_create(&thread, NULL, use_device_in_thread, NULL));
	SHOW(pthread_join(thread, NULL));
	SHOW(pthread_create(&thread, NULL, use_device_in_thread, NULL));
	SHOW(pthread_join(thread, NULL));
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

static void record_hashes(struct session_page *page)
{
	page->payload = (struct payload_rule){ PAYLOAD_HASH, 7 };
}

static void record_bytes(struct session_page *page)
{
	page->payload = (struct payload_rule){ 5, 7 };
}

static void record_all_bytes(struct session_page *page)
{
	page->payload = (struct payload_rule){ PAYLOAD_FULL, 7 };
}

static void record_strictly(struct session_page *page)
{
	page->strict = 1;
}

static void record_second_qp(struct session_page *page)
{
	page->filter.on = page->filter.some_qps = page->filter.nnths = 1;
	page->filter.nths[0] = 2;
}

static void record_no_posts(struct session_page *page)
{
	page->filter.on = 1;
	page->filter.left_out[VERB_post_send / 64] |= 1ull << VERB_post_send % 64;
	page->filter.left_out[VERB_reg_mr / 64] |= 1ull << VERB_reg_mr % 64;
}

/* clang-format off */
static const struct scenario {
	const char *name;
	void (*run)(void);
	const char *faults;
	void (*prepare)(struct session_page *);
	bool timed; /* the number of empty polls varies */
} scenarios[] = {
	{ "control", run_control, NULL, NULL, false },
	{ "data", run_data, NULL, NULL, false },
	{ "events", run_events, NULL, NULL, false },
	{ "builders", run_builders, NULL, NULL, false },
	{ "iterator", run_iterator, NULL, NULL, false },
	{ "processes", run_processes, NULL, NULL, false },
	{ "data, hashes", run_data, NULL, record_hashes, false },
	{ "data, five bytes", run_data, NULL, record_bytes, false },
	{ "builders, all bytes", run_builders, NULL, record_all_bytes, false },
	{ "iterator, all bytes", run_iterator, NULL, record_all_bytes, false },
	{ "data, strict", run_data, NULL, record_strictly, false },
	{ "data, second queue pair", run_data, NULL, record_second_qp, false },
	{ "data, no posts", run_data, NULL, record_no_posts, false },
	{ "control, errors", run_control,
	  "verb=reg_mr n=1 errno=ENOMEM\nverb=create_cq n=2 errno=ENOSPC\n"
	  "verb=dealloc_td n=1 errno=EBUSY\nverb=query_port n=2.. errno=EIO\n"
	  "verb=create_srq errno=EPERM\nverb=alloc_dm errno=ENOTSUP\n"
	  "verb=modify_cq delay=1us\nverb=destroy_cq n=1 errno=EBUSY\n"
	  "verb=ack_async_event errno=EIO\n", NULL, false },
	{ "open, errors", run_control, "verb=query_device errno=EACCES\nverb=any n=6.. errno=EIO\n",
	  NULL, false },
	{ "data, status", run_data,
	  "opcode=SEND n=2 status=RETRY_EXC_ERR vendor_err=0x81\n", NULL, false },
	{ "data, status of a receive", run_data,
	  "opcode=RECV n=3 status=LOC_LEN_ERR\n", NULL, false },
	{ "data, flush", run_data, "opcode=RDMA_READ status=WR_FLUSH_ERR\n", NULL, false },
	{ "data, refused", run_data,
	  "verb=post_send n=2 errno=ENOMEM\nverb=post_recv n=2 errno=EINVAL\n"
	  "verb=poll_cq n=3 errno=EIO\n", NULL, false },
	{ "data, delays", run_data,
	  "opcode=SEND n=2 delay=300us\nopcode=RECV n=2 delay=200us\nverb=poll_cq n=1 delay=1us\n"
	  "opcode=RDMA_WRITE rate=100MB\n", NULL, true },
	{ "data, late", run_data, "opcode=RDMA_WRITE late=300us\nopcode=RECV n=2 late=100us\n",
	  NULL, true },
	{ "data, after a mark", run_data,
	  "opcode=SEND mark=lists n=2 status=REM_OP_ERR\n"
	  "opcode=RECV phase=receives n=1..2 status=LOC_PROT_ERR\n", NULL, false },
	{ "data, by places", run_data,
	  "opcode=SEND at=recv_lists n=2 status=REM_OP_ERR\nverb=post_recv at=recv_lists every=2"
	  " errno=EPERM\nverb=post_send at=no_function errno=EIO\n"
	  "verb=poll_cq at=recorder_test.c:1 errno=EIO\n", NULL, false },
	{ "data, by queue pairs", run_data,
	  "qp=17 n=3 status=REM_OP_ERR\nopcode=RECV qp=18 n=3 errno=EIO\n"
	  "verb=poll_cq p=0.2 seed=4 errno=EIO\n", NULL, false },
	{ "processes, errors", run_processes,
	  "verb=reg_mr process=1 errno=EPERM\nverb=reg_mr thread=1 errno=ENOSPC\n"
	  "verb=dealloc_pd process=2 errno=EIO\n", NULL, false },
	{ "data, killed", run_data, "opcode=RDMA_READ kill\n", NULL, false },
	{ "data, event", run_data, "opcode=RDMA_READ event=QP_FATAL\n", NULL, false },
	{ "events, made", run_events, "opcode=SEND n=1 event=PORT_ERR\n", NULL, false },
	{ "events, late", run_events, "late=200us\n", NULL, true },
	{ "builders, status", run_builders,
	  "opcode=RDMA_WRITE status=REM_ACCESS_ERR\n", NULL, false },
	{ "builders, delay", run_builders, "opcode=SEND_WITH_IMM delay=200us\n", NULL, true },
	{ "builders, refused", run_builders, "verb=wr_complete n=2 errno=ENOMEM\n", NULL, false },
	{ "iterator, late", run_iterator, "late=100us\n", NULL, true },
	{ "iterator, status", run_iterator,
	  "opcode=SEND n=2 status=RNR_RETRY_EXC_ERR vendor_err=3\n",
	  NULL, false },
};
/* clang-format on */

static void read_ring(struct ring_text *r, struct session *session, uint32_t index)
{
	const struct event_head *event;
	char path[SESSION_PATH + 16];
	struct ring ring = { 0 };
	uint64_t before = 0;
	int bytes;

	session_ring_path(session, index, path);
	assert_int_equal(ring_open(&ring, path), 0);
	r->pid = ring.head->pid;
	text_addf(r->out,
		  "ring %u dropped %" PRIu64 " filtered %" PRIu64 " uncounted %" PRIu64 "\n", index,
		  ring.head->dropped, ring.head->filtered, ring.head->uncounted);
	while ((bytes = ring_peek(&ring, &event)) > 0) {
		assert_true(event->ticks >= before);
		before = event->ticks;
		ring_text_add(r, event, (size_t)bytes);
		ring_step(&ring, (size_t)bytes);
	}
	assert_int_equal(bytes, 0);
	ring_close(&ring);
}

static void read_rings(struct text *out, struct session *session, const struct scenario *scenario)
{
	struct ring_text *r = calloc(1, sizeof(*r));

	r->out = out;
	r->timed = scenario->timed;
	r->brief = scenario->faults || scenario->prepare;
	for (uint32_t i = 0; i < session_count_rings(session); i++)
		read_ring(r, session, i);
	free(r);
}

static void write_faults(const char *path, const char *rules)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(rules, file);
	assert_int_equal(fclose(file), 0);
	setenv("VERBATIM_FAULTS", path, 1);
}

/* This program again, as @scenario; its output. */
static void run_anew(struct text *out, const struct scenario *scenario)
{
	char *const argv[] = { "recorder_test", "run", (char *)scenario->name, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], status;
	char bytes[4096];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	while ((n = read(ends[0], bytes, sizeof(bytes))) > 0)
		text_add(out, bytes, (size_t)n);
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	text_addf(out, "status %d\n", status);
}

static void run_recorded(struct text *out, const struct scenario *scenario)
{
	char faults[sizeof(fabric_dir) + 8];
	struct session session = { 0 };

	assert_int_equal(session_create(&session, NULL, RING, ON_FULL_WAIT), 0);
	if (scenario->prepare)
		scenario->prepare(session.page);
	snprintf(faults, sizeof(faults), "%s.faults", fabric_dir);
	unsetenv("VERBATIM_FAULTS");
	if (scenario->faults)
		write_faults(faults, scenario->faults);
	setenv(SESSION_ENV, session.dir, 1);
	text_addf(out, "\n%s\n", scenario->name);
	run_anew(out, scenario);
	read_rings(out, &session, scenario);
	session_remove(&session);
	unlink(faults);
}

TEST(recordings_are_as_they_were)
{
	struct text out = { 0 };

	if (SANITIZED)
		skip();
	assert_int_equal(fabric_setup(NULL), 0);
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		run_recorded(&out, &scenarios[i]);
	assert_int_equal(fabric_teardown(NULL), 0);
	transcript_expect(__FILE__, &out);
}

static int run_scenario(const char *name)
{
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		if (!strcmp(scenarios[i].name, name)) {
			timed = scenarios[i].timed;
			scenarios[i].run();
		}
	return fflush(stdout) ? 1 : 0;
}

/* build/tests/shim/trace/recorder_test: build/dropin */
static void use_device(const char *program)
{
	const char *end = strstr(program, "tests/");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*sdropin", end ? (int)(end - program) : 0, program);
	setenv("LD_LIBRARY_PATH", path, 1);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "run"))
		return run_scenario(argv[2]);
	use_device(argv[0]);
	return test_run(argv);
}
