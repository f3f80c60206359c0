/*
 * Signals that come while an event is being recorded
 *
 * A post is run one instruction at a time, and before each of them, in another run, a signal
 * handler calls verbs.
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <infiniband/verbs.h>

#include "shim/trace/verbs/data.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

static struct ibv_context context;
static struct ibv_qp qp = { .context = &context, .qp_type = IBV_QPT_RC };
static volatile long steps, target; /* instructions since the step began; in front of which */

static sigjmp_buf away;
static bool jumps; /* the handler leaves the post, and returns to its caller */

static int fake_post_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)q, (void)wr, (void)bad;
	return 0;
}

static void send_one(uint64_t wr_id)
{
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = IBV_WR_SEND }, *bad;

	ibv_post_send(&qp, &wr, &bad);
}

/* The instructions after it are not single steps. */
static void on_step(int sig, siginfo_t *info, void *arg)
{
	ucontext_t *stopped = arg;

	(void)sig, (void)info;
	if (++steps != target)
		return;
	if (jumps)
		siglongjmp(away, 1);
	send_one(2);
	send_one(3);
	stopped->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

static void catch_steps(void)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_RESTART };

	HOLDS(sigaction(SIGTRAP, &action, NULL) == 0);
}

/* The trap flag, below the red zone. */
static inline __attribute__((always_inline)) void single_step(bool on)
{
	if (on)
		__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq;"
				 "lea 128(%%rsp), %%rsp" ::
					 : "cc", "memory");
	else
		__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq;"
				 "lea 128(%%rsp), %%rsp" ::
					 : "cc", "memory");
}

/* What is in the ring since the last time: numbers of all posts, as decimal digits. */
static uint64_t read_posts(struct ring *ring)
{
	const struct event_post *post;
	uint64_t digits = 0;

	while ((post = expect_event(ring, EVENT_POST))) {
		const struct event_wr *wr = (const void *)(post + 1);

		HOLDS(post->nwr == 1 && post->ret == 0 && post->object == (uintptr_t)&qp);
		digits = digits * 10 + wr->wr_id;
	}
	ring_consume(ring);
	return digits;
}

/* Always the same place: it is unwound when it is met first, with all signals blocked. */
__attribute__((noinline)) static void post_in_steps(bool on)
{
	single_step(on);
	send_one(1);
	single_step(false);
}

/* How far @target goes on: with LONG=1 each instruction is one, else one in three, in turn. */
static int begin_targets(void)
{
	const char *turn = getenv("TURN");
	int step = getenv("LONG") ? 1 : 3;

	target = step == 1 || !turn ? 0 : atoi(turn) % step;
	return step;
}

static void step_body(void)
{
	const int step = begin_targets();
	uint64_t dropped = 0, lost, kept = 0, posts;
	struct ring ring;

	session_begin(RING_MIN, ON_FULL_WAIT);
	context.ops.post_send = fake_post_send;
	HOLDS(data_patch(&context.ops) == 0);
	catch_steps();
	post_in_steps(false);
	ring = session_ring(0);
	HOLDS(read_posts(&ring) == 1);
	do {
		steps = 0;
		target += step;
		post_in_steps(true);
		posts = read_posts(&ring);
		lost = atomic_load(&ring.head->dropped) - dropped;
		dropped += lost;
		kept += !lost;
		HOLDS(atomic_load(&ring.head->in_handlers) == dropped);
		/* before, after, and not at all, but then counted */
		HOLDS(lost ? lost == 2 && posts == 1
			   : posts == 123 || posts == 231 || (posts == 1 && steps < target));
	} while (steps >= target);
	HOLDS(target > 50 && kept > (uint64_t)(50 / step));
}

TEST(handler_before_any_instruction_of_a_post_damages_nothing)
{
	in_child(step_body);
}

/* From a frame below the one that was left: addresses alone do not distinguish these. */
__attribute__((noinline)) static void send_deeper(uint64_t wr_id)
{
	char room[4096];

	__asm__ volatile("" : : "r"(room) : "memory");
	send_one(wr_id);
	__asm__ volatile("" : : "r"(room) : "memory");
}

/* Were posts 5 and 6 recorded, and nothing after the jump lost? Counts reported jumps. */
static unsigned int read_after_jump(struct ring *ring)
{
	const struct event_head *event;
	unsigned int told = 0, seen = 0;
	int bytes;

	while ((bytes = ring_peek(ring, &event)) > 0) {
		const struct event_post *post = (const void *)event;
		const struct event_wr *wr = (const void *)(post + 1);

		ring_step(ring, (size_t)bytes);
		told += event->type == EVENT_BLIND &&
			((const struct event_blind *)(const void *)event)->what == BLIND_JUMP;
		seen += event->type == EVENT_POST && wr->wr_id >= 5;
	}
	HOLDS(!bytes && seen == 2);
	ring_consume(ring);
	return told;
}

static void jump_body(void)
{
	const int step = begin_targets();
	unsigned int told = 0;
	struct ring ring;

	session_begin(RING_MIN, ON_FULL_WAIT);
	context.ops.post_send = fake_post_send;
	HOLDS(data_patch(&context.ops) == 0);
	catch_steps();
	post_in_steps(false);
	send_deeper(1);
	ring = session_ring(0);
	read_posts(&ring);
	jumps = true;
	do {
		steps = 0;
		target += step;
		if (!sigsetjmp(away, 1))
			post_in_steps(true);
		send_deeper(5);
		send_deeper(6);
		told += read_after_jump(&ring);
		HOLDS(!atomic_load(&ring.head->dropped));
	} while (steps >= target);
	HOLDS(target > 50 && told > (unsigned int)(10 / step));
}

TEST(handler_that_jumps_out_of_any_instruction_of_a_post_loses_that_post_alone)
{
	in_child(jump_body);
}

#else

TEST(handler_that_jumps_out_of_any_instruction_of_a_post_loses_that_post_alone)
{
	skip();
}

TEST(handler_before_any_instruction_of_a_post_damages_nothing)
{
	skip();
}

#endif
