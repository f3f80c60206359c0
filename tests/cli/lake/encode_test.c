/*
 * Parquet's encodings, decoded again as its specification has them
 */
#include "cli/lake/encode.h"

#include <stdlib.h>

#include "core/store/vtab/computed.h"
#include "tests/test.h"

static const unsigned char *at;

static uint64_t read_varint(void)
{
	uint64_t number = 0;
	int shift = 0;

	do
		number |= (uint64_t)(*at & 127) << shift;
	while (shift += 7, *at++ & 128);
	return number;
}

static int64_t read_zigzag(void)
{
	uint64_t number = read_varint();

	return (int64_t)(number >> 1 ^ -(number & 1));
}

static uint64_t read_bits(size_t index, unsigned int width)
{
	uint64_t number = 0;

	for (unsigned int i = 0; i < width; i++)
		number |= (uint64_t)(at[(index * width + i) / 8] >> (index * width + i) % 8 & 1)
			  << i;
	return number;
}

/* As many values as there must be; returns them in an array. */
static int64_t *read_delta(size_t n)
{
	int64_t *values = calloc(n + 1, sizeof(*values)), last;
	size_t got = 0;

	assert_int_equal(read_varint(), 128);
	assert_int_equal(read_varint(), 4);
	assert_int_equal(read_varint(), n);
	last = read_zigzag();
	if (n)
		values[got++] = last;
	while (got < n) {
		int64_t least = read_zigzag();
		const unsigned char *widths = at;

		at += 4;
		for (int m = 0; m < 4 && got < n; m++) {
			for (size_t i = 0; i < 32 && got < n; i++) {
				last = (int64_t)((uint64_t)last + (uint64_t)least +
						 read_bits(i, widths[m]));
				values[got++] = last;
			}
			at += widths[m] * 4;
		}
	}
	return values;
}

static void check_delta(const int64_t *values, size_t n)
{
	struct text text = { 0 };
	int64_t *got;

	encode_delta(&text, values, n);
	at = (const unsigned char *)text.at;
	got = read_delta(n);
	assert_ptr_equal(at, text.at + text.used);
	assert_memory_equal(got, values, n * sizeof(*values));
	assert_in_range(text.used, encode_delta_size(values, n),
			encode_delta_size(values, n) + 64 + n / 12);
	free(got);
	text_fini(&text);
}

TEST(differences_are_those_of_the_values)
{
	int64_t values[1000];
	uint64_t random = 7;

	for (size_t i = 0; i < 1000; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		values[i] = (int64_t)(random >> i % 64);
	}
	values[3] = INT64_MIN;
	values[4] = INT64_MAX;
	for (size_t n = 0; n < 300; n++)
		check_delta(values + n, n);
	check_delta(values, 1000);
}

TEST(equal_steps_take_no_bits)
{
	int64_t values[1025];
	struct text text = { 0 };

	for (int i = 0; i < 1025; i++)
		values[i] = 1000000 * i;
	check_delta(values, 1025);
	encode_delta(&text, values, 1025);
	assert_in_range(text.used, 1, 80);
	text_fini(&text);
}

static void check_rle(const uint16_t *values, size_t n, unsigned int width)
{
	struct text text = { 0 };
	size_t got = 0;

	encode_rle(&text, values, n, width);
	at = (const unsigned char *)(text.at ? text.at : "");
	while (got < n) {
		uint64_t head = read_varint(), count = head & 1 ? (head >> 1) * 8 : head >> 1;

		for (size_t i = 0; i < count && got < n; i++, got++)
			assert_int_equal(head & 1 ? read_bits(i, width)
						  : read_bits(0, (width + 7) / 8 * 8),
					 values[got]);
		at += head & 1 ? count / 8 * width : (width + 7) / 8;
	}
	assert_ptr_equal(at, text.at ? text.at + text.used : (char *)at);
	text_fini(&text);
}

TEST(runs_and_packed_groups_are_the_values)
{
	uint16_t values[700];

	for (unsigned int run = 1; run < 40; run++) {
		for (uint32_t i = 0; i < 700; i++)
			values[i] = (uint16_t)(i / run * 5 % 11);
		for (size_t n = 0; n <= 700; n += 35)
			check_rle(values, n, 4);
	}
	for (uint32_t i = 0; i < 700; i++)
		values[i] = (uint16_t)(i < 300 ? i : 65535);
	check_rle(values, 700, 16);
}

TEST(texts_share_what_the_one_before_has)
{
	static const char bytes[] = "1:101:111:1221:1";
	static const uint64_t ends[] = { 4, 8, 12, 12, 16 };
	static const int64_t which[] = { 0, 1, 2, 3, 4 };
	static const int64_t common[] = { 0, 3, 3, 0, 0 };
	static const int64_t rest[] = { 4, 1, 1, 0, 4 };
	struct text text = { 0 };
	int64_t *got;

	encode_texts(&text, bytes, ends, which, 5);
	at = (const unsigned char *)text.at;
	got = read_delta(5);
	assert_memory_equal(got, common, sizeof(common));
	free(got);
	got = read_delta(5);
	assert_memory_equal(got, rest, sizeof(rest));
	free(got);
	assert_int_equal(text.at + text.used - (const char *)at, 10);
	assert_memory_equal(at, "1:101221:1", 10);
	text_fini(&text);
	encode_texts(&text, bytes, ends, (const int64_t[]){ 2, 0 }, 2);
	assert_memory_equal(text.at + text.used - 5, "1:120", 5);
	text_fini(&text);
}

/* As encode_texts() writes the same names, to the byte. */
enum { EVENTS = 5000 };
static int64_t threads[EVENTS], numbers[EVENTS];

/* Are the events of both arrays encoded as the texts that are their names? */
static void assert_names(void)
{
	static int64_t which[EVENTS];
	static uint64_t ends[EVENTS];
	struct text names = { 0 }, wanted = { 0 }, got = { 0 };

	for (int i = 0; i < EVENTS; i++) {
		char text[COMPUTED_EVENT_TEXT];
		size_t length;
		const char *name = computed_event_text(
			(struct event_id){ (uint32_t)threads[i], (uint64_t)numbers[i] }, text,
			&length);

		text_add(&names, name, length);
		ends[i] = names.used;
		which[i] = i;
	}
	encode_texts(&wanted, names.at, ends, which, EVENTS);
	encode_events(&got, threads, numbers, EVENTS);
	assert_int_equal(got.used, wanted.used);
	assert_memory_equal(got.at, wanted.at, got.used);
	text_fini(&names);
	text_fini(&wanted);
	text_fini(&got);
}

TEST(events_are_encoded_as_their_names)
{
	static const int64_t steps[] = { 1, 0, 3, 9, 10, 1, 97, -2, 1, 1000000007 };
	int64_t n = 0;

	for (int i = 0; i < EVENTS; i++) {
		n += steps[i % 10] + (i % 13 == 0);
		threads[i] = i % 100 < 50 ? 1 + i % 2 : 1 + i % 11 * 8;
		numbers[i] = i % 1000 == 999 ? -1 : n;
	}
	assert_names();
}

TEST(names_of_events_become_longer_and_shorter)
{
	for (int i = 0; i < EVENTS; i++) {
		int64_t n = i < EVENTS / 2 ? i : EVENTS - 1 - i;

		threads[i] = 1 + i / 7 % 3;
		numbers[i] = n < 1100 ? n : 1100 + (n - 1100) * 71;
	}
	assert_names();
}
