#include <stdlib.h>
#include <string.h>

#include "cli/record/retention.h"
#include "tests/test.h"

static const char *name_of(const char *path, unsigned int number)
{
	static char text[PATH_MAX];

	assert_true(retention_name(path, number, text));
	return text;
}

TEST(number_comes_before_the_ending)
{
	assert_string_equal(name_of("trace.db", 1), "trace.1.db");
	assert_string_equal(name_of("/a.b/trace", 12), "/a.b/trace.12");
	assert_string_equal(name_of("a/.hidden", 3), "a/.hidden.3");
	assert_string_equal(name_of("a.b.db", 3), "a.b.3.db");
}

TEST(long_name_is_refused)
{
	char path[PATH_MAX], text[PATH_MAX];

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_false(retention_name(path, 1, text));
}
