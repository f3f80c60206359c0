/*
 * cli/export/pcapng.c: the bytes of each block, as defined by draft-ietf-opsawg-pcapng
 */
#include "cli/export/pcapng.h"

#include <stdlib.h>

#include "tests/test.h"

enum { COMMENT = 1, IF_NAME = 2, USER_APPLICATION = 4, IF_TSRESOL = 9 };

static char *bytes;
static size_t nbytes;
static FILE *file;

static void open_file(void)
{
	file = open_memstream(&bytes, &nbytes);
	assert_non_null(file);
}

static uint32_t word_at(size_t at)
{
	uint32_t word;

	assert_true(at + sizeof(word) <= nbytes);
	memcpy(&word, bytes + at, sizeof(word));
	return word;
}

static uint16_t half_at(size_t at)
{
	uint16_t half;

	assert_true(at + sizeof(half) <= nbytes);
	memcpy(&half, bytes + at, sizeof(half));
	return half;
}

/* One block, of whole words, that begins and ends with its length. */
static void expect_block(uint32_t type)
{
	fclose(file);
	assert_int_equal(word_at(0), type);
	assert_int_equal(word_at(4), nbytes);
	assert_int_equal(word_at(nbytes - 4), nbytes);
	assert_int_equal(nbytes % 4, 0);
}

/* The option at *@at, which is moved past it. */
static void expect_option(size_t *at, uint16_t code, const void *value, uint16_t length)
{
	assert_int_equal(half_at(*at), code);
	assert_int_equal(half_at(*at + 2), length);
	assert_memory_equal(bytes + *at + 4, value, length);
	for (*at += 4 + length; *at % 4; ++*at)
		assert_int_equal(bytes[*at], 0);
}

/* Only the length of the block is left. */
static void expect_end(size_t at)
{
	assert_int_equal(word_at(at), 0);
	assert_int_equal(at + 8, nbytes);
	free(bytes);
}

TEST(a_section_names_what_made_it)
{
	size_t at = 24;

	open_file();
	pcapng_write_section(file, "of t.db", "verbatim");
	expect_block(0x0a0d0d0a);
	assert_int_equal(word_at(8), 0x1a2b3c4d);
	assert_int_equal(half_at(12), 1); /* the version */
	assert_int_equal(half_at(14), 0);
	assert_int_equal(word_at(16), UINT32_MAX); /* of unknown length */
	assert_int_equal(word_at(20), UINT32_MAX);
	expect_option(&at, COMMENT, "of t.db", 7);
	expect_option(&at, USER_APPLICATION, "verbatim", 8);
	expect_end(at);
}

/* Without if_tsresol a reader takes times for microseconds. */
TEST(an_interface_has_times_in_nanoseconds)
{
	const uint8_t nine = 9; /* 10^-9 s */
	size_t at = 16;

	open_file();
	pcapng_write_interface(file, "rxe0");
	expect_block(1);
	assert_int_equal(half_at(8), 1); /* LINKTYPE_ETHERNET */
	assert_int_equal(half_at(10), 0);
	assert_int_equal(word_at(12), PCAPNG_SNAP);
	expect_option(&at, IF_NAME, "rxe0", 4);
	expect_option(&at, IF_TSRESOL, &nine, 1);
	expect_end(at);
}

static const struct packet_row {
	const char *name;
	size_t length;
	const char *comment;
} packet_rows[] = {
	{ "a_packet_of_whole_words", 8, "2:42" },
	{ "a_packet_that_is_padded", 5, "12:42" },
	{ "a_packet_that_lacks_one", 7, "123" },
	{ "an_empty_packet", 0, "" },
};

static void packet_is_as_given(void **state)
{
	const struct packet_row *row = *state;
	size_t at = 28 + row->length;

	open_file();
	pcapng_write_packet(file, &(struct pcapng_write_packet){ .interface = 3,
								 .time = 0x0123456789abcdef,
								 .bytes = "abcdefgh",
								 .nbytes = row->length,
								 .comment = row->comment });
	expect_block(6);
	assert_int_equal(word_at(8), 3);
	assert_int_equal(word_at(12), 0x01234567); /* the upper half of the time comes first */
	assert_int_equal(word_at(16), 0x89abcdef);
	assert_int_equal(word_at(20), row->length); /* captured */
	assert_int_equal(word_at(24), row->length); /* the length on the wire */
	assert_memory_equal(bytes + 28, "abcdefgh", row->length);
	for (; at % 4; at++)
		assert_int_equal(bytes[at], 0);
	expect_option(&at, COMMENT, row->comment, (uint16_t)strlen(row->comment));
	expect_end(at);
}
TEST_ROWS(packet_rows, packet_is_as_given);

TEST(a_comment_that_is_too_long_for_its_length_is_cut)
{
	char *comment = malloc(1 << 17);
	size_t at = 28;

	memset(comment, 'x', (1 << 17) - 1);
	comment[(1 << 17) - 1] = '\0';
	open_file();
	pcapng_write_packet(file, &(struct pcapng_write_packet){ .comment = comment });
	expect_block(6);
	expect_option(&at, COMMENT, comment, 65532);
	expect_end(at);
	free(comment);
}
