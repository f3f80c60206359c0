#include <stdlib.h>
#include <string.h>

#include "cli/trace/jscan.h"
#include "tests/test.h"

static const char json[] = "{\"a\":1,\"b\":{\"c\":\"x,}\\\"]\",\"d\":[1,2]},\"e\":[{},{\"a\":2}],"
			   "\"f\":null,\"ab\":-7}";

static void assert_value(const char *value, const char *text)
{
	assert_non_null(value);
	assert_int_equal(jscan_skip(value) - value, strlen(text));
	assert_memory_equal(value, text, strlen(text));
}

TEST(members_are_found_by_name)
{
	assert_value(jscan_member(json, "a"), "1");
	assert_value(jscan_member(json, "e"), "[{},{\"a\":2}]");
	assert_value(jscan_member(json, "f"), "null");
	assert_value(jscan_member(json, "ab"), "-7");
	assert_value(jscan_member(jscan_member(json, "b"), "c"), "\"x,}\\\"]\"");
	assert_null(jscan_member(json, "c"));
	assert_null(jscan_member("{}", "a"));
}

TEST(elements_come_in_order)
{
	const char *at = jscan_member(json, "e"), *name;
	size_t length;

	assert_value(jscan_next(&at, &name, &length), "{}");
	assert_null(name);
	assert_value(jscan_next(&at, &name, &length), "{\"a\":2}");
	assert_null(jscan_next(&at, &name, &length));
}

/* Whatever the text is cut to, nothing behind its end is looked at. */
TEST(cut_text_ends_quietly)
{
	for (size_t n = 0; n < sizeof(json); n++) {
		char *cut = strndup(json, n);
		const char *at = cut, *name;
		size_t length;

		while (jscan_next(&at, &name, &length))
			assert_true(at <= cut + n);
		free(cut);
	}
}
