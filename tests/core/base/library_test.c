/*
 * Outside libraries that are loaded when they are first needed
 */
#include "core/base/library.h"

#include <math.h>
#include <stddef.h>

#include "tests/test.h"

#define MATH_LIB(X)   X(cos) X(sin)
#define MISFIT_LIB(X) X(cos) X(cmocka_set_message_output)

TEST(functions_of_a_library_can_be_called)
{
	static const char *const names[] = { MATH_LIB(LIBRARY_NAME) NULL };
	LIBRARY(MATH_LIB) lib = { .functions = { NULL } };

	assert_null(library_load("libm.so.6", names, lib.functions));
	assert_true(lib.cos(0) == 1 && lib.sin(0) == 0);
	lib.sin = NULL; /* loaded already: they stay as they are */
	assert_null(library_load("libm.so.6", names, lib.functions));
	assert_null(lib.sin);
}

TEST(library_that_is_not_there_is_named)
{
	static const char *const names[] = { MATH_LIB(LIBRARY_NAME) NULL };
	LIBRARY(MATH_LIB) lib = { .functions = { NULL } };

	assert_non_null(strstr(library_load("libno.so.1", names, lib.functions), "libno.so.1"));
	assert_null(lib.cos);
}

TEST(function_that_is_not_there_is_named_and_none_is_taken)
{
	static const char *const names[] = { MISFIT_LIB(LIBRARY_NAME) NULL };
	LIBRARY(MISFIT_LIB) lib = { .functions = { NULL } };

	for (int i = 0; i < 2; i++) {
		const char *why = library_load("libm.so.6", names, lib.functions);

		assert_non_null(why);
		assert_non_null(strstr(why, "cmocka_set_message_output"));
		assert_null(lib.cos);
	}
}
