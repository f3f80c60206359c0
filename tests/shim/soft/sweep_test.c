/*
 * The software device's control verbs: results of each argument's values, in sweep_test.txt
 *
 * Each verb is called once as it should be, then with many values of each argument (sweep.h).
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>

#include "tests/shim/soft/sweep.h"
#include "tests/transcript.h"

enum { PAGE = 4096, BYTES = 4 * PAGE };

/* Objects of the verbs, and what their arguments point to. */
static struct {
	struct ibv_context *context;
	struct ibv_pd *pd, *other_pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq, *changed_cq;
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	struct ibv_dm *dm;
	struct ibv_mr *mr, *changed_mr;
	struct ibv_qp *qp, *moved;
	struct ibv_mw *mw;
	struct ibv_wq *wq;
	struct ibv_rwq_ind_table *table;
	union ibv_gid gid, group;
} w;

static uint8_t *buf; /* followed by a page that nobody can read */

/* What one call takes. */
union input {
	struct ibv_device_attr device;
	struct ibv_device_attr_ex device_ex;
	struct ibv_port_attr port;
	struct ibv_values_ex values;
	struct ibv_qp_init_attr qp_init;
	struct ibv_qp_init_attr_ex qp_init_ex;
	struct ibv_srq_init_attr srq_init;
	struct ibv_srq_init_attr_ex srq_init_ex;
	struct ibv_srq_attr srq;
	struct ibv_cq_init_attr_ex cq_init;
	struct ibv_modify_cq_attr cq;
	struct ibv_qp_attr qp;
	struct ibv_ah_attr ah;
	struct ibv_alloc_dm_attr dm;
	struct ibv_wq_init_attr wq_init;
	struct ibv_wq_attr wq;
	struct ibv_rwq_ind_table_init_attr table;
	struct ibv_parent_domain_init_attr domain;
	struct ibv_td_init_attr td;
	struct ibv_xrcd_init_attr xrcd;
	struct ibv_counters_init_attr counters;
	struct ibv_qp_rate_limit_attr rate;
	struct ibv_mw_bind bind;
	struct ibv_ece ece;
	struct ibv_sge sge;
	struct ibv_gid_entry entries[4];
	uint8_t room[1 << SWEEP_SIZE_BITS];
};

/* What it gives besides. */
struct output {
	struct ibv_qp_init_attr init;
	union ibv_gid gid;
	struct ibv_wc wc;
	struct ibv_grh grh;
	uint64_t word;
	__be16 pkey;
};

static struct {
	union input in;
	struct output out;
} call;

#define in  call.in
#define out call.out

static void open_foreign(void)
{
	struct ibv_context *context = open_context();
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 1, NULL, NULL, 0);
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_xrcd_init_attr xrcd = { .comp_mask = 3, .fd = -1, .oflags = O_CREAT };

	sweep_foreign[OBJECT_pd] = AT(pd);
	sweep_foreign[OBJECT_cq] = AT(cq);
	sweep_foreign[OBJECT_srq] = AT(ibv_create_srq(pd, &srq));
	sweep_foreign[OBJECT_comp_channel] = AT(channel);
	sweep_foreign[OBJECT_xrcd] = AT(ibv_open_xrcd(context, &xrcd));
}

/* Everything from here on is called, and printed. */
static void open_world(struct text *text)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_xrcd_init_attr xrcd = { .comp_mask = 3, .fd = -1, .oflags = O_CREAT };
	struct ibv_alloc_dm_attr dm = { .length = 64 };

	buf = mmap(NULL, BYTES + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(mprotect(buf, BYTES, PROT_READ | PROT_WRITE), 0);
	sweep_name(buf, BYTES, "buf");
	sweep_area.at = &call;
	sweep_area.size = sizeof(call);
	sweep_name(list[0], 0, "device");
	w.context = (void *)DO(open_device, AT(list[0]));
	sweep_name(w.context, 0, "context");
	w.pd = (void *)DO(alloc_pd, AT(w.context));
	sweep_name(w.pd, 0, "pd");
	w.other_pd = (void *)DO(alloc_pd, AT(w.context));
	sweep_name(w.other_pd, 0, "other_pd");
	w.channel = (void *)DO(create_comp_channel, AT(w.context));
	sweep_name(w.channel, 0, "channel");
	w.cq = (void *)DO(create_cq, AT(w.context), 10, AT(buf), AT(w.channel), 0);
	sweep_name(w.cq, 0, "cq");
	w.changed_cq = (void *)DO(create_cq, AT(w.context), 20, 0, 0, 0);
	sweep_name(w.changed_cq, 0, "changed_cq");
	in.srq_init = (struct ibv_srq_init_attr){ buf, { 5, 2, 0 } };
	w.srq = (void *)DO(create_srq, AT(w.pd), AT(&in));
	sweep_name(w.srq, 0, "srq");
	w.xrcd = (void *)DO(open_xrcd, AT(w.context), AT(&xrcd));
	sweep_name(w.xrcd, 0, "xrcd");
	w.dm = (void *)DO(alloc_dm, AT(w.context), AT(&dm));
	sweep_name(w.dm, 0, "dm");
	w.mr = (void *)DO(reg_mr, AT(w.pd), AT(buf), BYTES, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	sweep_name(w.mr, 0, "mr");
	w.changed_mr = (void *)DO(reg_mr_iova, AT(w.pd), AT(buf), PAGE, 0x10000, ALL_ACCESS);
	sweep_name(w.changed_mr, 0, "changed_mr");
	w.mw = (void *)DO(alloc_mw, AT(w.pd), IBV_MW_TYPE_1);
	sweep_name(w.mw, 0, "mw");
	in.qp_init = (struct ibv_qp_init_attr){ .qp_context = buf,
						.send_cq = w.cq,
						.recv_cq = w.cq,
						.cap = { 4, 5, 2, 3, 17 },
						.qp_type = IBV_QPT_RC };
	w.qp = (void *)DO(create_qp, AT(w.pd), AT(&in));
	sweep_name(w.qp, 0, "qp");
	DO(query_gid, AT(w.context), 1, 0, AT(&w.gid));
	w.group = (union ibv_gid){ .raw = { 0xff, 0x12, [15] = 7 } };
	ibv_free_device_list(list);
}

static void query_port(uint64_t *args)
{
	args[0] = AT(w.context);
	args[1] = 1;
	args[2] = AT(&in);
	args[3] = sizeof(in.port);
}

static void query_device_ex(uint64_t *args)
{
	args[0] = AT(w.context);
	args[2] = AT(&in);
	args[3] = sizeof(in.device_ex);
}

static void query_gid(uint64_t *args)
{
	args[0] = AT(w.context);
	args[1] = 1;
	args[2] = 1;
	args[3] = AT(&out.gid);
}

static void query_gid_ex(uint64_t *args)
{
	args[0] = AT(w.context);
	args[1] = 1;
	args[2] = 1;
	args[3] = AT(&in);
	args[5] = sizeof(in.entries[0]);
}

static void query_pkey(uint64_t *args)
{
	args[0] = AT(w.context);
	args[1] = 1;
	args[3] = AT(&out.pkey);
}

static void get_pkey_index(uint64_t *args)
{
	args[0] = AT(w.context);
	args[1] = 1;
	args[2] = 0xffff;
}

static void query_rt_values(uint64_t *args)
{
	args[0] = AT(w.context);
	args[1] = AT(&in);
}

static void reg_mr(uint64_t *args)
{
	args[0] = AT(w.pd);
	args[1] = AT(buf);
	args[2] = 100;
	args[3] = IBV_ACCESS_LOCAL_WRITE;
}

static void reg_mr_iova2(uint64_t *args)
{
	reg_mr(args);
	args[3] = 0x5000;
	args[4] = IBV_ACCESS_LOCAL_WRITE;
}

static void rereg_mr(uint64_t *args)
{
	args[0] = AT(w.changed_mr);
	args[1] = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
		  IBV_REREG_MR_CHANGE_ACCESS;
	args[2] = AT(w.pd);
	args[3] = AT(buf);
	args[4] = 200;
	args[5] = IBV_ACCESS_LOCAL_WRITE;
}

static void show_mr(struct text *text, const uint64_t *args)
{
	if (text)
		sweep_show_object(text, OBJECT_mr, args[0]);
}

static void alloc_dm(uint64_t *args)
{
	in.dm = (struct ibv_alloc_dm_attr){ .length = 16, .log_align_req = 2 };
	args[0] = AT(w.context);
	args[1] = AT(&in);
}

static void reg_dm_mr(uint64_t *args)
{
	args[0] = AT(w.pd);
	args[1] = AT(w.dm);
	args[2] = 8;
	args[3] = 16;
	args[4] = IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE;
}

static void memcpy_to_dm(uint64_t *args)
{
	args[0] = AT(w.dm);
	args[1] = 4;
	args[2] = AT(buf);
	args[3] = 8;
}

static void memcpy_from_dm(uint64_t *args)
{
	args[0] = AT(buf);
	args[1] = AT(w.dm);
	args[2] = 4;
	args[3] = 8;
}

static void create_cq(uint64_t *args)
{
	args[0] = AT(w.context);
	args[1] = 10;
	args[3] = AT(w.channel);
}

static void create_cq_ex(uint64_t *args)
{
	in.cq_init = (struct ibv_cq_init_attr_ex){ .cqe = 10,
						   .channel = w.channel,
						   .wc_flags = IBV_WC_EX_WITH_BYTE_LEN,
						   .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
						   .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED };
	args[0] = AT(w.context);
	args[1] = AT(&in);
}

static void resize_cq(uint64_t *args)
{
	args[0] = AT(w.changed_cq);
	args[1] = 30;
}

static void show_cq(struct text *text, const uint64_t *args)
{
	if (text)
		sweep_show_object(text, OBJECT_cq, args[0]);
}

static void modify_cq(uint64_t *args)
{
	in.cq = (struct ibv_modify_cq_attr){ .attr_mask = IBV_CQ_ATTR_MODERATE,
					     .moderate = { 3, 5 } };
	args[0] = AT(w.changed_cq);
	args[1] = AT(&in);
}

static void create_srq(uint64_t *args)
{
	in.srq_init = (struct ibv_srq_init_attr){ .attr = { .max_wr = 6, .max_sge = 2 } };
	args[0] = AT(w.pd);
	args[1] = AT(&in);
}

static void create_srq_ex(uint64_t *args)
{
	in.srq_init_ex = (struct ibv_srq_init_attr_ex){
		.attr = { .max_wr = 6, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = w.pd,
		.xrcd = w.xrcd,
		.cq = w.cq,
	};
	args[0] = AT(w.context);
	args[1] = AT(&in);
}

static void create_srq_tm(uint64_t *args)
{
	create_srq_ex(args);
	in.srq_init_ex.srq_type = IBV_SRQT_TM;
	in.srq_init_ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
				   IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
	in.srq_init_ex.tm_cap.max_num_tags = 4;
	in.srq_init_ex.tm_cap.max_ops = 3;
}

static void modify_srq(uint64_t *args)
{
	in.srq = (struct ibv_srq_attr){ .max_wr = 7, .srq_limit = 1 };
	args[0] = AT(w.srq);
	args[1] = AT(&in);
	args[2] = IBV_SRQ_LIMIT;
}

static void resize_srq(uint64_t *args)
{
	modify_srq(args);
	args[2] = IBV_SRQ_MAX_WR;
}

static void show_srq(struct text *text, const uint64_t *args)
{
	struct ibv_srq_attr attr = { 0 };

	if (!text)
		return;
	text_addf(text, "; ");
	sweep_call(text, VERB_query_srq, (const uint64_t[SWEEP_ARGS]){ args[0], AT(&attr) });
	text_cut(text, text->used - 1);
}

static void create_qp(uint64_t *args)
{
	in.qp_init = (struct ibv_qp_init_attr){
		.send_cq = w.cq, .recv_cq = w.cq, .cap = { 4, 5, 2, 3, 17 }, .qp_type = IBV_QPT_RC
	};
	args[0] = AT(w.pd);
	args[1] = AT(&in);
}

static void create_qp_srq(uint64_t *args)
{
	create_qp(args);
	in.qp_init.srq = w.srq;
}

static void create_qp_ex(uint64_t *args)
{
	create_qp(args);
	in.qp_init_ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
				  IBV_QP_INIT_ATTR_CREATE_FLAGS;
	in.qp_init_ex.pd = w.pd;
	in.qp_init_ex.qp_type = IBV_QPT_UD;
	in.qp_init_ex.create_flags = 0;
	in.qp_init_ex.send_ops_flags = IBV_QP_EX_WITH_SEND;
	args[0] = AT(w.context);
}

static void create_qp_ex_rc(uint64_t *args)
{
	create_qp_ex(args);
	in.qp_init_ex.qp_type = IBV_QPT_RC;
}

static void create_xrc_recv(uint64_t *args)
{
	in.qp_init_ex.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	in.qp_init_ex.xrcd = w.xrcd;
	in.qp_init_ex.qp_type = IBV_QPT_XRC_RECV;
	args[0] = AT(w.context);
	args[1] = AT(&in);
}

static void query_qp(uint64_t *args)
{
	args[0] = AT(w.qp);
	args[1] = AT(&in);
	args[2] = IBV_QP_STATE;
	args[3] = AT(&out.init);
}

static void create_ah(uint64_t *args)
{
	in.ah = (struct ibv_ah_attr){ .dlid = 1,
				      .sl = 2,
				      .port_num = 1,
				      .is_global = 1,
				      .grh = { .dgid = w.gid, .hop_limit = 9 } };
	args[0] = AT(w.pd);
	args[1] = AT(&in);
}

static void init_ah_from_wc(uint64_t *args)
{
	out.wc = (struct ibv_wc){ .slid = 7, .sl = 3, .dlid_path_bits = 0, .wc_flags = IBV_WC_GRH };
	out.grh = (struct ibv_grh){ .version_tclass_flow = htonl(0x68112345),
				    .next_hdr = 0x1b,
				    .hop_limit = 5,
				    .sgid = { .raw = { 0xfe, 0x80, [15] = 9 } },
				    .dgid = w.gid };
	args[0] = AT(w.context);
	args[1] = 1;
	args[2] = AT(&out.wc);
	args[3] = AT(&out.grh);
	args[4] = AT(&in);
}

static void alloc_mw(uint64_t *args)
{
	args[0] = AT(w.pd);
	args[1] = IBV_MW_TYPE_2;
}

static void open_xrcd(uint64_t *args)
{
	in.xrcd = (struct ibv_xrcd_init_attr){ .comp_mask = 3, .fd = -1, .oflags = O_CREAT };
	args[0] = AT(w.context);
	args[1] = AT(&in);
}

static void alloc_td(uint64_t *args)
{
	args[0] = AT(w.context);
	args[1] = AT(&in);
}

static void alloc_parent_domain(uint64_t *args)
{
	in.domain.pd = w.pd;
	args[0] = AT(w.context);
	args[1] = AT(&in);
}

static void advise_mr(uint64_t *args)
{
	in.sge = sge_of(&(struct end){ .buf = buf, .mr = w.mr }, 0, PAGE);
	args[0] = AT(w.pd);
	args[1] = IBV_ADVISE_MR_ADVICE_PREFETCH;
	args[2] = IBV_ADVISE_MR_FLAG_FLUSH;
	args[3] = AT(&in);
	args[4] = 1;
}

static void create_counters(uint64_t *args)
{
	args[0] = AT(w.context);
	args[1] = AT(&in);
}

static void set_ece(uint64_t *args)
{
	args[0] = AT(w.qp);
	args[1] = AT(&in);
}

static void data_in_order(uint64_t *args)
{
	args[0] = AT(w.qp);
}

static void rate_limit(uint64_t *args)
{
	args[0] = AT(w.qp);
	args[1] = AT(&in);
}

/* The transition of a queue pair under test; all attributes are valid. */
struct step {
	enum ibv_qp_type type;
	enum ibv_qp_state from, to;
	int mask;
};

static struct step step;

enum {
	TO_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT,
	TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	RESPONDER = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	TO_RTS = IBV_QP_STATE | IBV_QP_SQ_PSN,
	REQUESTER = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
	ALTERNATE = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE,
	ALL_ATTRS = (1 << 21) - 1,
};

/* clang-format off */
static const struct step steps[] = {
	{ IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT, TO_INIT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR, TO_RTR | RESPONDER | IBV_QP_ALT_PATH },
	{ IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS, TO_RTS | REQUESTER | ALTERNATE },
	{ IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_STATE | ALTERNATE | IBV_QP_CUR_STATE },
	{ IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY },
	{ IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_SQD, IBV_QP_STATE | REQUESTER | RESPONDER | IBV_QP_AV },
	{ IBV_QPT_RC, IBV_QPS_SQD, IBV_QPS_RTS, IBV_QP_STATE },
	{ IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_ERR, IBV_QP_STATE },
	{ IBV_QPT_RC, IBV_QPS_ERR, IBV_QPS_RESET, IBV_QP_STATE },
	{ IBV_QPT_UC, IBV_QPS_RESET, IBV_QPS_INIT, TO_INIT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR, TO_RTR },
	{ IBV_QPT_UC, IBV_QPS_RTR, IBV_QPS_RTS, TO_RTS },
	{ IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, TO_INIT | IBV_QP_QKEY },
	{ IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_STATE },
	{ IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, TO_RTS },
	{ IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_QKEY },
	{ IBV_QPT_UD, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QP_STATE },
	{ IBV_QPT_XRC_SEND, IBV_QPS_RESET, IBV_QPS_INIT, TO_INIT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPT_XRC_SEND, IBV_QPS_INIT, IBV_QPS_RTR, TO_RTR },
	{ IBV_QPT_XRC_SEND, IBV_QPS_RTR, IBV_QPS_RTS, TO_RTS | REQUESTER },
	{ IBV_QPT_XRC_RECV, IBV_QPS_RESET, IBV_QPS_INIT, TO_INIT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPT_XRC_RECV, IBV_QPS_INIT, IBV_QPS_RTR, TO_RTR | RESPONDER },
	{ IBV_QPT_XRC_RECV, IBV_QPS_RTR, IBV_QPS_RTS, TO_RTS | IBV_QP_TIMEOUT },
};
/* clang-format on */

static void fill_attr(struct ibv_qp_attr *attr, enum ibv_qp_state from, enum ibv_qp_state to)
{
	*attr = (struct ibv_qp_attr){
		.qp_state = to,
		.cur_qp_state = from,
		.path_mtu = IBV_MTU_1024,
		.path_mig_state = IBV_MIG_REARM,
		.qkey = 0x11,
		.en_sqd_async_notify = 1,
		.rq_psn = 0x12,
		.sq_psn = 0x13,
		.dest_qp_num = w.qp->qp_num,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ,
		.ah_attr = { .dlid = 1, .sl = 3, .src_path_bits = 0, .port_num = 1 },
		.alt_ah_attr = { .dlid = 1, .sl = 4, .port_num = 1 },
		.max_rd_atomic = 3,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 5,
		.port_num = 1,
		.timeout = 8,
		.retry_cnt = 6,
		.rnr_retry = 2,
		.alt_port_num = 1,
		.alt_timeout = 9,
	};
}

static void move_to(enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr;

	fill_attr(&attr, from, to);
	assert_int_equal(ibv_modify_qp(w.moved, &attr, mask), 0);
}

/* By the first steps of its type. */
static void reach_state(enum ibv_qp_state wanted)
{
	enum ibv_qp_state now = IBV_QPS_RESET;
	const struct step *to = steps;

	move_to(now, IBV_QPS_RESET, IBV_QP_STATE);
	for (; to->type != step.type; to++)
		;
	for (; now != wanted && now < IBV_QPS_RTS; now = to++->to)
		move_to(now, to->to, to->mask);
	if (now != wanted)
		move_to(now, wanted,
			IBV_QP_STATE | (wanted == IBV_QPS_SQD ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0));
}

/* Events so far, by type; they are taken often, since few fit into the descriptor. */
static unsigned int events[32];

static void take_events(void)
{
	struct pollfd ready = { .fd = w.context->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	while (poll(&ready, 1, 0) == 1 && !ibv_get_async_event(w.context, &event)) {
		events[event.event_type]++;
		ibv_ack_async_event(&event);
	}
}

static void show_events(struct text *text)
{
	take_events();
	for (int type = 0; type < 32; type++) {
		if (events[type])
			text_addf(text, "%u times %s\n", events[type], ibv_event_type_str(type));
		events[type] = 0;
	}
}

static void modify_qp(uint64_t *args)
{
	reach_state(step.from);
	take_events();
	fill_attr(&in.qp, step.from, step.to);
	args[0] = AT(w.moved);
	args[1] = AT(&in);
	args[2] = (uint64_t)step.mask;
}

static void show_qp(struct text *text, const uint64_t *args)
{
	struct ibv_qp_attr attr = { 0 };
	struct ibv_qp_init_attr init = { 0 };

	if (!text)
		return;
	text_addf(text, "; ");
	sweep_call(text, VERB_query_qp,
		   (const uint64_t[SWEEP_ARGS]){ args[0], AT(&attr), ALL_ATTRS, AT(&init) });
	text_cut(text, text->used - 1);
}

static struct ibv_qp *make_moved(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = type == IBV_QPT_XRC_RECV ? NULL : w.cq,
		.recv_cq = type == IBV_QPT_XRC_RECV ? NULL : w.cq,
		.cap = { 1, 1, 1, 1, 0 },
		.qp_type = type,
		.comp_mask = type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD,
		.pd = w.pd,
		.xrcd = w.xrcd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(w.context, &attr);

	assert_non_null(qp);
	return qp;
}

/* Transitions of queue pairs, with all values of attributes for RC. */
static void sweep_steps(struct text *text)
{
	struct sweep sweep = { .verb = VERB_modify_qp, .prepare = modify_qp, .finish = show_qp };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (w.moved && steps[i].type != step.type) {
			assert_int_equal(ibv_destroy_qp(w.moved), 0);
			w.moved = NULL;
		}
		step = steps[i];
		if (!w.moved)
			w.moved = make_moved(step.type);
		text_addf(text, "type %d, state %d to %d\n", step.type, step.from, step.to);
		sweep.flags_only = step.type != IBV_QPT_RC && step.type != IBV_QPT_UD;
		sweep_verb(text, &sweep);
		show_events(text);
	}
	assert_int_equal(ibv_destroy_qp(w.moved), 0);
	w.moved = NULL;
}

/* clang-format off */
static const struct sweep sweeps[] = {
	{ .verb = VERB_query_port, .prepare = query_port },
	{ .verb = VERB_query_device_ex, .prepare = query_device_ex },
	{ .verb = VERB_query_gid, .prepare = query_gid },
	{ .verb = VERB_query_gid_ex, .prepare = query_gid_ex },
	{ .verb = VERB_query_pkey, .prepare = query_pkey },
	{ .verb = VERB_get_pkey_index, .prepare = get_pkey_index },
	{ .verb = VERB_reg_mr, .prepare = reg_mr },
	{ .verb = VERB_reg_mr_iova2, .prepare = reg_mr_iova2 },
	{ .verb = VERB_rereg_mr, .prepare = rereg_mr, .finish = show_mr },
	{ .verb = VERB_alloc_dm, .prepare = alloc_dm },
	{ .verb = VERB_reg_dm_mr, .prepare = reg_dm_mr },
	{ .verb = VERB_memcpy_to_dm, .prepare = memcpy_to_dm },
	{ .verb = VERB_memcpy_from_dm, .prepare = memcpy_from_dm },
	{ .verb = VERB_create_cq, .prepare = create_cq },
	{ .verb = VERB_create_cq_ex, .prepare = create_cq_ex },
	{ .verb = VERB_resize_cq, .prepare = resize_cq, .finish = show_cq },
	{ .verb = VERB_modify_cq, .prepare = modify_cq },
	{ .verb = VERB_create_srq, .prepare = create_srq },
	{ .verb = VERB_create_srq_ex, .prepare = create_srq_ex },
	{ .verb = VERB_create_srq_ex, .prepare = create_srq_tm },
	{ .verb = VERB_modify_srq, .prepare = modify_srq, .finish = show_srq },
	{ .verb = VERB_modify_srq, .prepare = resize_srq, .finish = show_srq },
	{ .verb = VERB_create_qp, .prepare = create_qp },
	{ .verb = VERB_create_qp, .prepare = create_qp_srq },
	{ .verb = VERB_create_qp_ex, .prepare = create_qp_ex },
	{ .verb = VERB_create_qp_ex, .prepare = create_qp_ex_rc },
	{ .verb = VERB_create_qp_ex, .prepare = create_xrc_recv },
	{ .verb = VERB_query_qp, .prepare = query_qp },
	{ .verb = VERB_query_rt_values_ex, .prepare = query_rt_values, .except = "raw_clock" },
	{ .verb = VERB_create_ah, .prepare = create_ah },
	{ .verb = VERB_init_ah_from_wc, .prepare = init_ah_from_wc },
	{ .verb = VERB_alloc_mw, .prepare = alloc_mw },
	{ .verb = VERB_open_xrcd, .prepare = open_xrcd, .except = "fd" },
	{ .verb = VERB_alloc_td, .prepare = alloc_td },
	{ .verb = VERB_alloc_parent_domain, .prepare = alloc_parent_domain },
	{ .verb = VERB_advise_mr, .prepare = advise_mr },
	{ .verb = VERB_create_counters, .prepare = create_counters },
	{ .verb = VERB_set_ece, .prepare = set_ece },
	{ .verb = VERB_query_qp_data_in_order, .prepare = data_in_order },
	{ .verb = VERB_modify_qp_rate_limit, .prepare = rate_limit },
};
/* clang-format on */

static void create_wq(uint64_t *args)
{
	in.wq_init = (struct ibv_wq_init_attr){
		.wq_type = IBV_WQT_RQ, .max_wr = 3, .max_sge = 2, .pd = w.pd, .cq = w.cq
	};
	args[0] = AT(w.context);
	args[1] = AT(&in);
}

static void modify_wq(uint64_t *args)
{
	in.wq.attr_mask = IBV_WQ_ATTR_STATE;
	in.wq.wq_state = IBV_WQS_RDY;
	args[0] = AT(w.wq);
	args[1] = AT(&in);
}

static void show_wq(struct text *text, const uint64_t *args)
{
	if (text)
		sweep_show_object(text, OBJECT_wq, args[0]);
}

static void create_table(uint64_t *args)
{
	static struct ibv_wq *all[4096];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		all[i] = w.wq;
	in.table.ind_tbl = all;
	args[0] = AT(w.context);
	args[1] = AT(&in);
}

static void create_raw_qp(uint64_t *args)
{
	create_qp(args);
	in.qp_init.qp_type = IBV_QPT_RAW_PACKET;
}

static void create_rss_qp(uint64_t *args)
{
	static uint8_t key[40] = "key";

	in.qp_init_ex = (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.pd = w.pd,
		.rwq_ind_tbl = w.table,
		.rx_hash_conf = { IBV_RX_HASH_FUNC_TOEPLITZ, sizeof(key), key,
				  IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 },
	};
	args[0] = AT(w.context);
	args[1] = AT(&in);
}

/* clang-format off */
static const struct sweep of_ethernet[] = {
	{ .verb = VERB_query_port, .prepare = query_port },
	{ .verb = VERB_query_device_ex, .prepare = query_device_ex },
	{ .verb = VERB_query_gid, .prepare = query_gid },
	{ .verb = VERB_query_gid_ex, .prepare = query_gid_ex },
	{ .verb = VERB_query_pkey, .prepare = query_pkey },
	{ .verb = VERB_create_ah, .prepare = create_ah },
	{ .verb = VERB_init_ah_from_wc, .prepare = init_ah_from_wc },
	{ .verb = VERB_create_wq, .prepare = create_wq },
	{ .verb = VERB_modify_wq, .prepare = modify_wq, .finish = show_wq },
	{ .verb = VERB_create_rwq_ind_table, .prepare = create_table },
	{ .verb = VERB_create_qp, .prepare = create_raw_qp },
	{ .verb = VERB_create_qp_ex, .prepare = create_rss_qp },
};
/* clang-format on */

/* Ethernet has other addresses, and raw packets. */
static void sweep_ethernet(struct text *text)
{
	uint64_t args[SWEEP_ARGS] = { 0 };

	setenv("VERBATIM_SOFT_LINK", "roce", 1);
	open_world(text);
	create_wq(args);
	w.wq = (void *)sweep_call(text, VERB_create_wq, args);
	memset(&call, 0, sizeof(call));
	create_table(args);
	w.table = (void *)sweep_call(text, VERB_create_rwq_ind_table, args);
	sweep_name(w.table, 0, "table");
	for (size_t i = 0; i < sizeof(of_ethernet) / sizeof(of_ethernet[0]); i++)
		sweep_verb(text, &of_ethernet[i]);
	unsetenv("VERBATIM_SOFT_LINK");
}

GROUP(fabric_setup, NULL);

TEST(each_value_of_each_argument)
{
	struct text text = { 0 };

	open_foreign();
	open_world(&text);
	for (size_t i = 0; i < sizeof(sweeps) / sizeof(sweeps[0]); i++)
		sweep_verb(&text, &sweeps[i]);
	sweep_steps(&text);
	sweep_ethernet(&text);
	transcript_expect(__FILE__, &text);
}
