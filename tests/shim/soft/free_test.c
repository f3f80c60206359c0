/*
 * Two processes that post, receive and poll freely
 *
 * model_test.c takes turns, so that it can predict exactly what comes; here the
 * two run freely on both processors, and what holds in any order is checked: of
 * each queue pair, every request is completed once and in order, every message
 * arrives once, in order and whole, and atomics lose nothing. In some rounds a
 * connection breaks in the middle.
 *
 * Both ends compute message n from the seed.
 *
 *	FREE_SEED=n	only the round of this seed
 *	FREE_COUNT=n	so many rounds
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <sys/wait.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

enum {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	ROUNDS = 300,
#else
	ROUNDS = 800,
#endif
	LANES = 2, /* connections between the two */
	DEPTH = 16,
	SLOT = 10 << 10,
	STEPS = 400,
	PATIENCE = 10000, /* ms */
	CQE = 2 * LANES * DEPTH,
};

/* The memory of a lane in each process: a buffer for each request. */
struct memory {
	uint8_t send[LANES][DEPTH][SLOT];
	uint8_t recv[LANES][DEPTH][SLOT];
	uint8_t written[LANES][DEPTH][SLOT]; /* by the peer */
	uint8_t scratch[LANES][SLOT];        /* likewise, unread */
	uint8_t constant[SLOT];
	uint64_t counter;
};

struct shared {
	pthread_barrier_t barrier;
	struct memory memory[2];
	uint32_t rkey[2];
	uint32_t qpn[2][LANES];
	uint32_t sent[2][LANES];   /* messages */
	uint32_t proven[2][LANES]; /* messages before are sent */
	uint32_t received[2][LANES];
	uint64_t added[2]; /* to the counter of the other */
};

enum kind { SEND, SEND_IMM, WRITE_IMM, WRITE, READ, ADD, KINDS };

struct request {
	uint8_t kind;
	bool signaled;
	uint32_t message; /* the number of the message, if it is one */
	uint64_t value;   /* of an add; the length of a read */
};

struct lane {
	struct ibv_qp *qp;
	struct request request[DEPTH];
	uint32_t posted, done; /* sends: the next to be completed */
	uint32_t messages;
	uint32_t recvs, received;
	bool failed; /* a send has: the rest must, too */
	bool recv_failed;
};

struct side {
	struct shared *shared;
	struct memory *mine, *its;
	int me;
	uint64_t seed, dice;
	bool breaks; /* in this round */
	bool sleeps;
	struct end end;
	struct lane lane[LANES];
	bool broken[LANES];
	uint64_t added;
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

static uint64_t mix_bits(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint32_t roll_dice(struct side *s, uint32_t sides)
{
	s->dice = mix_bits(s->dice);
	return (s->dice >> 20) % sides;
}

#define must(s, what) ((what) ? (void)0 : give_up(s, #what, __LINE__))

static void give_up(const struct side *s, const char *what, int line)
{
	printf("process %d, FREE_SEED=%" PRIu64 ", line %d: not so: %s\n", s->me, s->seed, line,
	       what);
	fflush(stdout);
	_exit(1);
}

/* Message @n from process @from on @lane. */
static uint64_t choose_nature(const struct side *s, int from, int lane, uint32_t n)
{
	return mix_bits(s->seed * 1000003 + from * 77 + lane * 7 + (uint64_t)n * 1000);
}

static uint32_t length_of(uint64_t nature)
{
	static const uint32_t lengths[] = { 0, 8, 72, 73, 8192, 8193, 10240 };

	return nature % 4 ? nature / 4 % 300 : lengths[nature / 4 % 7];
}

static enum kind kind_of(uint64_t nature)
{
	return (nature >> 40) % 3;
}

static void make_bytes(uint8_t *to, uint64_t nature)
{
	uint32_t i, length = length_of(nature);

	for (i = 0; i < length; i++)
		to[i] = nature >> i % 7 * 8 ^ i;
}

static bool are_bytes(const uint8_t *have, uint64_t nature)
{
	uint32_t i, length = length_of(nature);

	for (i = 0; i < length; i++)
		if (have[i] != (uint8_t)(nature >> i % 7 * 8 ^ i))
			return false;
	return true;
}

static void set_kind(struct side *s, int lane, struct request *r, struct ibv_send_wr *wr,
		     struct ibv_sge *sge)
{
	struct lane *l = &s->lane[lane];
	uint64_t n;

	wr->wr.rdma.rkey = s->shared->rkey[!s->me];
	switch (r->kind) {
	case WRITE:
		sge->length = 1 + roll_dice(s, SLOT);
		wr->opcode = IBV_WR_RDMA_WRITE;
		wr->wr.rdma.remote_addr = (uintptr_t)s->its->scratch[lane];
		return;
	case READ:
		r->value = sge->length = 1 + roll_dice(s, SLOT);
		wr->opcode = IBV_WR_RDMA_READ;
		wr->wr.rdma.remote_addr = (uintptr_t)s->its->constant;
		return;
	case ADD:
		sge->length = 8;
		r->value = 1 + roll_dice(s, 9);
		s->added += r->value;
		wr->opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr->wr.atomic.remote_addr = (uintptr_t)&s->its->counter;
		wr->wr.atomic.compare_add = r->value;
		wr->wr.atomic.rkey = s->shared->rkey[!s->me];
		return;
	}
	r->message = l->messages++;
	n = choose_nature(s, s->me, lane, r->message);
	r->kind = kind_of(n);
	make_bytes((uint8_t *)(uintptr_t)sge->addr, n);
	sge->length = length_of(n);
	wr->imm_data = n >> 8;
	wr->opcode = r->kind == SEND       ? IBV_WR_SEND
		     : r->kind == SEND_IMM ? IBV_WR_SEND_WITH_IMM
					   : IBV_WR_RDMA_WRITE_WITH_IMM;
	wr->wr.rdma.remote_addr = (uintptr_t)s->its->written[lane][r->message % DEPTH];
}

static void post_send(struct side *s, int lane)
{
	struct lane *l = &s->lane[lane];
	uint32_t slot = l->posted % DEPTH;
	struct request *r = &l->request[slot];
	struct ibv_sge sge = { .addr = (uintptr_t)s->mine->send[lane][slot],
			       .lkey = s->end.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = lane << 16 | slot, .num_sge = 1, .sg_list = &sge }, *bad;

	if (l->posted - l->done == DEPTH)
		return;
	*r = (struct request){ .kind = roll_dice(s, KINDS) };
	/* the last one of a series, so that all slots become free */
	r->signaled = roll_dice(s, 2) || slot % 4 == 3;
	wr.send_flags =
		(r->signaled ? IBV_SEND_SIGNALED : 0) | (roll_dice(s, 3) ? 0 : IBV_SEND_SOLICITED);
	set_kind(s, lane, r, &wr, &sge);
	must(s, ibv_post_send(l->qp, &wr, &bad) == 0);
	l->posted++;
}

static void post_recv(struct side *s, int lane)
{
	struct lane *l = &s->lane[lane];
	uint32_t slot = l->recvs % DEPTH;
	struct ibv_sge sge = { (uintptr_t)s->mine->recv[lane][slot], SLOT, s->end.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1 << 24 | lane << 16 | slot,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	if (l->recvs - l->received == DEPTH)
		return;
	must(s, ibv_post_recv(l->qp, &wr, &bad) == 0);
	l->recvs++;
}

static void check_done(struct side *s, int lane, const struct request *r, uint32_t slot)
{
	const uint8_t *have = s->mine->send[lane][slot];

	if (r->kind == READ)
		must(s, !memcmp(have, s->its->constant, r->value));
	if (r->kind <= WRITE_IMM)
		s->shared->proven[s->me][lane] = r->message + 1;
}

static void note_sent(struct side *s, int lane, uint32_t slot, const struct ibv_wc *wc)
{
	struct lane *l = &s->lane[lane];

	must(s, l->done != l->posted);
	/* unsignalled requests before it are done as well */
	while (l->done % DEPTH != slot) {
		must(s, !l->request[l->done % DEPTH].signaled);
		must(s, !l->failed);
		l->done++;
		must(s, l->done != l->posted);
	}
	l->done++;
	if (wc->status == IBV_WC_SUCCESS) {
		must(s, !l->failed && l->request[slot].signaled);
		check_done(s, lane, &l->request[slot], slot);
		return;
	}
	must(s, s->breaks);
	must(s, !l->failed || wc->status == IBV_WC_WR_FLUSH_ERR);
	l->failed = s->broken[lane] = true;
}

static void note_arrived(struct side *s, int lane, uint32_t slot, const struct ibv_wc *wc)
{
	struct lane *l = &s->lane[lane];
	uint64_t n = choose_nature(s, !s->me, lane, s->shared->received[s->me][lane]);
	bool write = kind_of(n) == WRITE_IMM;

	must(s, l->received % DEPTH == slot && l->received != l->recvs);
	l->received++;
	if (wc->status != IBV_WC_SUCCESS) {
		must(s, s->breaks && wc->status == IBV_WC_WR_FLUSH_ERR);
		l->recv_failed = s->broken[lane] = true;
		return;
	}
	must(s, !l->recv_failed);
	must(s, wc->byte_len == length_of(n));
	must(s, wc->opcode == (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV));
	must(s, (wc->wc_flags == IBV_WC_WITH_IMM) == (kind_of(n) != SEND));
	if (kind_of(n) != SEND)
		must(s, wc->imm_data == (uint32_t)(n >> 8));
	must(s, are_bytes(write ? s->mine->written[lane][s->shared->received[s->me][lane] % DEPTH]
				: s->mine->recv[lane][slot],
			  n));
	s->shared->received[s->me][lane]++;
}

static int poll_some(struct side *s, int max)
{
	struct ibv_wc wc[CQE];
	int i, n = ibv_poll_cq(s->end.cq, max, wc);

	must(s, n >= 0 && n <= max);
	for (i = 0; i < n; i++) {
		must(s, wc[i].qp_num == s->lane[wc[i].wr_id >> 16 & 0xff].qp->qp_num);
		if (wc[i].wr_id >> 24)
			note_arrived(s, wc[i].wr_id >> 16 & 0xff, wc[i].wr_id & 0xffff, &wc[i]);
		else
			note_sent(s, wc[i].wr_id >> 16, wc[i].wr_id & 0xffff, &wc[i]);
	}
	return n;
}

/* Calls that a program may make at any time without harm. */
static void disturb_side(struct side *s)
{
	struct ibv_mr *mr;

	if (roll_dice(s, 2)) {
		must(s, ibv_resize_cq(s->end.cq, CQE + roll_dice(s, 100)) == 0);
		return;
	}
	mr = ibv_reg_mr(s->end.pd, s->mine->recv, sizeof(s->mine->recv), IBV_ACCESS_LOCAL_WRITE);
	must(s, mr);
	must(s, ibv_dereg_mr(mr) == 0);
}

/* The first connection breaks: by us, or by the peer, which finds a wrong key. */
static void break_it(struct side *s)
{
	struct lane *l = &s->lane[0];
	uint32_t slot = l->posted % DEPTH;
	struct ibv_sge sge = { (uintptr_t)s->mine->send[0][slot], 8, s->end.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = slot,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 },
			   *bad;

	if (s->sleeps || l->posted - l->done == DEPTH) {
		must(s, to_state(l->qp, IBV_QPS_ERR) == 0);
		return;
	}
	l->request[slot] = (struct request){ .kind = WRITE, .signaled = true };
	must(s, ibv_post_send(l->qp, &wr, &bad) == 0);
	l->posted++;
}

static void run_freely(struct side *s)
{
	int i, steps = STEPS / 2 + roll_dice(s, STEPS);
	int stop = s->breaks && s->me == 0 ? (int)roll_dice(s, steps) : -1;

	for (i = 0; i < steps; i++) {
		int lane = roll_dice(s, LANES), what = roll_dice(s, 100);

		if (i == stop)
			break_it(s);
		if (what < 40)
			post_send(s, lane);
		else if (what < 70)
			post_recv(s, lane);
		else if (what < 99)
			poll_some(s, 1 + roll_dice(s, 8));
		else
			disturb_side(s);
	}
}

static void meet_peers(struct side *s)
{
	pthread_barrier_wait(&s->shared->barrier);
}

/* An unsignalled request at the end has no completion after it. */
static void close_row(struct side *s, int lane)
{
	struct lane *l = &s->lane[lane];
	struct ibv_send_wr wr = { .send_flags = IBV_SEND_SIGNALED }, *bad;
	uint64_t until = now_ms() + PATIENCE;
	uint32_t slot = l->posted % DEPTH;

	while (l->posted - l->done == DEPTH) {
		poll_some(s, 1);
		must(s, now_ms() < until);
	}
	wr.wr_id = lane << 16 | slot;
	wr.opcode = IBV_WR_RDMA_WRITE; /* of nothing */
	l->request[slot] = (struct request){ .kind = WRITE, .signaled = true };
	must(s, ibv_post_send(l->qp, &wr, &bad) == 0);
	l->posted++;
}

static bool is_finished(struct side *s, int lane)
{
	struct lane *l = &s->lane[lane];

	if (l->done != l->posted)
		return false;
	/* it has no request left that could show it */
	if (s->breaks && !lane && !s->sleeps)
		s->broken[lane] |= state_of(l->qp) == IBV_QPS_ERR;
	if (s->broken[lane])
		return l->received == l->recvs;
	if (s->breaks && !lane)
		return false;
	return s->shared->received[s->me][lane] == s->shared->sent[!s->me][lane];
}

static void wait_for_event(struct side *s)
{
	struct pollfd fd = { s->end.channel->fd, POLLIN, 0 };
	struct ibv_cq *cq;
	void *context;

	must(s, ibv_req_notify_cq(s->end.cq, 0) == 0);
	if (poll_some(s, CQE))
		return;
	must(s, poll(&fd, 1, PATIENCE) == 1);
	must(s, ibv_get_cq_event(s->end.channel, &cq, &context) == 0);
	ibv_ack_cq_events(cq, 1);
}

/* Nothing more is sent; all that was sent must arrive, in both directions. */
static void finish_side(struct side *s)
{
	uint64_t until = now_ms() + PATIENCE;
	bool finished;
	int lane;

	do {
		finished = true;
		for (lane = 0; lane < LANES; lane++) {
			struct lane *l = &s->lane[lane];

			if (!s->broken[lane] &&
			    s->shared->received[s->me][lane] + (l->recvs - l->received) <
				    s->shared->sent[!s->me][lane])
				post_recv(s, lane);
			finished &= is_finished(s, lane);
		}
		if (!poll_some(s, CQE) && !finished) {
			if (s->sleeps)
				wait_for_event(s);
			else
				sched_yield();
		}
		must(s, now_ms() < until);
	} while (!finished);
	must(s, !poll_some(s, CQE));
}

static void check_totals(struct side *s)
{
	int lane, other = !s->me;

	for (lane = 0; lane < LANES; lane++) {
		must(s, s->shared->proven[s->me][lane] <= s->shared->received[other][lane]);
		must(s, s->shared->received[other][lane] <= s->shared->sent[s->me][lane]);
	}
	if (!s->breaks)
		must(s, s->its->counter == s->added);
}

static void begin_side(struct side *s, uint64_t seed)
{
	int lane;

	s->seed = seed;
	s->dice = mix_bits(seed * 2 + s->me);
	s->breaks = seed % 3 == 0;
	s->sleeps = seed % 2 == 0;
	s->added = 0;
	s->mine->counter = 0;
	memset(s->broken, 0, sizeof(s->broken));
	for (lane = 0; lane < LANES; lane++) {
		s->lane[lane] = (struct lane){ .qp = s->lane[lane].qp };
		if (s->lane[lane].qp && seed % 5)
			must(s, to_state(s->lane[lane].qp, IBV_QPS_RESET) == 0);
		else {
			if (s->lane[lane].qp)
				ibv_destroy_qp(s->lane[lane].qp);
			s->lane[lane].qp = make_qp(&s->end, NULL);
		}
		s->shared->qpn[s->me][lane] = s->lane[lane].qp->qp_num;
		s->shared->received[s->me][lane] = 0;
		s->shared->proven[s->me][lane] = 0;
	}
	meet_peers(s);
	for (lane = 0; lane < LANES; lane++)
		connect_to(s->lane[lane].qp, s->shared->qpn[!s->me][lane]);
	meet_peers(s);
}

static void round_of(struct side *s, uint64_t seed)
{
	int lane;

	begin_side(s, seed);
	run_freely(s);
	for (lane = 0; lane < LANES; lane++)
		s->shared->sent[s->me][lane] = s->lane[lane].messages;
	meet_peers(s);
	for (lane = 0; lane < LANES; lane++)
		close_row(s, lane);
	finish_side(s);
	meet_peers(s);
	check_totals(s);
	meet_peers(s);
}

static uint64_t number_from_env(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

static void open_side(struct side *s)
{
	unsigned int i;

	end_open(&s->end);
	ibv_dereg_mr(s->end.mr);
	must(s, ibv_resize_cq(s->end.cq, CQE) == 0);
	ibv_destroy_qp(s->end.qp);
	s->end.qp = NULL;
	s->end.mr = ibv_reg_mr(s->end.pd, s->mine, sizeof(*s->mine), ALL_ACCESS);
	must(s, s->end.mr);
	for (i = 0; i < sizeof(s->mine->constant); i++)
		s->mine->constant[i] = i * 31 + s->me;
	s->shared->rkey[s->me] = s->end.mr->rkey;
}

static void run_process(struct shared *shared, int me)
{
	struct side s = {
		.shared = shared, .me = me, .mine = &shared->memory[me], .its = &shared->memory[!me]
	};
	uint64_t seed = number_from_env("FREE_SEED", 1);
	uint64_t end = seed + (getenv("FREE_SEED") ? 1 : number_from_env("FREE_COUNT", ROUNDS));
	int lane;

	open_side(&s);
	meet_peers(&s);
	for (; seed < end; seed++)
		round_of(&s, seed);
	for (lane = 0; lane < LANES; lane++)
		ibv_destroy_qp(s.lane[lane].qp);
	end_close(&s.end);
	exit(0);
}

static struct shared *make_shared(void)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t attr;

	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &attr, 2);
	return shared;
}

GROUP(fabric_setup, fabric_teardown);

/* If one fails, the other would wait for it forever. */
TEST(what_runs_freely_loses_nothing)
{
	struct shared *shared = make_shared();
	int i, status, bad = 0;
	pid_t pid[2], gone;

	fflush(stdout);
	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i])
			run_process(shared, i);
	}
	for (i = 0; i < 2; i++) {
		gone = wait(&status);
		if (status && !bad++)
			kill(gone == pid[0] ? pid[1] : pid[0], SIGKILL);
	}
	munmap(shared, sizeof(*shared));
	assert_int_equal(bad, 0);
}
