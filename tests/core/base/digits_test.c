#include "core/base/digits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

static const uint64_t numbers[] = { 0,   1,   9,   10,         15,        16,         99,
				    100, 255, 256, UINT32_MAX, INT64_MAX, 1ull << 63, UINT64_MAX };

TEST(numbers_are_printed_as_by_printf)
{
	char *text, expected[128];
	size_t size;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		FILE *out = open_memstream(&text, &size);

		print_unsigned(out, numbers[i]);
		fputc(' ', out);
		print_number(out, (int64_t)numbers[i]);
		fputc(' ', out);
		print_hex(out, numbers[i]);
		fclose(out);
		snprintf(expected, sizeof(expected), "%" PRIu64 " %" PRId64 " 0x%" PRIx64,
			 numbers[i], (int64_t)numbers[i], numbers[i]);
		assert_string_equal(text, expected);
		free(text);
	}
}

TEST(blanks_are_as_many_as_asked_for)
{
	static const int counts[] = { -1, 0, 1, 31, 32, 33, 100 };
	char *text;
	size_t size;

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		FILE *out = open_memstream(&text, &size);

		print_blanks(out, counts[i]);
		fclose(out);
		assert_int_equal(size, counts[i] > 0 ? counts[i] : 0);
		assert_int_equal(strspn(text, " "), size);
		free(text);
	}
}
