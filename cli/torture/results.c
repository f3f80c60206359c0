/*
 * Reports of verdicts: text, JSON, JUnit; and the comparison with an earlier run
 *
 * Equal verdicts have one cause: the text shows the first of them, and how many more there are.
 */
#include "cli/torture/results.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/junit.h"
#include "cli/format.h"
#include "cli/output.h"
#include "core/base/json.h"
#include "core/base/json_tree.h"
#include "core/base/read_file.h"
#include "core/wire/hash.h"
#include "core/wire/log.h"

bool result_is_bad(const struct result *result)
{
	return result->done && verdict_is_bad(result->judgement.verdict);
}

const char *result_fingerprint(const struct result *result, char text[RESULT_FINGERPRINT])
{
	const struct failure *failure = result->failure;
	const char *const parts[] = { verdict_name(result->judgement.verdict), failure->what,
				      failure->site->place };
	struct hash hash;

	hash_begin(&hash, failure->site->node);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		hash_add(&hash, parts[i], strlen(parts[i]) + 1);
	snprintf(text, RESULT_FINGERPRINT, "%016" PRIx64, hash_end(&hash));
	return text;
}

const char *result_trace(const struct results *results, const struct result *result, char *path,
			 size_t size)
{
	snprintf(path, size, "%s/%u.db", results->folder, result->failure->number);
	return path;
}

static bool is_shown(const struct result *result)
{
	return result_is_bad(result) && !result->known;
}

bool results_are_bad(const struct results *results)
{
	for (size_t i = 0; i < results->n; i++)
		if (is_shown(&results->all[i]))
			return true;
	return false;
}

/* Are two verdicts the same? Not hangs or silence: the failure says more than their texts. */
static bool is_alike(const struct result *a, const struct result *b)
{
	enum verdict verdict = a->judgement.verdict;

	return is_shown(a) && is_shown(b) && verdict == b->judgement.verdict &&
	       verdict != VERDICT_HANG && verdict != VERDICT_SILENT &&
	       !strcmp(a->judgement.says, b->judgement.says);
}

bool results_is_repeat(const struct results *results, size_t i)
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
	if (*result->reduced)
		printf("               %s\n", result->reduced);
}

static void print_counts(const struct results *results)
{
	unsigned int n[VERDICTS] = { 0 }, open = 0, known = 0;
	const char *comma = "";

	for (size_t i = 0; i < results->n; i++)
		if (results->all[i].known)
			known++;
		else if (results->all[i].done)
			n[results->all[i].judgement.verdict]++;
		else
			open++;
	for (int verdict = 0; verdict < VERDICTS; verdict++)
		if (n[verdict]) {
			printf("%s%u %s", comma, n[verdict], verdict_name((enum verdict)verdict));
			comma = ", ";
		}
	if (known) {
		printf("%s%u known", comma, known);
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
			if (is_shown(&results->all[i]) &&
			    (int)results->all[i].judgement.verdict == verdict &&
			    !results_is_repeat(results, i)) {
				print_result(results, i);
				any = true;
			}
	if (any)
		printf("\n");
	print_counts(results);
	if (!any)
		return 0;
	printf("traces:   %s/N.db\nto repeat one: verbatim torture%s --again N --", results->folder,
	       results->options);
	print_program(results);
	return 0;
}

void result_put(struct json *json, const struct result *result)
{
	const struct failure *failure = result->failure;
	char fingerprint[RESULT_FINGERPRINT];

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
	if (result_is_bad(result)) {
		json_put_text(json, "fingerprint", result_fingerprint(result, fingerprint));
		json_put_bool(json, "known", result->known);
		if (*result->reduced)
			json_put_text(json, "reduced", result->reduced);
	}
	json_close(json, '}');
}

/* Earlier results */

static const char *text_of(const struct json_node *node, const char *name)
{
	const struct json_node *member = json_find_member(node, name, strlen(name));

	return member && member->kind == JSON_TEXT ? member->text : "";
}

static uint64_t number_of(const struct json_node *node, const char *name)
{
	const struct json_node *member = json_find_member(node, name, strlen(name));

	return member && member->kind == JSON_INT && member->number > 0 ? (uint64_t)member->number
									: 0;
}

bool result_read(struct results *results, const char *text, size_t n)
{
	struct json_node *root = NULL;
	struct result *result;
	uint64_t number;
	enum verdict verdict;

	if (json_parse(text, n, &root))
		return false;
	number = number_of(root, "number");
	verdict = verdict_find(text_of(root, "verdict"));
	result = number && number <= results->n ? &results->all[number - 1] : NULL;
	if (result && (verdict == VERDICTS || strcmp(text_of(root, "rule"), result->failure->rule)))
		result = NULL;
	if (result) {
		result->done = true;
		result->took = number_of(root, "took_ns");
		result->judgement.verdict = verdict;
		snprintf(result->judgement.says, sizeof(result->judgement.says), "%s",
			 text_of(root, "says"));
	}
	free(root);
	return result;
}

static void mark_known(struct results *results, const char *fingerprint)
{
	char own[RESULT_FINGERPRINT];

	for (size_t i = 0; i < results->n; i++)
		if (result_is_bad(&results->all[i]) &&
		    !strcmp(result_fingerprint(&results->all[i], own), fingerprint))
			results->all[i].known = true;
}

int results_mark_known(struct results *results, const char *baseline)
{
	struct json_node *root = NULL;
	const struct json_node *list = NULL, *each;
	size_t bytes;
	char *text;
	int err = read_file(baseline, &text, &bytes);

	if (err)
		return log_err(err, "open the baseline %s", baseline);
	if (!json_parse(text, bytes, &root))
		list = json_find_member(root, "results", strlen("results"));
	if (!list || list->kind != JSON_ARRAY)
		err = log_why(-EINVAL, "%s is not a baseline: write one with torture --json",
			      baseline);
	else
		for (each = json_first(list); each; each = json_next(each))
			mark_known(results, text_of(each, "fingerprint"));
	free(root);
	free(text);
	return err;
}

int results_write(struct text *text)
{
	int err;

	text_char(text, '\n');
	err = text->failed ? log_err(-ENOMEM, "results") : output_put(NULL, text);
	text_fini(text);
	return err;
}

int results_print_json(const struct results *results)
{
	struct text text = { 0 };
	struct json json = { .out = &text, .spaced = true };

	json_open(&json, NULL, '{');
	json_put_text(&json, "folder", results->folder);
	json_open(&json, "results", '[');
	for (size_t i = 0; i < results->n; i++) {
		json_put_line(&json, 2);
		result_put(&json, &results->all[i]);
	}
	json_close(&json, ']');
	json_close(&json, '}');
	return results_write(&text);
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
	else if (result->known)
		outcome.skipped = "not handled, as in the baseline";
	else if (result_is_bad(result)) {
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
