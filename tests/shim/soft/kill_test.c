/*
 * Peers are killed at random moments, in traffic of all kinds or while they create and destroy
 * objects, join and leave
 *
 *	SEED=n		the same choices again (the moments differ)
 *	ROUNDS=n	so many kills
 *	SECONDS=n	so long instead (make soak)
 *
 * Each request of the survivor completes once and in order, whatever
 * happens; nothing hangs; nothing is left in the fabric's directory.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>

#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

enum { DEPTH = 16, LONGEST = 200000, QKEY = 0x1234, GRH = 40 };

/* Messages are received into the first half, all else is in the second: each has one writer. */
enum { HALF = END_BYTES / 2 };
_Static_assert(HALF > LONGEST + GRH, "room for the longest");

static uint64_t dice;

static uint32_t roll_dice(uint32_t sides)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (dice >> 16) % sides;
}

static long number_from_env(const char *name, long otherwise)
{
	const char *given = getenv(name);

	return given ? atol(given) : otherwise;
}

/* One end, and the progress of its requests. */
struct side {
	struct end e; /* with a queue pair of our own */
	enum ibv_qp_type type;
	struct ibv_ah *ah;
	struct address there;
	bool sleeps;
	uint32_t sent, recvd; /* posted */
	uint32_t send_done, recv_done;
	bool failed;
};

#define RECV (1ull << 32) /* in a wr_id */

static void make_side(struct side *s)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = s->e.cq,
		.recv_cq = s->e.cq,
		.qp_type = s->type,
		.cap = { DEPTH, DEPTH, 4, 4, 64 },
	};
	struct ibv_ah_attr ah = { .dlid = 1, .port_num = 1 };

	s->e.qp = ibv_create_qp(s->e.pd, &attr);
	assert_non_null(s->e.qp);
	s->ah = ibv_create_ah(s->e.pd, &ah);
	assert_non_null(s->ah);
}

static void side_open(struct side *s, enum ibv_qp_type type)
{
	memset(s, 0, sizeof(*s));
	end_open(&s->e);
	assert_int_equal(ibv_destroy_qp(s->e.qp), 0);
	s->type = type;
	make_side(s);
}

static void side_close(struct side *s)
{
	assert_int_equal(ibv_destroy_ah(s->ah), 0);
	end_close(&s->e);
}

static void join_datagrams(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };

	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

static void join_unreliable(struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.ah_attr = { .dlid = 1, .port_num = 1 },
	};

	assert_int_equal(to_init(qp, IBV_ACCESS_REMOTE_WRITE), 0);
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN),
			 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

static void join_fabric(struct side *s)
{
	if (s->type == IBV_QPT_RC)
		connect_to(s->e.qp, s->there.qpn);
	else if (s->type == IBV_QPT_UC)
		join_unreliable(s->e.qp, s->there.qpn);
	else
		join_datagrams(s->e.qp);
}

static uint32_t some_length(struct side *s)
{
	static const uint32_t most[] = { 8, 72, 1000, 4000, 8192, LONGEST };

	return roll_dice(most[roll_dice(s->type == IBV_QPT_UD ? 4 : 6)] + 1);
}

static void post_recvs(struct side *s)
{
	while (s->recvd - s->recv_done < DEPTH) {
		assert_int_equal(recv_at(&s->e, RECV | s->recvd, roll_dice(HALF - LONGEST - GRH),
					 LONGEST + GRH),
				 0);
		s->recvd++;
	}
}

static enum ibv_wr_opcode some_opcode(struct side *s)
{
	static const enum ibv_wr_opcode all[] = {
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_ATOMIC_CMP_AND_SWP,
	};

	return all[roll_dice(s->type == IBV_QPT_RC ? 7 : s->type == IBV_QPT_UC ? 4 : 2)];
}

static void post_send(struct side *s)
{
	struct ibv_send_wr wr = { .wr_id = s->sent, .opcode = some_opcode(s) };
	uint32_t len = some_length(s);

	if (wr.opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
		len = 8;
		wr.wr.atomic.remote_addr = s->there.addr + 8 * roll_dice(100);
		wr.wr.atomic.rkey = s->there.rkey;
	} else if (s->type == IBV_QPT_UD) {
		wr.wr.ud.ah = s->ah;
		wr.wr.ud.remote_qpn = s->there.qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else {
		wr.wr.rdma.remote_addr = s->there.addr + roll_dice(END_BYTES - LONGEST);
		wr.wr.rdma.rkey = s->there.rkey;
	}
	assert_int_equal(send_wr(&s->e, wr, sge_of(&s->e, HALF + roll_dice(HALF - LONGEST), len)),
			 0);
	s->sent++;
}

/* In order, each once. */
static unsigned int take_all(struct side *s)
{
	struct ibv_wc wc;
	unsigned int n;

	for (n = 0; ibv_poll_cq(s->e.cq, 1, &wc) > 0; n++) {
		if (wc.wr_id & RECV)
			assert_int_equal((uint32_t)wc.wr_id, s->recv_done++);
		else
			assert_int_equal(wc.wr_id, s->send_done++);
		if (wc.status != IBV_WC_SUCCESS)
			s->failed = true;
	}
	return n;
}

static double now_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Sleeping, while something must come; or polling. */
static void await_some(struct side *s)
{
	struct pollfd p = { .fd = s->e.channel->fd, .events = POLLIN };
	bool due = s->type == IBV_QPT_RC && s->sent != s->send_done;
	double limit = now_seconds() + 20;
	struct ibv_cq *cq;
	void *context;

	if (!s->sleeps) {
		while (!take_all(s) && due)
			assert_true(now_seconds() < limit);
		return;
	}
	assert_int_equal(ibv_req_notify_cq(s->e.cq, 0), 0);
	if (take_all(s))
		return;
	if (poll(&p, 1, due ? 20000 : 1)) {
		assert_int_equal(ibv_get_cq_event(s->e.channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
	} else {
		assert_false(due);
	}
	take_all(s);
}

static void play_round(struct side *s)
{
	uint32_t burst = 1 + roll_dice(DEPTH);

	post_recvs(s);
	while (burst-- && s->sent - s->send_done < DEPTH)
		post_send(s);
	await_some(s);
}

enum mode { TRAFFIC, OBJECTS, MEMBERSHIP, MODES };

static int domain; /* the file of an XRC domain, which is everybody's */

static void make_xrc(struct end *e)
{
	struct ibv_xrcd_init_attr init = { IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					   domain, O_CREAT };
	struct ibv_xrcd *xrcd = ibv_open_xrcd(e->context, &init);
	struct ibv_srq_init_attr_ex srq_init = {
		.attr = { 8, 1, 0 },
		.srq_type = IBV_SRQT_XRC,
		.pd = e->pd,
		.xrcd = xrcd,
		.cq = e->cq,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
	};
	struct ibv_qp_init_attr_ex qp_init = { .qp_type = IBV_QPT_XRC_RECV,
					       .xrcd = xrcd,
					       .comp_mask = IBV_QP_INIT_ATTR_XRCD };
	struct ibv_srq *srq = ibv_create_srq_ex(e->context, &srq_init);
	struct ibv_qp *qp = ibv_create_qp_ex(e->context, &qp_init);

	assert_non_null(srq);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

static void make_window(struct end *e, struct ibv_qp *qp)
{
	struct ibv_mr *mr = ibv_reg_mr(e->pd, e->buf, 100, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(e->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { mw,
			     ibv_inc_rkey(mw->rkey),
			     { mr, (uintptr_t)e->buf, 64, IBV_ACCESS_REMOTE_WRITE } },
	};
	struct ibv_wc wc;

	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	while (!ibv_poll_cq(e->cq, 1, &wc)) /* a fault may have failed it */
		sched_yield();
	assert_int_equal(wc.wr_id, 1);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void make_objects(struct end *e)
{
	struct ibv_srq_init_attr init = { .attr = { 8, 1, 0 } };
	struct ibv_cq *cq = ibv_create_cq(e->context, 10, NULL, e->channel, 0);
	struct ibv_srq *srq = ibv_create_srq(e->pd, &init);
	struct ibv_mr *mr = ibv_reg_mr(e->pd, e->buf, 100, ALL_ACCESS);
	struct ibv_qp *qp = make_qp(e, srq);

	connect_to(qp, qp->qp_num);
	make_window(e, qp);
	make_xrc(e);
	assert_int_equal(ibv_resize_cq(cq, 100), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* The process that is killed. */
static void run_victim(enum mode mode, enum ibv_qp_type type, int fd)
{
	struct address mine;
	struct side s;

	setenv("CMOCKA_TEST_ABORT", "1", 1);
	side_open(&s, type);
	s.sleeps = roll_dice(2);
	mine = end_address(&s.e);
	say_bytes(fd, &mine, sizeof(mine));
	hear_bytes(fd, &s.there, sizeof(s.there));
	join_fabric(&s);
	say_bytes(fd, "k", 1);
	while (mode == TRAFFIC) {
		play_round(&s);
		if (s.failed) /* it was killed early */
			pause();
	}
	while (mode == OBJECTS)
		make_objects(&s.e);
	for (;;)
		ibv_close_device(open_context());
}

/*
 * A thread, since the survivor may be blocked when it is time. It is there
 * before the survivor forks and until after: AddressSanitizer's locks, which
 * a thread takes when it begins and ends, do not survive a fork in between.
 */
struct killer {
	pid_t pid;
	useconds_t delay;
	uint32_t done;
	pthread_barrier_t both;
};

static void *kill_later(void *arg)
{
	struct killer *k = arg;

	pthread_barrier_wait(&k->both);
	usleep(k->delay);
	kill(k->pid, SIGKILL);
	waitpid(k->pid, NULL, 0);
	__atomic_store_n(&k->done, 1, __ATOMIC_RELEASE);
	pthread_barrier_wait(&k->both);
	return NULL;
}

static bool is_over(const struct killer *k, const struct side *s, enum mode mode)
{
	if (!__atomic_load_n(&k->done, __ATOMIC_ACQUIRE))
		return false;
	return mode != TRAFFIC || s->type != IBV_QPT_RC || s->failed;
}

/* Children that are forked in between do no harm. */
static void fork_one(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		if (roll_dice(2))
			_exit(ibv_close_device(open_context()));
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void survive_kill(struct side *s, struct killer *k, enum mode mode)
{
	pthread_t thread;

	pthread_barrier_init(&k->both, NULL, 2);
	pthread_create(&thread, NULL, kill_later, k);
	pthread_barrier_wait(&k->both);
	while (!is_over(k, s, mode)) {
		if (s->failed) /* it was dying */
			usleep(100);
		else if (mode == TRAFFIC)
			play_round(s);
		else
			make_objects(&s->e);
		if (!roll_dice(200))
			fork_one();
	}
	pthread_barrier_wait(&k->both);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&k->both);
}

/* All requests complete, and the queue pair may be used again. */
static void settle_side(struct side *s)
{
	assert_int_equal(to_state(s->e.qp, IBV_QPS_ERR), 0);
	take_all(s);
	assert_int_equal(s->send_done, s->sent);
	assert_int_equal(s->recv_done, s->recvd);
	assert_int_equal(to_state(s->e.qp, IBV_QPS_RESET), 0);
	s->failed = false;
}

static void meet_peer(struct side *s, int fd)
{
	struct address mine = end_address(&s->e);
	char word;

	hear_bytes(fd, &s->there, sizeof(s->there));
	join_fabric(s);
	say_bytes(fd, &mine, sizeof(mine));
	hear_bytes(fd, &word, 1);
}

static void one_round(struct side *s)
{
	enum mode mode = roll_dice(4) ? TRAFFIC : roll_dice(MODES);
	struct killer k = { .delay = roll_dice(4000) };
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	s->sleeps = roll_dice(2);
	k.pid = fork();
	if (!k.pid) {
		close(fds[0]);
		run_victim(mode, s->type, fds[1]);
	}
	close(fds[1]);
	meet_peer(s, fds[0]);
	survive_kill(s, &k, mode);
	close(fds[0]);
	settle_side(s);
}

static int seed_setup(void **state)
{
	long seed = number_from_env("SEED", time(NULL));

	print_message("SEED=%ld\n", seed);
	dice = seed * 0x9e3779b97f4a7c15ull | 1;
	domain = memfd_create("domain", MFD_CLOEXEC);
	return fabric_setup(state);
}

static int seed_teardown(void **state)
{
	close(domain);
	return fabric_teardown(state);
}

GROUP(seed_setup, seed_teardown);

TEST(killed_peers_leave_nothing_undone)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	long rounds = number_from_env("ROUNDS", 200), n;
	double end = now_seconds() + number_from_env("SECONDS", 0);
	struct side s = { .e = { 0 } };

	for (n = 0; n < rounds || now_seconds() < end; n++) {
		if (!s.e.qp)
			side_open(&s, types[roll_dice(2) ? 0 : roll_dice(3)]);
		one_round(&s);
		if (!roll_dice(4)) {
			side_close(&s);
			s.e.qp = NULL;
		}
	}
	if (s.e.qp)
		side_close(&s);
	print_message("%ld kills\n", n);
}

/* How many files in the folder of the fabric are mapped. */
static unsigned int count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];
	unsigned int n = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "verbatim-soft") && strstr(line, "rw-s");
	fclose(maps);
	return n;
}

TEST(memory_of_killed_peers_is_unmapped)
{
	struct side s;
	unsigned int first = 0;

	side_open(&s, IBV_QPT_RC);
	for (int n = 0; n < 20; n++) {
		one_round(&s);
		first = first ?: count_mappings();
	}
	print_message("%u mappings, then %u\n", first, count_mappings());
	assert_true(count_mappings() <= first);
	side_close(&s);
}
