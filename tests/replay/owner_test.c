/*
 * Queue pair 1 completes on CQ 3, queue pair 2 on 3 and 4.
 */
#include "replay/schedule/owner.h"
#include "tests/test.h"

enum { ONE = 1, OTHER, CQ, SECOND_CQ, OBJECTS };

static struct relation of[OBJECTS] = {
	[ONE] = { .send_cq = CQ, .recv_cq = CQ },
	[OTHER] = { .send_cq = CQ, .recv_cq = SECOND_CQ },
};
static const struct relations relations = { .of = of, .nobjects = OBJECTS };
static struct owners *owners;

static int begin_owners(void **state)
{
	(void)state;
	return owners_new(OBJECTS, &owners);
}

static int end_owners(void **state)
{
	(void)state;
	owners_free(owners);
	return 0;
}

FIXTURE(begin_owners, end_owners);

static void post_to(uint32_t object, uint32_t player)
{
	const struct post post = { .object = object };

	owners_note(owners, &(struct trace_event){ .kind = TRACE_POST, .post = &post }, player);
}

static void poll_from(uint32_t object, uint32_t player)
{
	const struct poll poll = { .object = object };

	owners_note(owners, &(struct trace_event){ .kind = TRACE_POLL, .poll = &poll }, player);
}

static uint32_t find_owner(uint32_t object)
{
	return owner_of(owners, &relations, object);
}

TEST(a_thread_that_posts_and_polls_alone_has_the_queue)
{
	post_to(ONE, 7);
	poll_from(CQ, 7);
	post_to(ONE, 7);
	assert_int_equal(find_owner(ONE), 7);
	assert_int_equal(find_owner(CQ), 7);
	assert_int_equal(find_owner(SECOND_CQ), OWNER_NONE);
}

TEST(two_that_post_share_it)
{
	post_to(ONE, 7);
	post_to(ONE, 8);
	post_to(ONE, 7);
	assert_int_equal(find_owner(ONE), OWNER_SHARED);
}

TEST(another_that_polls_shares_it)
{
	post_to(OTHER, 7);
	poll_from(CQ, 7);
	assert_int_equal(find_owner(OTHER), 7);
	poll_from(SECOND_CQ, 8);
	assert_int_equal(find_owner(OTHER), OWNER_SHARED);
	assert_int_equal(find_owner(SECOND_CQ), 8);
}

TEST(objects_that_the_trace_does_not_have_are_nobodys)
{
	post_to(0, 7);
	post_to(OBJECTS, 7);
	assert_int_equal(find_owner(OBJECTS), OWNER_NONE);
}
