/*
 * Threads that poll a CQ
 */
#include "shim/trace/objects/pollers.h"

#include <pthread.h>

#include "tests/test.h"

static struct ibv_cq alone, shared, unknown;

static void *poll_shared(void *arg)
{
	pollers_note(&shared);
	return arg;
}

TEST(one_thread_is_one_poller)
{
	pollers_add(&alone);
	pollers_note(&alone);
	pollers_note(&shared);
	pollers_note(&alone);
	assert_true(pollers_is_single(&alone));
}

TEST(two_threads_are_several)
{
	pthread_t thread;

	pollers_add(&shared);
	pollers_note(&alone);
	pollers_note(&shared);
	assert_int_equal(pthread_create(&thread, NULL, poll_shared, NULL), 0);
	pthread_join(thread, NULL);
	assert_false(pollers_is_single(&shared));
	pollers_add(&shared); /* another CQ at the same address */
	assert_false(pollers_is_single(&shared));
}

TEST(cq_that_was_not_made_here_is_not_known)
{
	pollers_note(&unknown);
	assert_false(pollers_is_single(&unknown));
}
