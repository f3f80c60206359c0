/*
 * Two connected ends in two programs, which exchange addresses over TCP
 *
 * 	far_end WHAT -p PORT		waits for the other
 * 	far_end WHAT -p PORT HOST	sends to it
 *
 * WHAT is the failure: none (good); the receiver deregistered its memory a moment before it was
 * written to (gone); it posted no receive (late); with receives for half of the messages it was
 * killed (killed), or stopped (stopped), and the sender gave up; or it was killed, and the sender
 * got an error (retry), or got one after seconds (unanswered). Or none, for two seconds: messages
 * in both directions (long), writes in one direction (writes).
 */
#include <netdb.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include "tests/apps/app.h"

enum { BYTES = 4096, MESSAGES = 20, BEFORE_US = 500000, LONG_S = 2 };
enum { FLOOD = 8, TAKEN = 5, SIGNALLED = 4 /* one in so many */ };

struct address {
	uint32_t number, rkey;
	uint64_t addr;
	struct ibv_ah_attr ah;
};

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	char memory[BYTES];
	struct address other;
	int fd;
} end;

static int accept_other(const struct addrinfo *at)
{
	int fd = socket(at->ai_family, SOCK_STREAM, 0), yes = 1;

	MUST(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)));
	MUST(bind(fd, at->ai_addr, at->ai_addrlen));
	MUST(listen(fd, 1));
	return accept(fd, NULL, NULL);
}

static int connect_other(const struct addrinfo *at)
{
	int fd = socket(at->ai_family, SOCK_STREAM, 0);

	MUST(connect(fd, at->ai_addr, at->ai_addrlen));
	return fd;
}

static void meet_other(const char *port, const char *host)
{
	struct addrinfo hints = { .ai_family = AF_INET,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = host ? 0 : AI_PASSIVE },
			*at;

	MUST(getaddrinfo(host, port, &hints, &at));
	end.fd = host ? connect_other(at) : accept_other(at);
	NEED(end.fd >= 0);
	freeaddrinfo(at);
}

/* Wait until both ends have reached this point. */
static void wait_for_other(void)
{
	char byte = 0;

	NEED(send(end.fd, &byte, 1, 0) == 1);
	NEED(recv(end.fd, &byte, 1, 0) == 1);
}

static void open_end(void)
{
	struct address own = { 0 };

	end.context = open_first_device();
	end.pd = NEED(ibv_alloc_pd(end.context));
	end.cq = NEED(ibv_create_cq(end.context, 16, NULL, NULL, 0));
	end.mr = NEED(ibv_reg_mr(end.pd, end.memory, BYTES,
				 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	end.qp = create_rc_qp(end.pd, end.cq);
	to_init(end.qp);
	own = (struct address){ end.qp->qp_num, end.mr->rkey, (uintptr_t)end.memory,
				own_address(end.context, 0) };
	NEED(send(end.fd, &own, sizeof(own), 0) == sizeof(own));
	NEED(recv(end.fd, &end.other, sizeof(own), MSG_WAITALL) == sizeof(own));
	MUST(to_rtr(end.qp, end.other.number, end.other.ah));
	to_rts(end.qp);
}

static struct ibv_sge own_sge(void)
{
	return (struct ibv_sge){ (uintptr_t)end.memory, 64, end.mr->lkey };
}

static void post_receive(void)
{
	struct ibv_sge sge = own_sge();
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(end.qp, &wr, &bad));
}

static void post_flagged(enum ibv_wr_opcode opcode, unsigned int flags)
{
	struct ibv_sge sge = own_sge();
	struct ibv_send_wr wr = { .wr_id = 2,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = flags,
				  .wr.rdma = { end.other.addr, end.other.rkey } },
			   *bad;

	MUST(ibv_post_send(end.qp, &wr, &bad));
}

static void post_request(enum ibv_wr_opcode opcode)
{
	post_flagged(opcode, IBV_SEND_SIGNALED);
}

static enum ibv_wc_status await_one(void)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(end.cq, 1, &wc))
		;
	return wc.status;
}

/* A message in each direction. */
static void exchange_messages(bool first)
{
	post_receive();
	wait_for_other();
	for (int i = 0; i < MESSAGES; i++) {
		if (first)
			post_request(IBV_WR_SEND);
		NEED(await_one() == IBV_WC_SUCCESS);
		NEED(!first || await_one() == IBV_WC_SUCCESS);
		if (i + 1 < MESSAGES)
			post_receive();
		if (!first)
			post_request(IBV_WR_SEND);
		NEED(first || await_one() == IBV_WC_SUCCESS);
	}
	wait_for_other();
}

static void write_to_other(bool first, bool gone)
{
	if (!first && gone) {
		MUST(ibv_dereg_mr(end.mr));
		usleep(BEFORE_US);
	}
	wait_for_other();
	if (first) {
		post_request(IBV_WR_RDMA_WRITE);
		NEED((await_one() != IBV_WC_SUCCESS) == gone);
	}
	wait_for_other();
	if (!first && gone)
		end.mr = NULL;
}

/* The first decides. */
static bool goes_on(bool first, time_t until)
{
	struct timespec now;
	char more;

	clock_gettime(CLOCK_MONOTONIC, &now);
	more = now.tv_sec < until;
	if (first)
		NEED(send(end.fd, &more, 1, 0) == 1);
	else
		NEED(recv(end.fd, &more, 1, 0) == 1);
	return more;
}

static void go_on_long(bool first, bool writes)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	while (goes_on(first, now.tv_sec + 1 + LONG_S))
		if (writes)
			write_to_other(first, false);
		else
			exchange_messages(first);
}

static void send_to_nobody(bool first)
{
	wait_for_other();
	if (first) {
		post_request(IBV_WR_SEND);
		NEED(await_one() == IBV_WC_RNR_RETRY_EXC_ERR);
		usleep(BEFORE_US); /* the other end exists for longer than clocks may differ */
	}
	wait_for_other();
}

static void take_half(bool stops)
{
	pid_t pid = getpid();

	for (int i = 0; i < TAKEN; i++)
		post_receive();
	NEED(send(end.fd, &pid, sizeof(pid), 0) == sizeof(pid));
	for (int i = 0; i < TAKEN; i++)
		NEED(await_one() == IBV_WC_SUCCESS);
	NEED(send(end.fd, &pid, sizeof(pid), 0) == sizeof(pid));
	raise(stops ? SIGSTOP : SIGKILL);
}

/* Are the retries few enough for the sender to get an error? */
static bool gives_up(const char *what)
{
	return !strcmp(what, "retry") || !strcmp(what, "unanswered");
}

/* The first SIGNALLED of the posted messages are known to have arrived. */
static void send_to_half(const char *what)
{
	pid_t pid;

	NEED(recv(end.fd, &pid, sizeof(pid), MSG_WAITALL) == sizeof(pid));
	for (int i = 1; i <= FLOOD; i++)
		post_flagged(IBV_WR_SEND, i % SIGNALLED ? 0 : IBV_SEND_SIGNALED);
	NEED(await_one() == IBV_WC_SUCCESS);
	NEED(recv(end.fd, &pid, sizeof(pid), MSG_WAITALL) == sizeof(pid));
	if (gives_up(what)) {
		NEED(await_one() != IBV_WC_SUCCESS);
		return;
	}
	usleep(BEFORE_US);
	if (!strcmp(what, "stopped"))
		kill(pid, SIGKILL);
	raise(SIGTERM);
}

static void flood_other(bool first, const char *what)
{
	if (first)
		send_to_half(what);
	else
		take_half(!strcmp(what, "stopped"));
}

static void close_end(void)
{
	MUST(ibv_destroy_qp(end.qp));
	if (end.mr)
		MUST(ibv_dereg_mr(end.mr));
	MUST(ibv_destroy_cq(end.cq));
	MUST(ibv_dealloc_pd(end.pd));
	MUST(ibv_close_device(end.context));
}

int main(int argc, char **argv)
{
	const char *what = NEED(argc > 3) ? argv[1] : "", *host = argc > 4 ? argv[4] : NULL;

	if (!strcmp(what, "late")) {
		connected_with.min_rnr_timer = 0; /* 655 ms */
		connected_with.rnr_retry = 2;
	}
	if (gives_up(what)) {
		connected_with.timeout = !strcmp(what, "retry") ? 10 : 19; /* 2.1 s */
		connected_with.retry_cnt = !strcmp(what, "retry") ? 1 : 2;
	}
	meet_other(argv[3], host);
	open_end();
	if (!strcmp(what, "late")) {
		send_to_nobody(host);
	} else if (!strcmp(what, "long") || !strcmp(what, "writes")) {
		go_on_long(host, !strcmp(what, "writes"));
	} else if (!strcmp(what, "killed") || !strcmp(what, "stopped") || gives_up(what)) {
		flood_other(host, what);
	} else {
		exchange_messages(host);
		write_to_other(host, !strcmp(what, "gone"));
	}
	close_end();
	return 0;
}
