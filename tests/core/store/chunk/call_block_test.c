#include "core/store/chunk/call_block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/base/map.h"
#include "core/store/chunk/call_batch.h"
#include "tests/test.h"

enum { CALLS = 3000, REFS = 3 };

static struct call_batch *batch;
static struct call_block block;
static struct call_shape shape;
static struct shapes_packer packer;
static struct text json;
static uint64_t seed;

static int set_up(void **state)
{
	(void)state;
	batch = call_batch_new();
	return batch ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	call_batch_free(batch);
	call_block_fini(&block);
	call_shape_fini(&shape);
	shapes_packer_fini(&packer);
	text_fini(&json);
	return 0;
}

FIXTURE(set_up, tear_down);

static uint64_t draw_below(uint64_t below)
{
	return map_hash(++seed) % below;
}

/* Numbers as a trace has them, and odd ones: each text must come out as it was. */
static const char *const texts[] = {
	NULL,
	"",
	"{}",
	"{\"qp\":93980,\"attr\":{\"qp_state\":\"IBV_QPS_INIT\",\"port_num\":1},\"attr_mask\":33}",
	"{\"mr\":-1,\"length\":9223372036854775807,\"addr\":-9223372036854775808}",
	"{\"a\":18446744073709551615,\"b\":99999999999999999999999999}",
	"{\"a\":1.5,\"b\":1e9,\"c\":-0,\"d\":007,\"e\":-,\"f\":0,\"g\":+3,\"h\":-7}",
	"{\"text\":\"a \\\"quoted\\\" : \\\\\",\"b\":\"\",\"c\":[\"x\",\"x\",1,null,true,false]}",
	"{\"unterminated\":\"abc",
	"{\"unterminated\":\"abc\\\"",
	"\"",
	"\"\\",
	"{\"hole\":\x01,\"other\":\x02}",
	"\x02",
	"12 34 \"\" :: {{",
	"{\"gid\":\"fe80:0000\",\"ndev\":\"eth0\",\"name\":1, \"a\" :\"b\" }",
};

static const char *const words[] = { "qp", "out.event.element", "", "ret.send_cq", "cq" };

static struct ref_row refs[CALLS][REFS];
static struct call_row rows[CALLS];

static uint64_t draw_number(void)
{
	return map_hash(++seed) >> draw_below(64);
}

static void make_row(struct call_row *row, struct ref_row *ref, uint64_t n)
{
	*row = (struct call_row){
		.n = n,
		.end_n = n + draw_below(3),
		.begin = (int64_t)(n * 10),
		.end = (int64_t)(n * 10 + draw_below(1000)),
		.depth = (uint32_t)draw_below(2),
		.stack = (uint32_t)draw_below(3),
		.object = (uint32_t)draw_below(1000),
		.failed = draw_below(2),
		.ours = draw_below(2),
		.verb = words[draw_below(5)],
		.ret = (int64_t)draw_number(),
		.error = (int64_t)draw_below(100),
		.handle = draw_number(),
		.args = texts[draw_below(sizeof(texts) / sizeof(*texts))],
		.out = texts[draw_below(sizeof(texts) / sizeof(*texts))],
		.refs = ref,
		.nrefs = draw_below(REFS + 1),
	};
	for (size_t i = 0; i < row->nrefs; i++)
		ref[i] = (struct ref_row){ words[draw_below(5)], words[draw_below(5)],
					   draw_number(), (uint32_t)draw_below(9) };
}

static void assert_text(const char *is, const char *was)
{
	if (was)
		assert_string_equal(is, was);
	else
		assert_null(is);
}

static void assert_row(uint32_t i, const struct call_row *was)
{
	struct call_row is;

	call_block_row(&block, i, &is);
	assert_true(is.n == was->n && is.end_n == was->end_n && is.begin == was->begin &&
		    is.end == was->end && is.depth == was->depth && is.stack == was->stack &&
		    is.object == was->object && is.failed == was->failed && is.ours == was->ours &&
		    is.ret == was->ret && is.error == was->error && is.handle == was->handle &&
		    is.nrefs == was->nrefs);
	assert_string_equal(is.verb, was->verb);
	assert_text(call_block_args(&block, i, false, &json), was->args);
	assert_text(call_block_args(&block, i, true, &json), was->out);
	for (size_t r = 0; r < was->nrefs; r++) {
		struct ref_row ref = call_block_ref(&block, i, r);

		assert_string_equal(ref.path, was->refs[r].path);
		assert_string_equal(ref.kind, was->refs[r].kind);
		assert_true(ref.handle == was->refs[r].handle && ref.object == was->refs[r].object);
	}
}

static void write_rows(uint32_t n)
{
	call_batch_clear(batch);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(call_shape_read(&shape, &rows[i]), 0);
		assert_int_equal(call_batch_add(batch, &shape, &rows[i]), 0);
	}
	assert_int_equal(call_batch_extent(batch)->calls, n);
	assert_int_equal(call_batch_pack(batch, &packer), 0);
}

/* Twice with one batch and one block: nothing is left of the first time. */
TEST(any_calls_come_out_the_same)
{
	for (uint32_t n = CALLS; n; n = n == CALLS ? 7 : 0) {
		for (uint32_t i = 0; i < n; i++)
			make_row(&rows[i], refs[i], 5 + i * 2);
		write_rows(n);
		assert_int_equal(call_block_read(&block, packer.block.at, packer.block.used), 0);
		assert_int_equal(block.calls, n);
		for (uint32_t i = 0; i < n; i++)
			assert_row(i, &rows[i]);
	}
}

TEST(calls_that_repeat_take_few_bytes)
{
	char args[CALLS][96];

	for (uint32_t i = 0; i < CALLS; i++) {
		refs[i][0] = (struct ref_row){ "mr", "mr", 0x7f0000001000 + i * 0x40, 3 + i };
		snprintf(args[i], sizeof(args[i]), "{\"mr\":%llu,\"name\":\"one\"}",
			 (unsigned long long)refs[i][0].handle);
		rows[i] = (struct call_row){ .n = i * 2 + 1,
					     .end_n = i * 2 + 2,
					     .begin = (int64_t)(i * 1000 + draw_below(500)),
					     .verb = "ibv_dereg_mr",
					     .handle = refs[i][0].handle,
					     .object = 3 + i,
					     .args = args[i],
					     .out = "{}",
					     .refs = refs[i],
					     .nrefs = 1 };
		rows[i].end = rows[i].begin + 100 + (int64_t)draw_below(50);
	}
	write_rows(CALLS);
	assert_true(packer.block.used < CALLS * 4);
	assert_int_equal(call_batch_extent(batch)->least, 3);
	assert_int_equal(call_batch_extent(batch)->most, CALLS + 2);
}

/*
 * A call within another: of four spans of time, each of 11 bits at random, 10 are stored as they
 * are. A span that two calls have is stored once.
 */
TEST(each_span_of_time_is_stored_once)
{
	int64_t time = 0;

	for (uint32_t i = 0; i < CALLS; i += 2) {
		rows[i] = (struct call_row){ .n = i * 2 + 1, .end_n = i * 2 + 4, .verb = "outer" };
		rows[i + 1] = (struct call_row){
			.n = i * 2 + 2, .end_n = i * 2 + 3, .depth = 1, .verb = "inner"
		};
		rows[i].begin = time += 1024 + (int64_t)draw_below(1024);
		rows[i + 1].begin = time += 1024 + (int64_t)draw_below(1024);
		rows[i + 1].end = time += 1024 + (int64_t)draw_below(1024);
		rows[i].end = time += 1024 + (int64_t)draw_below(1024);
	}
	write_rows(CALLS);
	assert_true(packer.block.used < CALLS * 2 * 10 / 8 + 200);
	assert_int_equal(call_block_read(&block, packer.block.at, packer.block.used), 0);
	for (uint32_t i = 0; i < CALLS; i++)
		assert_row(i, &rows[i]);
}

/*
 * The block, whose calls have one shape, as version 1: it had begin and duration of each call as
 * two columns, and one frame, to the end.
 */
static size_t write_first_version(char *to, size_t size)
{
	struct text plain = { 0 };
	struct column column = { 0 };
	size_t n = 0;

	text_add(&plain, block.plain.bytes, block.texts);
	for (size_t at = 0; at < block.nvalues; at += block.calls) {
		column_clear(&column);
		for (size_t i = 0; i < block.calls; i++)
			column_put(&column, block.values[at + i]);
		shapes_put_column(&plain, &column);
	}
	to[n++] = 1;
	n += varint_put((uint8_t *)to + n, block.calls);
	n += varint_put((uint8_t *)to + n, plain.used);
	n += ZSTD_compress(to + n, size - n, plain.at, plain.used, 1);
	column_fini(&column);
	text_fini(&plain);
	return n;
}

TEST(a_block_of_the_first_version_is_read)
{
	static char old[1 << 20];
	size_t n;

	for (uint32_t i = 0; i < CALLS; i++) {
		make_row(&rows[i], refs[i], 5 + i * 2);
		rows[i] = (struct call_row){ .n = rows[i].n,
					     .end_n = rows[i].end_n,
					     .begin = rows[i].begin,
					     .end = rows[i].end,
					     .ret = rows[i].ret,
					     .verb = "one" };
	}
	write_rows(CALLS);
	assert_int_equal(call_block_read(&block, packer.block.at, packer.block.used), 0);
	n = write_first_version(old, sizeof(old));
	assert_int_equal(call_block_read(&block, old, n), 0);
	for (uint32_t i = 0; i < CALLS; i++)
		assert_row(i, &rows[i]);
}

TEST(a_call_that_is_too_large_is_refused)
{
	char *huge = malloc(CALL_TEXT_FULL + 10);

	memset(huge, 'x', CALL_TEXT_FULL + 9);
	huge[0] = huge[CALL_TEXT_FULL + 8] = '"';
	huge[CALL_TEXT_FULL + 9] = '\0';
	make_row(&rows[0], refs[0], 1);
	rows[0].args = huge;
	assert_int_equal(call_shape_read(&shape, &rows[0]), 0);
	assert_int_equal(call_batch_add(batch, &shape, &rows[0]), -E2BIG);
	assert_int_equal(call_batch_extent(batch)->calls, 0);
	free(huge);
}

/* Each byte altered, and each length: an error or other values, but no read outside. */
TEST(a_damaged_block_is_harmless)
{
	for (uint32_t i = 0; i < 40; i++)
		make_row(&rows[i], refs[i], 5 + i * 2);
	write_rows(40);
	for (size_t i = 0; i < packer.block.used; i++) {
		char was = packer.block.at[i];

		packer.block.at[i] = (char)(was ^ (1 << draw_below(8)));
		if (!call_block_read(&block, packer.block.at, packer.block.used))
			for (uint32_t k = 0; k < block.calls; k++)
				call_block_args(&block, k, false, &json);
		packer.block.at[i] = was;
		assert_int_equal(call_block_read(&block, packer.block.at, i), -EBADMSG);
		assert_int_equal(block.calls, 0);
	}
}
