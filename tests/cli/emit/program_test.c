/*
 * How large a program may be
 */
#include "cli/emit/program.h"

#include <errno.h>

#include "core/wire/log.h"
#include "tests/test.h"

enum { STATEMENTS = 1 << 17 };

static int add_statements(struct program *program)
{
	int err = 0;

	for (int i = 0; !err && i < STATEMENTS; i++)
		err = program_check_size(program);
	return err;
}

TEST(a_program_of_some_size_is_made)
{
	static struct program program = { .texts.bytes = 1 << 20 };

	assert_int_equal(add_statements(&program), 0);
}

TEST(a_program_that_nobody_can_read_is_refused)
{
	static struct program program = { .texts.bytes = 1 << 30 };

	log_silence(true);
	assert_int_equal(add_statements(&program), -ENOTSUP);
	log_silence(false);
}
