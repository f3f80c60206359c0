/*
 * The table of trust: how to provoke each completion status and each asynchronous event, on which
 * transport, and the result at both ends. Each row is a test. Those that no row can provoke are in
 * a second table, with the test that does, or the reason why none can; each must be in one of the
 * tables.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { SEND = 1, RECEIVE = 2, LEN = 8, GRH = 40, QKEY = 0x1234 };

/* How the two are connected, if not as always. */
enum {
	NO_READS = 1 << 0, /* the sender may have none outstanding */
	FORBIDS = 1 << 1,  /* the receiver: all that is remote */
	RTR = 1 << 2,      /* the receiver is not RTS yet */
	SHARED = 1 << 3,   /* it has a shared queue */
	TINY = 1 << 4,     /* a CQ with one entry */
};

struct trial {
	struct pair p;
	enum ibv_qp_type type;
	int how;
	struct ibv_cq *cq; /* of the receiver's receives */
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	struct ibv_ah *ah;
	uint32_t srqn, qkey;
};

/* The attributes that connect it, by transport. */

static struct ibv_qp_attr attr_of(struct trial *t, struct ibv_qp *qp)
{
	bool sends = qp == t->p.a.qp;

	return (struct ibv_qp_attr){
		.path_mtu = IBV_MTU_1024,
		.port_num = 1,
		.qkey = QKEY,
		.ah_attr = { .dlid = 1, .port_num = 1 },
		.dest_qp_num = (sends ? t->p.b.qp : t->p.a.qp)->qp_num,
		.qp_access_flags = t->how & FORBIDS && !sends ? 0 : ALL_ACCESS,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.timeout = 8,
		.retry_cnt = 7,
		.rnr_retry = 2,
		.max_rd_atomic = !(t->how & NO_READS),
	};
}

enum {
	PATH = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	RESPONDS = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	REQUESTS = IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		   IBV_QP_MAX_QP_RD_ATOMIC,
};

/* clang-format off */
static const struct {
	enum ibv_qp_type	type;
	int			init, rtr, rts;
} masks[] = {
	{ IBV_QPT_RC,		IBV_QP_ACCESS_FLAGS,	PATH | RESPONDS,	REQUESTS },
	{ IBV_QPT_UC,		IBV_QP_ACCESS_FLAGS,	PATH,			IBV_QP_SQ_PSN },
	{ IBV_QPT_UD,		IBV_QP_QKEY,		0,			IBV_QP_SQ_PSN },
	{ IBV_QPT_XRC_SEND,	IBV_QP_ACCESS_FLAGS,	PATH,			REQUESTS },
	{ IBV_QPT_XRC_RECV,	IBV_QP_ACCESS_FLAGS,	PATH | RESPONDS,
	  IBV_QP_SQ_PSN | IBV_QP_TIMEOUT },
};
/* clang-format on */

static void go_to(struct ibv_qp *qp, struct ibv_qp_attr attr, enum ibv_qp_state to, int mask)
{
	attr.qp_state = to;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask), 0);
}

static void connect_one(struct trial *t, struct ibv_qp *qp, bool to_rts)
{
	struct ibv_qp_attr attr = attr_of(t, qp);
	size_t i;

	for (i = 0; masks[i].type != qp->qp_type; i++)
		;
	go_to(qp, attr, IBV_QPS_INIT, masks[i].init | IBV_QP_PORT | IBV_QP_PKEY_INDEX);
	go_to(qp, attr, IBV_QPS_RTR, masks[i].rtr);
	if (to_rts)
		go_to(qp, attr, IBV_QPS_RTS, masks[i].rts);
}

static void make_shared(struct trial *t)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { END_DEPTH, 4, 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = t->p.b.pd,
		.xrcd = t->xrcd,
		.cq = t->cq,
	};

	if (t->xrcd) {
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		attr.srq_type = IBV_SRQT_XRC;
	}
	t->srq = ibv_create_srq_ex(t->p.b.context, &attr);
	assert_non_null(t->srq);
	if (t->xrcd)
		assert_int_equal(ibv_get_srq_num(t->srq, &t->srqn), 0);
}

static void make_xrc(struct trial *t)
{
	struct ibv_xrcd_init_attr domain = { IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, -1,
					     O_CREAT };
	struct ibv_qp_init_attr_ex recv = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD };

	use_qp_of(&t->p.a, IBV_QPT_XRC_SEND, NULL);
	t->xrcd = ibv_open_xrcd(t->p.b.context, &domain);
	assert_non_null(t->xrcd);
	make_shared(t);
	recv.xrcd = t->xrcd;
	assert_int_equal(ibv_destroy_qp(t->p.b.qp), 0);
	t->p.b.qp = ibv_create_qp_ex(t->p.b.context, &recv);
	assert_non_null(t->p.b.qp);
}

static void make_other(struct trial *t)
{
	struct ibv_cq *old = t->p.b.cq;

	if (t->how & SHARED)
		make_shared(t);
	use_qp_of(&t->p.a, t->type, NULL);
	t->p.b.cq = t->cq;
	use_qp_of(&t->p.b, t->type, t->srq);
	t->p.b.cq = old;
}

static void begin_trial(struct trial *t, enum ibv_qp_type type, int how)
{
	struct ibv_ah_attr ah = { .dlid = 1, .port_num = 1 };

	memset(t, 0, sizeof(*t));
	t->type = type;
	t->how = how;
	t->qkey = QKEY;
	end_open(&t->p.a);
	end_open(&t->p.b);
	t->cq = how & TINY ? ibv_create_cq(t->p.b.context, 1, NULL, NULL, 0) : t->p.b.cq;
	if (type == IBV_QPT_XRC_SEND)
		make_xrc(t);
	else
		make_other(t);
	t->ah = ibv_create_ah(t->p.a.pd, &ah);
	connect_one(t, t->p.a.qp, true);
	connect_one(t, t->p.b.qp, !(how & RTR));
}

static void end_trial(struct trial *t)
{
	assert_int_equal(ibv_destroy_ah(t->ah), 0);
	assert_int_equal(ibv_destroy_qp(t->p.b.qp), 0);
	t->p.b.qp = NULL;
	if (t->srq)
		assert_int_equal(ibv_destroy_srq(t->srq), 0);
	if (t->xrcd)
		assert_int_equal(ibv_close_xrcd(t->xrcd), 0);
	if (t->cq != t->p.b.cq)
		assert_int_equal(ibv_destroy_cq(t->cq), 0);
	end_close(&t->p.a);
	end_close(&t->p.b);
}

/* Post a receive request RECEIVE and a send request SEND. */

static void want_sge(struct trial *t, struct ibv_sge sge)
{
	struct ibv_recv_wr wr = { .wr_id = RECEIVE, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (t->type == IBV_QPT_UD)
		sge.length += GRH;
	if (t->srq)
		assert_int_equal(ibv_post_srq_recv(t->srq, &wr, &bad), 0);
	else
		assert_int_equal(ibv_post_recv(t->p.b.qp, &wr, &bad), 0);
}

static void want_message(struct trial *t, uint32_t len)
{
	want_sge(t, sge_of(&t->p.b, 0, len));
}

static void ask_sge(struct trial *t, struct ibv_send_wr wr, struct ibv_sge sge)
{
	wr.wr_id = SEND;
	if (t->type == IBV_QPT_UD) {
		wr.wr.ud.ah = t->ah;
		wr.wr.ud.remote_qpn = t->p.b.qp->qp_num;
		wr.wr.ud.remote_qkey = t->qkey;
	}
	wr.qp_type.xrc.remote_srqn = t->srqn;
	assert_int_equal(send_wr(&t->p.a, wr, sge), 0);
}

static void ask_for(struct trial *t, enum ibv_wr_opcode opcode, uint32_t len)
{
	struct ibv_send_wr wr = { .opcode = opcode };

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)t->p.b.buf;
		wr.wr.atomic.rkey = t->p.b.mr->rkey;
	} else if (opcode != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = (uintptr_t)t->p.b.buf;
		wr.wr.rdma.rkey = t->p.b.mr->rkey;
	}
	ask_sge(t, wr, sge_of(&t->p.a, 0, len));
}

static void send_message(struct trial *t)
{
	want_message(t, LEN);
	ask_for(t, IBV_WR_SEND, LEN);
}

static void too_long(struct trial *t)
{
	want_message(t, LEN - 1);
	ask_for(t, IBV_WR_SEND, LEN);
}

static void bad_lkey(struct trial *t)
{
	struct ibv_sge sge = sge_of(&t->p.a, 0, LEN);

	sge.lkey = t->p.a.mr->rkey;
	ask_sge(t, (struct ibv_send_wr){ .opcode = IBV_WR_SEND }, sge);
}

static void bad_buffer(struct trial *t)
{
	struct ibv_sge sge = sge_of(&t->p.b, 0, LEN);

	sge.lkey = t->p.b.mr->rkey;
	want_sge(t, sge);
	ask_for(t, IBV_WR_SEND, LEN);
}

static void bad_rkey(struct trial *t)
{
	t->p.b.mr->rkey ^= 0x10;
	ask_for(t, IBV_WR_RDMA_WRITE, LEN);
}

static void write_there(struct trial *t)
{
	ask_for(t, IBV_WR_RDMA_WRITE, LEN);
}

static void read_there(struct trial *t)
{
	ask_for(t, IBV_WR_RDMA_READ, LEN);
}

static void half_atomic(struct trial *t)
{
	ask_for(t, IBV_WR_ATOMIC_FETCH_AND_ADD, 4);
}

static void odd_atomic(struct trial *t)
{
	t->p.b.buf += 4;
	ask_for(t, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	t->p.b.buf -= 4;
}

static void beyond_mtu(struct trial *t)
{
	want_message(t, 8192);
	ask_for(t, IBV_WR_SEND, 8192);
}

static void without_request(struct trial *t)
{
	ask_for(t, IBV_WR_SEND, LEN);
}

static void peer_gone(struct trial *t)
{
	assert_int_equal(to_state(t->p.b.qp, IBV_QPS_RESET), 0);
	ask_for(t, IBV_WR_SEND, LEN);
}

static void bad_qkey(struct trial *t)
{
	want_message(t, LEN);
	t->qkey++;
	ask_for(t, IBV_WR_SEND, LEN);
}

static void bad_srqn(struct trial *t)
{
	t->srqn ^= 0x10000;
	ask_for(t, IBV_WR_SEND, LEN);
}

static void both_fail(struct trial *t)
{
	want_message(t, LEN);
	assert_int_equal(to_state(t->p.a.qp, IBV_QPS_ERR), 0);
	assert_int_equal(to_state(t->p.b.qp, IBV_QPS_ERR), 0);
	ask_for(t, IBV_WR_SEND, LEN);
}

/* The first message fills the queue. */
static void one_too_many(struct trial *t)
{
	send_message(t);
	expect_wc(t->p.a.cq, SEND, IBV_WC_SUCCESS);
	send_message(t);
}

static void few_are_left(struct trial *t)
{
	struct ibv_srq_attr limit = { .srq_limit = 1 };

	want_message(t, LEN);
	assert_int_equal(ibv_modify_srq(t->srq, &limit, IBV_SRQ_LIMIT), 0);
	ask_for(t, IBV_WR_SEND, LEN);
}

static void receiver_fails(struct trial *t)
{
	assert_int_equal(to_state(t->p.b.qp, IBV_QPS_ERR), 0);
}

static void expect_drained(struct trial *t)
{
	struct ibv_qp_attr attr = { .en_sqd_async_notify = 1 };

	go_to(t->p.a.qp, attr, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY);
}

static void set_path(struct ibv_qp *qp, enum ibv_mig_state state, uint16_t lid)
{
	struct ibv_qp_attr attr = { .path_mig_state = state,
				    .alt_port_num = 1,
				    .alt_ah_attr = { .dlid = lid, .port_num = 1 } };

	assert_int_equal(
		ibv_modify_qp(qp, &attr, IBV_QP_PATH_MIG_STATE | (lid ? IBV_QP_ALT_PATH : 0)), 0);
}

static void expect_migrated(struct trial *t)
{
	set_path(t->p.a.qp, IBV_MIG_REARM, 1);
	set_path(t->p.b.qp, IBV_MIG_REARM, 1);
	set_path(t->p.a.qp, IBV_MIG_MIGRATED, 0);
}

static void expect_misled(struct trial *t)
{
	set_path(t->p.a.qp, IBV_MIG_ARMED, 77);
	set_path(t->p.a.qp, IBV_MIG_MIGRATED, 0);
}

#define WC(name)    (IBV_WC_##name + 1) /* 0: none */
#define OK          WC(SUCCESS)
#define EVENT(name) (IBV_EVENT_##name + 1)
/* clang-format off */
#define EVENTS(...) { __VA_ARGS__ }
#define NOTHING	    { 0 }

static const struct row {
	const char	*name;
	enum ibv_qp_type type;
	int		how;
	void		(*provoke)(struct trial *t);
	int		sender, receiver;	/* status of SEND, of RECEIVE */
	int		of_sender[4], of_receiver[4];	/* events, in order */
} rows[] = {
#define ROW(what, type, how, provoke, ...) \
	{ #type " " what, IBV_QPT_##type, how, provoke, __VA_ARGS__ }
/*   what                      transport how       provoked by
     sender, receiver: status; sender, receiver: events */
ROW("message",                RC,       0,        send_message,   OK, OK, NOTHING, NOTHING),
ROW("too long",               RC,       0,        too_long,
    WC(REM_INV_REQ_ERR), WC(LOC_LEN_ERR), NOTHING, NOTHING),
ROW("local key",              RC,       0,        bad_lkey,       WC(LOC_PROT_ERR), 0,
    NOTHING, NOTHING),
ROW("receive buffer",         RC,       0,        bad_buffer,     WC(REM_OP_ERR), WC(LOC_PROT_ERR),
    NOTHING, NOTHING),
ROW("remote key",             RC,       0,        bad_rkey,       WC(REM_ACCESS_ERR), 0,
    NOTHING, EVENTS(EVENT(QP_ACCESS_ERR))),
ROW("write forbidden",        RC,       FORBIDS,  write_there,    WC(REM_INV_REQ_ERR), 0,
    NOTHING, EVENTS(EVENT(QP_REQ_ERR))),
ROW("read forbidden",         RC,       FORBIDS,  read_there,     WC(REM_INV_REQ_ERR), 0,
    NOTHING, EVENTS(EVENT(QP_REQ_ERR))),
ROW("read without resources", RC,       NO_READS, read_there,     WC(LOC_QP_OP_ERR), 0,
    NOTHING, NOTHING),
ROW("half an atomic",         RC,       0,        half_atomic,    WC(LOC_LEN_ERR), 0,
    NOTHING, NOTHING),
ROW("odd atomic",             RC,       0,        odd_atomic,     WC(REM_INV_REQ_ERR), 0,
    NOTHING, EVENTS(EVENT(QP_REQ_ERR))),
ROW("no request",             RC,       0,        without_request, WC(RNR_RETRY_EXC_ERR), 0,
    NOTHING, NOTHING),
ROW("peer gone",              RC,       0,        peer_gone,      WC(RETRY_EXC_ERR), 0,
    NOTHING, NOTHING),
ROW("flushed",                RC,       0,        both_fail,
    WC(WR_FLUSH_ERR), WC(WR_FLUSH_ERR), NOTHING, NOTHING),
ROW("overrun",                RC,       TINY,     one_too_many,   WC(REM_OP_ERR), OK,
    NOTHING, EVENTS(EVENT(CQ_ERR), EVENT(QP_FATAL))),
ROW("first message",          RC,       RTR,      send_message,   OK, OK,
    NOTHING, EVENTS(EVENT(COMM_EST))),
ROW("drained",                RC,       0,        expect_drained, 0, 0,
    EVENTS(EVENT(SQ_DRAINED)), NOTHING),
ROW("migrated",               RC,       0,        expect_migrated,0, 0,
    EVENTS(EVENT(PATH_MIG)), EVENTS(EVENT(PATH_MIG))),
ROW("misled",                 RC,       0,        expect_misled,  0, 0,
    EVENTS(EVENT(PATH_MIG_ERR)), NOTHING),
ROW("limit",                  RC,       SHARED,   few_are_left,   OK, OK,
    NOTHING, EVENTS(EVENT(SRQ_LIMIT_REACHED))),
ROW("last of a shared queue", RC,       SHARED,   receiver_fails, 0, 0,
    NOTHING, EVENTS(EVENT(QP_LAST_WQE_REACHED))),

ROW("message",                UC,       0,        send_message,   OK, OK, NOTHING, NOTHING),
ROW("too long",               UC,       0,        too_long,       OK, 0, NOTHING, NOTHING),
ROW("local key",              UC,       0,        bad_lkey,       WC(LOC_PROT_ERR), 0,
    NOTHING, NOTHING),
ROW("receive buffer",         UC,       0,        bad_buffer,     OK, WC(LOC_PROT_ERR),
    NOTHING, NOTHING),
ROW("remote key",             UC,       0,        bad_rkey,       OK, 0, NOTHING, NOTHING),
ROW("write forbidden",        UC,       FORBIDS,  write_there,    OK, 0, NOTHING, NOTHING),
ROW("peer gone",              UC,       0,        peer_gone,      OK, 0, NOTHING, NOTHING),
ROW("flushed",                UC,       0,        both_fail,
    WC(WR_FLUSH_ERR), WC(WR_FLUSH_ERR), NOTHING, NOTHING),
ROW("first message",          UC,       RTR,      send_message,   OK, OK,
    NOTHING, EVENTS(EVENT(COMM_EST))),

ROW("message",                UD,       0,        send_message,   OK, OK, NOTHING, NOTHING),
ROW("longer than a packet",   UD,       0,        beyond_mtu,     WC(LOC_LEN_ERR), 0,
    NOTHING, NOTHING),
ROW("local key",              UD,       0,        bad_lkey,       WC(LOC_PROT_ERR), 0,
    NOTHING, NOTHING),
ROW("receive buffer",         UD,       0,        bad_buffer,     OK, WC(LOC_PROT_ERR),
    NOTHING, NOTHING),
ROW("Q_Key",                  UD,       0,        bad_qkey,       OK, 0, NOTHING, NOTHING),
ROW("peer gone",              UD,       0,        peer_gone,      OK, 0, NOTHING, NOTHING),
ROW("flushed",                UD,       0,        both_fail,
    WC(WR_FLUSH_ERR), WC(WR_FLUSH_ERR), NOTHING, NOTHING),

ROW("message",                XRC_SEND, 0,        send_message,   OK, OK, NOTHING, NOTHING),
ROW("too long",               XRC_SEND, 0,        too_long,
    WC(REM_INV_REQ_ERR), WC(LOC_LEN_ERR), NOTHING, EVENTS(EVENT(QP_LAST_WQE_REACHED))),
ROW("local key",              XRC_SEND, 0,        bad_lkey,       WC(LOC_PROT_ERR), 0,
    NOTHING, NOTHING),
ROW("receive buffer",         XRC_SEND, 0,        bad_buffer,     WC(REM_OP_ERR), WC(LOC_PROT_ERR),
    NOTHING, EVENTS(EVENT(QP_LAST_WQE_REACHED))),
ROW("remote key",             XRC_SEND, 0,        bad_rkey,       WC(REM_ACCESS_ERR), 0,
    NOTHING, EVENTS(EVENT(QP_ACCESS_ERR), EVENT(QP_LAST_WQE_REACHED))),
ROW("write forbidden",        XRC_SEND, FORBIDS,  write_there,    WC(REM_INV_REQ_ERR), 0,
    NOTHING, EVENTS(EVENT(QP_REQ_ERR), EVENT(QP_LAST_WQE_REACHED))),
ROW("read without resources", XRC_SEND, NO_READS, read_there,     WC(LOC_QP_OP_ERR), 0,
    NOTHING, NOTHING),
ROW("shared queue",           XRC_SEND, 0,        bad_srqn,       WC(REM_INV_REQ_ERR), 0,
    NOTHING, EVENTS(EVENT(QP_REQ_ERR), EVENT(QP_LAST_WQE_REACHED))),
ROW("no request",             XRC_SEND, 0,        without_request, WC(RNR_RETRY_EXC_ERR), 0,
    NOTHING, NOTHING),
ROW("peer gone",              XRC_SEND, 0,        peer_gone,      WC(RETRY_EXC_ERR), 0,
    NOTHING, NOTHING),
ROW("flushed",                XRC_SEND, 0,        both_fail,      WC(WR_FLUSH_ERR), 0,
    NOTHING, EVENTS(EVENT(QP_LAST_WQE_REACHED))),
ROW("overrun",                XRC_SEND, TINY,     one_too_many,   WC(REM_OP_ERR), OK,
    NOTHING, EVENTS(EVENT(CQ_ERR), EVENT(SRQ_ERR), EVENT(QP_FATAL), EVENT(QP_LAST_WQE_REACHED))),
ROW("first message",          XRC_SEND, RTR,      send_message,   OK, OK,
    NOTHING, EVENTS(EVENT(COMM_EST))),
ROW("limit",                  XRC_SEND, 0,        few_are_left,   OK, OK,
    NOTHING, EVENTS(EVENT(SRQ_LIMIT_REACHED))),
};
/* clang-format on */

/* clang-format off */
/* The others, and their places. */
static const struct {
	int		status, event;
	const char	*where;
} elsewhere[] = {
	{ WC(MW_BIND_ERR),		0, "mw_test.c: bind_* and local_invalidate_*" },
	{ WC(BAD_RESP_ERR),		0, "fault_run_test.c, on demand" },
	{ WC(FATAL_ERR),		0, "fault_run_test.c, on demand" },
	{ WC(RESP_TIMEOUT_ERR),		0, "fault_run_test.c, on demand" },
	{ WC(GENERAL_ERR),		0, "fault_run_test.c, on demand" },
	{ WC(LOC_ACCESS_ERR),		0, "fault_run_test.c, on demand: a write with immediate "
					   "data whose key is wrong takes no request here" },
	{ WC(REM_ABORT_ERR),		0, "fault_run_test.c, on demand: of reliable datagrams" },
	{ WC(LOC_EEC_OP_ERR),		0, "fault_run_test.c, on demand: of reliable datagrams" },
	{ WC(LOC_RDD_VIOL_ERR),		0, "fault_run_test.c, on demand: of reliable datagrams" },
	{ WC(REM_INV_RD_REQ_ERR),	0, "fault_run_test.c, on demand: of reliable datagrams" },
	{ WC(INV_EECN_ERR),		0, "fault_run_test.c, on demand: of reliable datagrams" },
	{ WC(INV_EEC_STATE_ERR),	0, "fault_run_test.c, on demand: of reliable datagrams" },
	{ WC(TM_ERR),			0, "none: no tag matching" },
	{ WC(TM_RNDV_INCOMPLETE),	0, "none: no tag matching" },
	{ 0, EVENT(DEVICE_FATAL),	"fault_run_test.c, on demand" },
	{ 0, EVENT(PORT_ACTIVE),	"fault_run_test.c, on demand" },
	{ 0, EVENT(PORT_ERR),		"fault_run_test.c, on demand" },
	{ 0, EVENT(LID_CHANGE),		"fault_run_test.c, on demand" },
	{ 0, EVENT(PKEY_CHANGE),	"fault_run_test.c, on demand" },
	{ 0, EVENT(SM_CHANGE),		"fault_run_test.c, on demand" },
	{ 0, EVENT(CLIENT_REREGISTER),	"fault_run_test.c, on demand" },
	{ 0, EVENT(GID_CHANGE),		"fault_run_test.c, on demand" },
	{ 0, EVENT(WQ_FATAL),		"wq_test.c: an_overrun_cq_makes_its_work_queue_fatal" },
};
/* clang-format on */

static void expect_status(struct ibv_cq *cq, uint64_t wr_id, int status)
{
	if (status)
		expect_wc(cq, wr_id, status - 1);
	expect_none(cq);
}

static void expect_events(struct end *e, const int *events)
{
	struct pollfd pfd = { .fd = e->context->async_fd, .events = POLLIN };
	struct ibv_async_event event;
	size_t i;

	for (i = 0; i < 4 && events[i]; i++) {
		assert_int_equal(poll(&pfd, 1, 5000), 1);
		assert_int_equal(ibv_get_async_event(e->context, &event), 0);
		ibv_ack_async_event(&event);
		assert_string_equal(ibv_event_type_str(event.event_type),
				    ibv_event_type_str(events[i] - 1));
	}
	assert_int_equal(poll(&pfd, 1, 0), 0);
}

static void row_holds(void **state)
{
	const struct row *row = *state;
	struct trial t;

	begin_trial(&t, row->type, row->how);
	row->provoke(&t);
	expect_status(t.p.a.cq, SEND, row->sender);
	expect_status(t.cq, RECEIVE, row->receiver);
	expect_events(&t.p.a, row->of_sender);
	expect_events(&t.p.b, row->of_receiver);
	end_trial(&t);
}

GROUP(fabric_setup, fabric_teardown);
TEST_ROWS(rows, row_holds);

static bool has_event(const int *events, int event)
{
	return events[0] == event || events[1] == event || events[2] == event || events[3] == event;
}

/* How often a status, or an event, is in the tables. */
static int is_mentioned(int status, int event)
{
	int n = 0;
	size_t i;

	for (i = 0; i < COUNT(rows); i++)
		n += status ? rows[i].sender == status || rows[i].receiver == status
			    : has_event(rows[i].of_sender, event) ||
				      has_event(rows[i].of_receiver, event);
	for (i = 0; i < COUNT(elsewhere); i++)
		n += status ? elsewhere[i].status == status : elsewhere[i].event == event;
	return n;
}

TEST(each_status_and_event_is_in_a_table)
{
	int i;

	for (i = IBV_WC_SUCCESS; i <= IBV_WC_TM_RNDV_INCOMPLETE; i++)
		if (!is_mentioned(i + 1, 0))
			fail_msg("%s", ibv_wc_status_str(i));
	for (i = IBV_EVENT_CQ_ERR; i <= IBV_EVENT_WQ_FATAL; i++)
		if (!is_mentioned(0, i + 1))
			fail_msg("%s", ibv_event_type_str(i));
}
