/*
 * Messages that replace others in their buffers
 */
#include <infiniband/verbs.h>

#include "replay/data/refilled.h"
#include "replay/state/state.h"
#include "tests/test.h"

enum { RING = 1 << 14 };

static struct refilled *refilled;
static struct replica_qp sender;

static struct refill message_of(uint64_t n, uint32_t index)
{
	return (struct refill){ { 1, n }, index };
}

static int begin_story(void **state)
{
	(void)state;
	memset(&sender, 0, sizeof(sender));
	return refilled_new(&refilled);
}

static int end_story(void **state)
{
	(void)state;
	requests_fini(&sender.sent);
	refilled_free(refilled);
	return 0;
}

FIXTURE(begin_story, end_story);

/* The message is posted, and not taken yet. */
static void send_message(uint64_t n, uint32_t index)
{
	struct request *request = requests_add(&sender.sent);

	assert_non_null(request);
	*request = (struct request){ .event = { 1, n }, .index = index };
}

static void note_message(uintptr_t at, uint64_t n, uint32_t index)
{
	assert_int_equal(refilled_note(refilled, (const void *)at, message_of(n, index), &sender),
			 0);
}

/* The next message in the buffer of (@n, @index) has number @next; 0: there is none. */
static void expect_next(uint64_t n, uint32_t index, uint64_t next, uint32_t next_index)
{
	struct refill over = message_of(n, index);

	assert_int_equal(refilled_next(refilled, &over), next != 0);
	assert_int_equal(over.event.thread, 1);
	assert_int_equal(over.event.n, next ?: n);
	assert_int_equal(over.index, next ? next_index : index);
}

TEST(the_next_message_replaces_one_that_waits)
{
	send_message(5, 0);
	note_message(0x1000, 5, 0);
	note_message(0x2000, 6, 0);
	note_message(0x1000, 7, 3);
	expect_next(5, 0, 7, 3);
	expect_next(6, 0, 0, 0);
	expect_next(7, 3, 0, 0);
	expect_next(7, 0, 0, 0);
	expect_next(99, 0, 0, 0);
}

TEST(a_message_that_was_taken_is_not_replaced)
{
	note_message(0x1000, 5, 0);
	note_message(0x1000, 6, 0);
	expect_next(5, 0, 0, 0);
}

TEST(requests_of_a_post_are_told_apart)
{
	send_message(5, 1);
	note_message(0x1000, 5, 0);
	note_message(0x2000, 5, 1);
	note_message(0x1000, 6, 0);
	note_message(0x2000, 6, 1);
	expect_next(5, 0, 0, 0);
	expect_next(5, 1, 6, 1);
}

TEST(several_replace_each_other)
{
	for (uint64_t n = 1; n < 5; n++) {
		send_message(n, 0);
		note_message(0x1000, n, 0);
	}
	for (uint64_t n = 1; n < 4; n++)
		expect_next(n, 0, n + 1, 0);
	expect_next(4, 0, 0, 0);
}

/* @between other messages, between the message and the next one in its buffer; then @after. */
static void replace_after(unsigned int between, unsigned int after)
{
	send_message(1, 0);
	note_message(0x1000, 1, 0);
	for (unsigned int i = 0; i < between; i++)
		note_message(0x100000 + i, 100 + i, 0);
	note_message(0x1000, 2, 7);
	for (unsigned int i = 0; i < after; i++)
		note_message(0x100000 + i, 100000 + i, 0);
}

TEST(a_message_that_has_just_left_the_ring_is_not_replaced)
{
	replace_after(RING - 1, 0);
	expect_next(1, 0, 0, 0);
}

TEST(the_oldest_message_of_the_ring_is_known)
{
	replace_after(RING - 2, 0);
	expect_next(1, 0, 2, 7);
}

TEST(a_message_is_forgotten_when_it_leaves_the_ring)
{
	replace_after(0, RING - 2);
	expect_next(1, 0, 2, 7);
	note_message(0x3000, 3, 0);
	expect_next(1, 0, 0, 0);
	expect_next(2, 7, 0, 0);
}

TEST(free_accepts_null)
{
	refilled_free(NULL);
}
