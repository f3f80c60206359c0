#include <poll.h>
#include <stdbool.h>
#include <time.h>

#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

/*
 * A peer is killed after each of the instructions that carry out one
 * operation (some of them, unless ROUNDS says more): whatever is half done, we get each of our
 * completions once.
 */

enum { RECVS = 4 };

typedef int operation(struct end *e, struct address there);

static int send_short(struct end *e, struct address there)
{
	(void)there;
	return send_at(e, 1, 0, 8);
}

static int send_in_ring(struct end *e, struct address there)
{
	(void)there;
	return send_at(e, 1, 0, 1000);
}

static int send_long(struct end *e, struct address there)
{
	(void)there;
	return send_at(e, 1, 0, 100000);
}

static int write_and_tell(struct end *e, struct address there)
{
	return rdma_at(e, IBV_WR_RDMA_WRITE_WITH_IMM, 1, 64, there.addr, there.rkey);
}

static int write_wrongly(struct end *e, struct address there)
{
	return rdma_at(e, IBV_WR_RDMA_WRITE, 1, 64, there.addr, 0x12345);
}

static operation *chosen;
static long kill_at; /* instructions */
static volatile long passed;

/* The processor traps after each instruction. */
static void count_step(int signo)
{
	(void)signo;
	if (++passed == kill_at)
		kill(getpid(), SIGKILL);
}

/* ThreadSanitizer's own instructions hold locks that its handler of signals takes. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
static void set_trap(bool on)
{
	if (on) /* beyond the red zone */
		asm volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t"
			     "orq $0x100, (%%rsp)\n\tpopfq\n\t"
			     "lea 128(%%rsp), %%rsp" ::
				     : "memory", "cc");
	else
		asm volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t"
			     "andq $~0x100, (%%rsp)\n\tpopfq\n\t"
			     "lea 128(%%rsp), %%rsp" ::
				     : "memory", "cc");
}
#else
static void set_trap(bool on)
{
	(void)on;
}
#endif

/* In the peer: after the preparation each instruction is counted. */
static void carry_out(struct end *e, int fd, struct address yours)
{
	struct sigaction action = { .sa_handler = count_step };
	long all;

	await_word(fd);
	assert_int_equal(rdma_at(e, IBV_WR_RDMA_WRITE, 1, 8, yours.addr, yours.rkey), 0);
	expect_wc(e->cq, 1, IBV_WC_SUCCESS);
	sigaction(SIGTRAP, &action, NULL);
	set_trap(true);
	chosen(e, yours);
	set_trap(false);
	all = passed;
	say_bytes(fd, &all, sizeof(all));
	pause();
}

struct tally {
	unsigned int recvs[RECVS];
	unsigned int sends;
};

static void drain_cq(struct end *e, struct tally *tally)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(e->cq, 1, &wc) > 0) {
		if (wc.wr_id < RECVS)
			tally->recvs[wc.wr_id]++;
		else
			tally->sends++;
	}
}

/* Asleep, as a program would be, until our own send has come back. */
static void sleep_for_send(struct end *e, struct tally *tally)
{
	struct pollfd p = { .fd = e->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	while (!tally->sends) {
		assert_int_equal(poll(&p, 1, 10000), 1);
		assert_int_equal(ibv_get_cq_event(e->channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
		drain_cq(e, tally);
	}
}

static void post_message(struct end *e)
{
	int i;

	for (i = 0; i < RECVS; i++)
		assert_int_equal(recv_at(e, i, 200000 * i, 200000), 0);
	assert_int_equal(ibv_req_notify_cq(e->cq, 0), 0);
}

/* The other end has notified this one of everything that it published. */
static void drain_if_told(struct end *e, struct tally *tally)
{
	struct pollfd p = { .fd = e->channel->fd, .events = POLLIN };
	int i, told = poll(&p, 1, 0);

	drain_cq(e, tally);
	for (i = 0; i < RECVS; i++)
		assert_true(told || !tally->recvs[i]);
}

static void expect_all(struct end *e)
{
	struct tally tally = { { 0 }, 0 };
	int i;

	drain_if_told(e, &tally);
	assert_int_equal(send_at(e, RECVS, 0, 8), 0);
	sleep_for_send(e, &tally);
	assert_int_equal(to_state(e->qp, IBV_QPS_ERR), 0);
	drain_cq(e, &tally);
	assert_int_equal(tally.sends, 1);
	for (i = 0; i < RECVS; i++)
		assert_int_equal(tally.recvs[i], 1);
}

/* How long the operation is, if it was not killed in it. */
static long kill_after(long steps)
{
	struct fellow f;
	struct end e = { 0 };
	long length = 0;

	kill_at = steps;
	f = fellow_start(carry_out);
	end_open(&e);
	fellow_meet(&f, &e);
	post_message(&e);
	say_bytes(f.fd, "g", 1);
	/* the end of file, if it dies */
	if (recv(f.fd, &length, sizeof(length), MSG_WAITALL) < 0)
		length = 0;
	fellow_kill(&f);
	expect_all(&e);
	end_close(&e);
	return length;
}

static long number_from_env(const char *name, long otherwise)
{
	const char *given = getenv(name);

	return given ? atol(given) : otherwise;
}

static void survive_steps(operation *op)
{
	long s = number_from_env("SEED", time(NULL));
	long length, stride, at;

	chosen = op;
	length = kill_after(0);
	if (!length)
		skip();
	stride = length / number_from_env("ROUNDS", 12) + 1;
	print_message("%ld instructions, SEED=%ld\n", length, s);
	for (at = 1 + s % stride; at < length; at += stride)
		kill_after(at);
}

/* clang-format off */
static const struct survival {
	const char *name;
	operation *operation;
} survivals[] = {
	{ "peer_may_die_in_send_short", send_short },
	{ "peer_may_die_in_send_in_ring", send_in_ring },
	{ "peer_may_die_in_send_long", send_long },
	{ "peer_may_die_in_write_and_tell", write_and_tell },
	{ "peer_may_die_in_write_wrongly", write_wrongly },
};
/* clang-format on */

static void peer_may_die(void **state)
{
	const struct survival *survival = *state;

	survive_steps(survival->operation);
}

GROUP(fabric_setup, fabric_teardown);
TEST_ROWS(survivals, peer_may_die);
