/*
 * Writing JSON
 */
#include <stdlib.h>

#include "core/base/json.h"
#include "tests/test.h"

static void put_all_kinds(struct json *json)
{
	json_open(json, NULL, '{');
	json_put_text(json, "a\"b", "x\ny");
	json_put_int(json, "least", INT64_MIN);
	json_put_uint(json, "most", UINT64_MAX);
	json_open(json, "list", '[');
	json_put_bool(json, NULL, true);
	json_put_bool(json, NULL, false);
	json_open(json, NULL, '{');
	json_close(json, '}');
	json_close(json, ']');
	json_put_text(json, "none", NULL);
	json_close(json, '}');
}

TEST(commas_stand_between_values)
{
	struct text text = { 0 };
	struct json json = { .out = &text };

	put_all_kinds(&json);
	assert_string_equal(
		text.at, "{\"a\\\"b\":\"x\\u000ay\",\"least\":-9223372036854775808,"
			 "\"most\":18446744073709551615,\"list\":[true,false,{}],\"none\":null}");
	text_fini(&text);
}

TEST(spaced_and_in_lines)
{
	struct text text = { 0 };
	struct json json = { .out = &text, .spaced = true };

	json_open(&json, NULL, '{');
	json_put_line(&json, 2);
	json_put_int(&json, "a", 1);
	json_put_int(&json, "b", 2);
	json_put_line(&json, 2);
	json_put_int(&json, "c", 3);
	json_close(&json, '}');
	assert_string_equal(text.at, "{\n  \"a\": 1, \"b\": 2,\n  \"c\": 3}");
	text_fini(&text);
}
