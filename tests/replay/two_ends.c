/*
 * A program of two processes, to be recorded on one side: each way in which a request may end
 *
 *	two_ends PORT             answers
 *	two_ends PORT HOST        asks
 *	two_ends PORT - killed    answers, and is killed with requests of the other under way
 *	two_ends PORT HOST killed
 *
 * For each row of ways[] the two create a separate connection, and synchronise over a socket. Each
 * prints its results, and exits with 0 if they are those of the row.
 */
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEED(what)                                                           \
	({                                                                   \
		typeof(what) need_ = (what);                                 \
		if (!need_) {                                                \
			fprintf(stderr, "%d: %s failed\n", __LINE__, #what); \
			exit(2);                                             \
		}                                                            \
		need_;                                                       \
	})
#define MUST(what) ((void)NEED((what) == 0))

enum {
	DEPTH = 64,
	SIZE = 65536,
	HALF = SIZE / 2,
	ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
	      IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND
};

/* Data that one end sends to the other. */
struct card {
	uint32_t qpn, rkey;
	uint16_t lid;
	union ibv_gid gid;
	uint64_t addr;
};

static struct ibv_context *context;
static struct ibv_port_attr port;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qp;
static struct ibv_srq *srq;
static struct card mine, its;
static char *memory;
static int line; /* the socket */
static int access_of_qp;
static const char *way;
static int wrong;

static void meet_other(void)
{
	char c = 's';

	MUST(write(line, &c, 1) - 1);
	MUST(read(line, &c, 1) - 1);
}

static void expect_value(const char *what, long got, long wanted)
{
	if (got == wanted)
		return;
	printf("%s: %s is %ld, not %ld\n", way, what, got, wanted);
	wrong = 1;
}

static void post_receive_at(uint32_t offset, uint32_t length, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)memory + offset, length, lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 1000 + offset, .sg_list = &sge, .num_sge = 1 };

	MUST(ibv_post_recv(qp, &wr, &bad));
}

static void post_receive(uint32_t length)
{
	post_receive_at(0, length, mr->lkey);
}

static void post_request(struct ibv_send_wr *wr, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)memory + HALF, length, mr->lkey };
	struct ibv_send_wr *bad;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags |= IBV_SEND_SIGNALED;
	MUST(ibv_post_send(qp, wr, &bad));
}

static void send_bytes(uint32_t length)
{
	struct ibv_send_wr wr = { .wr_id = length, .opcode = IBV_WR_SEND };

	memset(memory + HALF, (int)length, length);
	post_request(&wr, length);
}

static void reach_memory(enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t offset, uint32_t length)
{
	struct ibv_send_wr wr = { .wr_id = 5, .opcode = opcode, .imm_data = htobe32(0x1234) };

	wr.wr.rdma.remote_addr = its.addr + offset;
	wr.wr.rdma.rkey = rkey;
	post_request(&wr, length);
}

static void change_atomically(enum ibv_wr_opcode opcode, uint64_t offset, uint64_t compare,
			      uint64_t swap)
{
	struct ibv_send_wr wr = { .wr_id = 6, .opcode = opcode };

	wr.wr.atomic.remote_addr = its.addr + offset;
	wr.wr.atomic.rkey = its.rkey;
	wr.wr.atomic.compare_add = compare;
	wr.wr.atomic.swap = swap;
	post_request(&wr, 8);
}

static struct ibv_wc await_any(void)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		;
	return wc;
}

static struct ibv_wc await_status(enum ibv_wc_status status)
{
	struct ibv_wc wc = await_any();

	expect_value("status", wc.status, status);
	return wc;
}

static void await_length(uint32_t length)
{
	expect_value("byte_len", await_status(IBV_WC_SUCCESS).byte_len, length);
}

static void to_init(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = (unsigned int)access_of_qp };

	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

static void to_rtr(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = its.qpn,
				    .rq_psn = its.qpn + 7,
				    .max_dest_rd_atomic = 4,
				    .min_rnr_timer = 1,
				    .ah_attr = { .dlid = its.lid, .port_num = 1 } };

	if (!its.lid) {
		attr.ah_attr.is_global = 1;
		attr.ah_attr.grh.hop_limit = 1;
		attr.ah_attr.grh.dgid = its.gid;
	}
	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER));
}

static void to_rts(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .sq_psn = mine.qpn + 7,
				    .timeout = 8,
				    .retry_cnt = 2,
				    .rnr_retry = 1,
				    .max_rd_atomic = 4 };

	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void to_state(enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
}

static void exchange_cards(void)
{
	mine = (struct card){
		.qpn = qp->qp_num, .rkey = mr->rkey, .lid = port.lid, .addr = (uintptr_t)memory
	};
	MUST(ibv_query_gid(context, 1, 0, &mine.gid));
	MUST(write(line, &mine, sizeof(mine)) - (ssize_t)sizeof(mine));
	MUST(recv(line, &its, sizeof(its), MSG_WAITALL) - (ssize_t)sizeof(its));
}

static void create_srq(void);

static void begin_way(int region, int shared)
{
	struct ibv_qp_init_attr attr = { .send_cq = cq,
					 .recv_cq = cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { DEPTH, DEPTH, 1, 1, 0 } };

	memset(memory, 0, SIZE);
	mr = NEED(ibv_reg_mr(pd, memory, SIZE, region));
	if (shared) {
		create_srq();
		attr.srq = srq;
		attr.cap.max_recv_wr = attr.cap.max_recv_sge = 0;
	}
	qp = NEED(ibv_create_qp(pd, &attr));
	to_init();
}

static void end_way(void)
{
	if (qp)
		MUST(ibv_destroy_qp(qp));
	if (srq)
		MUST(ibv_destroy_srq(srq));
	srq = NULL;
	if (mr)
		MUST(ibv_dereg_mr(mr));
}

/* Each way: actions of the end that asks, and of the end that answers. */

static void ask_not_ready(void)
{
	send_bytes(10);
	await_length(10);
	send_bytes(20);
	send_bytes(30);
	await_status(IBV_WC_RNR_RETRY_EXC_ERR);
	await_status(IBV_WC_WR_FLUSH_ERR);
}

static void answer_once(void)
{
	await_length(10);
}

static void ask_too_long(void)
{
	send_bytes(100);
	await_status(IBV_WC_REM_INV_REQ_ERR);
}

static void explain_too_long(void)
{
	await_status(IBV_WC_LOC_LEN_ERR);
	await_status(IBV_WC_WR_FLUSH_ERR);
}

static void ask_outside(void)
{
	reach_memory(IBV_WR_RDMA_WRITE, its.rkey, 0, 64);
	await_status(IBV_WC_SUCCESS);
	reach_memory(IBV_WR_RDMA_WRITE, its.rkey, SIZE - 8, 64);
	await_status(IBV_WC_REM_ACCESS_ERR);
}

static void answer_nothing(void)
{
}

static void ask_forbidden(void)
{
	reach_memory(IBV_WR_RDMA_WRITE, its.rkey, 0, 64);
	await_status(IBV_WC_SUCCESS);
	reach_memory(IBV_WR_RDMA_READ, its.rkey, 0, 64);
	await_status(IBV_WC_REM_ACCESS_ERR);
}

static void ask_closed(void)
{
	reach_memory(IBV_WR_RDMA_READ, its.rkey, 0, 64);
	await_status(IBV_WC_REM_INV_REQ_ERR);
}

static void ask_unknown_key(void)
{
	reach_memory(IBV_WR_RDMA_WRITE, its.rkey + 0x1000, 0, 64);
	await_status(IBV_WC_REM_ACCESS_ERR);
}

static void ask_revoked(void)
{
	reach_memory(IBV_WR_RDMA_WRITE, its.rkey, 0, 64);
	await_status(IBV_WC_SUCCESS);
	meet_other();
	meet_other();
	reach_memory(IBV_WR_RDMA_WRITE, its.rkey, 0, 64);
	await_status(IBV_WC_REM_ACCESS_ERR);
}

static void answer_revoked(void)
{
	meet_other();
	MUST(ibv_dereg_mr(mr));
	mr = NULL;
	meet_other();
}

static void ask_misaligned(void)
{
	change_atomically(IBV_WR_ATOMIC_FETCH_AND_ADD, 4, 1, 0);
	await_status(IBV_WC_REM_INV_REQ_ERR);
}

static void ask_atomics(void)
{
	change_atomically(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 5, 0);
	await_status(IBV_WC_SUCCESS);
	expect_value("old", (long)*(uint64_t *)(memory + HALF), 37);
	change_atomically(IBV_WR_ATOMIC_CMP_AND_SWP, 0, 42, 99);
	await_status(IBV_WC_SUCCESS);
	expect_value("old", (long)*(uint64_t *)(memory + HALF), 42);
	reach_memory(IBV_WR_RDMA_READ, its.rkey, 0, 8);
	await_status(IBV_WC_SUCCESS);
	expect_value("new", (long)*(uint64_t *)(memory + HALF), 99);
}

static void ask_gone(void)
{
	send_bytes(10);
	await_length(10);
	meet_other();
	meet_other();
	send_bytes(20);
	send_bytes(30);
	await_status(IBV_WC_RETRY_EXC_ERR);
	await_status(IBV_WC_WR_FLUSH_ERR);
}

static void answer_gone(void)
{
	await_length(10);
	meet_other();
	MUST(ibv_destroy_qp(qp));
	qp = NULL;
	meet_other();
}

static void ask_broken(void)
{
	send_bytes(10);
	await_status(IBV_WC_REM_OP_ERR);
}

static void answer_broken(void)
{
	await_status(IBV_WC_LOC_PROT_ERR);
}

static void ask_flush(void)
{
	post_receive(10);
	post_receive(20);
	to_state(IBV_QPS_ERR);
	await_status(IBV_WC_WR_FLUSH_ERR);
	await_status(IBV_WC_WR_FLUSH_ERR);
}

static void answer_flush(void)
{
	ask_flush();
}

static void ask_solicited(void)
{
	struct ibv_send_wr wr = { .wr_id = 7,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .send_flags = IBV_SEND_SOLICITED,
				  .imm_data = htobe32(0xabcd) };

	send_bytes(10);
	await_length(10);
	meet_other();
	post_request(&wr, 20);
	await_status(IBV_WC_SUCCESS);
}

static void answer_solicited(void)
{
	struct ibv_cq *from;
	void *its_context;

	meet_other();
	await_length(10);
	MUST(ibv_get_cq_event(channel, &from, &its_context));
	ibv_ack_cq_events(from, 1);
	expect_value("imm", be32toh(await_status(IBV_WC_SUCCESS).imm_data), 0xabcd);
}

static void ask_immediate(void)
{
	reach_memory(IBV_WR_RDMA_WRITE_WITH_IMM, its.rkey, 256, 300);
	await_status(IBV_WC_SUCCESS);
	reach_memory(IBV_WR_RDMA_WRITE_WITH_IMM, its.rkey, 0, 0);
	await_status(IBV_WC_SUCCESS);
}

static void answer_immediate(void)
{
	expect_value("byte_len", await_status(IBV_WC_SUCCESS).byte_len, 300);
	expect_value("imm", be32toh(await_status(IBV_WC_SUCCESS).imm_data), 0x1234);
}

/* The answering end binds the window, and the message closes it. */
static void ask_invalidate(void)
{
	struct ibv_send_wr wr = { .wr_id = 8, .opcode = IBV_WR_SEND_WITH_INV };
	uint32_t rkey;

	MUST(recv(line, &rkey, sizeof(rkey), MSG_WAITALL) - (ssize_t)sizeof(rkey));
	reach_memory(IBV_WR_RDMA_WRITE, rkey, 64, 64);
	await_status(IBV_WC_SUCCESS);
	wr.invalidate_rkey = rkey;
	post_request(&wr, 10);
	await_status(IBV_WC_SUCCESS);
	reach_memory(IBV_WR_RDMA_WRITE, rkey, 64, 64);
	await_status(IBV_WC_REM_ACCESS_ERR);
}

static void answer_invalidate(void)
{
	struct ibv_mw *mw = NEED(ibv_alloc_mw(pd, IBV_MW_TYPE_2));
	struct ibv_send_wr *bad,
		wr = { .wr_id = 9, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED };

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){ mr, (uintptr_t)memory, HALF, IBV_ACCESS_REMOTE_WRITE };
	MUST(ibv_post_send(qp, &wr, &bad));
	await_status(IBV_WC_SUCCESS);
	MUST(write(line, &wr.bind_mw.rkey, 4) - 4);
	expect_value("flags", (long)await_status(IBV_WC_SUCCESS).wc_flags & IBV_WC_WITH_INV,
		     IBV_WC_WITH_INV);
	meet_other();
	MUST(ibv_destroy_qp(qp));
	qp = NULL;
	MUST(ibv_dealloc_mw(mw));
}

static void ask_invalidate_and_wait(void)
{
	ask_invalidate();
	meet_other();
}

static void connect_again(void)
{
	to_state(IBV_QPS_RESET);
	meet_other();
	to_init();
	post_receive(HALF);
	post_receive(HALF);
	to_rtr();
	to_rts();
	meet_other();
}

static void ask_again(void)
{
	send_bytes(10);
	await_length(10);
	connect_again();
	send_bytes(20);
	await_length(20);
}

static void answer_again(void)
{
	await_length(10);
	connect_again();
	await_length(20);
}

static void await_event(enum ibv_event_type type)
{
	struct ibv_async_event event;

	MUST(ibv_get_async_event(context, &event));
	expect_value("event", event.event_type, type);
	ibv_ack_async_event(&event);
}

static void answer_notified(void)
{
	await_event(IBV_EVENT_QP_ACCESS_ERR);
	await_status(IBV_WC_WR_FLUSH_ERR);
	await_status(IBV_WC_WR_FLUSH_ERR);
}

static void answer_notified_late(void)
{
	await_status(IBV_WC_WR_FLUSH_ERR);
	await_event(IBV_EVENT_QP_REQ_ERR);
	await_status(IBV_WC_WR_FLUSH_ERR);
}

static void answer_without_event(void)
{
	await_status(IBV_WC_WR_FLUSH_ERR);
	await_status(IBV_WC_WR_FLUSH_ERR);
}

static void ask_twice(void)
{
	send_bytes(10);
	await_length(10);
	send_bytes(20);
	await_length(20);
}

static void answer_established(void)
{
	await_event(IBV_EVENT_COMM_EST);
	to_rts();
	await_length(10);
	await_length(20);
}

enum { SHARED = 8, LIMIT = 4 };

static void ask_limit(void)
{
	for (uint32_t i = 1; i <= SHARED; i++) {
		send_bytes(i);
		await_length(i);
	}
}

static void answer_limit(void)
{
	await_event(IBV_EVENT_SRQ_LIMIT_REACHED);
	for (uint32_t i = 1; i <= SHARED; i++)
		await_length(i);
}

static void create_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = SHARED, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .srq_limit = LIMIT };
	struct ibv_recv_wr *bad;

	srq = NEED(ibv_create_srq(pd, &init));
	for (uint64_t i = 0; i < SHARED; i++) {
		struct ibv_sge sge = { (uintptr_t)memory + 64 * i, 64, mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		MUST(ibv_post_srq_recv(srq, &wr, &bad));
	}
	MUST(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
}

/* Seventeen requests are answered, then the peer ends. */
static void ask_killed(void)
{
	char c;

	for (int i = 0; i < 16; i++)
		send_bytes(10);
	for (int i = 0; i < 16; i++)
		await_length(10);
	reach_memory(IBV_WR_RDMA_WRITE, its.rkey, 0, 64);
	await_status(IBV_WC_SUCCESS);
	meet_other();
	while (read(line, &c, 1) > 0) /* until the peer has ended */
		;
	reach_memory(IBV_WR_RDMA_WRITE, its.rkey, 0, 64);
	send_bytes(10);
	await_status(IBV_WC_RETRY_EXC_ERR);
	await_status(IBV_WC_WR_FLUSH_ERR);
}

static void answer_killed(void)
{
	for (int i = 0; i < 16; i++)
		await_length(10);
	meet_other();
	kill(getpid(), SIGKILL);
}

static const struct way {
	const char *name;
	void (*ask)(void), (*answer)(void);
	int receives;    /* posted by the one that answers, before it is connected */
	uint32_t length; /* of each; 0: HALF */
	int bad;         /* with an invalid key */
	int region, qp;  /* access; 0: all */
	int armed;       /* for solicited ones */
	int late;        /* the answering end moves to RTS itself */
	int shared;      /* it has a shared receive queue */
	uint64_t first;  /* the first word of its memory */
} ways[] = {
	{ "not ready", ask_not_ready, answer_once, 1 },
	{ "too long", ask_too_long, explain_too_long, 2, 99 },
	{ "outside", ask_outside, answer_nothing, 0 },
	{ "forbidden", ask_forbidden, answer_nothing, 0,
	  .region = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE },
	{ "closed", ask_closed, answer_nothing, 0, .qp = IBV_ACCESS_REMOTE_WRITE },
	{ "unknown key", ask_unknown_key, answer_nothing, 0 },
	{ "revoked", ask_revoked, answer_revoked, 0 },
	{ "misaligned", ask_misaligned, answer_nothing, 0 },
	{ "atomics", ask_atomics, answer_nothing, 0, .first = 37 },
	{ "gone", ask_gone, answer_gone, 3 },
	{ "broken", ask_broken, answer_broken, 1, .bad = 1 },
	{ "flush", ask_flush, answer_flush, 0 },
	{ "solicited", ask_solicited, answer_solicited, 2, .armed = 1 },
	{ "immediate", ask_immediate, answer_immediate, 2 },
	{ "invalidate", ask_invalidate_and_wait, answer_invalidate, 1 },
	{ "told", ask_outside, answer_notified, 2 },
	{ "told late", ask_misaligned, answer_notified_late, 2 },
	{ "untold", ask_outside, answer_without_event, 2 },
	{ "established", ask_twice, answer_established, 2, .late = 1 },
	{ "limit", ask_limit, answer_limit, 0, .shared = 1 },
	{ "again", ask_again, answer_again, 1 },
};

static const struct way killed = { "killed", ask_killed, answer_killed, .receives = 16 };

static void go_way(const struct way *w, int asks)
{
	way = w->name;
	access_of_qp = w->qp ? w->qp : ALL;
	begin_way(w->region ? w->region : ALL, w->shared && !asks);
	exchange_cards();
	if (!asks)
		for (int i = 0; i < w->receives; i++)
			post_receive_at(0, w->length ? w->length : HALF,
					w->bad ? ~mr->lkey : mr->lkey);
	if (!asks && w->armed)
		MUST(ibv_req_notify_cq(cq, 1));
	if (!asks && w->first)
		*(uint64_t *)memory = w->first;
	to_rtr();
	if (asks || !w->late)
		to_rts();
	meet_other();
	if (asks)
		w->ask();
	else
		w->answer();
	if (w != &killed)
		meet_other();
	end_way();
	printf("%s\n", w->name);
}

static int dial_other(const char *number, int asks)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)atoi(number)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (asks) {
		MUST(connect(fd, (void *)&to, sizeof(to)));
		return fd;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	MUST(bind(fd, (void *)&to, sizeof(to)));
	MUST(listen(fd, 1));
	return accept(fd, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct ibv_device **list = NEED(ibv_get_device_list(NULL));
	int asks = argc > 2 && *argv[2] != '-';

	line = dial_other(argv[1], asks);
	context = NEED(ibv_open_device(NEED(list[0])));
	MUST(ibv_query_port(context, 1, &port));
	pd = NEED(ibv_alloc_pd(context));
	channel = NEED(ibv_create_comp_channel(context));
	cq = NEED(ibv_create_cq(context, 2 * DEPTH, NULL, channel, 0));
	memory = NEED(aligned_alloc(4096, SIZE));
	for (size_t i = 0; argc < 4 && i < sizeof(ways) / sizeof(*ways); i++)
		go_way(&ways[i], asks);
	if (argc > 3)
		go_way(&killed, asks);
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_destroy_comp_channel(channel));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	ibv_free_device_list(list);
	free(memory);
	return wrong;
}
