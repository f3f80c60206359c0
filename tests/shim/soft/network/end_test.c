/*
 * Requests of XRC from another machine: to a shared queue of this process, and to one of another
 * process, which has no part in the connection.
 */
#include <fcntl.h>
#include <sys/wait.h>

#include "tests/shim/soft/network/stranger.h"
#include "tests/test.h"

GROUP(open_device, close_device);

enum { LAST = 8 /* bytes of the last packet */, WORD = 2048 /* offset */ };

/* Where requests go. */
struct target {
	uint32_t srqn, rkey;
	uint64_t addr;
};

/* A shared queue with its memory. */
struct queue {
	struct end own;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct target target;
};

static struct ibv_xrcd *open_domain(struct ibv_context *context, int fd)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(context, &attr);

	assert_non_null(xrcd);
	return xrcd;
}

static void open_queue(struct queue *q, int fd)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { END_DEPTH, 1, 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
	};
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge sge;

	end_open(&q->own);
	q->xrcd = open_domain(q->own.context, fd);
	attr.pd = q->own.pd;
	attr.cq = q->own.cq;
	attr.xrcd = q->xrcd;
	q->srq = ibv_create_srq_ex(q->own.context, &attr);
	assert_non_null(q->srq);
	sge = (struct ibv_sge){ (uintptr_t)q->own.buf, WORD, q->own.mr->lkey };
	wr.sg_list = &sge;
	assert_int_equal(ibv_post_srq_recv(q->srq, &wr, &bad), 0);
	q->target.rkey = q->own.mr->rkey;
	q->target.addr = (uintptr_t)q->own.buf;
	assert_int_equal(ibv_get_srq_num(q->srq, &q->target.srqn), 0);
}

static void close_queue(struct queue *q)
{
	assert_int_equal(ibv_destroy_srq(q->srq), 0);
	assert_int_equal(ibv_close_xrcd(q->xrcd), 0);
	end_close(&q->own);
}

/* The message of two packets has arrived. */
static bool has_message(struct queue *q)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(q->own.cq, 1, &wc);
	while (!n);
	return n == 1 && wc.status == IBV_WC_SUCCESS && wc.byte_len == MTU + LAST &&
	       !memcmp(q->own.buf, bytes, MTU) && !memcmp(q->own.buf + MTU, bytes, LAST);
}

static struct ibv_qp *connect_receiver(struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(end.context, &attr);

	assert_non_null(qp);
	connect_qp(qp);
	return qp;
}

static uint32_t next_psn;

/* The answer to a packet for @to. */
static struct header ask_for(uint8_t opcode, const struct target *to, size_t len,
			     uint8_t payload[PACKET])
{
	struct header h = header_of(OPCODE_XRC | opcode, next_psn++ & PSN_MASK);

	h.xrceth.srqn = to->srqn;
	h.reth.addr = h.atomic.addr = to->addr + WORD;
	h.reth.rkey = h.atomic.rkey = to->rkey;
	h.reth.length = LAST;
	h.atomic.swap_add = 5;
	send_as_peer(&h, bytes, len);
	wait_until_taken();
	take_packet(&h, payload);
	return h;
}

static void expect_answer(const struct header *h, uint8_t opcode, uint8_t syndrome)
{
	assert_int_equal(h->bth.opcode, OPCODE_XRC | opcode);
	assert_int_equal(h->aeth.syndrome, syndrome);
}

static void send_each_kind(const struct target *to)
{
	uint8_t payload[PACKET];
	struct header h;

	h = ask_for(OPCODE_SEND_FIRST, to, MTU, payload);
	expect_answer(&h, OPCODE_ACKNOWLEDGE, AETH_ACK);
	h = ask_for(OPCODE_SEND_LAST, to, LAST, payload);
	expect_answer(&h, OPCODE_ACKNOWLEDGE, AETH_ACK);
	h = ask_for(OPCODE_WRITE_ONLY, to, LAST, payload);
	expect_answer(&h, OPCODE_ACKNOWLEDGE, AETH_ACK);
	h = ask_for(OPCODE_READ_REQUEST, to, 0, payload);
	expect_answer(&h, OPCODE_READ_RESPONSE_ONLY, AETH_ACK);
	assert_memory_equal(payload, bytes, LAST);
	h = ask_for(OPCODE_FETCH_ADD, to, 0, payload);
	expect_answer(&h, OPCODE_ATOMIC_ACKNOWLEDGE, AETH_ACK);
	assert_memory_equal(&h.atomic_ack.original, bytes, LAST);
	h = ask_for(OPCODE_READ_REQUEST, to, 0, payload);
	expect_answer(&h, OPCODE_READ_RESPONSE_ONLY, AETH_ACK);
	assert_int_equal(payload[0], bytes[0] + 5);
}

static void refuse_unknown(const struct target *to)
{
	struct target none = { .srqn = to->srqn + 1, .addr = to->addr, .rkey = to->rkey };
	uint8_t payload[PACKET];
	struct header h;

	h = ask_for(OPCODE_WRITE_ONLY, &none, LAST, payload);
	expect_answer(&h, OPCODE_ACKNOWLEDGE, AETH_NAK_INVALID);
	assert_int_equal(qp_state(), IBV_QPS_ERR);
}

/* Requests of each kind, then one for a queue that does not exist. */
static void hold_conversation(const struct target *to, int fd)
{
	struct ibv_xrcd *xrcd = open_domain(end.context, fd);
	struct ibv_qp *was = end.qp;

	end.qp = connect_receiver(xrcd);
	next_psn = PSN;
	send_each_kind(to);
	refuse_unknown(to);
	assert_int_equal(ibv_destroy_qp(end.qp), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	end.qp = was;
}

static int open_temporary(void)
{
	char path[] = "/tmp/verbatim-xrc-test.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	return fd;
}

TEST(a_shared_queue_receives_from_the_wire)
{
	struct queue q = { 0 };
	int fd;

	NEEDS_NETWORK();
	fd = open_temporary();
	open_queue(&q, fd);
	hold_conversation(&q.target, fd);
	assert_true(has_message(&q));
	close_queue(&q);
	close(fd);
}

/* Exits with 0 if the message has arrived, when @from is closed. */
static _Noreturn void run_other(int fd, int to, int from)
{
	struct queue q = { 0 };
	bool has;
	char end;

	open_queue(&q, fd);
	if (write(to, &q.target, sizeof(q.target)) != sizeof(q.target))
		_exit(2);
	has = has_message(&q);
	if (read(from, &end, 1) != 0)
		_exit(3);
	close_queue(&q);
	_exit(has ? 0 : 1);
}

TEST(a_shared_queue_of_another_process_receives_from_the_wire)
{
	int told[2], ends[2], status, fd;
	struct target target;
	pid_t pid;

	NEEDS_NETWORK();
	fd = open_temporary();
	assert_int_equal(pipe(told) | pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(ends[1]);
		run_other(fd, told[1], ends[0]);
	}
	assert_int_equal(read(told[0], &target, sizeof(target)), sizeof(target));
	hold_conversation(&target, fd);
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(ends[0]);
	close(told[0]);
	close(told[1]);
	close(fd);
}
