/*
 * The letters of the name of a trace
 */
#include "cli/record/output_name.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "tests/test.h"

static int set_rank(void **state)
{
	(void)state;
	clearenv();
	setenv("SLURM_PROCID", "3", 1);
	setenv("SLURM_JOB_ID", "12/4/x", 1);
	return 0;
}

FIXTURE(set_rank, NULL);

static void expect_name(const char *pattern, const char *wanted)
{
	char name[PATH_MAX], complaint[OUTPUT_COMPLAINT] = "";

	assert_int_equal(output_name_make(pattern, 4242, name, complaint), 0);
	assert_string_equal(name, wanted);
	assert_string_equal(complaint, "");
}

static void expect_complaint(const char *pattern, const char *says)
{
	char name[PATH_MAX], complaint[OUTPUT_COMPLAINT] = "";

	assert_int_equal(output_name_make(pattern, 4242, name, complaint), -EINVAL);
	if (!strstr(complaint, says))
		fail_msg("no '%s' in: %s", says, complaint);
}

TEST(letters_are_replaced)
{
	struct utsname host;
	char wanted[128];

	uname(&host);
	expect_name("", "");
	expect_name("plain.db", "plain.db");
	expect_name("%p", "4242");
	expect_name("a%pb%%c", "a4242b%c");
	expect_name("rank%r.db", "rank3.db");
	expect_name("%j-%r", "12-4-x-3");
	snprintf(wanted, sizeof(wanted), "%s.db", host.nodename);
	expect_name("%h.db", wanted);
}

TEST(other_letters_are_refused)
{
	expect_complaint("%x", "unknown '%x'");
	expect_complaint("name%", "ends with a '%'");
	expect_complaint("%P", "unknown '%P'");
}

TEST(without_a_launcher_there_is_no_rank)
{
	clearenv();
	expect_complaint("%r", "is the rank");
	expect_complaint("%j", "is the job");
	expect_name("%p.db", "4242.db");
}

TEST(a_long_name_is_refused)
{
	static char pattern[PATH_MAX + 1];

	memset(pattern, 'x', PATH_MAX - 1);
	expect_name(pattern, pattern);
	pattern[PATH_MAX - 1] = 'x';
	expect_complaint(pattern, "too long");
}

static const struct row {
	const char *name;
	bool has_pid;
} rows[] = { { "", false },    { "p", false },     { "%p", true },   { "a%p.db", true },
	     { "%%p", false }, { "%r%%%p", true }, { "%", false },   { "%r", false },
	     { "%r%", false }, { "%%%%p", false }, { "%rp", false }, { "%pp", true } };

static void pattern_has_a_pid(void **state)
{
	const struct row *row = *state;

	assert_int_equal(output_name_has(row->name, 'p'), row->has_pid);
}
TEST_ROWS(rows, pattern_has_a_pid);
