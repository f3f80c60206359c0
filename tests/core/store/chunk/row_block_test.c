#include "core/store/chunk/row_block.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <zstd.h>

#include "core/base/map.h"
#include "tests/test.h"

enum { ROWS = 2000, COLUMNS = 5 };

static struct row_batch batch;
static struct row_block block;
static struct shapes_packer packer;
static struct row_value rows[ROWS][COLUMNS];
static uint64_t seed;

static int tear_down(void **state)
{
	(void)state;
	row_batch_fini(&batch);
	row_block_fini(&block);
	shapes_packer_fini(&packer);
	return 0;
}

FIXTURE(NULL, tear_down);

static uint64_t draw_below(uint64_t below)
{
	return map_hash(++seed) % below;
}

/* Digits at the end of a text become a number, if that is written in the same way. */
static const char *const texts[] = { "",
				     "mr",
				     "mr7",
				     "mr07",
				     "mr0",
				     "mr00",
				     "7",
				     "0",
				     "00",
				     "mr999999999999999999",
				     "mr12345678901234567890",
				     "-5",
				     "fe80",
				     "qp 1x" };

static void write_rows(uint32_t n, uint64_t times)
{
	row_batch_clear(&batch);
	batch.times = times;
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t c = 0; c < COLUMNS; c++) {
			const char *text = texts[draw_below(sizeof(texts) / sizeof(*texts))];

			rows[i][c] = (struct row_value){ .kind = draw_below(ROW_NUMBERED) };
			if (rows[i][c].kind == ROW_NUMBER)
				rows[i][c].number = (int64_t)(map_hash(++seed) >> draw_below(64));
			if (rows[i][c].kind == ROW_TEXT)
				rows[i][c] = (struct row_value){ ROW_TEXT, 0, text, strlen(text) };
		}
		assert_int_equal(row_batch_add(&batch, rows[i], COLUMNS), 0);
	}
	assert_int_equal(row_batch_pack(&batch, &packer), 0);
}

static void assert_value(const struct row_value *is, const struct row_value *was)
{
	char text[64];

	if (was->kind != ROW_TEXT) {
		assert_int_equal(is->kind, was->kind);
		assert_true(is->number == was->number);
		return;
	}
	snprintf(text, sizeof(text), "%.*s", (int)is->length, is->text);
	if (is->kind == ROW_NUMBERED)
		snprintf(text + is->length, sizeof(text) - is->length, "%" PRId64, is->number);
	else
		assert_int_equal(is->kind, ROW_TEXT);
	assert_string_equal(text, was->text);
}

TEST(rows_are_read_as_they_were_written)
{
	write_rows(ROWS, 0x15);
	assert_int_equal(row_block_read(&block, packer.block.at, packer.block.used, COLUMNS), 0);
	assert_int_equal(block.rows, ROWS);
	for (uint32_t i = 0; i < ROWS; i++)
		for (uint32_t c = 0; c < COLUMNS; c++) {
			struct row_value value = row_block_value(&block, i, c);

			assert_value(&value, &rows[i][c]);
		}
}

/* An object that comes and goes takes a few bits. */
TEST(rows_that_repeat_take_few_bytes)
{
	for (int64_t i = 0; i < ROWS; i++) {
		char name[16];
		struct row_value row[COLUMNS] = {
			{ .kind = ROW_NUMBER, .number = i + 1 },
			{ .kind = ROW_TEXT, .text = "mr", .length = 2 },
			{ .kind = ROW_TEXT, .text = name },
			{ .kind = ROW_NUMBER, .number = 0x7f0000001000 },
			{ .kind = ROW_NULL },
		};

		row[2].length = (size_t)snprintf(name, sizeof(name), "mr%" PRId64, i);
		assert_int_equal(row_batch_add(&batch, row, COLUMNS), 0);
	}
	assert_int_equal(row_batch_pack(&batch, &packer), 0);
	assert_true(packer.block.used < 100);
}

/* Version 1 had no times, and one frame, up to the end of the block. */
TEST(a_block_of_the_first_version_is_read)
{
	static char old[1 << 20];
	size_t n = 0;

	write_rows(ROWS, 0);
	old[n++] = 1;
	n += varint_put((uint8_t *)old + n, ROWS);
	n += varint_put((uint8_t *)old + n, packer.plain.used);
	n += ZSTD_compress(old + n, sizeof(old) - n, packer.plain.at, packer.plain.used, 1);
	assert_int_equal(row_block_read(&block, old, n, COLUMNS), 0);
	for (uint32_t i = 0; i < ROWS; i++)
		for (uint32_t c = 0; c < COLUMNS; c++) {
			struct row_value value = row_block_value(&block, i, c);

			assert_value(&value, &rows[i][c]);
		}
}

TEST(a_block_of_another_table_is_refused)
{
	write_rows(3, 0);
	assert_int_equal(row_block_read(&block, packer.block.at, packer.block.used, COLUMNS + 1),
			 -EBADMSG);
}

/* Each byte altered, and each length: an error or other values, but no read outside. */
TEST(a_damaged_block_is_harmless)
{
	write_rows(40, 0x0f);
	for (size_t i = 0; i < packer.block.used; i++) {
		char was = packer.block.at[i];

		packer.block.at[i] = (char)(was ^ (1 << draw_below(8)));
		if (!row_block_read(&block, packer.block.at, packer.block.used, COLUMNS))
			for (uint32_t k = 0; k < block.rows; k++)
				row_block_value(&block, k, COLUMNS - 1);
		packer.block.at[i] = was;
		assert_int_equal(row_block_read(&block, packer.block.at, i, COLUMNS), -EBADMSG);
		assert_int_equal(block.rows, 0);
	}
}
