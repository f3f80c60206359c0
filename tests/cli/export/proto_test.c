#include "cli/export/proto.h"

#include "core/base/text.h"
#include "tests/test.h"

static void check_bytes(struct text *text, const char *bytes, size_t n)
{
	assert_false(text->failed);
	assert_int_equal(text->used, n);
	assert_memory_equal(text->at, bytes, n);
	text_fini(text);
}

TEST(numbers_are_varints)
{
	struct text text = { 0 };

	proto_put_number(&text, 1, 150);
	proto_put_number(&text, 60, 0);
	proto_put_number(&text, 4, UINT64_MAX);
	check_bytes(&text, "\x08\x96\x01\xe0\x03\x00\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		    17);
}

TEST(a_fixed_number_has_eight_bytes)
{
	struct text text = { 0 };

	proto_put_fixed(&text, 47, 0x102);
	check_bytes(&text, "\xf9\x02\x02\x01\0\0\0\0\0\0", 10);
}

TEST(strings_and_messages_have_a_length)
{
	struct text text = { 0 }, inner = { 0 };

	proto_put_message(&text, 1, &inner);
	proto_put_string(&inner, 2, "ab");
	proto_put_message(&text, 1, &inner);
	text_fini(&inner);
	check_bytes(&text,
		    "\x0a\x00\x0a\x04\x12\x02"
		    "ab",
		    8);
}
