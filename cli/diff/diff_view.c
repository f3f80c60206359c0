/*
 * A comparison as text of 80 columns, JSON and JUnit
 *
 *	structure   requests a doorbell         8.00 -> 1.00         REGRESSION
 *	              ibv_post_send, put_values (app.c:79)
 */
#include "cli/diff/diff_view.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/junit.h"
#include "cli/format.h"
#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/base/style.h"
#include "core/base/text.h"
#include "core/wire/log.h"

enum {
	VALUE = 96,
	LINE = 64, /* columns of the second and later lines of a change */
	WHAT = 27, /* columns of the first line, before the verdict */
	VALUES = 20,
	FAR_PERCENT = 1000, /* percent */
	TESTS = 12,         /* shown ones; JSON has all */
	AHEAD = 12,         /* characters shown of a common beginning of two long texts */
};

static const char *const section_names[] = { "structure", "shape", "time", "environment" };
static const char *const verdict_names[] = { "not distinguishable", "changed", "better",
					     "REGRESSION" };
static const enum style verdict_styles[] = { STYLE_DIM, STYLE_WARNING, STYLE_GOOD, STYLE_ERROR };
/* the words in JSON */
static const char *const verdict_words[] = { "unclear", "changed", "better", "regression" };

/* Format a number. Runs may differ, so a count may be a mean with a fraction. */
static void format_number(enum diff_unit unit, double value, char text[FORMAT_TEXT])
{
	if (unit == DIFF_NS)
		format_time((int64_t)value, text);
	else if (unit == DIFF_SHARE)
		snprintf(text, FORMAT_TEXT, "%.1f %%", value);
	else if (unit == DIFF_COUNT && value >= 1e6)
		snprintf(text, FORMAT_TEXT, "%.2f M", value / 1e6);
	else if (unit == DIFF_RATIO || value != floor(value))
		snprintf(text, FORMAT_TEXT, "%.2f", value);
	else
		format_count((uint64_t)value, text);
}

static const char *format_values(const struct diff_change *change, char text[VALUE])
{
	char before[FORMAT_TEXT], after[FORMAT_TEXT];

	if (change->unit == DIFF_TEXT) {
		snprintf(text, VALUE, "%s -> %s", change->before_text, change->after_text);
		return text;
	}
	format_number(change->unit, change->before, before);
	format_number(change->unit, change->after, after);
	snprintf(text, VALUE, "%s -> %s", before, after);
	return text;
}

/* "+4.2 % (99 %: -1.0 to +9.5 %)"; says so if the interval is wide. */
static void format_bounds(const struct diff_change *change, char text[VALUE])
{
	double by = (change->after / change->before - 1) * 100;

	text[0] = '\0';
	if (change->has_bounds && change->high < FAR_PERCENT)
		snprintf(text, VALUE, "%+.1f %% (99 %%: %+.1f to %+.1f %%)", by, change->low,
			 change->high);
	else if (change->has_bounds)
		snprintf(text, VALUE, "%.3g times (99 %%: %.3g to %.3g times)", by / 100 + 1,
			 change->low / 100 + 1, change->high / 100 + 1);
}

static void print_line(const char *lead, const char *text, enum style style)
{
	char line[LINE + 1] = "";
	size_t n = strlen(lead);

	snprintf(line, sizeof(line), "%.*s", (int)(LINE - n), text);
	printf("%14s%s", "", lead);
	style_put(stdout, style);
	print_untrusted(stdout, line);
	style_put(stdout, STYLE_PLAIN);
	putchar('\n');
}

/* Print texts that are too long for one line from shortly before they differ. */
static void print_texts(const struct diff_change *change)
{
	const char *before = change->before_text, *after = change->after_text;
	size_t same = 0;

	while (before[same] && before[same] == after[same])
		same++;
	same = same > AHEAD ? same - AHEAD : 0;
	print_line(same ? "before ..." : "before ", before + same, STYLE_PLAIN);
	print_line(same ? "after  ..." : "after  ", after + same, STYLE_PLAIN);
}

static void print_verdict(const struct diff_change *change)
{
	putchar(' ');
	style_text(stdout, verdict_styles[change->verdict], verdict_names[change->verdict]);
	putchar('\n');
}

static void print_title(const char *title)
{
	int pad = 11 - (int)strlen(title);

	style_text(stdout, STYLE_HEAD, title);
	printf("%*s ", pad > 0 ? pad : 0, "");
}

/* Print a place; a caller that does not fit into the line gets a new line. */
static void print_place(const char *place)
{
	static const char *const callers[] = { ", called by ", ", below " };
	const char *at = NULL;
	char line[LINE + 1];

	for (size_t i = 0; i < sizeof(callers) / sizeof(*callers) && !at; i++)
		at = strstr(place, callers[i]);
	if (!at || strlen(place) <= LINE) {
		print_line("", place, STYLE_DIM);
		return;
	}
	snprintf(line, sizeof(line), "%.*s", (int)(at + 1 - place), place);
	print_line("", line, STYLE_DIM);
	print_line("  ", at + 2, STYLE_DIM);
}

static void print_change(const struct diff_change *change, bool first)
{
	char values[VALUE], bounds[VALUE];

	format_values(change, values);
	format_bounds(change, bounds);
	print_title(first ? section_names[change->section] : "");
	print_untrusted(stdout, change->what);
	if (strlen(change->what) > WHAT)
		printf("\n%*s", 12 + WHAT + 1, "");
	else
		printf("%*s ", (int)(WHAT - strlen(change->what)), "");
	if (change->unit == DIFF_TEXT && strlen(values) > VALUES) {
		printf("%*s", VALUES, "");
		print_verdict(change);
		print_texts(change);
	} else {
		print_untrusted(stdout, values);
		printf("%*s", strlen(values) < VALUES ? (int)(VALUES - strlen(values)) : 0, "");
		print_verdict(change);
	}
	if (*change->place)
		print_place(change->place);
	if (*bounds)
		print_line("", bounds, STYLE_PLAIN);
	if (*change->note)
		print_line("", change->note, STYLE_PLAIN);
}

static void print_side(const char *name, const struct diff_side *side)
{
	size_t wide = 0;

	for (size_t i = 0; i < side->n; i++)
		wide += strlen(side->runs[i]->path) + 2;
	printf("%-8s%zu run%s: ", name, side->n, side->n == 1 ? "" : "s");
	for (size_t i = 0; i < side->n; i++) {
		printf(!i ? "" : wide < LINE ? ", " : "\n                ");
		print_untrusted(stdout, side->runs[i]->path);
	}
	putchar('\n');
}

static void print_waited(const struct diff_side *side)
{
	uint64_t ns = 0, took = 0; /* waits of a damaged trace may have any value */
	size_t known = 0;
	char text[FORMAT_TEXT], of[FORMAT_TEXT];

	for (size_t i = 0; i < side->n; i++) {
		const struct profile *profile = side->runs[i]->profile;

		known += profile->waited.known;
		ns += (uint64_t)profile->waited.ns;
		took += (uint64_t)profile->duration;
	}
	if (known < side->n)
		printf("        waits for the recorder were not recorded in %zu of %zu runs\n",
		       side->n - known, side->n);
	else if (ns)
		printf("        the recorder made the program wait %s of %s in all\n",
		       format_time((int64_t)ns, text), format_time((int64_t)took, of));
}

/* Print the reasons why the numbers of a side are not exact. */
static void print_doubts(const struct diff_side *side)
{
	size_t lossy = 0, sampled = 0, filtered = 0;

	for (size_t i = 0; i < side->n; i++) {
		const struct diff_run *run = side->runs[i];

		lossy += run->lossy;
		sampled += run->profile->one_of > 1;
		filtered += run->profile->filtered && run->profile->one_of <= 1;
	}
	if (lossy)
		printf("        INCOMPLETE: events of %zu of %zu runs are missing; calls are not "
		       "compared\n",
		       lossy, side->n);
	if (sampled)
		printf("        SAMPLED: counts of %zu of %zu runs are estimates, without times\n",
		       sampled, side->n);
	if (filtered)
		printf("        FILTERED: %zu of %zu runs have only events that passed --filter\n",
		       filtered, side->n);
}

/* The sentence about what was compared and did not change. */
static const char *describe_same(const struct diff *diff, enum diff_section section)
{
	switch (section) {
	case DIFF_STRUCTURE:
		return diff->counted ? "same attributes, shares, batches and calls (to 2 %)"
				     : "same attributes, shares and batches; calls are not judged";
	case DIFF_SHAPE:
		return diff->shapes ? "no new mode of the gaps before posts, up to 500 us"
				    : "not judged: too few gaps, or their medians differ";
	case DIFF_TIME:
		return diff->sides[0].n > 1 && diff->sides[1].n > 1
			       ? "not judged: too few latencies"
			       : "not judged: too few requests have a latency";
	default:
		return "same host, kernel, device, limits, variables";
	}
}

/* Processors differ in the last bit of a logarithm: 10 % is not to be 11 % on some. */
static double ceil_near(double number)
{
	return ceil(number - 1e-6);
}

static void print_test(const struct diff_test *test)
{
	char line[sizeof(test->what) + sizeof(test->of) + 96], bound[40] = "";
	size_t room;

	if (!test->because && test->share)
		snprintf(bound, sizeof(bound), ": less than %.3g points",
			 ceil_near(test->could_see));
	else if (!test->because && test->could_see < FAR_PERCENT)
		snprintf(bound, sizeof(bound), ": less than %.3g %%", ceil_near(test->could_see));
	else if (!test->because)
		snprintf(bound, sizeof(bound), ": less than %.3g times", test->could_see / 100 + 1);
	snprintf(line, sizeof(line), "%s%s%s%s%s", test->what, test->verb ? ", " : "",
		 test->verb ?: "", *test->of ? ", " : "", test->of);
	room = LINE - strlen(bound);
	if (strlen(line) > room) /* a place is recognised by less, a number is not */
		strcpy(line + room - 3, "...");
	strcat(line, bound);
	print_line("", line, STYLE_PLAIN);
}

static bool has_reason(const struct diff_test *test, const char *because)
{
	return because ? test->because && !strcmp(test->because, because) : !test->because;
}

/* The tests that are not judged @because; NULL: the tests that show no change. */
static void print_tests_of(const struct diff *diff, const char *because)
{
	size_t n = 0;

	if (because)
		printf("%12snot judged, %s:\n", "", because);
	else
		printf("%12sno change that these runs can show:\n", "");
	for (size_t i = 0; i < diff->ntests; i++)
		if (has_reason(&diff->tests[i], because) && n++ < TESTS)
			print_test(&diff->tests[i]);
	if (n > TESTS)
		printf("%14sand %zu more: --format json\n", "", n - TESTS);
}

/* Print what was compared, with the least change that would show, and what was not judged. */
static void print_tests(const struct diff *diff)
{
	for (size_t i = 0; i < diff->ntests; i++) {
		bool first = true;

		for (size_t k = 0; k < i && first; k++)
			first = !has_reason(&diff->tests[k], diff->tests[i].because);
		if (first)
			print_tests_of(diff, diff->tests[i].because);
	}
}

static void print_section(const struct diff *diff, enum diff_section section)
{
	bool any = false;

	for (size_t i = 0; i < diff->nchanges; i++) {
		if (diff->changes[i].section != section)
			continue;
		print_change(&diff->changes[i], !any);
		any = true;
	}
	if (!any) {
		print_title(section_names[section]);
		puts(describe_same(diff, section));
	}
	if (section == DIFF_TIME)
		print_tests(diff);
}

int diff_print_text(const struct diff *diff)
{
	print_side("before", &diff->sides[0]);
	print_doubts(&diff->sides[0]);
	print_waited(&diff->sides[0]);
	print_side("after", &diff->sides[1]);
	print_doubts(&diff->sides[1]);
	print_waited(&diff->sides[1]);
	putchar('\n');
	for (int s = 0; s < DIFF_SECTIONS; s++)
		print_section(diff, (enum diff_section)s);
	putchar('\n');
	style_put(stdout, diff->regressions ? STYLE_ERROR : STYLE_GOOD);
	printf("%" PRIu64 " regression%s", diff->regressions, diff->regressions == 1 ? "" : "s");
	style_put(stdout, STYLE_PLAIN);
	printf(": worse by more than %g %%\n", diff->threshold);
	return 0;
}

/* JSON */

/* Add a number, or null if it is not finite. */
static void put_number(struct json *json, const char *name, double value)
{
	if (!isfinite(value)) {
		json_put_text(json, name, NULL);
		return;
	}
	json_put_name(json, name);
	text_addf(json->out, "%.10g", value);
}

static void put_change(struct json *json, const struct diff_change *change)
{
	static const char *const units[] = { "text", "ratio", "percent", "count", "ns" };

	json_put_line(json, 4);
	json_open(json, NULL, '{');
	json_put_text(json, "section", section_names[change->section]);
	json_put_text(json, "what", change->what);
	json_put_text(json, "verdict", verdict_words[change->verdict]);
	json_put_text(json, "unit", units[change->unit]);
	if (change->unit == DIFF_TEXT) {
		json_put_text(json, "before", change->before_text);
		json_put_text(json, "after", change->after_text);
	} else {
		put_number(json, "before", change->before);
		put_number(json, "after", change->after);
	}
	json_put_text(json, "place", *change->place ? change->place : NULL);
	json_put_text(json, "note", *change->note ? change->note : NULL);
	if (change->has_bounds) {
		put_number(json, "low_percent", change->low);
		put_number(json, "high_percent", change->high);
	}
	json_close(json, '}');
}

static void put_side(struct json *json, const char *name, const struct diff_side *side)
{
	json_open(json, name, '[');
	for (size_t i = 0; i < side->n; i++) {
		const struct diff_run *run = side->runs[i];
		const struct profile_waited *waited = &run->profile->waited;

		json_put_line(json, 4);
		json_open(json, NULL, '{');
		json_put_text(json, "trace", run->path);
		json_put_int(json, "duration_ns", run->profile->duration);
		json_put_bool(json, "lossy", run->lossy);
		json_put_uint(json, "one_of", run->profile->one_of);
		json_put_bool(json, "filtered", run->profile->filtered);
		json_put_name(json, "waited_ns");
		if (waited->known)
			text_addf(json->out, "%" PRId64, waited->ns);
		else
			text_addf(json->out, "null");
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_tests(struct json *json, const struct diff *diff)
{
	json_open(json, "unchanged", '[');
	for (size_t i = 0; i < diff->ntests; i++) {
		const struct diff_test *test = &diff->tests[i];

		json_put_line(json, 4);
		json_open(json, NULL, '{');
		json_put_text(json, "what", test->what);
		json_put_text(json, "verb", test->verb);
		json_put_text(json, "function", *test->of ? test->of : NULL);
		json_put_text(json, "not_judged", test->because);
		put_number(json, test->share ? "could_see_points" : "could_see_percent",
			   test->because ? NAN : test->could_see);
		json_close(json, '}');
	}
	json_close(json, ']');
}

int diff_print_json(const struct diff *diff, int status)
{
	struct text text = { 0 };
	struct json json = { .out = &text, .spaced = true };

	json_open(&json, NULL, '{');
	json_put_line(&json, 2);
	json_put_uint(&json, "regressions", diff->regressions);
	put_number(&json, "threshold_percent", diff->threshold);
	json_put_int(&json, "exit_status", status);
	put_side(&json, "before", &diff->sides[0]);
	put_side(&json, "after", &diff->sides[1]);
	json_open(&json, "changes", '[');
	for (size_t i = 0; i < diff->nchanges; i++)
		put_change(&json, &diff->changes[i]);
	json_close(&json, ']');
	put_tests(&json, diff);
	json_close(&json, '}');
	if (!text.failed)
		puts(text.at);
	text_fini(&text);
	return text.failed ? log_err(-ENOMEM, "report") : 0;
}

/* JUnit */

static void put_case(struct junit *junit, const struct diff_change *change)
{
	bool fails = change->verdict == DIFF_WORSE;
	char values[VALUE], bounds[VALUE];
	struct text name = { 0 }, details = { 0 }, sum = { 0 };

	format_values(change, values);
	format_bounds(change, bounds);
	text_addf(&name, "%s%s%s", change->what, *change->place ? ", " : "", change->place);
	text_addf(&sum, "%s: %s", change->what, values);
	text_addf(&details, "%s: ", verdict_words[change->verdict]);
	junit_line(&details, values);
	if (*change->place)
		junit_line(&details, change->place);
	if (*bounds)
		junit_line(&details, bounds);
	if (*change->note)
		junit_line(&details, change->note);
	if (!name.failed && !details.failed && !sum.failed)
		junit_case(junit, section_names[change->section], name.at,
			   &(struct junit_outcome){ .failure = fails ? sum.at : NULL,
						    .type = "regression",
						    .details = details.at,
						    .output = fails ? NULL : details.at });
	text_fini(&name);
	text_fini(&details);
	text_fini(&sum);
}

/* A section without a regression is a test case that has passed. */
static void put_section(struct junit *junit, const struct diff *diff, enum diff_section section)
{
	bool worse = false;

	for (size_t i = 0; i < diff->nchanges; i++)
		worse |= diff->changes[i].section == section &&
			 diff->changes[i].verdict == DIFF_WORSE;
	if (!worse)
		junit_case(junit, section_names[section], "no regression",
			   &(struct junit_outcome){ 0 });
	for (size_t i = 0; i < diff->nchanges; i++)
		if (diff->changes[i].section == section)
			put_case(junit, &diff->changes[i]);
}

static void name_side(struct text *to, const struct diff_side *side)
{
	for (size_t i = 0; i < side->n; i++)
		text_addf(to, "%s%s", i ? ", " : "", side->runs[i]->path);
}

int diff_print_junit(const struct diff *diff, int status)
{
	struct text before = { 0 }, after = { 0 };
	char threshold[32], exit_status[16];
	struct junit junit;
	int err = junit_begin(&junit);

	if (err)
		return err;
	name_side(&before, &diff->sides[0]);
	name_side(&after, &diff->sides[1]);
	snprintf(threshold, sizeof(threshold), "%g %%", diff->threshold);
	snprintf(exit_status, sizeof(exit_status), "%d", status);
	for (int s = 0; s < DIFF_SECTIONS; s++)
		put_section(&junit, diff, (enum diff_section)s);
	err = junit_end(&junit, "verbatim diff",
			(const char *const[]){ "before", before.at, "after", after.at, "version",
					       VERBATIM_VERSION, "threshold", threshold,
					       "exit-status", exit_status, NULL },
			stdout);
	text_fini(&before);
	text_fini(&after);
	return err;
}
