#include <errno.h>
#include <string.h>

#include "cli/dump/point.h"
#include "tests/test.h"

static struct point got;
static char complaint[OPTIONS_COMPLAINT];

TEST(a_time_in_each_form_in_which_one_is_printed)
{
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{ "1.5s", 1500000000 },      { "300ms", 300000000 }, { "63.4 ms", 63400000 },
		{ "0.063400123", 63400123 }, { "2", 2000000000 },    { "0", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(point_read(cases[i].text, &got, complaint), 0);
		assert_int_equal(got.time, cases[i].ns);
		assert_int_equal(got.id.thread, 0);
		assert_string_equal(got.text, cases[i].text);
	}
}

TEST(an_event_with_and_without_its_trace)
{
	assert_int_equal(point_read("3:1042", &got, complaint), 0);
	assert_int_equal(got.id.thread, 3);
	assert_int_equal(got.id.n, 1042);
	assert_string_equal(got.trace, "");
	assert_int_equal(point_read_event("b.db:2:7", &got, complaint), 0);
	assert_int_equal(got.id.thread, 2);
	assert_int_equal(got.id.n, 7);
	assert_string_equal(got.trace, "b.db");
}

TEST(what_is_neither_is_refused)
{
	static const char *const cases[] = {
		"",     "noon",          "3:",
		":3",   "3:x",           "0:3",
		"3:0",  "3 :4",          "-1s",
		"1.5 ", "1.s5",          "3:1042[1]",
		"3:+4", "99999999999:1", "a-name-that-is-too-long.db:1:2",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		got = (struct point){ .time = -7 };
		assert_int_equal(point_read(cases[i], &got, complaint), -EINVAL);
		assert_non_null(strstr(complaint, "not a time or an event: give "));
		assert_int_equal(got.time, -7);
	}
	assert_int_equal(point_read_event("1.5s", &got, complaint), -EINVAL);
	assert_non_null(strstr(complaint, "not an event: give "));
}
