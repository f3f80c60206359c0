/*
 * Joining the pieces of payloads, and chunks of payloads
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/write/payloads.h"
#include "core/wire/hash.h"
#include "tests/test.h"

/* An event with @bytes bytes, each the low byte of its place in the payload. */
static struct event_payload *make_piece(uint64_t object, uint32_t of, uint32_t index,
					uint64_t total, uint64_t offset, uint32_t bytes,
					unsigned int flags)
{
	static _Alignas(8) char room[1024];
	struct event_payload *e = (void *)room;

	memset(e, 0, sizeof(*e));
	e->head.words = (uint16_t)((sizeof(*e) + bytes + 7) / 8);
	e->head.type = EVENT_PAYLOAD;
	e->object = object;
	e->of = of;
	e->index = index;
	e->total = total;
	e->offset = offset;
	e->bytes = bytes;
	e->flags = (uint8_t)flags;
	for (uint32_t i = 0; i < bytes; i++)
		((uint8_t *)(e + 1))[i] = (uint8_t)(offset + i);
	return e;
}

static struct event_post post_of(uint64_t object, unsigned int flags)
{
	return (struct event_post){ .object = object,
				    .head = { .words = sizeof(struct event_post) / 8,
					      .type = EVENT_POST,
					      .flags = (uint8_t)flags } };
}

TEST(pieces_of_a_completion_are_joined)
{
	struct payloads p = { .seed = 5 };
	struct event_payload *e = make_piece(0, 40, 2, 30, 0, 20, 0);

	e->head.seq = 41;
	assert_int_equal(payloads_add_piece(&p, e, 41, 7), 0);
	assert_int_equal(p.ready.nrows, 0);
	e = make_piece(0, 40, 2, 30, 20, 10, PAYLOAD_LAST);
	e->head.seq = 42;
	assert_int_equal(payloads_add_piece(&p, e, 42, 8), 0);
	assert_int_equal(p.ready.nrows, 1);
	assert_int_equal(p.ready.rows[0].n, 40);
	assert_int_equal(p.ready.rows[0].i, 2);
	assert_int_equal(p.ready.rows[0].bytes, 30);
	assert_true(p.ready.rows[0].hashed);
	assert_true(p.ready.rows[0].hash == hash_of(p.ready.bytes, 30, 5));
	payloads_fini(&p);
}

TEST(a_posts_come_with_it_in_order)
{
	struct event_post post = post_of(9, EVENT_CARRIES), other = post_of(8, EVENT_CARRIES);
	struct payloads p = { 0 };

	for (uint32_t i = 0; i < 3; i++)
		payloads_add_piece(&p, make_piece(9, 1, i, 4 + i, 0, 4 + i, PAYLOAD_LAST), 5 + i,
				   0);
	payloads_note_post(&p, &other, 8);
	assert_int_equal(p.ready.nrows, 0);
	payloads_note_post(&p, &post, 9);
	assert_int_equal(p.ready.nrows, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(p.ready.rows[i].i, i);
		assert_int_equal(p.ready.rows[i].n, 9);
		assert_int_equal(p.ready.rows[i].total, 4 + i);
	}
	assert_null(p.waiting);
	payloads_fini(&p);
}

TEST(of_a_post_that_never_came_nothing_stays)
{
	struct event_post plain = post_of(9, 0), post = post_of(9, EVENT_CARRIES);
	struct payloads p = { 0 };

	payloads_add_piece(&p, make_piece(9, 1, 0, 4, 0, 4, PAYLOAD_LAST), 1, 0);
	payloads_note_post(&p, &plain, 2);
	assert_null(p.waiting);
	payloads_add_piece(&p, make_piece(9, 2, 0, 4, 0, 4, PAYLOAD_LAST), 3, 0);
	payloads_add_piece(&p, make_piece(9, 3, 1, 5, 0, 5, PAYLOAD_LAST), 4, 0);
	payloads_note_post(&p, &post, 5);
	assert_int_equal(p.ready.nrows, 1);
	assert_int_equal(p.ready.rows[0].total, 5);
	payloads_fini(&p);
}

/* With --on-full=drop the posts themselves may be lost, and their queue pairs destroyed. */
TEST(of_posts_that_were_lost_not_all_is_kept)
{
	struct payloads p = { 0 };

	for (uint64_t object = 1; object <= 40; object++)
		for (uint64_t at = 0; at < 8 << 20; at += 512)
			assert_int_equal(
				payloads_add_piece(
					&p, make_piece(object, 1, 0, 8 << 20, at, 512, 0), at, 0),
				0);
	assert_in_range(p.waiting_bytes, 8 << 20, 200 << 20);
	assert_in_range(p.missed[PAYLOAD_LOST], 15, 39);
	payloads_fini(&p);
}

/* A list of any length: this took quadratic time. */
TEST(a_long_list_is_taken_in_at_once)
{
	struct event_post post = post_of(7, EVENT_CARRIES);
	struct payloads p = { 0 };
	enum { LONG = EVENT_POST_WRS };

	for (uint32_t i = 0; i < LONG; i++)
		assert_int_equal(
			payloads_add_piece(&p, make_piece(7, 1, i, 4, 0, 4, PAYLOAD_LAST), i, 0),
			0);
	assert_int_equal(payloads_note_post(&p, &post, LONG), 0);
	assert_int_equal(p.ready.nrows, LONG);
	assert_int_equal(p.ready.rows[LONG - 1].i, LONG - 1);
	payloads_fini(&p);
}

TEST(a_gap_ends_what_is_kept)
{
	struct payloads p = { 0 };

	payloads_add_piece(&p, make_piece(0, 1, 0, 30, 0, 10, 0), 2, 0);
	payloads_add_piece(&p, make_piece(0, 1, 0, 30, 20, 10, PAYLOAD_LAST), 3, 0);
	assert_int_equal(p.ready.nrows, 1);
	assert_int_equal(p.ready.rows[0].bytes, 10);
	assert_int_equal(p.ready.rows[0].why, PAYLOAD_LOST);
	assert_false(p.ready.rows[0].hashed);
	assert_int_equal(p.missed[PAYLOAD_LOST], 1);
	payloads_fini(&p);
}

TEST(the_last_that_never_came_is_reported_at_the_end)
{
	struct payloads p = { 0 };

	payloads_add_piece(&p, make_piece(0, 1, 0, 30, 0, 10, 0), 2, 0);
	assert_int_equal(payloads_end(&p), 0);
	assert_int_equal(p.ready.nrows, 1);
	assert_int_equal(p.ready.rows[0].why, PAYLOAD_LOST);
	payloads_fini(&p);
}

TEST(impossible_pieces_are_refused)
{
	struct payloads p = { 0 };
	struct event_payload *e = make_piece(0, 1, 0, 4, 0, 4, PAYLOAD_LAST);

	e->bytes = 5000;
	assert_int_equal(payloads_add_piece(&p, e, 1, 0), -EBADMSG);
	e = make_piece(0, 1, 0, 4, 0, 4, PAYLOAD_LAST);
	e->kind = PAYLOAD_KINDS;
	assert_int_equal(payloads_add_piece(&p, e, 1, 0), -EBADMSG);
	e = make_piece(0, 1, 0, 4, 0, 8, PAYLOAD_LAST); /* more than exists */
	assert_int_equal(payloads_add_piece(&p, e, 1, 0), -EBADMSG);
	payloads_fini(&p);
}

static struct payload_rows some_rows(unsigned int seed)
{
	struct payload_rows rows = { 0 };
	uint8_t bytes[600];

	srand(seed);
	for (int i = rand() % 50; i >= 0; i--) {
		struct payload_row row = {
			.n = (uint64_t)rand(),
			.i = (uint32_t)rand(),
			.time = rand() - 1000,
			.kind = (uint8_t)(rand() % PAYLOAD_KINDS),
			.why = (uint8_t)(rand() % PAYLOAD_WHYS),
			.before = rand() % 2 ? 40 : 0,
			.hashed = rand() % 2,
			.total = 1ull << rand() % 40,
			.bytes = (uint64_t)(rand() % 600),
		};

		row.hash = row.hashed ? (uint64_t)rand() << 33 : 0;
		for (size_t k = 0; k < row.bytes; k++)
			bytes[k] = (uint8_t)(seed % 2 ? rand() : 7);
		assert_int_equal(payload_rows_add(&rows, &row, bytes), 0);
	}
	return rows;
}

TEST(chunks_are_read_back)
{
	for (unsigned int seed = 0; seed < 50; seed++) {
		struct payload_rows rows = some_rows(seed), back = { 0 };
		uint8_t *data;
		size_t size;

		assert_int_equal(payload_pack(&rows, &data, &size), 0);
		assert_int_equal(payload_unpack(data, size, &back), 0);
		assert_int_equal(back.nrows, rows.nrows);
		assert_int_equal(back.used, rows.used);
		for (size_t i = 0; i < rows.nrows; i++) {
			assert_int_equal(back.rows[i].n, rows.rows[i].n);
			assert_int_equal(back.rows[i].i, rows.rows[i].i);
			assert_true(back.rows[i].time == rows.rows[i].time);
			assert_int_equal(back.rows[i].kind, rows.rows[i].kind);
			assert_int_equal(back.rows[i].why, rows.rows[i].why);
			assert_int_equal(back.rows[i].before, rows.rows[i].before);
			assert_true(back.rows[i].hash == rows.rows[i].hash);
			assert_int_equal(back.rows[i].total, rows.rows[i].total);
		}
		if (rows.used)
			assert_memory_equal(back.bytes, rows.bytes, rows.used);
		free(data);
		payload_rows_fini(&rows);
		payload_rows_fini(&back);
	}
}

/* A truncated or changed chunk is refused, or read as some rows, without a crash. */
TEST(damaged_chunks_do_no_harm)
{
	struct payload_rows rows = some_rows(3), back = { 0 };
	uint8_t *data, *copy;
	size_t size;

	assert_int_equal(payload_pack(&rows, &data, &size), 0);
	for (size_t cut = 0; cut < size; cut++) {
		copy = malloc(cut + 1);
		memcpy(copy, data, cut);
		assert_int_equal(payload_unpack(copy, cut, &back), -EBADMSG);
		free(copy);
	}
	for (size_t at = 0; at < size; at++) {
		data[at] ^= 0x55;
		payload_unpack(data, size, &back);
		data[at] ^= 0x55;
	}
	free(data);
	payload_rows_fini(&rows);
	payload_rows_fini(&back);
}

/* A few kilobytes that claim to be a hundred megabytes. */
TEST(more_than_is_written_is_refused)
{
	struct payload_row row = { .n = 1, .total = 100 << 20, .bytes = 100 << 20 };
	struct payload_rows rows = { 0 }, back = { 0 };
	uint8_t *bytes = calloc(1, row.bytes), *data;
	size_t size;

	assert_int_equal(payload_rows_add(&rows, &row, bytes), 0);
	assert_int_equal(payload_pack(&rows, &data, &size), 0);
	assert_int_equal(payload_unpack(data, size, &back), -EBADMSG);
	assert_int_equal(back.size, 0);
	free(bytes);
	free(data);
	payload_rows_fini(&rows);
	payload_rows_fini(&back);
}

/* One post with more than the payload of a call: the part that can be read is kept. */
TEST(of_too_much_for_a_chunk_only_lengths_are_kept)
{
	enum { EACH = 500 << 10, N = PAYLOAD_BYTES_MAX / EACH + 3 };
	struct event_post post = post_of(9, EVENT_CARRIES);
	struct payloads p = { 0 };

	for (uint32_t i = 0; i < N; i++)
		for (uint32_t at = 0; at < EACH; at += 512)
			payloads_add_piece(&p,
					   make_piece(9, 1, i, EACH, at, 512,
						      at + 512 < EACH ? 0 : PAYLOAD_LAST),
					   1, 0);
	assert_int_equal(payloads_note_post(&p, &post, 2), 0);
	assert_int_equal(p.ready.nrows, N);
	assert_true(p.ready.used <= PAYLOAD_BYTES_MAX);
	assert_true(p.missed[PAYLOAD_LOST] > 0);
	payloads_fini(&p);
}
