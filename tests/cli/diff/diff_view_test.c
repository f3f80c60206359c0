/*
 * A comparison as text, JSON and JUnit
 */
#include "cli/diff/diff_view.h"

#include <math.h>
#include <unistd.h>

#include "tests/test.h"

static struct profile profiles[4];
static struct diff_run runs[4];
static struct diff_run *const before[] = { &runs[0], &runs[1] }, *const after[] = { &runs[2],
										    &runs[3] };
static struct diff_change changes[8];
static struct diff_test tests[16];
static struct diff diff;

static int begin_diff(void **state)
{
	(void)state;
	memset(changes, 0, sizeof(changes));
	memset(tests, 0, sizeof(tests));
	for (int i = 0; i < 4; i++) {
		static char *const names[] = { "a.db", "b.db", "c.db", "d.db" };

		profiles[i] = (struct profile){ .one_of = 1,
						.waited.known = true,
						.duration = 1000 * (i + 1) };
		runs[i] = (struct diff_run){ .path = names[i], .profile = &profiles[i] };
	}
	diff = (struct diff){ .sides = { { before, 1 }, { after, 1 } },
			      .threshold = 2.5,
			      .changes = changes,
			      .tests = tests,
			      .counted = true,
			      .shapes = 1 };
	return 0;
}

static int end_diff(void **state)
{
	(void)state;
	return 0;
}

FIXTURE(begin_diff, end_diff);

static int print_json(const struct diff *of)
{
	return diff_print_json(of, 1);
}

static int print_junit(const struct diff *of)
{
	return diff_print_junit(of, 1);
}

static const char *print_with(int (*print)(const struct diff *))
{
	static char text[8192];
	int old = dup(STDOUT_FILENO);
	FILE *file = tmpfile();
	size_t n;

	assert_non_null(file);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	assert_int_equal(print(&diff), 0);
	fflush(stdout);
	dup2(old, STDOUT_FILENO);
	close(old);
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	return text;
}

static void expect_part(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static struct diff_change *add_change(enum diff_section section, enum diff_verdict verdict,
				      enum diff_unit unit, double from, double to)
{
	struct diff_change *change = &changes[diff.nchanges++];

	*change = (struct diff_change){
		.section = section, .verdict = verdict, .unit = unit, .before = from, .after = to
	};
	snprintf(change->what, sizeof(change->what), "what %zu", diff.nchanges);
	return change;
}

static struct diff_change *add_texts(char *from, char *to)
{
	struct diff_change *change = add_change(DIFF_ENVIRONMENT, DIFF_CHANGED, DIFF_TEXT, 0, 0);

	change->before_text = from;
	change->after_text = to;
	return change;
}

TEST(runs_that_are_the_same)
{
	assert_string_equal(print_with(diff_print_text),
			    "before  1 run: a.db\n"
			    "after   1 run: c.db\n"
			    "\n"
			    "structure   same attributes, shares, batches and calls (to 2 %)\n"
			    "shape       no new mode of the gaps before posts, up to 500 us\n"
			    "time        not judged: too few requests have a latency\n"
			    "environment same host, kernel, device, limits, variables\n"
			    "\n"
			    "0 regressions: worse by more than 2.5 %\n");
	diff.counted = false;
	diff.shapes = 0;
	diff.sides[0].n = diff.sides[1].n = 2;
	diff.regressions = 1;
	assert_string_equal(
		print_with(diff_print_text),
		"before  2 runs: a.db, b.db\n"
		"after   2 runs: c.db, d.db\n"
		"\n"
		"structure   same attributes, shares and batches; calls are not judged\n"
		"shape       not judged: too few gaps, or their medians differ\n"
		"time        not judged: too few latencies\n"
		"environment same host, kernel, device, limits, variables\n"
		"\n"
		"1 regression: worse by more than 2.5 %\n");
	diff.sides[0].n = 1;
	expect_part(print_with(diff_print_text), "time        not judged: too few requests");
}

TEST(doubts_of_a_side_are_said)
{
	diff.sides[0].n = diff.sides[1].n = 2;
	runs[1].lossy = true;
	profiles[0].one_of = 10;
	profiles[0].filtered = profiles[1].filtered = true;
	profiles[0].waited.known = false;
	profiles[2].waited.ns = 100;
	profiles[3].waited.ns = 200;
	expect_part(
		print_with(diff_print_text),
		"before  2 runs: a.db, b.db\n"
		"        INCOMPLETE: events of 1 of 2 runs are missing; calls are not compared\n"
		"        SAMPLED: counts of 1 of 2 runs are estimates, without times\n"
		"        FILTERED: 1 of 2 runs have only events that passed --filter\n"
		"        waits for the recorder were not recorded in 1 of 2 runs\n"
		"after   2 runs: c.db, d.db\n"
		"        the recorder made the program wait 300 ns of 7.00 us in all\n"
		"\n");
}

TEST(long_names_of_runs_have_their_own_lines)
{
	static char longer[2][40] = { "/a/folder/with/a/name/of/36/bytes/a.d",
				      "/a/folder/with/a/name" };

	diff.sides[0].n = 2;
	runs[0].path = longer[0];
	runs[1].path = longer[1];
	expect_part(
		print_with(diff_print_text),
		"before  2 runs: /a/folder/with/a/name/of/36/bytes/a.d, /a/folder/with/a/name\n");
	strcat(longer[1], "xx");
	expect_part(print_with(diff_print_text),
		    "before  2 runs: /a/folder/with/a/name/of/36/bytes/a.d\n"
		    "                /a/folder/with/a/namexx\n");
}

TEST(numbers_have_their_units)
{
	add_change(DIFF_STRUCTURE, DIFF_WORSE, DIFF_RATIO, 8, 1);
	add_change(DIFF_STRUCTURE, DIFF_BETTER, DIFF_SHARE, 50, 99.94);
	add_change(DIFF_STRUCTURE, DIFF_CHANGED, DIFF_COUNT, 1234, 999999);
	add_change(DIFF_STRUCTURE, DIFF_UNCLEAR, DIFF_COUNT, 1000000, 12345678);
	add_change(DIFF_STRUCTURE, DIFF_UNCLEAR, DIFF_COUNT, 2.5, 3);
	add_change(DIFF_TIME, DIFF_UNCLEAR, DIFF_NS, 1500, 2);
	expect_part(print_with(diff_print_text),
		    "structure   what 1                      8.00 -> 1.00         REGRESSION\n"
		    "            what 2                      50.0 % -> 99.9 %     better\n"
		    "            what 3                      1,234 -> 999,999     changed\n"
		    "            what 4                      1.00 M -> 12.35 M    not "
		    "distinguishable\n"
		    "            what 5                      2.50 -> 3            not "
		    "distinguishable\n"
		    "shape ");
	expect_part(print_with(diff_print_text),
		    "time        what 6                      1.50 us -> 2 ns      not "
		    "distinguishable\n");
}

TEST(a_change_has_its_place_bounds_and_note)
{
	struct diff_change *change = add_change(DIFF_TIME, DIFF_WORSE, DIFF_NS, 1000, 1500);

	snprintf(change->place, sizeof(change->place), "ibv_post_send, put (app.c:79)");
	snprintf(change->note, sizeof(change->note), "a note");
	change->has_bounds = true;
	change->low = -1;
	change->high = 95.5;
	expect_part(print_with(diff_print_text),
		    "time        what 1                      1.00 us -> 1.50 us   REGRESSION\n"
		    "              ibv_post_send, put (app.c:79)\n"
		    "              +50.0 % (99 %: -1.0 to +95.5 %)\n"
		    "              a note\n"
		    "environment ");
	change->high = 1000;
	change->low = 100;
	expect_part(print_with(diff_print_text), "              1.5 times (99 %: 2 to 11 times)\n");
}

TEST(a_long_place_has_its_caller_on_the_next_line)
{
	struct diff_change *change = add_change(DIFF_STRUCTURE, DIFF_WORSE, DIFF_COUNT, 1, 2);
	const char *const fits = "ibv_post_send, put_all_values (a.c:7), below run_all (aaa.c:123)";

	assert_int_equal(strlen(fits), 64);
	snprintf(change->place, sizeof(change->place), "%s", fits);
	expect_part(
		print_with(diff_print_text),
		"              ibv_post_send, put_all_values (a.c:7), below run_all (aaa.c:123)\n");
	snprintf(change->place, sizeof(change->place), "%s4", fits);
	expect_part(print_with(diff_print_text),
		    "              ibv_post_send, put_all_values (a.c:7),\n"
		    "                below run_all (aaa.c:123)4\n");
	snprintf(
		change->place, sizeof(change->place),
		"ibv_reg_mr, make_a_region_of_some_size (a.c:7), called by serve_one (server.c:1)");
	expect_part(print_with(diff_print_text),
		    "              ibv_reg_mr, make_a_region_of_some_size (a.c:7),\n"
		    "                called by serve_one (server.c:1)\n");
}

TEST(a_long_name_takes_a_line)
{
	struct diff_change *change = add_change(DIFF_STRUCTURE, DIFF_WORSE, DIFF_COUNT, 1, 2);

	snprintf(change->what, sizeof(change->what), "%s", "a name of 27 characters, no");
	expect_part(print_with(diff_print_text),
		    "structure   a name of 27 characters, no 1 -> 2               REGRESSION\n");
	strcat(change->what, "w");
	expect_part(print_with(diff_print_text),
		    "structure   a name of 27 characters, now\n"
		    "                                        1 -> 2               REGRESSION\n");
}

TEST(texts_that_are_too_long_begin_where_they_differ)
{
	add_texts("rc", "ud\033");
	add_texts("12345678", "12345678");
	add_texts("12345678", "123456789");
	add_texts("/usr/lib/x86_64-linux-gnu/old/libverbs.so",
		  "/usr/lib/x86_64-linux-gnu/new/libverbs.so");
	expect_part(print_with(diff_print_text),
		    "environment what 1                      rc -> ud\\x1b            changed\n"
		    "            what 2                      12345678 -> 12345678 changed\n"
		    "            what 3                                           changed\n"
		    "              before 12345678\n"
		    "              after  123456789\n"
		    "            what 4                                           changed\n"
		    "              before ...4-linux-gnu/old/libverbs.so\n"
		    "              after  ...4-linux-gnu/new/libverbs.so\n");
}

static struct diff_test *add_test(const char *because, bool share, double could_see)
{
	struct diff_test *test = &tests[diff.ntests++];

	*test = (struct diff_test){ .because = because, .share = share, .could_see = could_see };
	snprintf(test->what, sizeof(test->what), "test %zu", diff.ntests);
	return test;
}

TEST(a_long_place_does_not_cut_the_number)
{
	struct diff_test *test = add_test(NULL, false, 93.5);

	strcpy(test->of, "post_a_request_that_has_a_long_name");
	test->verb = "ibv_post_send";
	expect_part(
		print_with(diff_print_text),
		"              test 1, ibv_post_send, post_a_request_that_ha...: less than 94 %\n");
}

TEST(tests_are_grouped_by_reason)
{
	strcpy(add_test(NULL, false, 12.2)->of, "put");
	diff.tests[0].verb = "ibv_post_send";
	add_test("too few runs", false, 0)->verb = "ibv_post_recv"; /* the function has no name */
	add_test(NULL, true, 0.5);
	add_test(NULL, false, 1000);
	add_test("too few runs", false, 0);
	add_test("one run", false, 0);
	expect_part(print_with(diff_print_text),
		    "time        not judged: too few requests have a latency\n"
		    "            no change that these runs can show:\n"
		    "              test 1, ibv_post_send, put: less than 13 %\n"
		    "              test 3: less than 1 points\n"
		    "              test 4: less than 11 times\n"
		    "            not judged, too few runs:\n"
		    "              test 2, ibv_post_recv\n"
		    "              test 5\n"
		    "            not judged, one run:\n"
		    "              test 6\n"
		    "environment ");
}

TEST(twelve_tests_are_shown)
{
	for (int i = 0; i < 12; i++)
		add_test("few", false, 0);
	expect_part(print_with(diff_print_text), "              test 12\nenvironment ");
	add_test("few", false, 0);
	expect_part(print_with(diff_print_text), "              test 12\n"
						 "              and 1 more: --format json\n");
}

TEST(json_has_all_of_it)
{
	struct diff_change *change = add_change(DIFF_TIME, DIFF_WORSE, DIFF_NS, 1000, INFINITY);

	change->has_bounds = true;
	change->low = -1.5;
	change->high = 2;
	snprintf(change->place, sizeof(change->place), "here");
	add_texts("rc", "ud");
	add_test(NULL, true, 0.5);
	strcpy(add_test("few", false, 3)->of, "put");
	profiles[2].waited.known = false;
	profiles[0].waited.ns = 7;
	runs[2].lossy = profiles[2].filtered = true;
	diff.regressions = 1;
	assert_string_equal(
		print_with(print_json),
		"{\n"
		"  \"regressions\": 1, \"threshold_percent\": 2.5, \"exit_status\": 1, \"before\": "
		"[\n"
		"    {\"trace\": \"a.db\", \"duration_ns\": 1000, \"lossy\": false, \"one_of\": 1, "
		"\"filtered\": false, \"waited_ns\": 7}], \"after\": [\n"
		"    {\"trace\": \"c.db\", \"duration_ns\": 3000, \"lossy\": true, \"one_of\": 1, "
		"\"filtered\": true, \"waited_ns\": null}], \"changes\": [\n"
		"    {\"section\": \"time\", \"what\": \"what 1\", \"verdict\": \"regression\", "
		"\"unit\": \"ns\", \"before\": 1000, \"after\": null, \"place\": \"here\", "
		"\"note\": null, \"low_percent\": -1.5, \"high_percent\": 2},\n"
		"    {\"section\": \"environment\", \"what\": \"what 2\", \"verdict\": "
		"\"changed\", \"unit\": \"text\", \"before\": \"rc\", \"after\": \"ud\", "
		"\"place\": null, \"note\": null}], \"unchanged\": [\n"
		"    {\"what\": \"test 1\", \"verb\": null, \"function\": null, "
		"\"not_judged\": null, \"could_see_points\": 0.5},\n"
		"    {\"what\": \"test 2\", \"verb\": null, \"function\": \"put\", "
		"\"not_judged\": \"few\", \"could_see_percent\": null}]}\n");
}

TEST(junit_fails_for_regressions)
{
	struct diff_change *change = add_change(DIFF_TIME, DIFF_WORSE, DIFF_NS, 1000, 1500);
	const char *text;

	snprintf(change->place, sizeof(change->place), "here");
	snprintf(change->note, sizeof(change->note), "a note");
	change->has_bounds = true;
	change->high = 95.5;
	add_change(DIFF_SHAPE, DIFF_CHANGED, DIFF_COUNT, 1, 2);
	diff.sides[0].n = 2;
	text = print_with(print_junit);
	expect_part(text, "<testsuite name=\"verbatim diff\" tests=\"5\" failures=\"1\" ");
	expect_part(text, "<property name=\"before\" value=\"a.db, b.db\"/>\n"
			  "<property name=\"after\" value=\"c.db\"/>\n");
	expect_part(text, "<property name=\"threshold\" value=\"2.5 %\"/>\n"
			  "<property name=\"exit-status\" value=\"1\"/>\n");
	expect_part(text, "name=\"no regression\" time=\"0\">\n</testcase>\n");
	expect_part(text, "name=\"what 1, here\" time=\"0\">\n"
			  "<failure message=\"what 1: 1.00 us -&gt; 1.50 us\" type=\"regression\">"
			  "regression: 1.00 us -&gt; 1.50 us\n"
			  "here\n"
			  "+50.0 % (99 %: +0.0 to +95.5 %)\n"
			  "a note\n"
			  "</failure>\n");
	expect_part(text, "name=\"what 2\" time=\"0\">\n"
			  "<system-out>changed: 1 -&gt; 2\n"
			  "</system-out>\n");
}
