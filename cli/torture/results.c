/*
 * Reports of verdicts: text, JSON, JUnit
 *
 * Verdicts of a kind that say the same have one cause: the text shows the first of them, and how
 * many more there are.
 */
#include "cli/torture/results.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/junit.h"
#include "cli/format.h"
#include "cli/output.h"
#include "core/base/json.h"
#include "core/wire/log.h"

bool results_are_bad(const struct results *results)
{
	for (size_t i = 0; i < results->n; i++)
		if (results->all[i].done && verdict_is_bad(results->all[i].judgement.verdict))
			return true;
	return false;
}

/* The failure says more of a hang, or of silence, than the verdict. */
static bool is_alike(const struct result *a, const struct result *b)
{
	enum verdict verdict = a->judgement.verdict;

	return a->done && b->done && verdict == b->judgement.verdict && verdict_is_bad(verdict) &&
	       verdict != VERDICT_HANG && verdict != VERDICT_SILENT &&
	       !strcmp(a->judgement.says, b->judgement.says);
}

/* Is there one before it that says the same? */
static bool is_repeated(const struct results *results, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (is_alike(&results->all[j], &results->all[i]))
			return true;
	return false;
}

static unsigned int count_alike(const struct results *results, size_t i)
{
	unsigned int n = 0;

	for (size_t j = i + 1; j < results->n; j++)
		n += is_alike(&results->all[i], &results->all[j]);
	return n;
}

static void print_result(const struct results *results, size_t i)
{
	const struct result *result = &results->all[i];
	const struct failure *failure = result->failure;
	unsigned int more = count_alike(results, i);

	printf("%-8s %4u  %s%s%s\n", verdict_name(result->judgement.verdict), failure->number,
	       failure->what, *failure->site->place ? " in " : "", failure->site->place);
	printf("               %s", result->judgement.says);
	if (more)
		printf("; %u more alike", more);
	printf("\n");
}

static void print_counts(const struct results *results)
{
	unsigned int n[VERDICTS] = { 0 }, open = 0;
	const char *comma = "";

	for (size_t i = 0; i < results->n; i++)
		if (results->all[i].done)
			n[results->all[i].judgement.verdict]++;
		else
			open++;
	for (int verdict = 0; verdict < VERDICTS; verdict++)
		if (n[verdict]) {
			printf("%s%u %s", comma, n[verdict], verdict_name((enum verdict)verdict));
			comma = ", ";
		}
	if (open)
		printf("%s%u not tried", comma, open);
	printf("\n");
}

static void print_program(const struct results *results)
{
	for (char *const *at = results->program; *at; at++)
		printf(" %s", *at);
	printf("\n");
}

int results_print_text(const struct results *results)
{
	bool any = false;

	for (int verdict = 0; verdict < VERDICT_HANDLED; verdict++)
		for (size_t i = 0; i < results->n; i++)
			if (results->all[i].done &&
			    (int)results->all[i].judgement.verdict == verdict &&
			    !is_repeated(results, i)) {
				print_result(results, i);
				any = true;
			}
	if (any)
		printf("\n");
	print_counts(results);
	if (!any)
		return 0;
	printf("traces:   %s/N.db\nto repeat one: verbatim torture%s --again N --", results->folder,
	       results->every ? " --every" : "");
	print_program(results);
	return 0;
}

static void put_result(struct json *json, const struct result *result)
{
	const struct failure *failure = result->failure;

	json_put_line(json, 2);
	json_open(json, NULL, '{');
	json_put_uint(json, "number", failure->number);
	json_put_text(json, "verdict",
		      result->done ? verdict_name(result->judgement.verdict) : NULL);
	json_put_text(json, "says", result->done ? result->judgement.says : NULL);
	json_put_text(json, "failure", failure->what);
	json_put_text(json, "place", *failure->site->place ? failure->site->place : NULL);
	json_put_text(json, "rule", failure->rule);
	json_put_uint(json, "process", failure->site->node);
	json_put_uint(json, "took_ns", result->took);
	json_close(json, '}');
}

int results_print_json(const struct results *results)
{
	struct text text = { 0 };
	struct json json = { .out = &text, .spaced = true };
	int err;

	json_open(&json, NULL, '{');
	json_put_text(&json, "folder", results->folder);
	json_open(&json, "results", '[');
	for (size_t i = 0; i < results->n; i++)
		put_result(&json, &results->all[i]);
	json_close(&json, ']');
	json_close(&json, '}');
	text_char(&text, '\n');
	err = text.failed ? log_err(-ENOMEM, "results") : output_put(NULL, &text);
	text_fini(&text);
	return err;
}

static void put_case(struct junit *junit, const struct result *result)
{
	struct junit_outcome outcome = { .seconds = (double)result->took / 1e9 };
	char name[sizeof(result->failure->what) + SITE_PLACE + 16];

	snprintf(name, sizeof(name), "%u: %s%s%s", result->failure->number, result->failure->what,
		 *result->failure->site->place ? " in " : "", result->failure->site->place);
	if (!result->done)
		outcome.skipped = "not tried";
	else if (result->judgement.verdict == VERDICT_MISSED)
		outcome.skipped = "the failure did not occur in this run";
	else if (verdict_is_bad(result->judgement.verdict)) {
		outcome.failure = result->judgement.says;
		outcome.type = verdict_name(result->judgement.verdict);
		outcome.details = result->failure->rule;
	}
	junit_case(junit, "torture", name, &outcome);
}

int results_print_junit(const struct results *results)
{
	const char *const properties[] = { "program", results->program[0], NULL };
	struct junit junit;
	int err = junit_begin(&junit);

	for (size_t i = 0; i < results->n && !err; i++)
		put_case(&junit, &results->all[i]);
	return err ?: junit_end(&junit, "verbatim torture", properties, stdout);
}
