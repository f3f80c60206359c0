/* The profile of a recorded device, of a trace of Soft-RoCE: persona_test.txt. */
#include <stdlib.h>

#include "cli/replay/persona.h"
#include "core/base/read_file.h"
#include "core/store/open.h"
#include "tests/test.h"
#include "tests/transcript.h"

#define ENV "VERBATIM_SOFT_PERSONA"

static struct trace *open_stored(const char *path)
{
	struct trace *trace;

	unsetenv(ENV);
	assert_int_equal(trace_open(path, &trace), 0);
	return trace;
}

/* Appends the profile that the software device would read. */
static void put_profile(struct text *to, const char *path)
{
	struct trace *trace = open_stored(path);
	char *profile;
	size_t n;

	assert_true(persona_is_other_device(trace));
	assert_false(persona_is_taken());
	assert_int_equal(persona_write_profile(trace), 0);
	assert_true(persona_is_taken());
	assert_int_equal(read_file(getenv(ENV), &profile, &n), 0);
	text_addf(to, "== %s\n%s", path, profile);
	free(profile);
	trace_close(trace);
}

/* The first has two processes, and limits of objects are per process. */
TEST(profiles_are_as_expected)
{
	struct text all = { 0 };

	put_profile(&all, "tests/conformance/rxe/rc.db");
	put_profile(&all, "tests/conformance/rxe/senders.db");
	transcript_expect(__FILE__, &all);
}

TEST(a_profile_of_the_user_stays)
{
	struct trace *trace = open_stored("tests/conformance/rxe/rc.db");

	setenv(ENV, "/dev/null", 1);
	assert_int_equal(persona_write_profile(trace), 0);
	assert_string_equal(getenv(ENV), "/dev/null");
	trace_close(trace);
}

TEST(the_software_device_needs_no_profile)
{
	struct trace *trace = open_stored("tests/conformance/soft/rc.db");

	assert_false(persona_is_other_device(trace));
	assert_int_equal(persona_write_profile(trace), 0);
	assert_null(getenv(ENV));
	trace_close(trace);
}
