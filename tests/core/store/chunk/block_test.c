#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/store/chunk/batch.h"
#include "core/store/chunk/block.h"
#include "gen/verbs_gen.h"
#include "tests/test.h"

static struct batch batch;
static struct packer packer;
static struct block block;

static int free_all(void **state)
{
	(void)state;
	batch_fini(&batch);
	packer_fini(&packer);
	block_fini(&block);
	return 0;
}

/* A post of one request with one element, and a poll of one completion. */
static void add_pair(uint64_t n, uint64_t value)
{
	struct {
		struct event_post post;
		struct event_wr wr;
		struct event_rdma rdma;
		struct event_sge sge;
	} e = { { .head = { .words = sizeof(e) / 8 }, .verb = VERB_post_send, .nwr = 1 },
		{ .wr_id = value, .nsge = 1, .parts = WR_RDMA },
		{ value, 5 },
		{ value, 64, 9 } };
	struct {
		struct event_poll poll;
		struct event_wc wc;
	} p = { { .head = { .words = sizeof(p) / 8 }, .ret = 1, .nwc = 1 }, { .wr_id = value } };

	assert_int_equal(batch_post(&batch, &e.post, n, (int64_t)n, 0), 0);
	assert_int_equal(batch_poll(&batch, &p.poll, n + 1, (int64_t)n + 1, 0, 0), 0);
}

static void load_all(void)
{
	assert_int_equal(block_load(&block, packer.bytes, packer.used, FAMILIES_ALL), 0);
	for (int id = 0; id < COLUMN_COUNT; id++)
		assert_int_equal(block_need(&block, (enum column_id)id), 0);
}

FIXTURE(NULL, free_all);

TEST(regular_traffic_takes_no_room)
{
	for (uint64_t i = 0; i < 4000; i++)
		add_pair(1 + 2 * i, 7);
	assert_int_equal(packer_pack(&packer, &batch), 0);
	assert_true(packer.used < 400); /* 8000 events */
	load_all();
	assert_int_equal(block_get(&block, COLUMN_n, 7999), 8000);
	assert_int_equal(block_get(&block, COLUMN_wr_id, 3999), 7);
}

TEST(extreme_values_are_kept)
{
	const uint64_t values[] = { 0, UINT64_MAX, 1, 1ull << 63, INT64_MAX, 0, 5, 4, UINT64_MAX };
	enum { N = sizeof(values) / sizeof(*values) };

	for (uint64_t i = 0; i < N; i++)
		add_pair(1 + 2 * i, values[i]);
	assert_int_equal(packer_pack(&packer, &batch), 0);
	load_all();
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(block_get(&block, COLUMN_wr_id, i), values[i]);
		assert_int_equal(block_get(&block, COLUMN_remote_addr, i), values[i]);
		assert_int_equal(block_get(&block, COLUMN_wc_wr_id, i), values[i]);
	}
	assert_int_equal(block_get(&block, COLUMN_wr_id, N), 0);
}

TEST(batch_is_used_again)
{
	for (uint64_t round = 1; round < 4; round++) {
		for (uint64_t i = 0; i < 100; i++)
			add_pair(1 + 2 * i, i * i * round);
		assert_int_equal(packer_pack(&packer, &batch), 0);
		batch_clear(&batch);
		load_all();
		assert_int_equal(block_get(&block, COLUMN_wr_id, 99), 99 * 99 * round);
	}
}

TEST(impossible_lengths_add_nothing)
{
	struct {
		struct event_post post;
		struct event_wr wr;
	} e = { { .head = { .words = sizeof(e) / 8 }, .verb = VERB_post_send, .nwr = 1 }, { 0 } };
	struct event_poll poll = { .head = { .words = sizeof(poll) / 8 }, .nwc = 1 };
	struct event_poll no_stack = { .head = { .words = sizeof(poll) / 8,
						 .flags = EVENT_STACK } };
	struct {
		struct event_poll poll;
		struct event_stack stack;
	} short_stack = { { .head = { .words = sizeof(short_stack) / 8, .flags = EVENT_STACK } },
			  { .nframes = 1 } };

	e.wr.nsge = 1;
	assert_int_equal(batch_post(&batch, &e.post, 1, 1, 0), -EBADMSG);
	e.wr.nsge = 0;
	e.wr.parts = WR_BIND;
	assert_int_equal(batch_post(&batch, &e.post, 1, 1, 0), -EBADMSG);
	e.wr.parts = 128;
	assert_int_equal(batch_post(&batch, &e.post, 1, 1, 0), -EBADMSG);
	e.wr.parts = 0;
	e.post.nwr = 2;
	assert_int_equal(batch_post(&batch, &e.post, 1, 1, 0), -EBADMSG);
	e.post.nwr = 1;
	e.post.verb = VERB_reg_mr;
	assert_int_equal(batch_post(&batch, &e.post, 1, 1, 0), -EBADMSG);
	e.post.head.words = 2;
	assert_int_equal(batch_post(&batch, &e.post, 1, 1, 0), -EBADMSG);
	assert_int_equal(batch_poll(&batch, &poll, 1, 1, 0, 0), -EBADMSG);
	assert_int_equal(batch_poll(&batch, &short_stack.poll, 1, 1, 0, 0), -EBADMSG);
	assert_int_equal(batch_poll(&batch, &no_stack, 1, 1, 0, 0), -EBADMSG);
	for (int i = 0; i < COLUMN_COUNT; i++)
		assert_int_equal(batch.columns[i].count, 0);
}

/* Traverse as the reader does; block_load() guarantees that this is safe. */
static void walk_all(void)
{
	struct block_position walk = { 0 };
	uint32_t events = 0;

	while (walk.at[FAMILY_EVENT] < block_count(&block, COLUMN_n) && events++ < 100000)
		block_skip_event(&block, &walk, true);
}

TEST(any_bytes_are_refused_or_safe)
{
	uint8_t *bytes;
	int taken = 0;

	srand(5);
	for (uint64_t i = 0; i < 300; i++)
		add_pair(1 + 2 * i, (uint64_t)rand());
	assert_int_equal(packer_pack(&packer, &batch), 0);
	bytes = malloc(packer.used);
	for (int round = 0; round < 20000; round++) {
		size_t n = rand() % 4 ? packer.used : (size_t)rand() % packer.used;
		bool whole = true;

		memcpy(bytes, packer.bytes, packer.used);
		for (int i = rand() % 4; i >= 0; i--)
			bytes[rand() % (rand() % 2 ? packer.used : 60)] = (uint8_t)rand();
		if (block_load(&block, bytes, n, FAMILIES_ALL))
			continue;
		for (int id = 0; id < COLUMN_COUNT; id++)
			if (block_need(&block, (enum column_id)id))
				whole = false;
		if (whole)
			walk_all();
		taken += whole;
	}
	assert_true(taken > 0);
	free(bytes);
}

TEST(cut_off_chunk_is_refused)
{
	for (uint64_t i = 0; i < 50; i++)
		add_pair(1 + 2 * i, i * i);
	assert_int_equal(packer_pack(&packer, &batch), 0);
	for (size_t n = 0; n < packer.used; n++)
		assert_int_equal(block_load(&block, packer.bytes, n, FAMILIES_ALL), -EBADMSG);
}

TEST(families_must_fit_each_other)
{
	add_pair(1, 1);
	column_put(&batch.columns[COLUMN_addr], 1); /* one element too many */
	assert_int_equal(packer_pack(&packer, &batch), 0);
	assert_int_equal(block_load(&block, packer.bytes, packer.used, FAMILIES_ALL), -EBADMSG);
	assert_int_equal(block_load(&block, packer.bytes, packer.used, FAMILY_BIT(WC)), 0);
}

TEST(extras_of_completions_must_fit)
{
	struct {
		struct event_poll poll;
		struct event_wc wc;
		struct event_wc_extra extra;
	} p = { .poll = { .head = { .words = sizeof(p) / 8, .flags = EVENT_NEXT | EVENT_EXTRA },
			  .nwc = 1 },
		.extra = { .parts = WC_FLOW_TAG, .flow_tag = 7 } };

	assert_int_equal(batch_poll(&batch, &p.poll, 1, 1, 0, 0), 0);
	assert_int_equal(packer_pack(&packer, &batch), 0);
	assert_int_equal(block_load(&block, packer.bytes, packer.used, FAMILIES_ALL), 0);
	assert_int_equal(block_count(&block, COLUMN_flow_tag), 1);
	column_put(&batch.columns[COLUMN_wc_parts], 0); /* of no completion */
	assert_int_equal(packer_pack(&packer, &batch), 0);
	assert_int_equal(block_load(&block, packer.bytes, packer.used, FAMILIES_ALL), -EBADMSG);
	p.poll.head.words--; /* cut off */
	assert_int_equal(batch_poll(&batch, &p.poll, 2, 2, 0, 0), -EBADMSG);
}

/* @events equal notifies: a few bytes, however many they are. */
static void pack_notifies(uint32_t events)
{
	struct event_notify e = { .head = { .words = sizeof(e) / 8 } };

	for (uint64_t n = 1; n <= events; n++)
		assert_int_equal(batch_notify(&batch, &e, n, (int64_t)n), 0);
	assert_int_equal(packer_pack(&packer, &batch), 0);
	batch_clear(&batch);
}

TEST(more_rows_than_are_written_are_refused)
{
	pack_notifies(BATCH_EVENTS_MAX);
	assert_int_equal(block_load(&block, packer.bytes, packer.used, FAMILIES_ALL), 0);
	pack_notifies(BATCH_EVENTS_MAX + 1);
	assert_int_equal(block_load(&block, packer.bytes, packer.used, FAMILIES_ALL), -EBADMSG);
}

TEST(no_memory_for_a_size_that_the_bytes_do_not_have)
{
	/* version, 1 column: kind, zstd, 8192 rows, packed and unpacked bytes; a frame of 1 byte */
	const uint8_t head[] = { CHUNK_VERSION, 1, COLUMN_kind, COLUMN_ZSTD, 0x80, 0x40 };
	uint8_t bytes[128];
	size_t packed = ZSTD_compress(bytes + 64, 64, "", 1, 1), n = sizeof(head);

	memcpy(bytes, head, n);
	n += varint_put(bytes + n, packed);
	n += varint_put(bytes + n, 81920);
	memmove(bytes + n, bytes + 64, packed);
	assert_int_equal(block_load(&block, bytes, n + packed, FAMILIES_ALL), -EBADMSG);
	assert_int_equal(block.scratch_size, 0);
}

TEST(a_post_without_end_is_cut)
{
	enum { NWR = 1000 };
	static struct {
		struct event_post post;
		struct event_wr wr[NWR];
	} e = { .post = { .head = { .words = sizeof(e) / 8, .flags = EVENT_PART },
			  .verb = VERB_post_send,
			  .nwr = NWR } };
	uint32_t parts = 0;

	while (!batch_post(&batch, &e.post, parts + 1, 1, 0))
		assert_true(++parts < 1000);
	assert_true(parts * NWR >= EVENT_POST_WRS); /* a valid one fits */
	assert_true(batch_close(&batch));
	assert_int_equal(packer_pack(&packer, &batch), 0);
	load_all();
	assert_int_equal(block_count(&block, COLUMN_wr_id), parts * NWR);
}
