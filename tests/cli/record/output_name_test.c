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
	assert_string_equal(complaint, says);
}

#define UNKNOWN(letter)                                                                          \
	"--output has the unknown '%" letter "': use %h (host), %j (job), %n (node), %p (PID), " \
	"%r (rank) or %% (a %)"

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
	expect_name("%n.db", wanted);
	setenv("SLURMD_NODENAME", "rack1/n2/", 1);
	expect_name("%n.db", "rack1-n2-.db");
	expect_name("%h.db", wanted);
}

TEST(other_letters_are_refused)
{
	expect_complaint("%x", UNKNOWN("x"));
	expect_complaint("name%", "--output ends with a '%': write %% for a %");
	expect_complaint("%p%P", UNKNOWN("P"));
}

TEST(without_a_launcher_there_is_no_rank)
{
	clearenv();
	expect_complaint("%r", "%r in --output is the rank, but no launcher has set its variable "
			       "(PMIX_RANK, SLURM_PROCID, RANK, ...)");
	expect_complaint("%j", "%j in --output is the job, but no launcher has set its variable "
			       "(SLURM_JOB_ID, PMIX_NAMESPACE, PBS_JOBID, ...)");
	expect_name("%p.db", "4242.db");
}

TEST(a_long_name_is_refused)
{
	static char pattern[PATH_MAX + 1];

	memset(pattern, 'x', PATH_MAX - 1);
	expect_name(pattern, pattern);
	pattern[PATH_MAX - 1] = 'x';
	expect_complaint(pattern, "--output results in too long a name");
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
