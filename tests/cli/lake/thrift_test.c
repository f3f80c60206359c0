/*
 * Fields in the compact protocol of Thrift: the bytes of each kind, and of ids near and far
 */
#include "cli/lake/thrift.h"
#include "tests/test.h"

static struct text written;

static struct thrift begin_struct(void)
{
	text_cut(&written, 0);
	return (struct thrift){ .to = &written };
}

/* @hex: "18 02 61 62" */
static void expect_bytes(const char *hex)
{
	char all[512] = "";

	for (size_t i = 0; i < written.used; i++)
		snprintf(all + 3 * i, sizeof(all) - 3 * i, "%02x ", (unsigned char)written.at[i]);
	if (written.used)
		all[3 * written.used - 1] = '\0';
	assert_string_equal(all, hex);
}

static const struct varint_row {
	const char *name;
	uint64_t number;
	const char *bytes;
} varints[] = {
	{ "varint_0", 0, "00" },
	{ "varint_127", 127, "7f" },
	{ "varint_128", 128, "80 01" },
	{ "varint_300", 300, "ac 02" },
	{ "varint_16383", 16383, "ff 7f" },
	{ "varint_16384", 16384, "80 80 01" },
	{ "varint_most", UINT64_MAX, "ff ff ff ff ff ff ff ff ff 01" },
};

static void varint_has_these_bytes(void **state)
{
	const struct varint_row *row = *state;

	text_cut(&written, 0);
	thrift_put_varint(&written, row->number);
	expect_bytes(row->bytes);
}

TEST_ROWS(varints, varint_has_these_bytes);

TEST(signs_alternate)
{
	assert_true(thrift_zigzag(0) == 0);
	assert_true(thrift_zigzag(-1) == 1);
	assert_true(thrift_zigzag(1) == 2);
	assert_true(thrift_zigzag(-2) == 3);
	assert_true(thrift_zigzag(INT64_MAX) == UINT64_MAX - 1);
	assert_true(thrift_zigzag(INT64_MIN) == UINT64_MAX);
}

/* A step of 15 is the last one in the type's byte. */
TEST(fields_have_the_step_from_the_one_before)
{
	struct thrift t = begin_struct();

	thrift_put_int(&t, 1, THRIFT_I32, 3);
	thrift_put_int(&t, 16, THRIFT_I64, -3);
	thrift_put_int(&t, 32, THRIFT_I16, 64);
	thrift_put_int(&t, 33, THRIFT_I16, 0);
	thrift_end(&t);
	expect_bytes("15 06 f6 05 04 40 80 01 14 00 00");
}

TEST(values_of_each_type)
{
	struct thrift t = begin_struct();

	thrift_put_bool(&t, 1, 1);
	thrift_put_bool(&t, 2, 0);
	thrift_put_text(&t, 3, "ab");
	thrift_put_bytes(&t, 4, "\0c", 2);
	thrift_put_text(&t, 6, "");
	thrift_end(&t);
	expect_bytes("11 12 18 02 61 62 18 02 00 63 28 00 00");
}

TEST(lists_of_15_have_their_number_behind)
{
	struct thrift t = begin_struct();

	thrift_list(&t, 1, THRIFT_I32, 0);
	thrift_list(&t, 2, THRIFT_I32, 14);
	thrift_list(&t, 3, THRIFT_BINARY, 15);
	thrift_list(&t, 4, THRIFT_STRUCT, 200);
	expect_bytes("19 05 19 e5 19 f8 0f 19 fc c8 01");
}

TEST(elements_have_no_ids)
{
	struct thrift t = begin_struct();

	thrift_list(&t, 5, THRIFT_I32, 2);
	thrift_put_element_int(&t, -1);
	thrift_put_element_int(&t, 150);
	thrift_list(&t, 6, THRIFT_BINARY, 1);
	thrift_put_element_text(&t, "xyz");
	expect_bytes("59 25 01 ac 02 19 18 03 78 79 7a");
}

/* Ids of an inner structure start anew, and those of the outer one go on. */
TEST(each_structure_counts_its_own_ids)
{
	struct thrift t = begin_struct();

	thrift_put_int(&t, 4, THRIFT_I32, 1);
	thrift_open(&t, 5);
	thrift_put_int(&t, 2, THRIFT_I32, 2);
	thrift_open(&t, 3);
	thrift_put_int(&t, 1, THRIFT_I32, 3);
	thrift_close(&t);
	thrift_put_int(&t, 4, THRIFT_I32, 4);
	thrift_close(&t);
	thrift_put_int(&t, 6, THRIFT_I32, 5);
	thrift_end(&t);
	expect_bytes("45 02 1c 25 04 1c 15 06 00 15 08 00 15 0a 00");
}

TEST(elements_that_are_structures_have_no_head)
{
	struct thrift t = begin_struct();

	thrift_list(&t, 1, THRIFT_STRUCT, 2);
	for (int i = 0; i < 2; i++) {
		thrift_open(&t, 0);
		thrift_put_int(&t, 1, THRIFT_I32, i);
		thrift_close(&t);
	}
	thrift_put_bool(&t, 2, 1);
	thrift_end(&t);
	expect_bytes("19 2c 15 00 00 15 02 00 11 00");
	text_fini(&written);
}
