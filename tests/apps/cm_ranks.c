/*
 * A job whose ranks connect by librdmacm, or exchange datagrams, until one of them makes the
 * mistake that MODE names: cm_ranks MODE [good]
 *
 *	no-accept	rank 2 gets the request of rank 1, and does not accept it
 *	no-connect	rank 1 does not connect, and rank 2 waits for its request
 *	no-establish	rank 1 does not fetch the answer of rank 2
 *	no-datagram	rank 2 does not answer the datagram of rank 1
 *
 * Rank 0 waits for a connection, or a datagram, of rank 1 after that. The mistake is a pause
 * without an end; the launcher kills all of them a while after it has begun. With `good` it is left
 * out, and the job ends by itself.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/apps/app.h"

enum { RANKS = 3, BYTES = 256, GRH = 40, QKEY = 0x1234, WAITS_MS = 700, BOARD = 100 };

static struct board {
	atomic_int ports[RANKS];
	atomic_uint numbers[RANKS];
	atomic_bool planted;
	atomic_int done;
} * board;

static const char *mode;
static bool good;
static int rank;
static struct rdma_event_channel *channel;
static char memory[BYTES];

static void make_mistake(const char *name)
{
	if (good || strcmp(name, mode) != 0)
		return;
	board->planted = true;
	for (;;)
		pause();
}

/* Connections */

static struct rdma_cm_id *await_event(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	MUST(rdma_get_cm_event(channel, &event));
	NEED(event->event == type);
	id = event->id;
	MUST(rdma_ack_cm_event(event));
	return id;
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	MUST(rdma_create_qp(id, NULL, &attr));
}

static struct rdma_cm_id *listen_here(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct rdma_cm_id *id;

	inet_pton(AF_INET, "127.0.0.1", &in.sin_addr);
	MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	MUST(rdma_bind_addr(id, (struct sockaddr *)&in));
	MUST(rdma_listen(id, 4));
	board->ports[rank] = ntohs(rdma_get_src_port(id));
	return id;
}

static struct rdma_cm_id *accept_one(const char *mistake)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct rdma_cm_id *id = await_event(RDMA_CM_EVENT_CONNECT_REQUEST);

	make_mistake(mistake);
	make_qp(id);
	MUST(rdma_accept(id, &param));
	await_event(RDMA_CM_EVENT_ESTABLISHED);
	return id;
}

static struct rdma_cm_id *connect_to_rank(int to, const char *mistake)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct rdma_cm_id *id;

	while (!board->ports[to])
		usleep(1000);
	in.sin_port = htons((uint16_t)board->ports[to]);
	inet_pton(AF_INET, "127.0.0.1", &in.sin_addr);
	MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 2000));
	await_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_resolve_route(id, 2000));
	await_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(id);
	MUST(rdma_connect(id, &param));
	make_mistake(mistake);
	await_event(RDMA_CM_EVENT_ESTABLISHED);
	return id;
}

static void end_connection(struct rdma_cm_id *id, bool first)
{
	if (first)
		MUST(rdma_disconnect(id));
	await_event(RDMA_CM_EVENT_DISCONNECTED);
	if (!first)
		MUST(rdma_disconnect(id));
	rdma_destroy_qp(id);
	MUST(rdma_destroy_id(id));
}

static void use_connections(void)
{
	struct rdma_cm_id *id, *listener = rank == 1 ? NULL : listen_here();

	if (rank != 1) {
		id = accept_one(rank == 2 ? "no-accept" : "");
		end_connection(id, false);
		MUST(rdma_destroy_id(listener));
		return;
	}
	while (!board->ports[0] || !board->ports[2])
		usleep(1000);
	make_mistake("no-connect");
	for (int to = 2; to >= 0; to -= 2)
		end_connection(connect_to_rank(to, to ? "no-establish" : ""), true);
}

/* Datagrams */

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
} ud;

static void post_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)memory, BYTES, ud.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(ud.qp, &wr, &bad));
}

static void open_datagrams(void)
{
	struct ibv_ah_attr to;

	ud.context = open_first_device();
	ud.pd = NEED(ibv_alloc_pd(ud.context));
	ud.cq = NEED(ibv_create_cq(ud.context, 8, NULL, NULL, 0));
	ud.mr = NEED(ibv_reg_mr(ud.pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE));
	ud.qp = create_ud_qp(ud.pd, ud.cq, QKEY);
	post_receive();
	to = own_address(ud.context, 0);
	ud.ah = NEED(ibv_create_ah(ud.pd, &to));
	board->numbers[rank] = ud.qp->qp_num;
}

/* Whatever completes next: a receive, or a send. */
static void await_completion(bool receive)
{
	struct ibv_wc wc;

	for (;;) {
		if (!ibv_poll_cq(ud.cq, 1, &wc)) {
			usleep(1000);
			continue;
		}
		MUST((int)wc.status);
		if ((wc.opcode & IBV_WC_RECV) == (receive ? IBV_WC_RECV : 0))
			return;
	}
}

static void send_datagram(int to)
{
	struct ibv_sge sge = { (uintptr_t)memory + GRH, 8, ud.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { ud.ah, board->numbers[to], QKEY } },
			   *bad;

	MUST(ibv_post_send(ud.qp, &wr, &bad));
	await_completion(false);
}

static void close_datagrams(void)
{
	MUST(ibv_destroy_ah(ud.ah));
	MUST(ibv_destroy_qp(ud.qp));
	MUST(ibv_dereg_mr(ud.mr));
	MUST(ibv_destroy_cq(ud.cq));
	MUST(ibv_dealloc_pd(ud.pd));
	MUST(ibv_close_device(ud.context));
}

/* 1 asks 2, twice, and then tells 0, twice. */
static void use_datagrams(void)
{
	open_datagrams();
	while (!board->numbers[0] || !board->numbers[1] || !board->numbers[2])
		usleep(1000);
	for (int i = 0; i < 2; i++) {
		if (rank == 1)
			send_datagram(2);
		await_completion(true);
		post_receive();
		if (rank == 2 && i)
			make_mistake("no-datagram");
		if (rank)
			send_datagram(rank == 2 ? 1 : 0);
	}
	close_datagrams();
}

static void be_rank(void)
{
	if (!strcmp(mode, "no-datagram")) {
		use_datagrams();
	} else {
		channel = NEED(rdma_create_event_channel());
		use_connections();
		rdma_destroy_event_channel(channel);
	}
	board->done++;
}

/* The launcher */

static void map_board(void)
{
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, BOARD, 0);
	NEED(board != MAP_FAILED);
}

static pid_t start_rank(int number, char **argv)
{
	pid_t pid = fork();
	char text[16];

	if (pid)
		return pid;
	snprintf(text, sizeof(text), "%d", number);
	MUST(setenv("SLURM_PROCID", text, 1));
	MUST(setenv("SLURM_NTASKS", "3", 1));
	MUST(setenv("SLURMD_NODENAME", number < 2 ? "n0" : "n1", 1));
	execv("/proc/self/exe", argv);
	_exit(2);
}

static int launch_ranks(char **argv)
{
	static const int signals[] = { SIGSTOP, SIGTERM, SIGCONT };
	pid_t pids[RANKS];
	int status, failed = 0;

	NEED(dup2(memfd_create("board", 0), BOARD) == BOARD);
	MUST(ftruncate(BOARD, sizeof(*board)));
	map_board();
	for (int i = 0; i < RANKS; i++)
		pids[i] = start_rank(i, argv);
	while (!board->planted && board->done < RANKS)
		usleep(1000);
	if (board->planted)
		usleep(WAITS_MS * 1000);
	/* all are stopped before the first one ends: none has an event of its end */
	for (size_t k = 0; k < sizeof(signals) / sizeof(*signals) && board->planted; k++)
		for (int i = 0; i < RANKS; i++)
			kill(pids[i], signals[k]);
	for (int i = 0; i < RANKS; i++) {
		MUST(waitpid(pids[i], &status, 0) != pids[i]);
		failed |= status != 0;
	}
	return failed;
}

int main(int argc, char **argv)
{
	const char *given = getenv("SLURM_PROCID");

	NEED(argc > 1);
	mode = argv[1];
	good = argc > 2;
	if (!given)
		return launch_ranks(argv);
	rank = atoi(given);
	map_board();
	be_rank();
	return 0;
}
