#pragma once
/*
 * The second half of every_verb.c: queue pairs, posts by ibv_post_send() and by the builders, and
 * polls.
 */
#include <arpa/inet.h>
#include <fcntl.h>

#include "tests/apps/app.h"
#include "tests/apps/every_verb.h"

#define H(pointer) ((int64_t)(uintptr_t)(pointer))

enum {
	ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
	      IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND
};

static char buffer[1 << 16] __attribute__((aligned(4096)));
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_cq_ex *cq_ex;
#define CQ_FIELDS                                                                                \
	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
static struct ibv_ah *ah;
static union ibv_gid gid;

static struct ibv_qp *make_qp(enum ibv_qp_type type, struct ibv_cq *on)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = on, .recv_cq = on, .qp_type = type, .cap = { 16, 16, 2, 2, 64 }
	};
	struct ibv_qp *qp = NEED(DO(ibv_create_qp, ibv_create_qp(pd, &attr)));

	ARG("pd", H(pd));
	ARG("qp_init_attr.send_cq", H(on));
	ARG("qp_init_attr.cap.max_recv_wr", 16);
	OUT("ret.qp_num", qp->qp_num);
	return qp;
}

static struct ibv_qp *make_builder(enum ibv_qp_type type, uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = { .send_cq = ibv_cq_ex_to_cq(cq_ex),
					    .recv_cq = ibv_cq_ex_to_cq(cq_ex),
					    .qp_type = type,
					    .cap = { 64, 16, 2, 2, 64 },
					    .pd = pd,
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .send_ops_flags = ops };
	struct ibv_qp *qp = NEED(DO(ibv_create_qp_ex, ibv_create_qp_ex(context, &attr)));

	ARG("qp_init_attr_ex.send_ops_flags", ops);
	ARG("qp_init_attr_ex.cap.max_send_wr", 64);
	return qp;
}

static void modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	MUST(DO(ibv_modify_qp, ibv_modify_qp(qp, attr, mask)));
	ARG("qp", H(qp));
	ARG("attr_mask", mask);
}

static struct ibv_ah_attr make_path(void)
{
	struct ibv_port_attr port;
	struct ibv_ah_attr attr = { .is_global = 1,
				    .port_num = 1,
				    .grh = { .dgid = gid, .hop_limit = 1 } };

	MUST(DO(ibv_query_port, ibv_query_port(context, 1, &port)));
	attr.dlid = port.lid;
	return attr;
}

static void connect_qp(struct ibv_qp *qp)
{
	bool rc = qp->qp_type == IBV_QPT_RC;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qkey = 0x11,
				    .qp_access_flags =
					    ALL & ~IBV_ACCESS_LOCAL_WRITE & ~IBV_ACCESS_MW_BIND };

	modify_qp(qp, &attr,
		  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  (rc ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = qp->qp_num,
				     .max_dest_rd_atomic = 4,
				     .min_rnr_timer = 12,
				     .ah_attr = make_path() };
	modify_qp(qp, &attr,
		  rc ? IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER
		     : IBV_QP_STATE);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 4 };
	modify_qp(qp, &attr,
		  rc ? IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC
		     : IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* Wait for one completion, and print it. */
static void reap_completions(struct ibv_cq *from)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(from, 1, &wc))
		;
	say_call("ibv_poll_cq");
	HAS("wc.wr_id", wc.wr_id);
	HAS("wc.status", wc.status);
	HAS("wc.opcode", wc.opcode);
	HAS("wc.qp_num", wc.qp_num);
	HAS("wc.byte_len", wc.byte_len);
}

static void post_classic(void)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, cq);
	struct ibv_sge sge = { H(buffer), 8, mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr = { .wr_id = 2,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .imm_data = htonl(99) };
	struct ibv_send_wr *bad;
	struct ibv_mw_bind bind = { .wr_id = 9,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { mr, H(buffer), 64, IBV_ACCESS_REMOTE_WRITE } };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_ece ece = { .vendor_id = 3 };
	struct ibv_qp_rate_limit_attr rate = { .rate_limit = 1000 };
	struct ibv_cq *its;
	struct ibv_mw *mw;
	void *its_context;

	DO(ibv_query_ece, ibv_query_ece(qp, &ece));
	ARG("qp", H(qp));
	ece.vendor_id = 3;
	DO(ibv_set_ece, ibv_set_ece(qp, &ece));
	ARG("ece.vendor_id", 3);
	connect_qp(qp);
	MUST(DO(ibv_query_qp, ibv_query_qp(qp, &attr, IBV_QP_STATE, &init)));
	ARG("attr_mask", IBV_QP_STATE);
	DO(ibv_query_qp_data_in_order, ibv_query_qp_data_in_order(qp, IBV_WR_SEND, 0));
	TEXT("op", "IBV_WR_SEND");
	DO(ibv_modify_qp_rate_limit, ibv_modify_qp_rate_limit(qp, &rate));
	ARG("attr.rate_limit", 1000);
	MUST(DO(ibv_req_notify_cq, ibv_req_notify_cq(cq, 0)));
	HAS("notify.handle", H(cq));
	HAS("notify.solicited_only", 0);
	MUST(DO(ibv_post_recv, ibv_post_recv(qp, &recv, &bad_recv)));
	HAS("wr.wr_id", 1);
	HAS("sge.lkey", mr->lkey);
	MUST(DO(ibv_post_send, ibv_post_send(qp, &wr, &bad)));
	HAS("post.handle", H(qp));
	HAS("wr.wr_id", 2);
	HAS("wr.opcode", IBV_WR_SEND_WITH_IMM);
	HAS("wr.imm", 99);
	HAS("sge.addr", H(buffer));
	HAS("sge.length", 8);
	MUST(DO(ibv_get_cq_event, ibv_get_cq_event(channel, &its, &its_context)));
	OUT("cq", H(cq));
	DO(ibv_ack_cq_events, ibv_ack_cq_events(cq, 1));
	ARG("nevents", 1);
	reap_completions(cq);
	reap_completions(cq);
	mw = NEED(DO(ibv_alloc_mw, ibv_alloc_mw(pd, IBV_MW_TYPE_1)));
	TEXT("type", "IBV_MW_TYPE_1");
	MUST(DO(ibv_bind_mw, ibv_bind_mw(qp, mw, &bind)));
	ARG("mw", H(mw));
	ARG("mw_bind.wr_id", 9);
	ARG("mw_bind.bind_info.length", 64);
	OUT("mw.rkey", mw->rkey);
	reap_completions(cq);
	MUST(DO(ibv_dealloc_mw, ibv_dealloc_mw(mw)));
	ARG("mw", H(mw));
	MUST(DO(ibv_destroy_qp, ibv_destroy_qp(qp)));
	ARG("qp", H(qp));
}

#define BUILT(verb, i, field, value) PART(verb, ibv_wr_complete, i, field, value)

static void start_builder(struct ibv_qp_ex *ex)
{
	part = next_of("ibv_wr_complete");
	ibv_wr_start(ex);
}

static void next_wr(struct ibv_qp_ex *ex, uint64_t wr_id)
{
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
}

static void complete_builder(struct ibv_qp_ex *ex, unsigned int n)
{
	int ret = ibv_wr_complete(ex);

	BUILT(ibv_wr_start, 0, "post.handle", H(ex));
	BUILT(ibv_wr_complete, 0, "post.nwr", n);
	BUILT(ibv_wr_complete, 0, "post.ret", ret);
	MUST(ret);
}

/* One batch of all operations of a reliable connection. */
static void build_rc(struct ibv_qp_ex *ex, struct ibv_mw *mw)
{
	struct ibv_data_buf bufs[2] = { { buffer, 4 }, { buffer + 8, 4 } };
	struct ibv_sge sges[2] = { { H(buffer), 4, mr->lkey }, { H(buffer) + 64, 4, mr->lkey } };
	struct ibv_mw_bind_info info = { mr, H(buffer), 128, IBV_ACCESS_REMOTE_WRITE };
	uint64_t remote = H(buffer) + 4096;
	uint32_t key = ibv_inc_rkey(mw->rkey);

	start_builder(ex);
	next_wr(ex, 10);
	ibv_wr_rdma_write(ex, mr->rkey, remote);
	ibv_wr_set_sge(ex, mr->lkey, H(buffer), 16);
	BUILT(ibv_wr_rdma_write, 0, "wr.remote_addr", remote);
	BUILT(ibv_wr_rdma_write, 0, "wr.rkey", mr->rkey);
	BUILT(ibv_wr_rdma_write, 0, "wr.opcode", IBV_WR_RDMA_WRITE);
	BUILT(ibv_wr_set_sge, 0, "sge.addr", H(buffer));
	BUILT(ibv_wr_set_sge, 0, "sge.length", 16);
	BUILT(ibv_wr_set_sge, 0, "sge.lkey", mr->lkey);
	next_wr(ex, 11);
	ibv_wr_rdma_read(ex, mr->rkey, remote + 8);
	ibv_wr_set_sge_list(ex, 2, sges);
	BUILT(ibv_wr_rdma_read, 1, "wr.remote_addr", remote + 8);
	BUILT(ibv_wr_rdma_read, 1, "wr.wr_id", 11);
	BUILT(ibv_wr_set_sge_list, 1, "wr.num_sge", 2);
	BUILT(ibv_wr_set_sge_list, 1, "wr.bytes", 8);
	next_wr(ex, 12);
	ibv_wr_rdma_write_imm(ex, mr->rkey, remote, htonl(1234));
	ibv_wr_set_inline_data(ex, buffer, 12);
	BUILT(ibv_wr_rdma_write_imm, 2, "wr.imm", 1234);
	BUILT(ibv_wr_set_inline_data, 2, "sge.addr", H(buffer));
	BUILT(ibv_wr_set_inline_data, 2, "sge.length", 12);
	BUILT(ibv_wr_set_inline_data, 2, "wr.send_flags", IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	next_wr(ex, 13);
	ibv_wr_atomic_cmp_swp(ex, mr->rkey, remote, 5, 6);
	ibv_wr_set_sge(ex, mr->lkey, H(buffer), 8);
	BUILT(ibv_wr_atomic_cmp_swp, 3, "wr.compare_add", 5);
	BUILT(ibv_wr_atomic_cmp_swp, 3, "wr.swap", 6);
	next_wr(ex, 14);
	ibv_wr_atomic_fetch_add(ex, mr->rkey, remote, 7);
	ibv_wr_set_sge(ex, mr->lkey, H(buffer), 8);
	BUILT(ibv_wr_atomic_fetch_add, 4, "wr.compare_add", 7);
	BUILT(ibv_wr_atomic_fetch_add, 4, "wr.remote_addr", remote);
	next_wr(ex, 15);
	ibv_wr_atomic_write(ex, mr->rkey, remote, buffer);
	BUILT(ibv_wr_atomic_write, 5, "wr.remote_addr", remote);
	BUILT(ibv_wr_atomic_write, 5, "sge.addr", H(buffer));
	next_wr(ex, 16);
	ibv_wr_bind_mw(ex, mw, key, &info);
	BUILT(ibv_wr_bind_mw, 6, "wr.bind_mw", H(mw));
	BUILT(ibv_wr_bind_mw, 6, "wr.bind_mr", H(mr));
	BUILT(ibv_wr_bind_mw, 6, "wr.bind_addr", H(buffer));
	BUILT(ibv_wr_bind_mw, 6, "wr.bind_length", 128);
	BUILT(ibv_wr_bind_mw, 6, "wr.bind_rkey", key);
	next_wr(ex, 17);
	ibv_wr_local_inv(ex, key);
	BUILT(ibv_wr_local_inv, 7, "wr.imm", key);
	BUILT(ibv_wr_local_inv, 7, "wr.opcode", IBV_WR_LOCAL_INV);
	next_wr(ex, 18);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data_list(ex, 2, bufs);
	BUILT(ibv_wr_send, 8, "wr.opcode", IBV_WR_SEND);
	BUILT(ibv_wr_set_inline_data_list, 8, "wr.num_sge", 2);
	BUILT(ibv_wr_set_inline_data_list, 8, "wr.bytes", 8);
	next_wr(ex, 19);
	ibv_wr_send_imm(ex, htonl(55));
	ibv_wr_set_sge(ex, mr->lkey, H(buffer), 4);
	BUILT(ibv_wr_send_imm, 9, "wr.imm", 55);
	complete_builder(ex, 10);
}

/* All available completions, by the iterator. */
static void iterate_cq(unsigned int n)
{
	struct ibv_poll_cq_attr attr = { 0 };
	unsigned int got = 0;

	while (got < n) {
		const char *by = "ibv_start_poll";

		if (ibv_start_poll(cq_ex, &attr))
			continue;
		do {
			say_call(by);
#define READ(field, column)                                        \
	say_value("ibv_wc_read_" #field, by, nth, 0, "wc." column, \
		  (int64_t)ibv_wc_read_##field(cq_ex))
			say_value(by, by, nth, 0, "wc.wr_id", (int64_t)cq_ex->wr_id);
			say_value("ibv_end_poll", by, nth, 0, "wc.status", cq_ex->status);
			READ(qp_num, "qp_num");
			if (cq_ex->status) {
				READ(vendor_err, "vendor_err");
				continue;
			}
			READ(opcode, "opcode");
			READ(byte_len, "byte_len");
			READ(src_qp, "src_qp");
			READ(wc_flags, "wc_flags");
			READ(slid, "slid");
			READ(sl, "sl");
			READ(dlid_path_bits, "dlid_path_bits");
			READ(flow_tag, "flow_tag");
			READ(completion_ts, "timestamp");
			READ(completion_wallclock_ns, "wallclock");
			if (ibv_wc_read_wc_flags(cq_ex) & IBV_WC_WITH_IMM)
				say_value("ibv_wc_read_imm_data", by, nth, 0, "wc.imm",
					  ntohl(ibv_wc_read_imm_data(cq_ex)));
		} while (++got < n && (by = "ibv_next_poll", !ibv_next_poll(cq_ex)));
		ibv_end_poll(cq_ex);
	}
}

static void post_built(void)
{
	struct ibv_qp *qp = make_builder(
		IBV_QPT_RC, IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				    IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
				    IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
				    IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV |
				    IBV_QP_EX_WITH_ATOMIC_WRITE);
	struct ibv_qp_ex *ex = NEED(DO(ibv_qp_to_qp_ex, ibv_qp_to_qp_ex(qp)));
	struct ibv_recv_wr recv = { .wr_id = 30 }, *bad;
	struct ibv_sge sge = { H(buffer) + 8192, 64, mr->lkey };
	struct ibv_mw *mw;

	ARG("qp", H(qp));
	connect_qp(qp);
	mw = NEED(DO(ibv_alloc_mw, ibv_alloc_mw(pd, IBV_MW_TYPE_2)));
	recv.sg_list = &sge;
	recv.num_sge = 1;
	for (int i = 0; i < 3; i++)
		MUST(DO(ibv_post_recv, ibv_post_recv(qp, &recv, &bad)));
	build_rc(ex, mw);
	iterate_cq(13);
	/* aborted, then one that the peer refuses: no window has that key */
	part = next_of("ibv_wr_abort");
	ibv_wr_start(ex);
	next_wr(ex, 20);
	ibv_wr_send_inv(ex, 0x1234);
	ibv_wr_set_sge(ex, mr->lkey, H(buffer), 4);
	ibv_wr_abort(ex);
	PART(ibv_wr_abort, ibv_wr_abort, 0, "post.nwr", 1);
	PART(ibv_wr_abort, ibv_wr_abort, 0, "wr.bad", 1);
	PART(ibv_wr_send_inv, ibv_wr_abort, 0, "wr.imm", 0x1234);
	start_builder(ex);
	next_wr(ex, 21);
	ibv_wr_rdma_write(ex, 0x777, 0);
	ibv_wr_set_sge(ex, mr->lkey, H(buffer), 4);
	complete_builder(ex, 1);
	iterate_cq(1);
	MUST(DO(ibv_dealloc_mw, ibv_dealloc_mw(mw)));
	MUST(DO(ibv_destroy_qp, ibv_destroy_qp(qp)));
}

static void post_datagrams(void)
{
	struct ibv_qp *qp = make_builder(IBV_QPT_UD, IBV_QP_EX_WITH_SEND);
	struct ibv_qp_ex *ex = NEED(DO(ibv_qp_to_qp_ex, ibv_qp_to_qp_ex(qp)));
	struct ibv_ah_attr attr = make_path(), from;
	union ibv_gid group = { .raw = { 0xff, 0x12, 0x40, 0x1b, [15] = 1 } };
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH, .slid = 1 };
	struct ibv_ah *back;
	uint16_t vid;
	uint8_t mac[6];

	connect_qp(qp);
	ah = NEED(DO(ibv_create_ah, ibv_create_ah(pd, &attr)));
	ARG("attr.port_num", 1);
	start_builder(ex);
	next_wr(ex, 40);
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, qp->qp_num, 0x11);
	ibv_wr_set_sge(ex, mr->lkey, H(buffer), 4);
	BUILT(ibv_wr_set_ud_addr, 0, "wr.ah", H(ah));
	BUILT(ibv_wr_set_ud_addr, 0, "wr.remote_qpn", qp->qp_num);
	BUILT(ibv_wr_set_ud_addr, 0, "wr.remote_qkey", 0x11);
	complete_builder(ex, 1);
	iterate_cq(1);
	DO(ibv_init_ah_from_wc, ibv_init_ah_from_wc(context, 1, &wc, (void *)buffer, &from));
	ARG("port_num", 1);
	back = DO(ibv_create_ah_from_wc, ibv_create_ah_from_wc(pd, &wc, (void *)buffer, 1));
	ARG("port_num", 1);
	if (back)
		MUST(DO(ibv_destroy_ah, ibv_destroy_ah(back)));
	DO(ibv_resolve_eth_l2_from_gid, ibv_resolve_eth_l2_from_gid(context, &attr, mac, &vid));
	ARG("attr.port_num", 1);
	DO(ibv_attach_mcast, ibv_attach_mcast(qp, &group, 0xc001));
	ARG("lid", 0xc001);
	DO(ibv_detach_mcast, ibv_detach_mcast(qp, &group, 0xc001));
	ARG("lid", 0xc001);
	MUST(DO(ibv_destroy_ah, ibv_destroy_ah(ah)));
	ARG("ah", H(ah));
	MUST(DO(ibv_destroy_qp, ibv_destroy_qp(qp)));
}

/* A connection's receiving side, opened by its number; and its sending side, built. */
static void shared_queues(void)
{
	struct ibv_xrcd_init_attr xrcd_attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							     IBV_XRCD_INIT_ATTR_OFLAGS,
						.fd = -1,
						.oflags = O_CREAT };
	struct ibv_xrcd *xrcd = NEED(DO(ibv_open_xrcd, ibv_open_xrcd(context, &xrcd_attr)));
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV,
					    .xrcd = xrcd,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD };
	struct ibv_qp *recv = NEED(DO(ibv_create_qp_ex, ibv_create_qp_ex(context, &attr)));
	struct ibv_qp_open_attr open = { .comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
						      IBV_QP_OPEN_ATTR_TYPE,
					 .qp_num = recv->qp_num,
					 .xrcd = xrcd,
					 .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_qp *again = NEED(DO(ibv_open_qp, ibv_open_qp(context, &open))), *qp;
	struct ibv_qp_ex *ex;

	ARG("attr.qp_num", recv->qp_num);
	ARG("attr.xrcd", H(xrcd));
	MUST(DO(ibv_destroy_qp, ibv_destroy_qp(again)));
	qp = make_builder(IBV_QPT_XRC_SEND, IBV_QP_EX_WITH_SEND);
	ex = NEED(DO(ibv_qp_to_qp_ex, ibv_qp_to_qp_ex(qp)));
	part = next_of("ibv_wr_abort");
	ibv_wr_start(ex);
	next_wr(ex, 50);
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, 3);
	ibv_wr_set_sge(ex, mr->lkey, H(buffer), 4);
	ibv_wr_abort(ex);
	PART(ibv_wr_set_xrc_srqn, ibv_wr_abort, 0, "wr.remote_srqn", 3);
	MUST(DO(ibv_destroy_qp, ibv_destroy_qp(qp)));
	MUST(DO(ibv_destroy_qp, ibv_destroy_qp(recv)));
	MUST(DO(ibv_close_xrcd, ibv_close_xrcd(xrcd)));
}
