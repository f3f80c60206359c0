/*
 * A thread's ring: created, passed on, woken for, refused
 */
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "shim/trace/ring/record.h"
#include "tests/shim/trace/provider.h"
#include "tests/test.h"

static void *thread_main(void *unused)
{
	send_one(1);
	return unused;
}

static void thread_body(void)
{
	pthread_t thread;
	struct ring ring;
	uint64_t begin;

	begin_data(RING_MIN, ON_FULL_WAIT);
	begin = record_ticks();
	HOLDS(!pthread_create(&thread, NULL, thread_main, NULL));
	pthread_join(thread, NULL);
	ring = session_ring(0);
	HOLDS(atomic_load(&ring.head->idle) && !atomic_load(&ring.head->closed));
	HOLDS(ring.head->pid == (uint32_t)getpid() && ring.head->tid != ring.head->pid);
	HOLDS(begin <= ring.head->ticks && ring.head->ticks <= ring.head->ended);
	HOLDS(ring.head->ended <= record_ticks());
	HOLDS(!strcmp(ring.head->comm, "thread_test") && atomic_load(&session.page->made) == 1);
}

/* The counters are reported with the event, and the next thread starts at zero. */
static void hand_on_body(void)
{
	/* those of CQs that exist, then of one that is gone, and of one that has no empty poll */
	static const struct {
		int at;
		uint64_t cq, empty;
	} counts[] = { { 0, 0x1000, 5 },
		       { 7, 0x2000, 1 },
		       { RING_POLLS - 1, 0x3000, 9 },
		       { 1, RING_POLLS_GONE, 4 },
		       { 2, 0x4000, 0 } };
	const struct event_thread *event;
	const struct ring_polls *polls;
	pthread_t thread;
	struct ring ring;
	uint64_t ended;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!pthread_create(&thread, NULL, thread_main, NULL));
	pthread_join(thread, NULL);
	ring = session_ring(0);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		ring.head->polls[counts[i].at] =
			(struct ring_polls){ counts[i].cq, counts[i].empty };
	ring.head->dropped = 3;
	ring.head->drop_first = 11;
	ring.head->drop_last = 12;
	ring.head->in_handlers = 2;
	ring.head->uncounted = 4;
	ring.head->filtered = 6;
	ended = ring.head->ended;
	HOLDS(!send_one(2));
	HOLDS(session_count_rings(&session) == 1 && !atomic_load(&ring.head->idle));
	HOLDS(ring.head->owner == (uint32_t)gettid() && ring.head->tid != ring.head->owner);
	HOLDS(expect_event(&ring, EVENT_POST));
	event = expect_event(&ring, EVENT_THREAD);
	HOLDS(event->tid == (uint32_t)gettid() && event->dropped == 3 && event->npolls == 3);
	HOLDS(event->in_handlers == 2 && !ring.head->in_handlers);
	HOLDS(event->drop_first == 11 && event->drop_last == 12);
	HOLDS(event->uncounted == 4 && !ring.head->uncounted);
	HOLDS(event->filtered == 6 && !ring.head->filtered);
	HOLDS(ended && event->ended == ended && event->head.ticks >= ended);
	HOLDS(!strcmp(event->comm, "thread_test"));
	polls = (const void *)(event + 1);
	for (int i = 0; i < 3; i++)
		HOLDS(polls[i].cq == counts[i].cq && polls[i].empty == counts[i].empty);
	for (int i = 0; i < RING_POLLS; i++)
		HOLDS(!ring.head->polls[i].cq && !ring.head->polls[i].empty);
	HOLDS(!ring.head->dropped && !ring.head->ended);
	HOLDS(expect_event(&ring, EVENT_POST));
}

static void *ends_while_writing(void *unused)
{
	send_one(1);
	HOLDS(record_reserve(64));
	return unused;
}

static void torn_body(void)
{
	pthread_t thread;
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!pthread_create(&thread, NULL, ends_while_writing, NULL));
	pthread_join(thread, NULL);
	ring = session_ring(0);
	HOLDS(!atomic_load(&ring.head->idle) && atomic_load(&ring.head->closed));
	HOLDS(atomic_load(&ring.head->dropped) == 1);
	HOLDS(expect_event(&ring, EVENT_POST) && !expect_event(&ring, EVENT_POST));
	HOLDS(!send_one(2) && session_count_rings(&session) == 2);
}

/* A writer wakes the collector at its first event, and each time a quarter is full. */
static void wake_body(void)
{
	const struct event_head *event;
	struct ring ring;
	int n = 0, bytes, woken = 0;

	begin_data(RING_MIN, ON_FULL_WAIT);
	session_will_sleep(&session);
	HOLDS(!send_one(1) && !atomic_load(&session.page->asleep));
	ring = session_ring(0);
	for (; n < 3 * RING_MIN / 64; n++) {
		if (!atomic_load(&session.page->asleep)) {
			woken++;
			while ((bytes = ring_peek(&ring, &event)) > 0)
				ring_step(&ring, (size_t)bytes);
			HOLDS(!bytes);
			ring_consume(&ring);
			session_will_sleep(&session);
		}
		HOLDS(!send_one(2));
		HOLDS(atomic_load(&ring.head->tail) - ring.reserved <= RING_MIN / 2);
	}
	HOLDS(woken >= 8 && woken <= 24); /* more often while the ring was narrow */
}

TEST(sleeping_collector_is_woken_in_time)
{
	in_child(wake_body);
}

TEST(thread_that_ends_leaves_its_ring_to_the_next)
{
	in_child(thread_body);
}

TEST(torn_ring_is_not_handed_on)
{
	in_child(torn_body);
}

TEST(ring_is_handed_on_with_its_counters)
{
	in_child(hand_on_body);
}

static void no_room_body(void)
{
	struct rlimit limit = { RING_NARROW, RLIM_INFINITY };

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!setrlimit(RLIMIT_FSIZE, &limit));
	for (int i = 0; i < 100; i++)
		HOLDS(!send_one(1));
	HOLDS(atomic_load(&session.page->ringless) == 1);
	HOLDS(session_count_rings(&session) == 1);
}

TEST(ring_that_cannot_be_made_is_tried_once)
{
	in_child(no_room_body);
}

static void no_session_body(void)
{
	begin_data(RING_MIN, ON_FULL_WAIT);
	unsetenv(SESSION_ENV);
	next_ret = ENOMEM;
	HOLDS(send_one(1) == ENOMEM);
	HOLDS(session_count_rings(&session) == 0);
}

TEST(nothing_is_recorded_without_a_session)
{
	in_child(no_session_body);
}
