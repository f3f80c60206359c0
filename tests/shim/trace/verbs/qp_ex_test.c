/*
 * Posts by ibv_wr_*, over a provider that does nothing
 *
 * Each child makes a session, builds, and reads its own rings.
 */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "core/wire/desc.h"
#include "shim/trace/ring/builder.h"
#include "shim/trace/verbs/qp_ex.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

static int next_ret;
static _Atomic unsigned int called;

static void fake_nothing(struct ibv_qp_ex *ex)
{
	(void)ex;
	called++;
}

static void set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	(void)ex, (void)lkey, (void)addr, (void)length;
}

static void set_sge_list(struct ibv_qp_ex *ex, size_t n, const struct ibv_sge *sges)
{
	(void)ex, (void)n, (void)sges;
}

static void set_inline(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	(void)ex, (void)addr, (void)length;
}

static void set_ud(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	(void)ex, (void)ah, (void)qpn, (void)qkey;
}

static void rdma_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	(void)ex, (void)rkey, (void)addr, (void)imm;
}

static void cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t a, uint64_t b)
{
	(void)ex, (void)rkey, (void)addr, (void)a, (void)b;
}

static void atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, const void *data)
{
	(void)ex, (void)rkey, (void)addr, (void)data;
}

/* As of rdma-core 45. */
static struct {
	char before[offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(void *)];
	void (*wr_flush)(struct ibv_qp_ex *, uint32_t, uint64_t, size_t, uint8_t, uint8_t);
	char behind[64];
} later;
static size_t flushed;

static void fake_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, size_t length,
		       uint8_t type, uint8_t level)
{
	flushed += (void *)ex == &later && rkey == 9 && addr == 0x7000 && type == 2 && level == 1
			   ? length
			   : 0;
}

static int fake_complete(struct ibv_qp_ex *ex)
{
	(void)ex;
	errno = EIO;
	return next_ret;
}

static int complete_otherwise(struct ibv_qp_ex *ex)
{
	(void)ex;
	return 7;
}

static void make_qp(struct ibv_qp_ex *ex)
{
	*ex = (struct ibv_qp_ex){ .qp_base.qp_type = IBV_QPT_UD,
				  .wr_start = fake_nothing,
				  .wr_complete = fake_complete,
				  .wr_abort = fake_nothing,
				  .wr_send = fake_nothing,
				  .wr_set_sge = set_sge,
				  .wr_set_sge_list = set_sge_list,
				  .wr_set_inline_data = set_inline,
				  .wr_set_ud_addr = set_ud,
				  .wr_rdma_write_imm = rdma_imm,
				  .wr_atomic_cmp_swp = cmp_swp,
				  .wr_atomic_write = atomic_write };
}

enum {
	OPS = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
	      IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_WRITE,
};

static struct ibv_qp_ex qp, other;

static void begin_builders_in(uint64_t ring_bytes)
{
	session_begin(ring_bytes, ON_FULL_WAIT);
	make_qp(&qp);
	make_qp(&other);
	HOLDS(qp_ex_watch(&qp.qp_base, &qp, OPS) == 0);
	HOLDS(qp_ex_watch(&other.qp_base, &other, OPS) == 0);
}

static void begin_builders(void)
{
	begin_builders_in(RING_MIN);
}

static void send_one(struct ibv_qp_ex *ex, uint64_t wr_id)
{
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 7, 0x1000, 64);
}

static const struct event_post *next_post(struct ring *ring, enum verb verb, uint16_t nwr)
{
	const struct event_post *post = expect_event(ring, EVENT_POST);

	HOLDS(post && post->verb == verb && post->nwr == nwr);
	return post;
}

static void one_body(void)
{
	const struct event_post *post;
	const struct event_wr *wr;
	const struct event_sge *sge;
	struct ring ring;

	begin_builders();
	errno = 0;
	ibv_wr_start(&qp);
	send_one(&qp, 42);
	HOLDS(errno == 0 && called == 2);
	HOLDS(ibv_wr_complete(&qp) == 0 && errno == EIO);
	ring = session_ring(0);
	post = next_post(&ring, VERB_wr_complete, 1);
	HOLDS(post->object == (uintptr_t)&qp && post->ret == 0 && post->head.words == 8);
	wr = (const void *)(post + 1);
	HOLDS(wr->wr_id == 42 && wr->opcode == IBV_WR_SEND && wr->nsge == 1 && !wr->parts);
	HOLDS(wr->flags == IBV_SEND_SIGNALED);
	sge = (const void *)(wr + 1);
	HOLDS(sge->addr == 0x1000 && sge->length == 64 && sge->lkey == 7);
	HOLDS(!expect_event(&ring, EVENT_POST));
}

TEST(built_post_is_one_event_of_64_bytes)
{
	in_child(one_body);
}

/* The elements first, the address afterwards: the parts are stored in their usual order. */
/* A batch of one request: wr_id is set before it and behind it. */
static void set_wr_id(uint64_t before, uint64_t behind)
{
	ibv_wr_start(&qp);
	qp.wr_id = before;
	ibv_wr_send(&qp);
	qp.wr_id = behind;
	HOLDS(ibv_wr_complete(&qp) == 0);
}

static void late_wr_id_body(void)
{
	struct ring ring;

	begin_builders();
	set_wr_id(1, 1);
	set_wr_id(1, 0); /* reset */
	set_wr_id(1, 2);
	set_wr_id(2, 3);
	set_wr_id(3, 4);
	ring = session_ring(0);
	for (int i = 0; i < 3; i++)
		next_post(&ring, VERB_wr_complete, 1);
	HOLDS(expect_event(&ring, EVENT_MISUSE));
	next_post(&ring, VERB_wr_complete, 1);
	next_post(&ring, VERB_wr_complete, 1);
}

TEST(wr_id_is_set_behind_its_request)
{
	in_child(late_wr_id_body);
}

static void parts_body(void)
{
	const struct event_post *post;
	const struct event_wr *wr;
	const struct event_rdma *rdma;
	const struct event_atomic *atomic;
	const struct event_ud *ud;
	struct ring ring;
	char data[8];

	begin_builders();
	ibv_wr_start(&qp);
	ibv_wr_atomic_cmp_swp(&qp, 3, 0x2000, 5, 6);
	ibv_wr_set_sge(&qp, 7, 0x1000, 8);
	ibv_wr_set_ud_addr(&qp, (struct ibv_ah *)0x50, 11, 12);
	ibv_wr_rdma_write_imm(&qp, 4, 0x3000, htobe32(99));
	ibv_wr_set_inline_data(&qp, data, sizeof(data));
	ibv_wr_atomic_write(&qp, 5, 0x4000, data);
	next_ret = ENOMEM;
	HOLDS(ibv_wr_complete(&qp) == ENOMEM);
	ring = session_ring(0);
	post = next_post(&ring, VERB_wr_complete, 3);
	HOLDS(post->ret == ENOMEM && post->bad == 0);
	wr = (const void *)(post + 1);
	HOLDS(wr->parts == (WR_RDMA | WR_ATOMIC | WR_UD) && wr->nsge == 1);
	rdma = (const void *)(wr + 1);
	atomic = (const void *)(rdma + 1);
	ud = (const void *)(atomic + 1);
	HOLDS(rdma->rkey == 3 && rdma->remote_addr == 0x2000);
	HOLDS(atomic->compare_add == 5 && atomic->swap == 6);
	HOLDS(ud->ah == 0x50 && ud->remote_qpn == 11 && ud->remote_qkey == 12);
	HOLDS(((const struct event_sge *)(ud + 1))->addr == 0x1000);
	wr = (const void *)((const struct event_sge *)(ud + 1) + 1);
	HOLDS(wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && wr->imm == 99 && wr->nsge == 1);
	HOLDS(wr->flags & IBV_SEND_INLINE);
	wr = (const void *)((const char *)(wr + 1) + sizeof(*rdma) + sizeof(struct event_sge));
	HOLDS(wr->opcode == IBV_WR_ATOMIC_WRITE && wr->nsge == 1);
	HOLDS(((const struct event_sge *)((const struct event_rdma *)(wr + 1) + 1))->length == 8);
}

TEST(parts_lie_in_their_order)
{
	in_child(parts_body);
}

static void two_body(void)
{
	struct ring ring;

	begin_builders();
	ibv_wr_start(&qp);
	send_one(&qp, 1);
	ibv_wr_start(&other);
	send_one(&qp, 2);
	send_one(&other, 3);
	HOLDS(ibv_wr_complete(&other) == 0);
	ibv_wr_abort(&qp);
	ibv_wr_start(&qp); /* without an end: nothing was posted, and nothing is recorded */
	send_one(&qp, 4);
	ibv_wr_start(&qp);
	HOLDS(ibv_wr_complete(&qp) == 0);
	ring = session_ring(0);
	HOLDS(next_post(&ring, VERB_wr_complete, 1)->object == (uintptr_t)&other);
	HOLDS(next_post(&ring, VERB_wr_abort, 2)->object == (uintptr_t)&qp);
	next_post(&ring, VERB_wr_complete, 0);
	HOLDS(!expect_event(&ring, EVENT_POST));
}

TEST(several_queues_are_built_at_once)
{
	in_child(two_body);
}

static char inline_bytes[8];

/* Requests with a fast path, and those left to the slow one. */
static void build_step(unsigned int step)
{
	qp.wr_id = step;
	qp.wr_flags = step == 8 ? 0x100 | IBV_SEND_FENCE : IBV_SEND_SIGNALED;
	switch (step) {
	case 0:
	case 4:
	case 8:
	case 10:
		return ibv_wr_send(&qp);
	case 1:
	case 11:
	case 12: /* again, in place of the one before */
		return ibv_wr_set_sge(&qp, step, 0x1000 * step, 64);
	case 2:
	case 6:
		return ibv_wr_rdma_write_imm(&qp, 4, 0x3000, htobe32(99));
	case 3:
	case 7:
	case 9:
		return ibv_wr_set_inline_data(&qp, inline_bytes, step);
	default:
		return ibv_wr_set_ud_addr(&qp, (struct ibv_ah *)0x50, 11, 12);
	}
}

/* @slowly: each step finds that another queue pair was built on last. */
static void build_steps(bool slowly)
{
	ibv_wr_start(&other);
	ibv_wr_start(&qp);
	for (unsigned int step = 0; step < 13; step++) {
		if (slowly)
			ibv_wr_send(&other);
		build_step(step);
	}
	if (slowly)
		ibv_wr_send(&other);
	qp.wr_id = 0;
	HOLDS(ibv_wr_complete(&qp) == 0);
}

static void quick_body(void)
{
	char quickly[2048];
	const struct event_post *post;
	const struct event_wr *wr;
	struct ring ring;
	size_t bytes;

	begin_builders();
	build_steps(false);
	build_steps(true);
	ring = session_ring(0);
	post = next_post(&ring, VERB_wr_complete, 6);
	bytes = post->head.words * 8u - sizeof(*post);
	HOLDS(bytes <= sizeof(quickly));
	memcpy(quickly, post + 1, bytes);
	wr = (const void *)quickly;
	HOLDS(wr->wr_id == 0 && wr->flags == IBV_SEND_SIGNALED && wr->nsge == 1 && !wr->parts);
	post = next_post(&ring, VERB_wr_complete, 6);
	HOLDS(bytes == post->head.words * 8u - sizeof(*post));
	HOLDS(!memcmp(quickly, post + 1, bytes));
}

TEST(quick_and_slow_ways_write_the_same)
{
	in_child(quick_body);
}

/* Setters without a request are in no batch, whatever the batch before had. */
static void stray_body(void)
{
	const struct event_post *post;
	struct ring ring;

	begin_builders();
	ibv_wr_set_sge(&qp, 7, 0x1000, 64);
	ibv_wr_start(&qp);
	ibv_wr_send(&qp);
	HOLDS(ibv_wr_complete(&qp) == 0);
	ibv_wr_start(&qp);
	ibv_wr_set_sge(&qp, 7, 0x1000, 64);
	HOLDS(ibv_wr_complete(&qp) == 0);
	HOLDS(ibv_wr_complete(&qp) == 0);
	ring = session_ring(0);
	next_post(&ring, VERB_wr_complete, 1);
	post = next_post(&ring, VERB_wr_complete, 0);
	HOLDS(post->head.words * 8u == sizeof(*post));
	HOLDS(expect_event(&ring, EVENT_BLIND));
}

TEST(stray_element_and_second_end_are_in_no_batch)
{
	in_child(stray_body);
}

static void expect_blind(struct ring *ring, enum event_blind_what what, uint64_t object)
{
	const struct event_blind *blind = expect_event(ring, EVENT_BLIND);

	HOLDS(blind && blind->what == what && blind->object == object);
}

static void unseen_start_body(void)
{
	struct ring ring;

	begin_builders();
	HOLDS(ibv_wr_complete(&qp) == 0);
	ring = session_ring(0);
	expect_blind(&ring, BLIND_EXTENDED_QP, (uintptr_t)&qp);
}

TEST(end_without_its_start_is_a_blind_spot)
{
	in_child(unseen_start_body);
}

/* The provider refuses it, as without ibv_wr_start(). */
static void refused_unseen_body(void)
{
	const struct event_post *post;
	struct ring ring;

	begin_builders();
	next_ret = EINVAL;
	errno = 0;
	HOLDS(ibv_wr_complete(&qp) == EINVAL && errno == EIO);
	ring = session_ring(0);
	expect_blind(&ring, BLIND_EXTENDED_QP, (uintptr_t)&qp);
	post = expect_event(&ring, EVENT_POST);
	HOLDS(post && post->verb == VERB_wr_complete && !post->nwr && post->ret == EINVAL);
}

TEST(a_refused_end_without_its_start_is_recorded)
{
	in_child(refused_unseen_body);
}

enum { MANY = 5000, CROWD = 100 };

static void send_many(uint64_t n)
{
	ibv_wr_start(&qp);
	for (uint64_t i = 0; i < n; i++)
		send_one(&qp, i);
	HOLDS(builder_bytes(builder_now) <= builder_now->size);
	HOLDS(ibv_wr_complete(&qp) == 0);
}

/* How many requests the next batch has. */
static uint64_t count_sends(struct ring *ring)
{
	const struct event_post *post;
	uint64_t n = 0;

	do {
		post = expect_event(ring, EVENT_POST);
		HOLDS(post && ((const struct event_wr *)(post + 1))->wr_id == n);
		n += post->nwr;
	} while (post->head.flags & EVENT_PART);
	return n;
}

static void long_body(void)
{
	struct ring ring;

	begin_builders();
	send_many(MANY);
	ring = session_ring(0);
	HOLDS(count_sends(&ring) == MANY);
}

TEST(long_batch_goes_on_in_further_events)
{
	in_child(long_body);
}

/*
 * One that is longer than a builder's capacity: its first requests, and a note that there were
 * more.
 */
static void cut_body(void)
{
	const uint64_t most = BUILDER_MAX / (sizeof(struct event_wr) + sizeof(struct event_sge));
	struct ring ring;
	uint64_t n;

	begin_builders_in(4 * BUILDER_MAX);
	send_many(most + MANY);
	send_many(MANY);
	ring = session_ring(0);
	expect_blind(&ring, BLIND_EXTENDED_QP, (uintptr_t)&qp);
	n = count_sends(&ring);
	HOLDS(n <= most && n > most - BUILDER_WR_BYTES);
	HOLDS(count_sends(&ring) == MANY);
	HOLDS(!expect_event(&ring, EVENT_BLIND));
}

TEST(batch_that_is_too_long_is_cut_and_said_to_be)
{
	in_child(cut_body);
}

/* More at once than there are slots: each is observed, or reported as not observed. */
static void crowd_body(void)
{
	static struct ibv_qp_ex crowd[CROWD];
	const struct event_head *event;
	unsigned int posts = 0, blind = 0;
	struct ring ring;
	int bytes;

	begin_builders();
	for (int i = 0; i < CROWD; i++) {
		make_qp(&crowd[i]);
		HOLDS(qp_ex_watch(&crowd[i].qp_base, &crowd[i], OPS) == 0);
		ibv_wr_start(&crowd[i]);
		send_one(&crowd[i], (uint64_t)i);
	}
	for (int i = 0; i < CROWD; i++)
		HOLDS(ibv_wr_complete(&crowd[i]) == 0);
	ring = session_ring(0);
	while ((bytes = ring_peek(&ring, &event)) > 0) {
		ring_step(&ring, (size_t)bytes);
		posts += event->type == EVENT_POST;
		blind += event->type == EVENT_BLIND;
	}
	HOLDS(posts + blind == CROWD && posts > CROWD / 2);
}

TEST(crowd_is_seen_or_counted)
{
	in_child(crowd_body);
}

static void rewritten_body(void)
{
	struct ring ring;

	begin_builders();
	qp.wr_complete = complete_otherwise;
	HOLDS(qp_ex_repatch(&qp.qp_base) == 0 && qp_ex_repatch(&other.qp_base) == 0);
	HOLDS(qp.wr_complete != complete_otherwise);
	ibv_wr_start(&qp);
	HOLDS(ibv_wr_complete(&qp) == 7);
	ring = session_ring(0);
	HOLDS(next_post(&ring, VERB_wr_complete, 0)->ret == 7);
}

TEST(function_that_is_set_anew_is_ours_again)
{
	in_child(rewritten_body);
}

static void flush_body(void)
{
	struct ibv_qp_ex *ex = (void *)&later;
	const struct event_post *post;
	const struct event_wr *wr;
	const struct event_rdma *rdma;
	const struct event_flush *flushing;
	struct ring ring;

	begin_builders();
	memcpy(&later, &other, sizeof(later.before));
	make_qp(ex);
	later.wr_flush = fake_flush;
	HOLDS(qp_ex_watch(&ex->qp_base, ex, IBV_QP_EX_WITH_SEND) == 0 &&
	      later.wr_flush == fake_flush);
	make_qp(ex);
	HOLDS(qp_ex_watch(&ex->qp_base, ex, 1 << 11) == 0 && later.wr_flush != fake_flush);
	ibv_wr_start(ex);
	later.wr_flush(ex, 9, 0x7000, 4096, 2, 1);
	HOLDS(ibv_wr_complete(ex) == 0 && flushed == 4096);
	ring = session_ring(0);
	post = next_post(&ring, VERB_wr_complete, 1);
	wr = (const void *)(post + 1);
	HOLDS(wr->opcode == 14 && wr->parts == (WR_RDMA | WR_FLUSH) && !wr->nsge);
	rdma = (const void *)(wr + 1);
	flushing = (const void *)(rdma + 1);
	HOLDS(rdma->rkey == 9 && rdma->remote_addr == 0x7000);
	HOLDS(flushing->length == 4096 && flushing->type == 2 && flushing->level == 1);
}

static void gated_body(void)
{
	begin_builders();
	make_qp(&qp);
	HOLDS(qp_ex_watch(&qp.qp_base, &qp, IBV_QP_EX_WITH_SEND) == 0);
	HOLDS(qp.wr_send != fake_nothing && qp.wr_set_sge != set_sge &&
	      qp.wr_complete != fake_complete);
	HOLDS(qp.wr_rdma_write_imm == rdma_imm && qp.wr_atomic_write == atomic_write);
	HOLDS(!qp.wr_set_xrc_srqn);
	qp.wr_send = fake_nothing;
	HOLDS(qp_ex_repatch(&qp.qp_base) == 0 && qp.wr_send != fake_nothing);
	HOLDS(qp.wr_rdma_write_imm == rdma_imm && qp.wr_atomic_write == atomic_write);
	HOLDS(qp_ex_watch(&qp.qp_base, &qp, IBV_QP_EX_WITH_SEND | 1ull << 40) == -EOPNOTSUPP);
}

TEST(only_what_was_asked_for_is_changed)
{
	in_child(gated_body);
}

TEST(flush_of_a_later_header_is_seen)
{
	in_child(flush_body);
}

static void child_of_fork_body(void)
{
	const struct event_post *post = NULL;
	struct ring ring;
	int status;
	pid_t pid;

	begin_builders();
	ibv_wr_start(&qp);
	send_one(&qp, 1);
	pid = fork();
	if (!pid) {
		HOLDS(ibv_wr_complete(&qp) == 0);
		_exit(0);
	}
	HOLDS(waitpid(pid, &status, 0) == pid && !status);
	ring = session_ring(1);
	post = expect_event(&ring, EVENT_POST);
	HOLDS(post && post->nwr == 1 && ring.head->pid == (uint32_t)pid);
	ibv_wr_abort(&qp);
}

TEST(child_of_fork_ends_what_was_begun)
{
	in_child(child_of_fork_body);
}

/* The child has its parent's memory: its batch would look like one of the parent's. */
static void child_of_vfork_body(void)
{
	struct ring ring;
	int status;
	pid_t pid;

	begin_builders();
	send_many(1);
	pid = vfork();
	if (!pid) {
		ibv_wr_start(&qp);
		_exit(0);
	}
	HOLDS(waitpid(pid, &status, 0) == pid && !status);
	HOLDS(ibv_wr_complete(&qp) == 0); /* of a batch that it has not begun */
	ring = session_ring(0);
	HOLDS(count_sends(&ring) == 1 && expect_event(&ring, EVENT_FORK));
	expect_blind(&ring, BLIND_VFORK, (uint64_t)pid);
	expect_blind(&ring, BLIND_EXTENDED_QP, (uintptr_t)&qp);
	HOLDS(!expect_event(&ring, EVENT_POST));
}

TEST(child_of_vfork_builds_nothing_for_its_parent)
{
	if (THREAD_SANITIZER)
		skip(); /* it makes vfork() a fork() */
	in_child(child_of_vfork_body);
}

static pthread_barrier_t all; /* each has a ring while the others have theirs */

static void *build_some(void *arg)
{
	struct ibv_qp_ex own;

	make_qp(&own);
	HOLDS(qp_ex_watch(&own.qp_base, &own, OPS) == 0);
	for (int i = 0; i < 10; i++) {
		ibv_wr_start(&own);
		send_one(&own, (uint64_t)i);
		HOLDS(ibv_wr_complete(&own) == 0);
	}
	pthread_barrier_wait(&all);
	return arg;
}

static void threads_body(void)
{
	pthread_t threads[8];

	begin_builders();
	pthread_barrier_init(&all, NULL, 8);
	for (int i = 0; i < 8; i++)
		HOLDS(pthread_create(&threads[i], NULL, build_some, NULL) == 0);
	for (int i = 0; i < 8; i++)
		HOLDS(pthread_join(threads[i], NULL) == 0);
	for (uint32_t i = 0; i < 8; i++) {
		struct ring ring = session_ring(i);

		for (int n = 0; n < 10; n++)
			next_post(&ring, VERB_wr_complete, 1);
	}
}

TEST(threads_build_each_for_itself)
{
	in_child(threads_body);
}
