/*
 * The list of --redact
 */
#include "cli/record/redact_list.h"

#include <errno.h>

#include "tests/test.h"

TEST(words_are_those_of_the_list)
{
	static const struct {
		const char *text;
		uint32_t what;
	} rows[] = {
		{ "argv", REDACT_ARGV },
		{ "argv,env,host,paths", REDACT_ARGV | REDACT_ENV | REDACT_HOST | REDACT_PATHS },
		{ "none", REDACT_NOTHING },
		{ "paths,paths", REDACT_PATHS },
		{ "", 0 },
		{ "argv,", 0 },
		{ "arg", 0 },
		{ "none,env", 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char complaint[OPTIONS_COMPLAINT] = "";
		uint32_t what = 0;

		assert_int_equal(redact_list_read(rows[i].text, &what, complaint),
				 rows[i].what ? 0 : -EINVAL);
		assert_int_equal(what, rows[i].what);
		assert_int_equal(*complaint != 0, !rows[i].what);
	}
}
