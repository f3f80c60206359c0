#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "replay/schedule/spill.h"
#include "tests/test.h"

TEST(what_was_put_comes_back)
{
	struct spill spill = SPILL_NONE;
	uint64_t first, second;
	char back[8];

	assert_int_equal(spill_put(&spill, "abcdefg", 8, &first), 0);
	assert_int_equal(spill_put(&spill, "hij", 4, &second), 0);
	spill_expect(&spill, second, 4);
	assert_int_equal(spill_get(&spill, second, back, 4), 0);
	assert_string_equal(back, "hij");
	assert_int_equal(spill_get(&spill, first, back, 8), 0);
	assert_string_equal(back, "abcdefg");
	spill_close(&spill);
}

TEST(behind_the_end_is_an_error)
{
	struct spill spill = SPILL_NONE;
	uint64_t at;
	char back[8];

	assert_int_equal(spill_put(&spill, "abc", 4, &at), 0);
	assert_int_equal(spill_get(&spill, at, back, 8), -EIO);
	spill_close(&spill);
}

TEST(no_directory_is_an_error)
{
	struct spill spill = SPILL_NONE;
	uint64_t at = 7;

	setenv("TMPDIR", "/no/such/directory", 1);
	assert_int_equal(spill_put(&spill, "abc", 4, &at), -ENOENT);
	assert_int_equal(at, 7);
	unsetenv("TMPDIR");
	spill_close(&spill);
}

TEST(a_file_that_was_never_made_is_closed)
{
	struct spill spill = SPILL_NONE;

	spill_close(&spill);
	assert_int_equal(spill.fd, -1);
}
