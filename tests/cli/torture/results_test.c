/*
 * Results of torture: what identifies one, what is taken over from an earlier run, and the reports:
 * results_test.txt
 */
#include <fcntl.h>

#include "cli/torture/results.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "tests/printed.h"
#include "tests/test.h"
#include "tests/transcript.h"

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

/*
 * Reports: results of each verdict, with and without a place, alike and not, known, not tried, with
 * a reduced trace, and with what must be escaped.
 */

enum { KINDS = 6 };

static const struct site shown_sites[] = {
	{ .place = "connect_qp (app.c:58)",
	  .path = "/src/app.c",
	  .line = 58,
	  .function = "connect_qp",
	  .node = 1 },
	{ .place = "post<>&\" (libx.so)", .function = "post<>&\"" },
	{ .place = "" },
};
static struct failure shown_failures[VERDICTS * KINDS];
static struct result shown[VERDICTS * KINDS];

static void make_shown(unsigned int verdict, unsigned int kind)
{
	unsigned int i = verdict * KINDS + kind;
	struct result *result = &shown[i];

	shown_failures[i] = (struct failure){ .number = i + 1, .site = &shown_sites[kind % 3] };
	snprintf(shown_failures[i].what, sizeof(shown_failures[i].what), "verb %u <fails>", i % 7);
	snprintf(shown_failures[i].rule, sizeof(shown_failures[i].rule), "verb=%u n=%u", i, kind);
	*result = (struct result){ .failure = &shown_failures[i], .took = i * 12345678ull };
	set_result(result, (enum verdict)verdict, kind == 2 ? "it says \"a\" & <b>" : "it says so");
	result->done = kind != 3;
	result->known = kind == 4;
	if (kind == 1)
		strcpy(result->reduced, "torture/7.reduced.db: 9 of 31 events");
}

static void show_report(struct text *out, const char *name,
			int (*print)(const struct results *results), const struct results *of)
{
	text_addf(out, "== %s\n", name);
	printed_begin(false);
	assert_int_equal(print(of), 0);
	printed_end(out);
}

/* The output names the current directory. */
static int print_sarif(const struct results *of)
{
	int here = open(".", O_RDONLY | O_DIRECTORY), err;

	assert_int_equal(chdir("/"), 0);
	err = results_print_sarif(of, 1);
	assert_int_equal(fchdir(here), 0);
	close(here);
	return err;
}

static void show_all(struct text *out, const struct results *of)
{
	show_report(out, "text", results_print_text, of);
	show_report(out, "JSON", results_print_json, of);
	show_report(out, "JUnit", results_print_junit, of);
	show_report(out, "SARIF", print_sarif, of);
	show_report(out, "HTML", results_print_html, of);
}

TEST(reports_are_those_of_the_transcript)
{
	static char *const program[] = { "app", "-x<1>", NULL };
	struct results many = { .all = shown,
				.n = VERDICTS * KINDS,
				.program = program,
				.folder = "torture<1>",
				.options = " --every" };
	struct results few = { .all = shown, .program = program, .folder = "t", .options = "" };
	struct text out = { 0 };

	for (unsigned int verdict = 0; verdict < VERDICTS; verdict++)
		for (unsigned int kind = 0; kind < KINDS; kind++)
			make_shown(verdict, kind);
	show_all(&out, &many);
	show_all(&out, &few);
	few.n = 1;
	show_report(&out, "text of one", results_print_text, &few);
	shown[0].known = true;
	show_report(&out, "text of one that is known", results_print_text, &few);
	shown[0].known = shown[0].done = false;
	show_report(&out, "text of one that was not tried", results_print_text, &few);
	transcript_expect(__FILE__, &out);
}
