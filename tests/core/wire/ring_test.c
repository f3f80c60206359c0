#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire/ring.h"

static char path[64];
static struct ring in, out;

static uint64_t seed;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* VERBATIM_SEED repeats a run that failed. */
static void choose_seed(void)
{
	const char *given = getenv("VERBATIM_SEED");

	seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2654435761u + 1;
	print_message("VERBATIM_SEED=%llu\n", (unsigned long long)seed);
}

static int setup(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/verbatim-ring-test-%d", (int)getpid());
	unlink(path);
	return ring_create(&in, path, RING_MIN, 3, 0) || ring_open(&out, path);
}

static int teardown(void **state)
{
	(void)state;
	ring_close(&in);
	ring_close(&out);
	unlink(path);
	return 0;
}

/* An event of so many words, filled from @value on. */
static void put(size_t words, uint64_t value)
{
	uint64_t *body = ring_next(&in);
	struct event_head *head = (void *)body;

	for (size_t i = 0; i < words; i++)
		body[i] = value + i;
	head->type = EVENT_POST;
	head->flags = 0;
	head->ticks = value;
	ring_commit(&in, head, words);
}

/* Take the next event; it must be that one. */
static void take(size_t words, uint64_t value)
{
	const struct event_head *head;
	const uint64_t *body;

	assert_int_equal(ring_peek(&out, &head), words * 8);
	body = (const void *)head;
	assert_int_equal(head->ticks, value);
	for (size_t i = 2; i < words; i++)
		assert_int_equal(body[i], value + i);
	ring_step(&out, words * 8);
	ring_consume(&out);
}

static void any_sequence_comes_out_the_same(void **state)
{
	static struct { size_t words; uint64_t value; } waiting[1 << 16];
	uint64_t written = 0, read = 0;

	(void)state;
	choose_seed();
	while (read < 200000) {
		size_t words = 2 + next() % (next() % 50 ? 40 : RING_EVENT_MAX / 8 - 2);

		if (next() % 3 && ring_room(&in, words * 8)) {
			waiting[written % (1 << 16)].words = words;
			waiting[written % (1 << 16)].value = next();
			put(words, waiting[written % (1 << 16)].value);
			written++;
		} else if (read < written) {
			take(waiting[read % (1 << 16)].words, waiting[read % (1 << 16)].value);
			read++;
		}
	}
}

static void empty_ring_has_no_event(void **state)
{
	const struct event_head *head;

	(void)state;
	assert_int_equal(ring_peek(&out, &head), 0);
}

static void full_ring_has_no_room_until_read(void **state)
{
	(void)state;
	for (int i = 0; i < RING_MIN / 64; i++) {
		assert_true(ring_room(&in, 64));
		put(8, 1);
	}
	assert_false(ring_room(&in, 64));
	take(8, 1);
	assert_true(ring_room(&in, 64));
	assert_false(ring_room(&in, 128));
}

static void number_goes_on_after_2_to_the_32(void **state)
{
	(void)state;
	in.seq = out.seq = UINT32_MAX - 1;
	for (uint64_t i = 0; i < 4; i++)
		put(2, i);
	for (uint64_t i = 0; i < 4; i++)
		take(2, i);
}

/* Write ten events, spoil the sixth, and read what can be read. */
static void read_up_to(void (*spoil)(struct event_head *))
{
	const struct event_head *head;

	for (uint64_t i = 0; i < 10; i++)
		put(4, i);
	spoil((void *)(in.data + 5 * 32));
	for (uint64_t i = 0; i < 5; i++)
		take(4, i);
	assert_int_equal(ring_peek(&out, &head), -EBADMSG);
	assert_int_equal(ring_peek(&out, &head), -EBADMSG);
}

static void no_length(struct event_head *head)
{
	head->words = 0;
}

static void half_a_head(struct event_head *head)
{
	head->words = 1;
}

static void length_past_the_end(struct event_head *head)
{
	head->words = 21;
}

static void no_type(struct event_head *head)
{
	head->type = 0;
}

static void unknown_type(struct event_head *head)
{
	head->type = EVENT_TYPES;
}

static void wrong_number(struct event_head *head)
{
	head->seq++;
}

/* An event of four words cannot be read. */
static void skip_one(void)
{
	const struct event_head *head;
	uint32_t events;

	assert_int_equal(ring_peek(&out, &head), -EBADMSG);
	assert_int_equal(ring_skip(&out, &events), 32);
	assert_int_equal(events, 1);
}

static void damage_costs_its_event(void **state)
{
	void (*const spoils[])(struct event_head *) = { no_length, half_a_head, length_past_the_end,
							no_type,   unknown_type, wrong_number };
	const struct event_head *head;

	for (size_t i = 0; i < sizeof(spoils) / sizeof(*spoils); i++) {
		read_up_to(spoils[i]);
		skip_one();
		for (uint64_t at = 6; at < 10; at++)
			take(4, at);
		assert_int_equal(ring_peek(&out, &head), 0);
		put(4, 10);
		spoils[i]((void *)(in.data + 10 * 32));
		skip_one(); /* there is nothing behind it yet */
		put(4, 11);
		take(4, 11);
		teardown(state);
		assert_int_equal(setup(state), 0);
	}
}

static void impossible_tail_is_damage(void **state)
{
	const uint64_t tails[] = { 4, 8, RING_MIN + 8, UINT64_MAX, 1ull << 63 };
	const struct event_head *head;

	(void)state;
	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
		atomic_store(&in.head->tail, tails[i]);
		assert_int_equal(ring_peek(&out, &head), -EBADMSG);
	}
}

/* The writer's next event mends it, and nothing is lost. */
static void events_are_read_without_a_tail(void **state)
{
	const struct event_head *head;
	uint32_t events;

	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		put(4, i);
	atomic_store(&in.head->tail, 1ull << 63);
	for (uint64_t i = 0; i < 3; i++)
		take(4, i);
	assert_int_equal(ring_peek(&out, &head), -EBADMSG);
	assert_int_equal(ring_skip(&out, &events), 0);
	put(4, 3);
	take(4, 3);
	assert_int_equal(ring_peek(&out, &head), 0);
}

/* It had been told of room that was none: the program wrote over the head. */
static void writer_that_went_round_is_followed(void **state)
{
	const struct event_head *head;
	uint32_t events;

	(void)state;
	for (uint64_t i = 0; i < RING_MIN / 32 * 2 + 5; i++)
		put(4, i);
	assert_int_equal(ring_peek(&out, &head), -EBADMSG);
	assert_int_equal(ring_skip(&out, &events), 0);
	put(4, 0);
	assert_int_equal(ring_peek(&out, &head), -EBADMSG);
	assert_true(ring_skip(&out, &events) > RING_MIN);
	put(4, 1);
	put(4, 2);
	if (ring_peek(&out, &head) == -EBADMSG)
		assert_int_equal(ring_skip(&out, &events), 0);
	take(4, 1);
	take(4, 2);
	assert_int_equal(ring_peek(&out, &head), 0);
}

static void any_garbage_is_read_without_harm(void **state)
{
	const struct event_head *head;

	(void)state;
	choose_seed();
	for (int round = 0; round < 2000; round++) {
		int bytes;

		for (size_t i = 0; i < 64; i++)
			((uint64_t *)(void *)in.data)[i] = next() & next();
		atomic_store(&in.head->tail, next() % 1024);
		atomic_store(&in.head->head, 0);
		out.reserved = 0;
		out.seq = (uint32_t)next();
		while ((bytes = ring_peek(&out, &head)) > 0) {
			assert_true((size_t)bytes >= sizeof(*head));
			assert_true(out.reserved + (size_t)bytes <= 1024);
			ring_step(&out, (size_t)bytes);
		}
		assert_true(bytes == 0 || bytes == -EBADMSG);
	}
}

/* Between the check and the use, and between two looks. */
static void what_was_looked_at_cannot_be_changed(void **state)
{
	const struct event_head *head;
	struct event_head before;

	(void)state;
	put(4, 7);
	put(4, 8);
	assert_int_equal(ring_peek(&out, &head), 32);
	before = *head;
	memset(in.data, 0xff, 64);
	assert_memory_equal(head, &before, sizeof(before));
	assert_int_equal(((const uint64_t *)(const void *)head)[3], 10);
	ring_step(&out, 32);
	assert_int_equal(ring_peek(&out, &head), 32); /* it was copied with the first */
	assert_int_equal(head->ticks, 8);
}

static void longest_event_is_copied_whole(void **state)
{
	(void)state;
	put(3, 1);
	put(RING_EVENT_MAX / 8, 2);
	put(3, 3);
	take(3, 1);
	take(RING_EVENT_MAX / 8, 2);
	take(3, 3);
}

static void head_is_read_as_it_was(void **state)
{
	struct ring_head head;

	(void)state;
	in.head->polls[RING_POLLS - 1].empty = 9;
	ring_drop(&in, 100);
	ring_read_head(&out, &head);
	memset(in.head, 0xff, sizeof(*in.head));
	assert_int_equal(head.pid, getpid());
	assert_int_equal(head.dropped, 1);
	assert_int_equal(head.drop_first, 100);
	assert_int_equal(head.polls[RING_POLLS - 1].empty, 9);
}

static void drops_are_counted_with_their_times(void **state)
{
	(void)state;
	ring_drop(&in, 100);
	ring_drop(&in, 200);
	ring_drop(&in, 300);
	assert_int_equal(atomic_load(&out.head->dropped), 3);
	assert_int_equal(atomic_load(&out.head->drop_first), 100);
	assert_int_equal(atomic_load(&out.head->drop_last), 300);
}

static void open_of_no_ring_is_refused(void **state)
{
	struct ring ring = { 0 };

	(void)state;
	assert_int_equal(ring_open(&ring, "/no/such/ring"), -ENOENT);
	in.head->bytes *= 2;
	assert_int_equal(ring_open(&ring, path), -EPROTO);
	in.head->bytes = 12345;
	assert_int_equal(ring_open(&ring, path), -EPROTO);
	in.head->bytes = RING_MIN;
	in.head->version++;
	assert_int_equal(ring_open(&ring, path), -EPROTO);
	in.head->version--;
	in.head->magic = 0;
	assert_int_equal(ring_open(&ring, path), -EPROTO);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(ring_open(&ring, path), -EPROTO);
	assert_null(ring.head);
}

static void create_wants_a_power_of_two(void **state)
{
	struct ring ring;

	(void)state;
	assert_int_equal(ring_create(&ring, "/tmp/x", RING_MIN + 8, 0, 0), -EINVAL);
	assert_int_equal(ring_create(&ring, "/tmp/x", RING_MIN / 2, 0, 0), -EINVAL);
	assert_int_equal(ring_create(&ring, path, RING_MIN, 0, 0), -EEXIST);
}

enum { MANY = 300000 };

static void *write_many(void *arg)
{
	for (uint64_t i = 0; i < MANY; i++) {
		size_t words = 2 + i % 13;

		while (!ring_room(&in, words * 8))
			sched_yield();
		put(words, i);
	}
	return arg;
}

static void reader_follows_a_writer_in_another_thread(void **state)
{
	const struct event_head *head;
	pthread_t writer;

	(void)state;
	assert_int_equal(pthread_create(&writer, NULL, write_many, NULL), 0);
	for (uint64_t i = 0; i < MANY; i++) {
		while (!ring_peek(&out, &head))
			sched_yield();
		take(2 + i % 13, i);
	}
	pthread_join(writer, NULL);
}

/* A ring that grows, with so many events of so many words; -1: it could not. */
static int write_growing(uint64_t events, size_t words)
{
	for (uint64_t i = 0; i < events; i++) {
		if (!ring_room(&in, words * 8) && ring_must_move(&in, 0) && ring_grow(&in, AT_FDCWD, path))
			return -1;
		put(words, i);
	}
	return 0;
}

static void growing_ring_keeps_all_of_it(void **state)
{
	const struct event_head *head;

	(void)state;
	teardown(NULL);
	assert_int_equal(ring_create_growing(&in, AT_FDCWD, path, RING_MIN, 3, 0), 0);
	assert_int_equal(write_growing(100000, 13), 0); /* 13 words fit no piece evenly */
	ring_trim(&in, AT_FDCWD, path);
	assert_int_equal(ring_open_leftover(&out, path), 0);
	for (uint64_t i = 0; i < 100000; i++)
		take(13, i);
	assert_int_equal(ring_peek(&out, &head), 0);
}

static void cut_ring_is_read_up_to_the_cut(void **state)
{
	const struct event_head *head;

	(void)state;
	teardown(NULL);
	assert_int_equal(ring_create_growing(&in, AT_FDCWD, path, RING_MIN, 3, 0), 0);
	assert_int_equal(write_growing(100000, 13), 0);
	ring_close(&in);
	assert_int_equal(truncate(path, RING_PAGE + 50000 * 13 * 8 + 40), 0);
	assert_int_equal(ring_open_leftover(&out, path), 0);
	for (uint64_t i = 0; i < 50000; i++)
		take(13, i);
	assert_int_equal(ring_peek(&out, &head), -EBADMSG);
}

static void ring_that_cannot_grow_says_so(void **state)
{
	(void)state;
	teardown(NULL);
	assert_int_equal(ring_create_growing(&in, AT_FDCWD, path, RING_MIN, 3, 0), 0);
	unlink(path);
	assert_int_equal(write_growing(100000, 13), -1);
	assert_int_equal(ring_grow(&in, AT_FDCWD, path), -ENOENT);
}

/* What has its name by now is not the ring, and stays as it is. */
static void link_in_place_of_a_ring_is_not_followed(void **state)
{
	char other[] = "/tmp/ring_test.other.XXXXXX", bytes[64];
	int fd = mkstemp(other);

	(void)state;
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	teardown(NULL);
	assert_int_equal(ring_create_growing(&in, AT_FDCWD, path, RING_MIN, 3, 0), 0);
	unlink(path);
	assert_int_equal(symlink(other, path), 0);
	ring_trim(&in, AT_FDCWD, path);
	assert_int_equal(ring_grow(&in, AT_FDCWD, path), -ELOOP);
	assert_int_equal(ring_open(&out, path), -ELOOP);
	assert_int_equal(lseek(fd, 0, SEEK_END), sizeof(bytes));
	close(fd);
	unlink(other);
}

static void file_that_others_may_write_is_no_ring(void **state)
{
	(void)state;
	assert_int_equal(chmod(path, 0620), 0);
	assert_int_equal(ring_open(&out, path), -EACCES);
}

/* Nobody has read, or somebody has read a part: the file is left as it is. */
static void leftover_is_read_from_where_it_can_be(void **state)
{
	struct ring left = { 0 };
	const struct event_head *head;

	(void)state;
	put(8, 1);
	put(8, 2);
	take(8, 1);
	assert_int_equal(ring_open_leftover(&left, path), 0);
	assert_int_equal(left.seq, 0); /* all of it is there still */
	ring_step(&left, 64);
	ring_consume(&left);
	ring_close(&left);
	assert_int_equal(out.head->head, 64);
	take(8, 2);
	for (int i = 0; i < RING_MIN / 64; i++)
		put(8, 3);
	assert_int_equal(ring_open_leftover(&left, path), 0);
	assert_int_equal(left.seq, 2);
	assert_int_equal(ring_peek(&left, &head), 64);
	ring_close(&left);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(any_sequence_comes_out_the_same),
		TEST(empty_ring_has_no_event),
		TEST(full_ring_has_no_room_until_read),
		TEST(number_goes_on_after_2_to_the_32),
		TEST(damage_costs_its_event),
		TEST(impossible_tail_is_damage),
		TEST(events_are_read_without_a_tail),
		TEST(writer_that_went_round_is_followed),
		TEST(any_garbage_is_read_without_harm),
		TEST(what_was_looked_at_cannot_be_changed),
		TEST(longest_event_is_copied_whole),
		TEST(head_is_read_as_it_was),
		TEST(drops_are_counted_with_their_times),
		TEST(open_of_no_ring_is_refused),
		TEST(create_wants_a_power_of_two),
		TEST(reader_follows_a_writer_in_another_thread),
		TEST(growing_ring_keeps_all_of_it),
		TEST(cut_ring_is_read_up_to_the_cut),
		TEST(ring_that_cannot_grow_says_so),
		TEST(link_in_place_of_a_ring_is_not_followed),
		TEST(file_that_others_may_write_is_no_ring),
		TEST(leftover_is_read_from_where_it_can_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
