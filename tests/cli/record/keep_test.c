#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/record/keep.h"

static const char *name(const char *path, unsigned int number)
{
	static char text[PATH_MAX];

	assert_true(keep_name(path, number, text));
	return text;
}

static void number_comes_before_the_ending(void **state)
{
	(void)state;
	assert_string_equal(name("trace.db", 1), "trace.1.db");
	assert_string_equal(name("/a.b/trace", 12), "/a.b/trace.12");
	assert_string_equal(name("a/.hidden", 3), "a/.hidden.3");
	assert_string_equal(name("a.b.db", 3), "a.b.3.db");
}

static void long_name_is_refused(void **state)
{
	char path[PATH_MAX], text[PATH_MAX];

	(void)state;
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_false(keep_name(path, 1, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(number_comes_before_the_ending),
		cmocka_unit_test(long_name_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
