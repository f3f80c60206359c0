/*
 * Rings that grow: those of a program without a collector, within the limit of its session. And
 * rings of a budget: which are made, extended, closed, set aside, and how much is charged.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "shim/trace/ring/record.h"
#include "shim/trace/ring/rings.h"
#include "shim/trace/verbs/data.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

static struct ibv_context context;
static struct ibv_qp qp = { .context = &context, .qp_type = IBV_QPT_RC };
static uint64_t limit; /* of the session, bytes */

static int take_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)q, (void)wr, (void)bad;
	return 0;
}

static void begin_growing(void)
{
	session_begin(4 * RING_MIN, ON_FULL_GROW);
	session.page->limit = limit;
	context.ops.post_send = take_send;
	HOLDS(data_patch(&context.ops) == 0);
}

static void send_one(void)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND }, *bad;

	HOLDS(!ibv_post_send(&qp, &wr, &bad));
}

static void recorded_body(void)
{
	struct ring ring;

	begin_growing();
	send_one();
	ring = session_ring(0);
	HOLDS(expect_event(&ring, EVENT_POST));
}

TEST(a_ring_grows_within_the_limit)
{
	limit = 1 << 30;
	in_child(recorded_body);
}

TEST(a_ring_is_small_if_there_is_no_room_for_another)
{
	limit = 2 * RING_PAGE + 2 * RING_MIN;
	in_child(recorded_body);
}

static void unrecorded_body(void)
{
	begin_growing();
	send_one();
	HOLDS(!record_ready());
}

TEST(without_room_nothing_is_recorded)
{
	limit = RING_PAGE;
	in_child(unrecorded_body);
}

/* Rings of a session with a collector, without threads: the functions are called directly. */
enum { MOST = 80, NARROW = RING_PAGE + RING_NARROW, BEGUN = 77 };

static struct ring rings[MOST];

/* With a budget of @narrow narrow rings. */
static void begin_rings(uint64_t narrow)
{
	HOLDS(session_create(&session, NULL, 4 * RING_MIN, ON_FULL_WAIT) == 0);
	session.page->budget_given = 1;
	session.page->ring_budget = narrow * NARROW;
	rings_begin(&session, BEGUN);
}

static void count_ring(struct ring_head *head, void *arg)
{
	HOLDS(head->image == BEGUN);
	++*(unsigned int *)arg;
}

static unsigned int count_rings(void)
{
	unsigned int n = 0;

	rings_each(count_ring, &n);
	return n;
}

static unsigned int count_used(void)
{
	unsigned int n = 0;

	rings_each_locked(count_ring, &n);
	return n;
}

static void budget_body(void)
{
	begin_rings(3);
	for (int i = 0; i < 3; i++) {
		HOLDS(rings_make(&session, &rings[i]) == 0);
		HOLDS(rings[i].charged == NARROW && rings[i].head->index == (uint32_t)i);
	}
	HOLDS(rings_make(&session, &rings[3]) == -EDQUOT);
	HOLDS(session.page->denied == 1 && session.page->withheld_budget == 3 * NARROW);
	session.page->withheld_budget = 2 * NARROW; /* another process has a smaller one */
	HOLDS(rings_make(&session, &rings[3]) == -EDQUOT);
	HOLDS(session.page->denied == 2 && session.page->withheld_budget == 2 * NARROW);
	HOLDS(count_rings() == 3 && count_used() == 3);
	rings_release(&session, &rings[1], 50, true); /* closed, and nothing is left to read */
	HOLDS(!rings[1].head && count_rings() == 2);
	HOLDS(rings_make(&session, &rings[1]) == 0);
	HOLDS(rings_make(&session, &rings[3]) == -EDQUOT);
	HOLDS(session.page->denied == 3 && session.page->withheld == 0);
}

TEST(a_closed_ring_returns_its_share_of_the_budget)
{
	in_child(budget_body);
}

static void unread_body(void)
{
	struct ring shared;

	begin_rings(1);
	HOLDS(rings_make(&session, &rings[0]) == 0);
	shared = session_ring(0);
	atomic_store(&rings[0].head->tail, 8); /* an event, which the collector has not read */
	rings_release(&session, &rings[0], 50, true);
	HOLDS(shared.head->closed == 50 && shared.head->ended == 50);
	HOLDS(rings_make(&session, &rings[1]) == -EDQUOT);
	atomic_store(&shared.head->head, 8);
	HOLDS(rings_make(&session, &rings[1]) == 0);
}

TEST(a_closed_ring_is_charged_until_it_is_read)
{
	in_child(unread_body);
}

static void waiting_body(void)
{
	struct ring_head *head;

	begin_rings(MOST);
	HOLDS(!rings_take(&rings[0]));
	for (int i = 0; i < 66; i++)
		HOLDS(rings_make(&session, &rings[i]) == 0);
	head = rings[0].head;
	for (uint64_t i = 0; i < 66; i++) {
		struct ring_head *mine = rings[i].head;

		rings_release(&session, &rings[i], 100 + i, false);
		HOLDS(i >= 64 || (mine->idle == 1 && mine->ended == 100 + i && !mine->closed));
	}
	HOLDS(session_ring(64).head->closed == 164 && session_ring(63).head->closed == 0);
	HOLDS(count_rings() == 64 && count_used() == 0);
	for (int i = 0; i < 64; i++)
		HOLDS(rings_take(&rings[i]) && rings[i].charged == NARROW);
	HOLDS(!rings_take(&rings[64]));
	HOLDS(count_rings() == 64 && count_used() == 64);
	for (int i = 0; i < 64; i++)
		HOLDS(rings[i].head != head || rings[i].head->index == 0);
}

TEST(a_ring_waits_for_the_next_thread)
{
	in_child(waiting_body);
}

static void torn_body(void)
{
	begin_rings(MOST);
	HOLDS(rings_make(&session, &rings[0]) == 0);
	rings_release(&session, &rings[0], 9, true);
	HOLDS(!rings_take(&rings[0]) && count_rings() == 0);
	HOLDS(session_ring(0).head->closed == 9 && session_ring(0).head->idle == 0);
}

TEST(a_ring_with_a_torn_event_is_closed)
{
	in_child(torn_body);
}

static void widen_body(void)
{
	struct ring *ring = &rings[0];

	begin_rings(20);
	HOLDS(rings_make(&session, ring) == 0);
	HOLDS(rings_widen(&session, ring, false) == 0);
	HOLDS(ring->charged == NARROW + 4 * RING_NARROW && ring->mask + 1 == 4 * RING_NARROW);
	/* half of the budget is for narrow rings */
	HOLDS(rings_widen(&session, ring, false) == -EDQUOT);
	HOLDS(rings_widen(&session, ring, false) == -EDQUOT);
	HOLDS(session.page->withheld == 1 && session.page->withheld_budget == 20 * NARROW);
	HOLDS(ring->charged == NARROW + 4 * RING_NARROW);
	HOLDS(rings_widen(&session, ring, true) == 0);
	HOLDS(ring->charged == NARROW + 20 * RING_NARROW && session.page->denied == 0);
	HOLDS(rings_make(&session, &rings[1]) == 0); /* all of it is charged now */
	HOLDS(rings_make(&session, &rings[2]) == -EDQUOT);
	rings_release(&session, ring, 9, true);
	HOLDS(rings_make(&session, &rings[2]) == 0);
}

TEST(a_ring_is_extended_within_half_of_the_budget)
{
	in_child(widen_body);
}

static void no_memory_body(void)
{
	const struct rlimit none = { 1, RLIM_INFINITY }, all = { RLIM_INFINITY, RLIM_INFINITY };
	struct ring *ring = &rings[0];

	begin_rings(20);
	HOLDS(rings_make(&session, ring) == 0);
	HOLDS(setrlimit(RLIMIT_AS, &none) == 0);
	HOLDS(rings_widen(&session, ring, false) == -ENOMEM);
	HOLDS(setrlimit(RLIMIT_AS, &all) == 0);
	HOLDS(ring->charged == NARROW && ring->mask + 1 == RING_NARROW);
	for (int i = 1; i < 20; i++) /* nothing more is charged */
		HOLDS(rings_make(&session, &rings[i]) == 0);
	HOLDS(rings_make(&session, &rings[20]) == -EDQUOT);
}

TEST(a_ring_that_cannot_be_extended_is_charged_as_before)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* they map memory of their own */
#endif
	in_child(no_memory_body);
}

static void aside_body(void)
{
	struct ring_head *head;

	begin_rings(MOST);
	HOLDS(rings_make(&session, &rings[0]) == 0);
	rings_set_aside(&session);
	rings_set_aside(&session);
	HOLDS(session_count_rings(&session) == 33 && count_rings() == 1);
	HOLDS(chmod(session.dir, 0700) == 0 && seteuid(65534) == 0);
	for (int i = 1; i < 33; i++) {
		HOLDS(rings_make(&session, &rings[i]) == 0);
		head = rings[i].head;
		HOLDS(head->owner == (uint32_t)gettid() && head->tid == (uint32_t)gettid());
		HOLDS(head->pid == (uint32_t)getpid() && head->image == BEGUN);
	}
	HOLDS(count_rings() == 33 && session.page->foreign == 0);
	HOLDS(rings_make(&session, &rings[33]) == -EACCES);
	HOLDS(session.page->foreign == 1 && session.page->stranger == 65535);
	HOLDS(seteuid(0) == 0);
}

TEST(rings_are_set_aside_for_another_user)
{
	if (geteuid())
		skip();
	in_child(aside_body);
}

static void aside_twice_body(void)
{
	int status;
	pid_t pid;

	begin_rings(MOST);
	rings_set_aside(&session);
	HOLDS(chmod(session.dir, 0700) == 0 && seteuid(65534) == 0);
	pid = fork(); /* has them in its list, too */
	if (!pid) {
		HOLDS(rings_make(&session, &rings[0]) == 0);
		_exit(0);
	}
	HOLDS(waitpid(pid, &status, 0) == pid && status == 0);
	for (int i = 0; i < 31; i++)
		HOLDS(rings_make(&session, &rings[i]) == 0);
	HOLDS(rings_make(&session, &rings[31]) == -EACCES);
	HOLDS(seteuid(0) == 0);
}

TEST(one_process_takes_a_ring_that_was_set_aside)
{
	if (geteuid())
		skip();
	in_child(aside_twice_body);
}

static bool is_second(uint32_t tid, const void *arg)
{
	HOLDS(arg == rings);
	return tid == 2;
}

static void end_body(void)
{
	struct ring_head *inside;

	begin_rings(MOST);
	for (uint32_t i = 0; i < 4; i++) {
		HOLDS(rings_make(&session, &rings[i]) == 0);
		rings[i].head->owner = i + 1;
	}
	inside = rings[1].head;
	rings_release(&session, &rings[3], 9, false);
	HOLDS(rings_end(is_second, rings) == 1);
	HOLDS(rings[1].head == inside && !rings[0].head && !rings[2].head);
	HOLDS(count_rings() == 1 && !rings_take(&rings[4]));
	rings_drop_shared(&rings[2]);
	HOLDS(count_rings() == 1);
	rings_drop_shared(&rings[1]);
	HOLDS(count_rings() == 0 && !rings[1].head);
}

TEST(at_the_end_rings_remain_only_of_threads_inside)
{
	in_child(end_body);
}

static void again_body(void)
{
	begin_rings(2);
	HOLDS(rings_make(&session, &rings[0]) == 0);
	HOLDS(rings_make(&session, &rings[1]) == 0);
	rings_release(&session, &rings[1], 9, false);
	rings_begin(&session, BEGUN); /* as in a child */
	HOLDS(count_rings() == 0 && !rings_take(&rings[1]));
	HOLDS(rings_make(&session, &rings[0]) == 0);
	HOLDS(rings_make(&session, &rings[1]) == 0);
	HOLDS(rings_make(&session, &rings[2]) == -EDQUOT);
}

TEST(a_new_process_has_its_own_budget)
{
	in_child(again_body);
}

static void trimmed_body(void)
{
	char path[SESSION_PATH + 16];
	struct stat st;
	uint64_t used;

	HOLDS(session_create(&session, NULL, RING_MIN, ON_FULL_GROW) == 0);
	session.page->limit = 1 << 30;
	rings_begin(&session, BEGUN);
	used = session.page->used;
	HOLDS(rings_make(&session, &rings[0]) == 0);
	HOLDS(session.page->used == used + RING_PAGE + 2 * RING_MIN);
	session_ring_path(&session, 0, path);
	atomic_store(&rings[0].head->tail, 1000);
	rings_release(&session, &rings[0], 9, true);
	HOLDS(stat(path, &st) == 0 && st.st_size == RING_PAGE + 1000);
	HOLDS(session.page->used == used + RING_PAGE + 1000);
}

TEST(a_ring_that_grows_is_cut_at_its_end)
{
	in_child(trimmed_body);
}
