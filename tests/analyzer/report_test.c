/* analyzer/report: fingerprints, JUnit, baselines; the rest is in tests/e2e/report.sh, known.sh. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/report/fingerprint.h"
#include "analyzer/report/junit.h"
#include "analyzer/report/known.h"
#include "tests/test.h"

static const char *print_of(enum rule_id rule, const char *where, char text[FINGERPRINT])
{
	const struct finding_site site = { .rule = rule };
	struct finding finding = { .rule = rule, .site = &site, .where = (char *)where };
	struct report report = { 0 };

	return report_fingerprint(&report, &finding, text);
}

TEST(a_fingerprint_is_of_the_rule_and_the_argument_but_its_numbers)
{
	char a[FINGERPRINT], b[FINGERPRINT];

	assert_int_equal(strlen(print_of(RULE_LIFE_001, "ibv_post_send(): qp", a)), 16);
	assert_string_not_equal(a, print_of(RULE_LIFE_002, "ibv_post_send(): qp", b));
	assert_string_not_equal(a, print_of(RULE_LIFE_001, "ibv_post_recv(): qp", b));
	print_of(RULE_LIFE_001, "ibv_post_send(): wr[2].sg_list[0].lkey", a);
	assert_string_equal(a,
			    print_of(RULE_LIFE_001, "ibv_post_send(): wr[13].sg_list[1].lkey", b));
	assert_string_not_equal(a, print_of(RULE_LIFE_001, "ibv_post_send(): wr[2].ah", b));
	assert_string_not_equal(a, print_of(RULE_LIFE_001, NULL, b));
}

/* A baseline with a hazard must not hide the error that results from it. */
TEST(a_hazard_has_another_fingerprint_than_a_finding)
{
	const struct finding_site site = { .hazard = true };
	struct finding finding = { .rule = RULE_LIFE_001, .site = &site, .where = "x" };
	struct report report = { 0 };
	char a[FINGERPRINT], b[FINGERPRINT];

	report_fingerprint(&report, &finding, a);
	assert_string_not_equal(a, print_of(RULE_LIFE_001, "x", b));
}

/* What is XML's, and what XML must not have. */
TEST(junit_quotes)
{
	static const char *const properties[] = { "trace", "a\"b", NULL };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct junit junit;

	assert_int_equal(junit_begin(&junit), 0);
	junit_case(&junit, "LIFE", "a<b", &(struct junit_outcome){ 0 });
	junit_case(&junit, "LIFE", "c",
		   &(struct junit_outcome){
			   .failure = "x&y", .type = "error", .details = "]]>\x01\xff\n" });
	junit_case(&junit, "LIFE", "d", &(struct junit_outcome){ .skipped = "'muted'" });
	assert_int_equal(junit_end(&junit, "t", properties, out), 0);
	fclose(out);
	assert_non_null(strstr(text, "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""));
	assert_non_null(strstr(text, "value=\"a&quot;b\""));
	assert_non_null(strstr(text, "name=\"a&lt;b\""));
	assert_non_null(strstr(text, "message=\"x&amp;y\""));
	assert_non_null(strstr(text, ">]]&gt;\\x01\\xff\n</failure>"));
	free(text);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

#define HEAD "# verbatim baseline 1\n"

static const struct broken {
	const char *name, *suppress, *baseline, *complaint;
} broken[] = {
	{ "a rule that is not there", "LIFE-001\nNO-RULE\n", NULL, ":2: unknown rule 'NO-RULE'" },
	{ "a fourth word", "LIFE-001 a b c", NULL, ":1: too many words" },
	{ "an empty baseline", NULL, "", ":1: not a baseline" },
	{ "another file", NULL, "LIFE-001", ":1: not a baseline" },
	{ "a digit that is none", NULL, HEAD "0123456789abcdeg LIFE-001",
	  ":2: expected a fingerprint" },
	{ "no rule", NULL, HEAD "0123456789abcdef\n", ":2: expected a fingerprint" },
	{ "an unknown rule", NULL, HEAD "\n0123456789abcdef LIFE-000\n",
	  ":3: expected a fingerprint" },
};

static void broken_file_has_a_line(void **state)
{
	const struct broken *row = *state;
	const char *suppress = row->suppress ? "suppress" : NULL;
	const char *baseline = row->baseline ? "baseline" : NULL;
	char complaint[KNOWN_COMPLAINT], directory[] = "/tmp/verbatim-known-XXXXXX";
	struct suppressions *known = NULL;

	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	if (suppress)
		write_file(suppress, row->suppress);
	if (baseline)
		write_file(baseline, row->baseline);
	assert_int_equal(suppressions_open(suppress, baseline, complaint, &known), -EINVAL);
	assert_null(known);
	assert_non_null(strstr(complaint, row->complaint));
	unlink("suppress");
	unlink("baseline");
	assert_int_equal(chdir("/"), 0);
	rmdir(directory);
}
TEST_ROWS(broken, broken_file_has_a_line);

TEST(no_file_is_not_an_empty_one)
{
	char complaint[KNOWN_COMPLAINT];
	struct suppressions *known = NULL;

	assert_int_equal(suppressions_open("/nowhere/at/all", NULL, complaint, &known), -ENOENT);
	assert_int_equal(suppressions_open(NULL, NULL, complaint, &known), 0);
	assert_false(suppressions_have_baseline(known));
	suppressions_close(known);
	suppressions_close(NULL);
}
