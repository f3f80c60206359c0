/*
 * Posts that wait for room
 */
#include "cli/emit/credits.h"

#include <stdlib.h>

#include "tests/test.h"

enum { QUEUE = 1, OBJECTS = 1, POSTER = 1, POLLER = 2, THREADS = 2, SIZE = 2 };

static struct program program;
static struct order order;
static struct credits credits;
static uint64_t now;

static int make_rooms(void **state)
{
	(void)state;
	memset(&program, 0, sizeof(program));
	now = 0;
	program.objects = calloc(OBJECTS + 1, sizeof(*program.objects));
	program.nobjects = OBJECTS;
	program.nthreads = THREADS;
	if (!program.objects || order_init(&order, &program) || credits_init(&credits, &order))
		return -1;
	credits_set_size(&credits, QUEUE, true, SIZE);
	credits_set_size(&credits, QUEUE, false, SIZE);
	return 0;
}

static int free_rooms(void **state)
{
	(void)state;
	credits_fini(&credits);
	order_fini(&order);
	program_fini(&program);
	return 0;
}

FIXTURE(make_rooms, free_rooms);

static void begin_event(uint32_t thread, const char *name)
{
	program.at = (struct event_id){ thread, ++now };
	assert_int_equal(order_begin(&order, "queue", name), 0);
}

/* Returns its event. */
static uint64_t post_requests(uint32_t thread, bool send, uint32_t requests)
{
	begin_event(thread, "posts");
	assert_int_equal(credits_take(&credits, QUEUE, send, requests), 0);
	return now;
}

static void poll_one(bool send, uint64_t n, uint32_t i)
{
	struct event_id id = { n ? POSTER : 0, n };

	begin_event(POLLER, "polls");
	assert_int_equal(credits_give_back(&credits, QUEUE, send, id, i), 0);
}

/* The number of waits of the poster. */
static size_t count_waits(void)
{
	return program.scripts[POSTER].n;
}

TEST(a_full_queue_is_waited_for)
{
	uint64_t first = post_requests(POSTER, true, 1);

	post_requests(POSTER, true, 1);
	assert_int_equal(count_waits(), 0);
	poll_one(true, first, 0);
	post_requests(POSTER, true, 1);
	assert_int_equal(count_waits(), 1);
}

TEST(a_queue_with_room_is_not)
{
	uint64_t first = post_requests(POSTER, true, 1);

	poll_one(true, first, 0);
	post_requests(POSTER, true, 1);
	assert_int_equal(count_waits(), 0);
}

TEST(a_send_makes_the_room_of_those_before_it)
{
	uint64_t list = post_requests(POSTER, true, 2);

	poll_one(true, list, 1);
	post_requests(POSTER, true, 2);
	assert_int_equal(count_waits(), 1);
}

TEST(a_receive_makes_the_room_of_one)
{
	post_requests(POSTER, false, 2);
	poll_one(false, 0, 0);
	post_requests(POSTER, false, 1);
	assert_int_equal(count_waits(), 1);
	post_requests(POSTER, false, 1); /* as the device did: the reason is not known */
	assert_int_equal(count_waits(), 1);
}

TEST(a_thread_does_not_wait_for_itself)
{
	post_requests(POLLER, true, 2);
	poll_one(true, 0, 0);
	post_requests(POLLER, true, 1);
	assert_int_equal(program.scripts[POLLER].n, 0);
}

TEST(a_reset_makes_all_room)
{
	post_requests(POSTER, true, 2);
	begin_event(POLLER, "reset");
	assert_int_equal(credits_reset(&credits, QUEUE), 0);
	post_requests(POSTER, true, 2);
	assert_int_equal(count_waits(), 1);
}

TEST(a_queue_whose_size_is_not_known_is_not_waited_for)
{
	credits_set_size(&credits, QUEUE, true, 0);
	post_requests(POSTER, true, 100);
	poll_one(true, 0, 0);
	post_requests(POSTER, true, 100);
	assert_int_equal(count_waits(), 0);
}
