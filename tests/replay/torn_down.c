/*
 * A program of two processes, to be recorded on one side: ends that are torn down before all that
 * came was polled
 *
 *	torn_down PORT             holds: tears its end down, and polls afterwards
 *	torn_down PORT HOST        sends
 *
 * For each row of ways[] the two create a separate connection, and synchronise over a socket. Each
 * prints its results, and exits with 0 if they are those of the row. Sends and receives have a
 * completion queue and a channel each.
 */
#include <infiniband/verbs.h>
#include <netinet/in.h>
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

enum { SEND, RECV, DEPTH = 16, SIZE = 4096, LENGTH = 64, RECEIVES = 4, GRH = 40, QKEY = 0x11 };

/* Data that one end sends to the other. */
struct card {
	uint32_t qpn, rkey;
	uint16_t lid;
	union ibv_gid gid;
	uint64_t addr;
};

struct way {
	const char *name;
	void (*send)(void), (*hold)(void);
	int shared;    /* the end that holds has a shared receive queue */
	int armed;     /* its completion queues are armed */
	int datagrams; /* UD */
	int receives;  /* of the end that sends */
};

static struct ibv_context *context;
static struct ibv_port_attr port;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel[2];
static struct ibv_cq *cq[2];
static struct ibv_mr *mr, *receive_mr;
static struct ibv_qp *qp;
static struct ibv_srq *srq;
static struct ibv_ah *ah;
static struct card mine, its;
static char *memory, *receive_memory;
static int line; /* the socket */
static const struct way *way;
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
	printf("%s: %s is %ld, not %ld\n", way->name, what, got, wanted);
	wrong = 1;
}

static void post_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)receive_memory, GRH + LENGTH, receive_mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 1000, .sg_list = &sge, .num_sge = 1 };

	MUST(srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad));
}

static void post_request(enum ibv_wr_opcode opcode, uint32_t length, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)memory, length, mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = length,
					.opcode = opcode,
					.sg_list = &sge,
					.num_sge = length ? 1 : 0,
					.send_flags = IBV_SEND_SIGNALED };

	wr.wr.rdma.remote_addr = its.addr;
	wr.wr.rdma.rkey = rkey;
	if (way->datagrams) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = its.qpn;
		wr.wr.ud.remote_qkey = QKEY;
	}
	MUST(ibv_post_send(qp, &wr, &bad));
}

static struct ibv_wc await_wc(int side, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq[side], 1, &wc))
		;
	expect_value("status", wc.status, status);
	return wc;
}

static void send_bytes(uint32_t length)
{
	post_request(IBV_WR_SEND, length, 0);
	await_wc(SEND, IBV_WC_SUCCESS);
}

static void await_length(uint32_t length)
{
	expect_value("byte_len", await_wc(RECV, IBV_WC_SUCCESS).byte_len,
		     length + (way->datagrams ? GRH : 0));
}

static void await_flushes(int side, int n)
{
	for (int i = 0; i < n; i++)
		await_wc(side, IBV_WC_WR_FLUSH_ERR);
}

static void await_cq_event(int side)
{
	struct ibv_cq *from;
	void *its_context;

	MUST(ibv_get_cq_event(channel[side], &from, &its_context));
	ibv_ack_cq_events(from, 1);
}

static void await_event(enum ibv_event_type type)
{
	struct ibv_async_event event;

	MUST(ibv_get_async_event(context, &event));
	expect_value("event", event.event_type, type);
	ibv_ack_async_event(&event);
}

static void to_state(enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
}

static void to_init(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qkey = QKEY,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				   (way->datagrams ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
}

static struct ibv_ah_attr path_to_other(void)
{
	struct ibv_ah_attr av = { .dlid = its.lid, .port_num = 1 };

	if (!its.lid) {
		av.is_global = 1;
		av.grh.hop_limit = 1;
		av.grh.dgid = its.gid;
	}
	return av;
}

static void connect_datagrams(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct ibv_ah_attr av = path_to_other();

	to_state(IBV_QPS_RTR);
	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	ah = NEED(ibv_create_ah(pd, &av));
}

static void connect_other(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = its.qpn,
				    .rq_psn = its.qpn + 7,
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = 1,
				    .ah_attr = path_to_other() };

	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = mine.qpn + 7,
				     .timeout = 8,
				     .retry_cnt = 2,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
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

/* Each way: actions of the end that sends, and of the end that holds. */

static void send_two(void)
{
	send_bytes(10);
	send_bytes(20);
	meet_other();
}

/* What came is polled after the queue pair was moved to the error state. */
static void hold_error(void)
{
	meet_other();
	to_state(IBV_QPS_ERR);
	await_length(10);
	await_length(20);
	await_flushes(RECV, srq ? 0 : RECEIVES - 2);
}

/* One message was polled before, and an event announced the other. */
static void send_one_more(void)
{
	send_bytes(10);
	meet_other();
	send_bytes(20);
	meet_other();
}

static void hold_rest(void)
{
	meet_other();
	await_length(10);
	meet_other();
	to_state(IBV_QPS_ERR);
	await_length(20);
	await_flushes(RECV, RECEIVES - 2);
}

/* The memory of the messages is not registered any more. */
static void hold_unregistered(void)
{
	meet_other();
	MUST(ibv_dereg_mr(receive_mr));
	receive_mr = NULL;
	await_length(10);
	await_length(20);
}

/* The queue pair fails by its own request, whose completion is polled first. */
static void hold_refused(void)
{
	meet_other();
	post_request(IBV_WR_RDMA_WRITE, 8, its.rkey + 0x1000);
	await_wc(SEND, IBV_WC_REM_ACCESS_ERR);
	await_length(10);
	await_length(20);
	await_flushes(RECV, RECEIVES - 2);
}

static void send_and_leave(void)
{
	send_bytes(10);
	send_bytes(20);
	MUST(ibv_destroy_qp(qp));
	qp = NULL;
	meet_other();
}

static void hold_deserted(void)
{
	meet_other();
	post_request(IBV_WR_SEND, 8, 0);
	await_wc(SEND, IBV_WC_RETRY_EXC_ERR);
	await_length(10);
	await_length(20);
	await_flushes(RECV, RECEIVES - 2);
}

/* The other end makes it fail. */
static void send_and_break(void)
{
	send_bytes(10);
	send_bytes(20);
	post_request(IBV_WR_RDMA_WRITE, 8, its.rkey + 0x1000);
	await_wc(SEND, IBV_WC_REM_ACCESS_ERR);
	meet_other();
}

/* A send that is posted afterwards is flushed, and polled first. */
static void hold_broken(void)
{
	meet_other();
	post_request(IBV_WR_SEND, 8, 0);
	await_flushes(SEND, 1);
	await_length(10);
	await_length(20);
	await_flushes(RECV, RECEIVES - 2);
}

/* Both channels report an event before either queue is polled. */
static void hold_notified(void)
{
	meet_other();
	post_request(IBV_WR_SEND, 8, 0);
	await_cq_event(SEND);
	await_cq_event(RECV);
	await_length(10);
	await_length(20);
	await_flushes(RECV, RECEIVES - 2);
	await_flushes(SEND, 1);
}

static void break_only(void)
{
	post_request(IBV_WR_RDMA_WRITE, 8, its.rkey + 0x1000);
	await_wc(SEND, IBV_WC_REM_ACCESS_ERR);
	meet_other();
}

/* An event announces only flushed requests. */
static void hold_notified_of_flushes(void)
{
	meet_other();
	await_cq_event(RECV);
	await_flushes(RECV, RECEIVES);
}

/* No receive of this queue pair will be used any more: the event comes before all polls. */
static void hold_last(void)
{
	meet_other();
	await_event(IBV_EVENT_QP_ACCESS_ERR);
	await_event(IBV_EVENT_QP_LAST_WQE_REACHED);
	await_length(10);
	await_length(20);
	post_request(IBV_WR_SEND, 8, 0);
	await_flushes(SEND, 1);
}

/* A message that is too long for its receive. */
static void send_too_long(void)
{
	send_bytes(10);
	post_request(IBV_WR_SEND, SIZE, 0);
	await_wc(SEND, IBV_WC_REM_INV_REQ_ERR);
	meet_other();
}

/* The send that is flushed is polled before the receive that failed. */
static void hold_too_long_for_sends(void)
{
	meet_other();
	post_request(IBV_WR_SEND, 8, 0);
	await_flushes(SEND, 1);
	await_length(10);
	await_wc(RECV, IBV_WC_LOC_LEN_ERR);
	await_flushes(RECV, RECEIVES - 2);
}

static void send_only_too_long(void)
{
	post_request(IBV_WR_SEND, SIZE, 0);
	await_wc(SEND, IBV_WC_REM_INV_REQ_ERR);
	meet_other();
}

static void hold_only_too_long(void)
{
	meet_other();
	await_cq_event(RECV);
	await_wc(RECV, IBV_WC_LOC_LEN_ERR);
	await_flushes(RECV, RECEIVES - 1);
}

/* A send that nobody has received is flushed. */
static void send_nothing(void)
{
	meet_other();
}

static void hold_unreceived(void)
{
	post_request(IBV_WR_SEND, 8, 0);
	meet_other();
	to_state(IBV_QPS_ERR);
	await_flushes(SEND, 1);
	await_flushes(RECV, RECEIVES);
}

/*
 * As ceph's messenger does: an empty message is the last; then a marker is posted to the failed
 * queue pair, and both queues are polled until the marker comes.
 */
static void end_messages(void)
{
	to_state(IBV_QPS_ERR);
	post_request(IBV_WR_SEND, 0, 0);
	await_event(IBV_EVENT_QP_LAST_WQE_REACHED);
	await_cq_event(SEND);
}

static void send_last(void)
{
	send_bytes(10);
	meet_other();
	send_bytes(20);
	send_bytes(0);
	meet_other();
	to_state(IBV_QPS_ERR);
	post_request(IBV_WR_SEND, 1, 0);
	await_flushes(SEND, 1);
	await_length(8);
	await_flushes(RECV, way->receives - 1);
}

static void hold_last_messages(void)
{
	await_cq_event(RECV);
	meet_other();
	post_request(IBV_WR_SEND, 8, 0);
	meet_other();
	await_cq_event(SEND);
	await_length(10);
	MUST(ibv_req_notify_cq(cq[SEND], 0));
	MUST(ibv_req_notify_cq(cq[RECV], 0));
	end_messages();
	await_length(20);
	await_length(0);
	await_wc(SEND, IBV_WC_SUCCESS);
	await_flushes(SEND, 1);
}

static const struct way ways[] = {
	{ "error", send_two, hold_error },
	{ "error, shared", send_two, hold_error, .shared = 1 },
	{ "error, datagrams", send_two, hold_error, .datagrams = 1 },
	{ "rest", send_one_more, hold_rest },
	{ "unregistered", send_two, hold_unregistered },
	{ "refused", send_two, hold_refused },
	{ "deserted", send_and_leave, hold_deserted },
	{ "broken", send_and_break, hold_broken },
	{ "told", send_and_break, hold_notified, .armed = 1 },
	{ "told of flushes", break_only, hold_notified_of_flushes, .armed = 1 },
	{ "last", send_and_break, hold_last, .shared = 1 },
	{ "too long", send_only_too_long, hold_only_too_long, .armed = 1 },
	{ "too long, sends", send_too_long, hold_too_long_for_sends },
	{ "unreceived", send_nothing, hold_unreceived },
	{ "last messages", send_last, hold_last_messages, .shared = 1, .armed = 1, .receives = 4 },
};

static void create_queues(int holds)
{
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = { .qp_type = way->datagrams ? IBV_QPT_UD : IBV_QPT_RC,
					 .cap = { DEPTH, DEPTH, 1, 1, 0 } };

	for (int side = 0; side < 2; side++)
		cq[side] = NEED(ibv_create_cq(context, DEPTH, NULL, channel[side], 0));
	attr.send_cq = cq[SEND];
	attr.recv_cq = cq[RECV];
	if (holds && way->shared)
		attr.srq = srq = NEED(ibv_create_srq(pd, &shared));
	qp = NEED(ibv_create_qp(pd, &attr));
}

static void begin_way(int holds)
{
	int receives = holds ? RECEIVES : way->receives;

	mr = NEED(ibv_reg_mr(pd, memory, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	receive_mr = NEED(ibv_reg_mr(pd, receive_memory, SIZE, IBV_ACCESS_LOCAL_WRITE));
	create_queues(holds);
	to_init();
	for (int i = 0; i < receives; i++)
		post_receive();
	for (int side = 0; side < 2 && holds && way->armed; side++)
		MUST(ibv_req_notify_cq(cq[side], 0));
	exchange_cards();
	if (way->datagrams)
		connect_datagrams();
	else
		connect_other();
	meet_other();
}

static void end_way(void)
{
	if (ah)
		MUST(ibv_destroy_ah(ah));
	if (qp)
		MUST(ibv_destroy_qp(qp));
	if (srq)
		MUST(ibv_destroy_srq(srq));
	for (int side = 0; side < 2; side++)
		MUST(ibv_destroy_cq(cq[side]));
	MUST(ibv_dereg_mr(mr));
	if (receive_mr)
		MUST(ibv_dereg_mr(receive_mr));
	srq = NULL;
	ah = NULL;
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
	int sends = argc > 2 && *argv[2] != '-';
	const char *only = argc > 3 ? argv[3] : NULL;

	line = dial_other(argv[1], sends);
	context = NEED(ibv_open_device(NEED(list[0])));
	MUST(ibv_query_port(context, 1, &port));
	pd = NEED(ibv_alloc_pd(context));
	for (int side = 0; side < 2; side++)
		channel[side] = NEED(ibv_create_comp_channel(context));
	memory = NEED(aligned_alloc(SIZE, 2 * SIZE));
	receive_memory = memory + SIZE;
	for (way = ways; way < ways + sizeof(ways) / sizeof(*ways); way++) {
		if (only && strcmp(only, way->name))
			continue;
		begin_way(!sends);
		if (sends)
			way->send();
		else
			way->hold();
		meet_other();
		end_way();
		printf("%s\n", way->name);
	}
	return wrong;
}
