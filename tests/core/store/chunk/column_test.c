#include "core/store/chunk/column.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "tests/test.h"

enum { N = 1000 };

static struct column column;
static uint64_t values[N], read[N];
static uint32_t seed;

static int free_column(void **state)
{
	(void)state;
	column_fini(&column);
	return 0;
}

FIXTURE(NULL, free_column);

static uint32_t draw_number(uint32_t below)
{
	return (uint32_t)(map_hash(++seed) >> 32) % below;
}

/* Differences of 1 to @longest bytes, mostly runs of one length. */
static void write_column(uint32_t longest)
{
	uint64_t value = 0;

	column_clear(&column);
	for (uint32_t i = 0, bytes = 1; i < N; i++) {
		if (!draw_number(10))
			bytes = 1 + draw_number(longest);
		value += zigzag_decode(map_hash(seed + i) >> (64 - (bytes < 10 ? 7 * bytes : 64)));
		values[i] = value;
		column_put(&column, value);
	}
}

static int read_column(uint32_t bytes, uint32_t count)
{
	struct column_view view = { .code = COLUMN_RAW,
				    .count = count,
				    .bytes = column.bytes,
				    .packed = bytes,
				    .unpacked = bytes };
	uint8_t *copy = malloc(bytes ? bytes : 1); /* a sanitizer sees reads past the end */
	int err;

	memcpy(copy, column.bytes, bytes);
	view.bytes = copy;
	err = column_read(&view, NULL, NULL, read);
	free(copy);
	return err;
}

TEST(values_of_all_lengths_are_read)
{
	for (uint32_t longest = 1; longest <= 10; longest++)
		for (int i = 0; i < 20; i++) {
			write_column(longest);
			assert_int_equal(read_column(column.used, N), 0);
			assert_memory_equal(read, values, sizeof(values));
		}
}

/* @period differences, again and again; sometimes another one is in between. */
static void write_repeating_column(uint32_t period, uint32_t longest)
{
	uint64_t value = 0, steps[16];

	for (uint32_t i = 0; i < period; i++)
		steps[i] = zigzag_decode(map_hash(++seed) >> (64 - 7 * (1 + draw_number(longest))));
	column_clear(&column);
	for (uint32_t i = 0, k = 0; i < N; i++) {
		value += draw_number(200) ? steps[k++ % period] : 1;
		values[i] = value;
		column_put(&column, value);
	}
}

TEST(differences_that_repeat_are_read)
{
	for (uint32_t period = 1; period <= 16; period++)
		for (uint32_t longest = 1; longest <= 9; longest++)
			for (int i = 0; i < 5; i++) {
				write_repeating_column(period, longest);
				if (!column.bent)
					continue;
				assert_int_equal(read_column(column.used, N), 0);
				assert_memory_equal(read, values, sizeof(values));
				assert_int_equal(read_column(column.used - 1, N), -EBADMSG);
			}
}

TEST(column_of_another_length_is_damaged)
{
	for (uint32_t longest = 1; longest <= 10; longest++) {
		write_column(longest);
		for (uint32_t cut = 1; cut < 30; cut++)
			assert_int_equal(read_column(column.used - cut, N), -EBADMSG);
		assert_int_equal(read_column(column.used, N - 1), -EBADMSG);
	}
}

TEST(number_of_eleven_bytes_is_damaged)
{
	uint8_t bytes[2 * 16];
	struct column_view view = {
		.code = COLUMN_RAW, .count = 1, .bytes = bytes, .packed = 11, .unpacked = 11
	};

	memset(bytes, 0x80, sizeof(bytes));
	bytes[10] = 0;
	assert_int_equal(column_read(&view, NULL, NULL, read), -EBADMSG);
}
