/*
 * Two processes with much traffic, and one mistake in the middle of it
 *
 * 	seeded MISTAKE MESSAGES SEED
 *
 * In turns, each sends BURST messages to the other, on queue pairs chosen at random; every message
 * is posted, polled at both ends, and its receive posted again. One more pair of queue pairs is for
 * the mistake, which the first process makes in a turn that the seed chooses, when no message is in
 * flight; the second has done its part of it in the turn before.
 */
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/apps/app.h"

enum { PAIRS = 4, BURST = 8, ROOM = 16, BYTES = 256, REGION = 4096, MISTAKE_ID = 0xbad };

enum mistake {
	WRONG_LKEY,
	GONE_RKEY, /* the peer has deregistered the region */
	OUT_OF_BOUNDS,
	SHORT_RECEIVE,
	NO_RECEIVE,
	PEER_RESET,
	GONE_LKEY, /* a region of our own was deregistered */
	OVERFLOW,
	TOO_EARLY, /* the queue pair is not in RTS */
	NO_MISTAKE,
	MISTAKES
};

static const char *const mistakes[] = { "wrong_lkey",    "gone_rkey",  "out_of_bounds",
					"short_receive", "no_receive", "peer_reset",
					"gone_lkey",     "overflow",   "too_early",
					"none" };

/* Data that the ends exchange. */
struct told {
	uint32_t number[PAIRS + 1], rkey, spare_rkey;
	uint64_t address;
};

static struct {
	enum mistake mistake;
	int peer; /* socket */
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr, *spare;
	struct ibv_qp *qp[PAIRS + 1]; /* the last is for the mistake */
	struct told other;
	char memory[REGION], spare_memory[REGION];
} end;

static int try_receive(struct ibv_qp *qp, uint32_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)end.memory, bytes, end.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = qp->qp_num, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

static void add_receive(struct ibv_qp *qp, uint32_t bytes)
{
	MUST(try_receive(qp, bytes));
}

static int post_one(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t lkey,
		    uint64_t remote, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)end.memory, BYTES, lkey };
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { remote, rkey },
	}, *bad;

	return ibv_post_send(qp, &wr, &bad);
}

static struct ibv_wc poll_one(void)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(end.cq, 1, &wc)))
		sched_yield(); /* the other end may have no processor */
	MUST(n - 1);
	return wc;
}

static void open_end(void)
{
	enum ibv_access_flags access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	end.context = open_first_device();
	end.pd = NEED(ibv_alloc_pd(end.context));
	end.cq = NEED(ibv_create_cq(end.context, 256, NULL, NULL, 0));
	end.mr = NEED(ibv_reg_mr(end.pd, end.memory, REGION, access));
	end.spare = NEED(ibv_reg_mr(end.pd, end.spare_memory, REGION, access));
	for (int i = 0; i <= PAIRS; i++) {
		struct ibv_qp_init_attr attr = {
			.send_cq = end.cq,
			.recv_cq = end.cq,
			.cap = { 2 * ROOM, i < PAIRS ? 2 * ROOM : 4, 1, 1, 0 },
			.qp_type = IBV_QPT_RC,
		};

		end.qp[i] = NEED(ibv_create_qp(end.pd, &attr));
	}
}

static void tell_other(void)
{
	struct told told = { .rkey = end.mr->rkey,
			     .spare_rkey = end.spare->rkey,
			     .address = (uintptr_t)end.memory };

	for (int i = 0; i <= PAIRS; i++)
		told.number[i] = end.qp[i]->qp_num;
	MUST(write(end.peer, &told, sizeof(told)) != sizeof(told));
	MUST(recv(end.peer, &end.other, sizeof(told), MSG_WAITALL) != sizeof(told));
}

static void meet_other(void)
{
	char byte = 0;

	MUST(write(end.peer, &byte, 1) != 1);
	MUST(read(end.peer, &byte, 1) != 1);
}

static void connect_end(bool first)
{
	for (int i = 0; i <= PAIRS; i++) {
		connected_with.rnr_retry = i < PAIRS ? 7 : 1;
		connected_with.retry_cnt = i < PAIRS ? 7 : 1;
		connected_with.timeout = i < PAIRS ? 14 : 8;
		to_init(end.qp[i]);
		for (int j = 0; i < PAIRS && j < ROOM; j++)
			add_receive(end.qp[i], BYTES);
		if (i == PAIRS && end.mistake == TOO_EARLY && first)
			continue;
		MUST(to_rtr(end.qp[i], end.other.number[i], own_address(end.context, 0)));
		to_rts(end.qp[i]);
	}
	if (end.mistake == SHORT_RECEIVE && !first)
		add_receive(end.qp[PAIRS], BYTES / 4);
	meet_other();
}

/* The second process's part of it. */
static void prepare_mistake(void)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };

	if (end.mistake == GONE_RKEY) {
		MUST(ibv_dereg_mr(end.spare));
		end.spare = NULL;
	}
	if (end.mistake == PEER_RESET)
		MUST(ibv_modify_qp(end.qp[PAIRS], &reset, IBV_QP_STATE));
}

static void make_mistake(void)
{
	struct ibv_qp *qp = end.qp[PAIRS];
	uint32_t lkey = end.mr->lkey, rkey = end.other.rkey, gone = end.spare->lkey;
	uint64_t to = end.other.address;
	int posted = 1;

	switch (end.mistake) {
	case WRONG_LKEY:
		MUST(post_one(qp, IBV_WR_RDMA_WRITE, MISTAKE_ID, lkey + 0x7700, to, rkey));
		break;
	case GONE_RKEY:
		MUST(post_one(qp, IBV_WR_RDMA_WRITE, MISTAKE_ID, lkey, to + REGION,
			      end.other.spare_rkey));
		break;
	case OUT_OF_BOUNDS:
		MUST(post_one(qp, IBV_WR_RDMA_WRITE, MISTAKE_ID, lkey, to + REGION - 8, rkey));
		break;
	case PEER_RESET:
		MUST(post_one(qp, IBV_WR_RDMA_WRITE, MISTAKE_ID, lkey, to, rkey));
		break;
	case SHORT_RECEIVE:
	case NO_RECEIVE:
		MUST(post_one(qp, IBV_WR_SEND, MISTAKE_ID, lkey, 0, 0));
		break;
	case GONE_LKEY:
		MUST(ibv_dereg_mr(end.spare));
		end.spare = NULL;
		MUST(post_one(qp, IBV_WR_RDMA_WRITE, MISTAKE_ID, gone, to, rkey));
		break;
	case OVERFLOW:
		while (!try_receive(qp, BYTES))
			;
		return;
	case TOO_EARLY:
		posted = !post_one(qp, IBV_WR_RDMA_WRITE, MISTAKE_ID, lkey, to, rkey);
		if (posted)
			to_err(qp);
		break;
	default:
		return;
	}
	while (posted--)
		poll_one();
}

static void send_burst(void)
{
	for (int i = 0; i < BURST; i++) {
		struct ibv_qp *qp = end.qp[rand() % PAIRS];

		MUST(post_one(qp, IBV_WR_SEND, qp->qp_num, end.mr->lkey, 0, 0));
		MUST(poll_one().status);
	}
}

/* The short receive of the mistake fails by itself, at any time. */
static void receive_burst(void)
{
	for (int i = 0; i < BURST; i++) {
		struct ibv_wc wc = poll_one();

		rand();
		for (int p = 0; p < PAIRS; p++)
			if (end.qp[p]->qp_num == wc.qp_num)
				add_receive(end.qp[p], BYTES);
		i -= wc.qp_num == end.qp[PAIRS]->qp_num;
	}
}

static void run_turns(bool first, int turns, int fault)
{
	for (int turn = 0; turn < turns; turn++) {
		bool mine = (turn % 2 == 0) == first;

		if (turn == fault && first)
			make_mistake();
		if (turn == fault - 1 && !first)
			prepare_mistake();
		if (mine)
			send_burst();
		else
			receive_burst();
		if (turn == fault - 1)
			meet_other();
	}
}

static void close_end(void)
{
	meet_other();
	for (int i = 0; i <= PAIRS; i++)
		MUST(ibv_destroy_qp(end.qp[i]));
	MUST(ibv_dereg_mr(end.mr));
	if (end.spare)
		MUST(ibv_dereg_mr(end.spare));
	MUST(ibv_destroy_cq(end.cq));
	MUST(ibv_dealloc_pd(end.pd));
	MUST(ibv_close_device(end.context));
}

int main(int argc, char **argv)
{
	int turns, sockets[2], status = 0;
	pid_t child;

	if (argc < 4)
		return 2;
	while (end.mistake < NO_MISTAKE && strcmp(mistakes[end.mistake], argv[1]) != 0)
		end.mistake++;
	turns = atoi(argv[2]) / BURST;
	srand((unsigned int)atoi(argv[3]));
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	child = fork();
	end.peer = sockets[!child];
	open_end();
	tell_other();
	connect_end(child);
	run_turns(child, turns, (turns / 4 + rand() % (turns / 2)) & ~1);
	close_end();
	if (child)
		MUST(waitpid(child, &status, 0) != child);
	return !!status;
}
