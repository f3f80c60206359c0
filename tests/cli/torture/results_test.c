/* cli/torture/results.c: what identifies a result, and what is taken over from an earlier run. */
#include "cli/torture/results.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "tests/test.h"

static const struct site site = { .place = "main (a.c:7)" }, other = { .place = "main (a.c:8)" };
static const struct failure failures[] = {
	{ .number = 1, .site = &site, .what = "ibv_reg_mr() fails", .rule = "verb=reg_mr n=1" },
	{ .number = 2, .site = &other, .what = "ibv_reg_mr() fails", .rule = "verb=reg_mr n=2" },
	{ .number = 3, .site = &site, .what = "ibv_reg_mr() fails", .rule = "verb=reg_mr n=3" },
};
static struct result all[3];
static struct results results = { .all = all, .n = 3, .folder = "torture", .options = "" };

static int begin_results(void **state)
{
	(void)state;
	memset(all, 0, sizeof(all));
	for (int i = 0; i < 3; i++)
		all[i].failure = &failures[i];
	return 0;
}

FIXTURE(begin_results, NULL);

static void set_result(struct result *result, enum verdict verdict, const char *says)
{
	result->done = true;
	result->judgement.verdict = verdict;
	strcpy(result->judgement.says, says);
}

static bool is_same(const struct result *a, const struct result *b)
{
	char one[RESULT_FINGERPRINT], two[RESULT_FINGERPRINT];

	return !strcmp(result_fingerprint(a, one), result_fingerprint(b, two));
}

TEST(a_fingerprint_is_of_failure_place_and_verdict)
{
	for (int i = 0; i < 3; i++)
		set_result(&all[i], VERDICT_CRASH, i ? "SIGSEGV" : "SIGBUS");
	assert_false(is_same(&all[0], &all[1]));
	assert_true(is_same(&all[0], &all[2]));
	all[2].judgement.verdict = VERDICT_HANG;
	assert_false(is_same(&all[0], &all[2]));
}

TEST(a_known_one_is_bad_but_does_not_count)
{
	set_result(&all[0], VERDICT_LEAK, "LIFE-004");
	assert_true(results_are_bad(&results));
	all[0].known = true;
	assert_true(result_is_bad(&all[0]));
	assert_false(results_are_bad(&results));
	set_result(&all[1], VERDICT_HANDLED, "exit 1");
	set_result(&all[2], VERDICT_MISSED, "");
	assert_false(results_are_bad(&results));
}

/* What result_put() writes of all[@from], read where nothing was done yet. */
static bool pass_on(int from)
{
	struct text text = { 0 };
	struct json json = { .out = &text };
	bool taken;

	result_put(&json, &all[from]);
	memset(&all[from].judgement, 0, sizeof(all[from].judgement));
	all[from].done = false;
	all[from].took = 0;
	taken = result_read(&results, text.at, text.used);
	text_fini(&text);
	return taken;
}

TEST(a_result_is_taken_over)
{
	set_result(&all[1], VERDICT_HANG, "it \"waits\"");
	all[1].took = 77;
	assert_true(pass_on(1));
	assert_true(all[1].done);
	assert_int_equal(all[1].judgement.verdict, VERDICT_HANG);
	assert_string_equal(all[1].judgement.says, "it \"waits\"");
	assert_int_equal(all[1].took, 77);
	assert_false(all[0].done);
}

TEST(what_is_no_result_of_these_is_not)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{\"number\": 1}",
		"{\"number\": 4, \"verdict\": \"hang\", \"rule\": \"verb=reg_mr n=1\"}",
		"{\"number\": 0, \"verdict\": \"hang\", \"rule\": \"verb=reg_mr n=1\"}",
		"{\"number\": 1, \"verdict\": \"hang\", \"rule\": \"verb=reg_mr n=2\"}",
		"{\"number\": 1, \"verdict\": \"fine\", \"rule\": \"verb=reg_mr n=1\"}",
		"{\"number\": 1, \"verdict\": null, \"rule\": \"verb=reg_mr n=1\"}",
		"{\"number\": 1, \"verdict\": \"hang\", \"rule\": \"verb=reg_mr n=1\"",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_false(result_read(&results, texts[i], strlen(texts[i])));
	assert_false(all[0].done);
}
