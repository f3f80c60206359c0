#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/wire/ring.h"
#include "tests/test.h"

static char path[64];
static struct ring in, out;

/* If it is not 0, mremap() fails with it. */
static int mremap_error;

void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
	va_list args;
	void *at;

	va_start(args, flags);
	at = flags & MREMAP_FIXED ? va_arg(args, void *) : NULL;
	va_end(args);
	if (mremap_error) {
		errno = mremap_error;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mremap, old, old_bytes, bytes, flags, at);
}

static uint64_t seed;

static uint64_t next_random(void)
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

static int make_ring(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/verbatim-ring-test-%d", (int)getpid());
	unlink(path);
	return ring_create(&in, path, RING_MIN, 3, 0) || ring_open(&out, path);
}

static int remove_ring(void **state)
{
	(void)state;
	ring_close(&in);
	ring_close(&out);
	unlink(path);
	return 0;
}

/* Write an event of @words words, with successive numbers from @value on. */
static void put_event(size_t words, uint64_t value)
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

/* Read the next event, which has to be that one. */
static void take_event(size_t words, uint64_t value)
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

FIXTURE(make_ring, remove_ring);

TEST(any_sequence_comes_out_the_same)
{
	static struct {
		size_t words;
		uint64_t value;
	} waiting[1 << 16];
	uint64_t written = 0, read = 0;

	choose_seed();
	while (read < 200000) {
		size_t words =
			2 + next_random() % (next_random() % 50 ? 40 : RING_EVENT_MAX / 8 - 2);

		if (next_random() % 3 && ring_has_room(&in, words * 8)) {
			waiting[written % (1 << 16)].words = words;
			waiting[written % (1 << 16)].value = next_random();
			put_event(words, waiting[written % (1 << 16)].value);
			written++;
		} else if (read < written) {
			take_event(waiting[read % (1 << 16)].words,
				   waiting[read % (1 << 16)].value);
			read++;
		}
	}
}

TEST(empty_ring_has_no_event)
{
	const struct event_head *head;

	assert_int_equal(ring_peek(&out, &head), 0);
}

TEST(full_ring_has_no_room_until_read)
{
	for (int i = 0; i < RING_MIN / 64; i++) {
		assert_true(ring_has_room(&in, 64));
		put_event(8, 1);
	}
	assert_false(ring_has_room(&in, 64));
	take_event(8, 1);
	assert_true(ring_has_room(&in, 64));
	assert_false(ring_has_room(&in, 128));
}

TEST(number_goes_on_after_2_to_the_32)
{
	in.seq = out.seq = UINT32_MAX - 1;
	for (uint64_t i = 0; i < 4; i++)
		put_event(2, i);
	for (uint64_t i = 0; i < 4; i++)
		take_event(2, i);
}

/* Write ten events, damage the sixth, and read what can be read. */
static void read_up_to(void (*spoil)(struct event_head *))
{
	const struct event_head *head;

	for (uint64_t i = 0; i < 10; i++)
		put_event(4, i);
	spoil((void *)(in.data + 5 * 32));
	for (uint64_t i = 0; i < 5; i++)
		take_event(4, i);
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

static void clear_type(struct event_head *head)
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

enum { LEFT_BEFORE, LEFT_UNNUMBERED, LEFT_NUMBERED, LEFT_RESERVED, LEFT_STATES };

/* As by put_event(), but the writer is left on the way: true if the event has its number. */
static bool leave_event(int where, size_t words, uint64_t value)
{
	struct event_head *head = ring_next(&in);
	uint64_t *body = (uint64_t *)head;

	for (size_t i = 2; i < words; i++)
		body[i] = value + i;
	head->type = EVENT_POST;
	head->flags = 0;
	head->ticks = value;
	if (where == LEFT_UNNUMBERED) {
		head->words = (uint16_t)words;
		head->seq = in.seq + 1;
	}
	if (where >= LEFT_NUMBERED)
		ring_number(&in, head, words);
	if (where >= LEFT_RESERVED)
		in.reserved += words * 8;
	return where >= LEFT_NUMBERED;
}

TEST(events_that_have_their_number_are_repaired)
{
	const struct event_head *head;

	for (int where = 0; where < LEFT_STATES; where++) {
		bool numbered;

		put_event(4, 100);
		numbered = leave_event(where, 6, 200);
		ring_repair(&in);
		put_event(8, 300);
		take_event(4, 100);
		if (numbered)
			take_event(6, 200);
		take_event(8, 300);
		assert_int_equal(ring_peek(&out, &head), 0);
	}
}

/* Several may be written before the first is published. */
TEST(all_that_have_their_number_are_repaired)
{
	const struct event_head *head;

	put_event(4, 100);
	for (uint64_t i = 1; i <= 3; i++)
		leave_event(LEFT_RESERVED, 4 + i, i * 200);
	assert_int_equal(ring_peek(&out, &head), 32);
	ring_repair(&in);
	ring_repair(&in);
	take_event(4, 100);
	for (uint64_t i = 1; i <= 3; i++)
		take_event(4 + i, i * 200);
	assert_int_equal(ring_peek(&out, &head), 0);
	put_event(4, 900);
	take_event(4, 900);
}

TEST(damage_costs_its_event)
{
	void (*const spoils[])(struct event_head *) = { no_length,           half_a_head,
							length_past_the_end, clear_type,
							unknown_type,        wrong_number };
	const struct event_head *head;

	for (size_t i = 0; i < sizeof(spoils) / sizeof(*spoils); i++) {
		read_up_to(spoils[i]);
		skip_one();
		for (uint64_t at = 6; at < 10; at++)
			take_event(4, at);
		assert_int_equal(ring_peek(&out, &head), 0);
		put_event(4, 10);
		spoils[i]((void *)(in.data + 10 * 32));
		skip_one(); /* nothing follows it yet */
		put_event(4, 11);
		take_event(4, 11);
		remove_ring(state);
		assert_int_equal(make_ring(state), 0);
	}
}

TEST(impossible_tail_is_damage)
{
	const uint64_t tails[] = { 4, 8, RING_MIN + 8, UINT64_MAX, 1ull << 63 };
	const struct event_head *head;

	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
		atomic_store(&in.head->tail, tails[i]);
		assert_int_equal(ring_peek(&out, &head), -EBADMSG);
	}
}

/* The writer's next event repairs it, and nothing is lost. */
TEST(events_are_read_without_a_tail)
{
	const struct event_head *head;
	uint32_t events;

	for (uint64_t i = 0; i < 3; i++)
		put_event(4, i);
	atomic_store(&in.head->tail, 1ull << 63);
	for (uint64_t i = 0; i < 3; i++)
		take_event(4, i);
	assert_int_equal(ring_peek(&out, &head), -EBADMSG);
	assert_int_equal(ring_skip(&out, &events), 0);
	put_event(4, 3);
	take_event(4, 3);
	assert_int_equal(ring_peek(&out, &head), 0);
}

/* The program overwrote the head, so that the writer saw space that did not exist. */
TEST(writer_that_went_round_is_followed)
{
	const struct event_head *head;
	uint32_t events;

	for (uint64_t i = 0; i < RING_MIN / 32 * 2 + 5; i++)
		put_event(4, i);
	assert_int_equal(ring_peek(&out, &head), -EBADMSG);
	assert_int_equal(ring_skip(&out, &events), 0);
	put_event(4, 0);
	assert_int_equal(ring_peek(&out, &head), -EBADMSG);
	assert_true(ring_skip(&out, &events) > RING_MIN);
	put_event(4, 1);
	put_event(4, 2);
	if (ring_peek(&out, &head) == -EBADMSG)
		assert_int_equal(ring_skip(&out, &events), 0);
	take_event(4, 1);
	take_event(4, 2);
	assert_int_equal(ring_peek(&out, &head), 0);
}

TEST(any_garbage_is_read_without_harm)
{
	const struct event_head *head;

	choose_seed();
	for (int round = 0; round < 2000; round++) {
		int bytes;

		for (size_t i = 0; i < 64; i++)
			((uint64_t *)(void *)in.data)[i] = next_random() & next_random();
		atomic_store(&in.head->tail, next_random() % 1024);
		atomic_store(&in.head->head, 0);
		out.reserved = 0;
		out.seq = (uint32_t)next_random();
		while ((bytes = ring_peek(&out, &head)) > 0) {
			assert_true((size_t)bytes >= sizeof(*head));
			assert_true(out.reserved + (size_t)bytes <= 1024);
			ring_step(&out, (size_t)bytes);
		}
		assert_true(bytes == 0 || bytes == -EBADMSG);
	}
}

/* The writer changes an event between check and use, and between two looks. */
TEST(what_was_looked_at_cannot_be_changed)
{
	const struct event_head *head;
	struct event_head before;

	put_event(4, 7);
	put_event(4, 8);
	assert_int_equal(ring_peek(&out, &head), 32);
	before = *head;
	memset(in.data, 0xff, 64);
	assert_memory_equal(head, &before, sizeof(before));
	assert_int_equal(((const uint64_t *)(const void *)head)[3], 10);
	ring_step(&out, 32);
	assert_int_equal(ring_peek(&out, &head), 32); /* it was copied together with the first */
	assert_int_equal(head->ticks, 8);
}

TEST(longest_event_is_copied_whole)
{
	put_event(3, 1);
	put_event(RING_EVENT_MAX / 8, 2);
	put_event(3, 3);
	take_event(3, 1);
	take_event(RING_EVENT_MAX / 8, 2);
	take_event(3, 3);
}

TEST(head_is_read_as_it_was)
{
	struct ring_head head;

	in.head->polls[RING_POLLS - 1].empty = 9;
	ring_drop(&in, 100);
	ring_read_head(&out, &head);
	memset(in.head, 0xff, sizeof(*in.head));
	assert_int_equal(head.pid, getpid());
	assert_int_equal(head.dropped, 1);
	assert_int_equal(head.drop_first, 100);
	assert_int_equal(head.polls[RING_POLLS - 1].empty, 9);
}

static unsigned int count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, path) != NULL;
	fclose(maps);
	return n;
}

TEST(closed_ring_is_not_mapped)
{
	unsigned int before = count_mappings();

	put_event(2, 7);
	ring_close_data(&in);
	assert_null(in.data);
	assert_int_equal(in.head->index, 3);
	assert_in_range(count_mappings(), 1, before - 1);
	ring_close_data(&in);
	ring_close(&in);
	assert_null(in.head);
	ring_close(&out);
	assert_int_equal(count_mappings(), 0);
	ring_close(&out);
}

TEST(drops_are_counted_with_their_times)
{
	ring_drop(&in, 100);
	ring_drop(&in, 200);
	ring_drop(&in, 300);
	assert_int_equal(atomic_load(&out.head->dropped), 3);
	assert_int_equal(atomic_load(&out.head->drop_first), 100);
	assert_int_equal(atomic_load(&out.head->drop_last), 300);
}

TEST(open_of_no_ring_is_refused)
{
	struct ring ring = { 0 };

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

TEST(create_wants_a_power_of_two)
{
	struct ring ring;

	assert_int_equal(ring_create(&ring, "/tmp/x", RING_MIN + 8, 0, 0), -EINVAL);
	assert_int_equal(ring_create(&ring, "/tmp/x", RING_MIN / 2, 0, 0), -EINVAL);
	assert_int_equal(ring_create(&ring, path, RING_MIN, 0, 0), -EEXIST);
}

enum { MANY = 300000 };

static void *write_many(void *arg)
{
	for (uint64_t i = 0; i < MANY; i++) {
		size_t words = 2 + i % 13;

		while (!ring_has_room(&in, words * 8))
			sched_yield();
		put_event(words, i);
	}
	return arg;
}

TEST(reader_follows_a_writer_in_another_thread)
{
	const struct event_head *head;
	pthread_t writer;

	assert_int_equal(pthread_create(&writer, NULL, write_many, NULL), 0);
	for (uint64_t i = 0; i < MANY; i++) {
		while (!ring_peek(&out, &head))
			sched_yield();
		take_event(2 + i % 13, i);
	}
	pthread_join(writer, NULL);
}

/* Write @events events of @words words to a growing ring; -1: it could not grow. */
static int write_growing(uint64_t events, size_t words)
{
	for (uint64_t i = 0; i < events; i++) {
		if (!ring_has_room(&in, words * 8) && ring_must_move(&in, 0) &&
		    ring_grow(&in, AT_FDCWD, path))
			return -1;
		put_event(words, i);
	}
	return 0;
}

TEST(growing_ring_keeps_all_of_it)
{
	const struct event_head *head;

	remove_ring(NULL);
	assert_int_equal(ring_create_growing(&in, AT_FDCWD, path, RING_MIN, 3, 0), 0);
	assert_int_equal(write_growing(100000, 13), 0); /* 13 words fit no piece evenly */
	ring_trim(&in, AT_FDCWD, path);
	assert_int_equal(ring_open_leftover(&out, path), 0);
	for (uint64_t i = 0; i < 100000; i++)
		take_event(13, i);
	assert_int_equal(ring_peek(&out, &head), 0);
}

TEST(cut_ring_is_read_up_to_the_cut)
{
	const struct event_head *head;

	remove_ring(NULL);
	assert_int_equal(ring_create_growing(&in, AT_FDCWD, path, RING_MIN, 3, 0), 0);
	assert_int_equal(write_growing(100000, 13), 0);
	ring_close(&in);
	assert_int_equal(truncate(path, RING_PAGE + 50000 * 13 * 8 + 40), 0);
	assert_int_equal(ring_open_leftover(&out, path), 0);
	for (uint64_t i = 0; i < 50000; i++)
		take_event(13, i);
	assert_int_equal(ring_peek(&out, &head), -EBADMSG);
}

TEST(ring_that_cannot_grow_says_so)
{
	remove_ring(NULL);
	assert_int_equal(ring_create_growing(&in, AT_FDCWD, path, RING_MIN, 3, 0), 0);
	unlink(path);
	assert_int_equal(write_growing(100000, 13), -1);
	assert_int_equal(ring_grow(&in, AT_FDCWD, path), -ENOENT);
}

/* Another file with the same name is not the ring, and stays unchanged. */
TEST(link_in_place_of_a_ring_is_not_followed)
{
	char other[] = "/tmp/ring_test.other.XXXXXX", bytes[64];
	int fd = mkstemp(other);

	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	remove_ring(NULL);
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

TEST(file_that_others_may_write_is_no_ring)
{
	assert_int_equal(chmod(path, 0620), 0);
	assert_int_equal(ring_open(&out, path), -EACCES);
}

/* The ring was not read, or only a part of it: reading leaves the file unchanged. */
TEST(leftover_is_read_from_where_it_can_be)
{
	struct ring left = { 0 };
	const struct event_head *head;

	put_event(8, 1);
	put_event(8, 2);
	take_event(8, 1);
	assert_int_equal(ring_open_leftover(&left, path), 0);
	assert_int_equal(left.seq, 0); /* all of it still exists */
	ring_step(&left, 64);
	ring_consume(&left);
	ring_close(&left);
	assert_int_equal(out.head->head, 64);
	take_event(8, 2);
	for (int i = 0; i < RING_MIN / 64; i++)
		put_event(8, 3);
	assert_int_equal(ring_open_leftover(&left, path), 0);
	assert_int_equal(left.seq, 2);
	assert_int_equal(ring_peek(&left, &head), 64);
	ring_close(&left);
}

static void make_narrow(uint64_t bytes)
{
	remove_ring(NULL);
	assert_int_equal(ring_create_narrow(&in, AT_FDCWD, path, bytes, 3, 0), 0);
	assert_int_equal(ring_open(&out, path), 0);
}

static uint64_t file_blocks(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

TEST(narrow_ring_takes_little_memory)
{
	make_narrow(RING_BYTES);
	assert_int_equal(ring_footprint(&in), RING_PAGE + RING_NARROW);
	assert_true(file_blocks() <= RING_PAGE + RING_NARROW);
	assert_int_equal(ring_next_area_bytes(&in), 4 * RING_NARROW);
}

/* Widen it whenever it is full, and sometimes when it is not. */
TEST(any_sequence_crosses_turns)
{
	static struct {
		size_t words;
		uint64_t value;
	} waiting[1 << 18];
	uint64_t written = 0, read = 0;

	choose_seed();
	for (int round = 0; round < 20; round++) {
		make_narrow(RING_BYTES);
		written = read = 0;
		while (read < 20000) {
			size_t words =
				2 +
				next_random() % (next_random() % 50 ? 40 : RING_EVENT_MAX / 8 - 2);

			if (next_random() % 1000 == 0 && ring_next_area_bytes(&in))
				assert_int_equal(ring_widen(&in, AT_FDCWD, path), 0);
			while (!ring_has_room(&in, words * 8) && ring_next_area_bytes(&in) &&
			       (words * 8 > in.mask || next_random() % 4 == 0))
				assert_int_equal(ring_widen(&in, AT_FDCWD, path), 0);
			if (next_random() % 3 && ring_has_room(&in, words * 8)) {
				waiting[written % (1 << 18)].words = words;
				waiting[written % (1 << 18)].value = next_random();
				put_event(words, waiting[written % (1 << 18)].value);
				written++;
			} else if (read < written) {
				take_event(waiting[read % (1 << 18)].words,
					   waiting[read % (1 << 18)].value);
				read++;
			}
		}
	}
}

/* With empty or full areas: the reader goes through all areas that the writer has left. */
TEST(reader_follows_several_turns_at_once)
{
	const struct event_head *head;
	uint64_t n = 0;

	make_narrow(RING_BYTES);
	assert_int_equal(ring_widen(&in, AT_FDCWD, path), 0); /* before the first event */
	assert_int_equal(ring_peek(&out, &head), 0);
	for (; in.mask + 1 < RING_BYTES || ring_has_room(&in, 64); n++) {
		if (!ring_has_room(&in, 64))
			assert_int_equal(ring_widen(&in, AT_FDCWD, path), 0);
		put_event(8, n);
	}
	assert_int_equal(ring_next_area_bytes(&in), 0);
	assert_int_equal(ring_widen(&in, AT_FDCWD, path), -EINVAL);
	for (uint64_t i = 0; i < n; i++)
		take_event(8, i);
	assert_int_equal(ring_peek(&out, &head), 0);
}

TEST(what_the_reader_has_left_is_given_back)
{
	const uint64_t widest = RING_PAGE + RING_BYTES;
	uint64_t n = 0;

	make_narrow(RING_BYTES);
	for (; ring_next_area_bytes(&in); n++) {
		if (!ring_has_room(&in, 64))
			assert_int_equal(ring_widen(&in, AT_FDCWD, path), 0);
		put_event(8, n);
	}
	assert_true(ring_footprint(&in) > widest);
	for (uint64_t i = 0; i < n; i++)
		take_event(8, i);
	assert_int_equal(ring_footprint(&in), widest);
	assert_true(file_blocks() < widest + RING_NARROW); /* the file system may use some itself */
}

/* The position of a turn is read from the head, and may be any number. */
TEST(impossible_turn_is_damage)
{
	const uint64_t turns[] = { 4, 8, RING_NARROW + 8, UINT64_MAX, 1ull << 63 };
	const struct event_head *head;

	for (size_t i = 0; i < sizeof(turns) / sizeof(*turns); i++) {
		make_narrow(RING_BYTES);
		for (int j = 0; j < 49; j++)
			put_event(RING_NARROW / 8 / 50, 1);
		atomic_store(&in.head->turns[0], turns[i]);
		atomic_store(&in.head->turned, i % 2 ? UINT32_MAX : 1);
		/* events with successive numbers are read */
		for (int j = 0; j < 49; j++)
			take_event(RING_NARROW / 8 / 50, 1);
		assert_true(ring_peek(&out, &head) <= 0);
		assert_int_equal(out.mask + 1, RING_NARROW);
	}
}

/* Each area is entered and left empty; there is none after the last. */
TEST(turn_to_nowhere_is_damage)
{
	const struct event_head *head;

	make_narrow(RING_BYTES);
	put_event(8, 1);
	take_event(8, 1);
	put_event(8, 2);
	for (int i = 0; i < RING_TURNS; i++)
		atomic_store(&in.head->turns[i], 64);
	atomic_store(&in.head->turned, UINT32_MAX);
	assert_int_equal(ring_peek(&out, &head), -EBADMSG);
	assert_int_equal(out.mask + 1, RING_BYTES);
}

TEST(any_turns_are_read_without_harm)
{
	const struct event_head *head;

	choose_seed();
	for (int round = 0; round < 200; round++) {
		int bytes;

		make_narrow(RING_BYTES);
		for (int i = 0; i < 200; i++)
			put_event(8, 1);
		for (int i = 0; i < RING_TURNS; i++)
			atomic_store(&in.head->turns[i],
				     next_random() % 200 * (next_random() % 20 ? 64 : 63));
		atomic_store(&in.head->turned, (uint32_t)(next_random() % 12));
		__atomic_store_n(&in.head->bytes, next_random(), __ATOMIC_SEQ_CST);
		__atomic_store_n(&in.head->narrow, next_random(), __ATOMIC_SEQ_CST);
		while ((bytes = ring_peek(&out, &head)) > 0)
			ring_step(&out, (size_t)bytes);
		assert_true(bytes == 0 || bytes == -EBADMSG);
	}
}

TEST(narrow_ring_of_no_shape_is_refused)
{
	struct ring ring = { 0 };

	make_narrow(RING_BYTES);
	in.head->narrow = RING_NARROW / 2;
	assert_int_equal(ring_open(&ring, path), -EPROTO);
	in.head->narrow = 2 * RING_BYTES;
	assert_int_equal(ring_open(&ring, path), -EPROTO);
	in.head->narrow = RING_NARROW;
	in.head->bytes = 2ull * RING_MAX;
	assert_int_equal(ring_open(&ring, path), -EPROTO);
	in.head->bytes = 2 * RING_BYTES; /* the file is not as long */
	assert_int_equal(ring_open(&ring, path), -EPROTO);
}

TEST(leftover_of_a_turn_is_read_from_where_it_can_be)
{
	struct ring left = { 0 };
	const struct event_head *head;
	uint64_t n = 0;

	make_narrow(RING_BYTES);
	for (; in.area < 2; n++) {
		if (!ring_has_room(&in, 64))
			assert_int_equal(ring_widen(&in, AT_FDCWD, path), 0);
		put_event(8, n);
	}
	assert_int_equal(ring_open_leftover(&left, path), 0); /* nothing was read */
	assert_int_equal(left.seq, 0);
	ring_close(&left);
	for (uint64_t i = 0; i < RING_NARROW / 64 + 10; i++)
		take_event(8, i);
	for (int again = 0; again < 2; again++) { /* the first time changed nothing */
		assert_int_equal(ring_open_leftover(&left, path), 0);
		assert_int_equal(left.seq, RING_NARROW / 64 + 10);
		for (uint64_t i = left.seq; i < n; i++) {
			assert_int_equal(ring_peek(&left, &head), 64);
			assert_int_equal(head->ticks, i);
			ring_step(&left, 64);
		}
		assert_int_equal(ring_peek(&left, &head), 0);
		ring_close(&left);
	}
}

TEST(ring_that_cannot_widen_stays_as_it_is)
{
	struct rlimit before, none;

	make_narrow(RING_BYTES);
	put_event(8, 1);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	none = (struct rlimit){ 1, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	assert_int_equal(ring_widen(&in, AT_FDCWD, path), -ENOMEM);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_int_equal(ring_footprint(&in), RING_PAGE + RING_NARROW);
	put_event(8, 2);
	take_event(8, 1);
	take_event(8, 2);
}

/* The ring's file is not used instead. */
TEST(ring_does_not_widen_without_memory)
{
	make_narrow(RING_BYTES);
	mremap_error = ENOMEM;
	assert_int_equal(ring_widen(&in, AT_FDCWD, path), -ENOMEM);
	mremap_error = 0;
	assert_int_equal(ring_footprint(&in), RING_PAGE + RING_NARROW);
}

/* As in valgrind. */
TEST(ring_widens_by_its_file_without_mremap)
{
	make_narrow(RING_BYTES);
	mremap_error = EINVAL;
	assert_int_equal(ring_widen(&in, AT_FDCWD, path), 0);
	mremap_error = 0;
	assert_int_equal(ring_footprint(&in), RING_PAGE + RING_NARROW + 4 * RING_NARROW);
	put_event(8, 1);
	take_event(8, 1);
}

/* The directory is removed, the user changed: a thread continues in the ring that it has. */
TEST(ring_without_a_file_becomes_wider)
{
	make_narrow(RING_BYTES);
	unlink(path);
	put_event(8, 1);
	if (ring_widen(&in, AT_FDCWD, path) == -ENOENT)
		skip(); /* before Linux 5.14 */
	put_event(8, 2);
	take_event(8, 1);
	take_event(8, 2);
	assert_int_equal(out.mask, in.mask);
}

TEST(ring_stays_narrow_where_files_must_be_short)
{
	struct rlimit before, little;

	remove_ring(NULL);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	little = (struct rlimit){ 2 * RING_NARROW, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	assert_int_equal(ring_create_narrow(&in, AT_FDCWD, path, RING_BYTES, 3, 0), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(ring_open(&out, path), 0);
	assert_int_equal(ring_next_area_bytes(&in), 0);
	put_event(8, 1);
	take_event(8, 1);
}

static void *write_and_widen(void *arg)
{
	for (uint64_t i = 0; i < MANY; i++) {
		size_t words = 2 + i % 13;

		if (i % 10000 == 9999 && ring_next_area_bytes(&in) &&
		    ring_widen(&in, AT_FDCWD, path))
			return NULL;
		while (!ring_has_room(&in, words * 8))
			sched_yield();
		put_event(words, i);
	}
	return arg;
}

TEST(reader_follows_turns_in_another_thread)
{
	const struct event_head *head;
	pthread_t writer;

	make_narrow(RING_BYTES);
	assert_int_equal(pthread_create(&writer, NULL, write_and_widen, NULL), 0);
	for (uint64_t i = 0; i < MANY; i++) {
		while (!ring_peek(&out, &head))
			sched_yield();
		take_event(2 + i % 13, i);
	}
	pthread_join(writer, NULL);
}
