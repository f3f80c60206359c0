/* analyzer/facts/thread_sets.c: which threads share a queue pair or a CQ. */
#include "analyzer/facts/thread_sets.h"
#include "tests/test.h"

enum { QP = 1, CQ = 2 };

static void post_one(struct thread_sets *sets, uint32_t thread, enum verb verb)
{
	const struct post post = { .verb = verb, .object = QP };
	const struct trace_event event = { .id = { thread, 1 }, .kind = TRACE_POST, .post = &post };

	thread_sets_note_post(sets, &event);
}

static void poll_one(struct thread_sets *sets, uint32_t thread)
{
	const struct poll poll = { .object = CQ };
	const struct trace_event event = { .id = { thread, 1 }, .kind = TRACE_POLL, .poll = &poll };

	thread_sets_note_poll(sets, &event);
}

static bool are_together(const struct thread_sets *sets, uint32_t a, uint32_t b)
{
	return thread_sets_of_thread(sets, a) == thread_sets_of_thread(sets, b);
}

TEST(a_queue_that_was_handed_over_is_not_shared)
{
	struct thread_sets *sets = thread_sets_new();

	post_one(sets, 1, VERB_post_send);
	post_one(sets, 2, VERB_post_send);
	post_one(sets, 2, VERB_post_send);
	assert_false(are_together(sets, 1, 2));
	thread_sets_free(sets);
}

TEST(a_queue_that_changes_hands_again_is_shared)
{
	struct thread_sets *sets = thread_sets_new();

	post_one(sets, 1, VERB_post_send);
	post_one(sets, 2, VERB_post_send);
	post_one(sets, 3, VERB_post_send);
	assert_true(are_together(sets, 1, 2));
	assert_true(are_together(sets, 2, 3));
	thread_sets_free(sets);
}

TEST(a_cq_that_two_threads_poll_is_shared)
{
	struct thread_sets *sets = thread_sets_new();

	poll_one(sets, 4);
	poll_one(sets, 5);
	assert_false(are_together(sets, 4, 5));
	poll_one(sets, 4);
	assert_true(are_together(sets, 4, 5));
	thread_sets_free(sets);
}

TEST(both_queues_of_a_queue_pair_have_users_of_their_own)
{
	struct thread_sets *sets = thread_sets_new();

	for (int i = 0; i < 3; i++) {
		post_one(sets, 1, VERB_post_send);
		post_one(sets, 2, VERB_post_recv);
	}
	assert_false(are_together(sets, 1, 2)); /* until the queue pair is looked at */
	thread_sets_free(sets);
}
