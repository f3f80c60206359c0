/*
 * Threads inside objects: two threads, in a given order
 */
#include <pthread.h>

#include "shim/trace/objects/strict.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

static int object; /* its address stands for it */

static void begin_strict(bool single)
{
	session_begin(RING_MIN, ON_FULL_WAIT);
	session.page->strict = 1;
	HOLDS(strict_own_thread() && strict_is_on());
	HOLDS(strict_note_created(&object, single));
}

static void enter_by_other(enum verb verb, enum strict_queue queue)
{
	struct strict_use use;

	strict_enter(&use, &object, verb, queue);
	strict_leave(&use);
}

static void *post_send(void *unused)
{
	(void)unused;
	enter_by_other(VERB_post_send, STRICT_SEND);
	return NULL;
}

static void *post_recv(void *unused)
{
	(void)unused;
	enter_by_other(VERB_post_recv, STRICT_RECV);
	return NULL;
}

static void *destroy_srq(void *unused)
{
	(void)unused;
	HOLDS(strict_own_thread());
	strict_check_destroy(VERB_destroy_srq, &object);
	return NULL;
}

static const struct meeting_row {
	const char *name;
	bool single, leaves;
	void *(*other)(void *);
	enum event_misuse_what what; /* MISUSES: nothing is reported */
} meetings[] = {
	{ "two_in_one", true, false, post_send, MISUSE_OVERLAP },
	{ "one_after_the_other", true, true, post_send, MISUSES },
	{ "two_queues_of_one", true, false, post_recv, MISUSES },
	{ "two_in_one_with_locks", false, false, post_send, MISUSES },
	{ "one_in_what_is_destroyed", false, false, destroy_srq, MISUSE_DESTROY_OVERLAP },
	{ "one_before_it_is_destroyed", false, true, destroy_srq, MISUSES },
};

static unsigned int meeting;

/* The events of the other thread, whose ring is the second. */
static void meet_body(void)
{
	enum event_misuse_what what = meetings[meeting].what;
	const struct event_misuse *misuse;
	struct strict_use use;
	pthread_t thread;
	struct ring ring;

	begin_strict(meetings[meeting].single);
	strict_enter(&use, &object, VERB_post_srq_recv, STRICT_SEND);
	if (meetings[meeting].leaves)
		strict_leave(&use);
	HOLDS(!pthread_create(&thread, NULL, meetings[meeting].other, NULL));
	HOLDS(!pthread_join(thread, NULL));
	ring = session_ring(1);
	misuse = expect_event(&ring, EVENT_MISUSE);
	HOLDS(what == MISUSES ? !misuse : misuse && misuse->what == what);
	HOLDS(!misuse || (misuse->ring == 0 && misuse->tid == (uint32_t)gettid()));
	HOLDS(what != MISUSE_DESTROY_OVERLAP || misuse->other_verb == VERB_post_srq_recv);
}

static void tells_of_meeting(void **state)
{
	const struct meeting_row *row = *state;
	meeting = (unsigned int)(row - meetings);
	in_child(meet_body);
}

TEST_ROWS(meetings, tells_of_meeting);

static void alone_body(void)
{
	struct strict_use use, inner;
	struct ring ring;

	begin_strict(true);
	strict_enter(&use, &object, VERB_post_send, STRICT_SEND);
	strict_enter(&inner, &object, VERB_post_send, STRICT_SEND); /* in a signal handler */
	strict_leave(&inner);
	strict_leave(&use);
	strict_check_destroy(VERB_destroy_srq, &object);
	ring = session_ring(0);
	HOLDS(!expect_event(&ring, EVENT_MISUSE));
}

TEST(a_thread_does_not_meet_itself)
{
	in_child(alone_body);
}
