/*
 * dlopen(3) of other libraries is that of libc
 */
#include <dlfcn.h>

#include "tests/test.h"

TEST(the_program_and_other_libraries_are_opened)
{
	void *program = dlopen(NULL, RTLD_NOW), *other = dlopen("libc.so.6", RTLD_NOW);

	assert_non_null(program);
	assert_non_null(other);
	assert_null(dlopen("libibverbs.so.7", RTLD_NOW));
	assert_non_null(dlerror());
	dlclose(other);
	dlclose(program);
}
