/*
 * Verdicts as SARIF: a rule for each verdict, a result for each failure that was not handled, at
 * the place that failed
 */
#include <string.h>

#include "analyzer/report/sarif.h"
#include "cli/torture/results.h"

static const char *const means[VERDICTS] = {
	[VERDICT_CRASH] = "A signal or a sanitizer ended the program.",
	[VERDICT_CORRUPT] = "An assertion of the program failed, or its result was wrong.",
	[VERDICT_HANG] = "The program did not end.",
	[VERDICT_MISUSE] = "The program then used verbs wrongly.",
	[VERDICT_LEAK] = "The program then left objects behind.",
	[VERDICT_SILENT] = "The program went on as if nothing had failed.",
};

static void put_rule(struct json *json, enum verdict verdict)
{
	json_open(json, NULL, '{');
	json_put_text(json, "id", verdict_name(verdict));
	sarif_message(json, "shortDescription", means[verdict]);
	json_open(json, "defaultConfiguration", '{');
	json_put_text(json, "level", "error");
	json_close(json, '}');
	json_close(json, '}');
}

static void put_tool(struct json *json)
{
	json_open(json, "tool", '{');
	json_open(json, "driver", '{');
	json_put_text(json, "name", "verbatim torture");
	json_put_text(json, "version", VERBATIM_VERSION);
	json_open(json, "rules", '[');
	for (int verdict = 0; verdict < VERDICT_HANDLED; verdict++)
		put_rule(json, (enum verdict)verdict);
	json_close(json, ']');
	json_close(json, '}');
	json_close(json, '}');
}

static void put_message(struct json *json, const struct result *result)
{
	struct text text = { 0 };

	text_addf(&text, "If %s: %s.", result->failure->what, result->judgement.says);
	sarif_message(json, "message", text.at);
	json->out->failed |= text.failed;
	text_fini(&text);
}

static void put_properties(const struct results *results, struct json *json,
			   const struct result *result)
{
	char trace[4096];

	json_open(json, "properties", '{');
	json_put_uint(json, "number", result->failure->number);
	json_put_text(json, "rule", result->failure->rule);
	json_put_text(json, "trace", result_trace(results, result, trace, sizeof(trace)));
	json_close(json, '}');
}

static void put_result(const struct results *results, struct json *json, const char *root,
		       const struct result *result)
{
	const struct site *site = result->failure->site;
	struct sarif_place place = { .function = *site->function ? site->function : NULL,
				     .path = *site->path ? site->path : NULL,
				     .line = site->line };
	char fingerprint[RESULT_FINGERPRINT];

	json_open(json, NULL, '{');
	json_put_text(json, "ruleId", verdict_name(result->judgement.verdict));
	json_put_int(json, "ruleIndex", result->judgement.verdict);
	json_put_text(json, "level", "error");
	put_message(json, result);
	json_open(json, "locations", '[');
	if (place.path || place.function)
		sarif_location(json, root, NULL, &place, NULL);
	json_close(json, ']');
	sarif_fingerprint(json, result_fingerprint(result, fingerprint));
	json_put_text(json, "baselineState", result->known ? "unchanged" : "new");
	put_properties(results, json, result);
	json_close(json, '}');
}

static void put_run(const struct results *results, struct json *json, const char *root, int status)
{
	json_open(json, NULL, '{');
	put_tool(json);
	sarif_put_root(json, root);
	json_open(json, "invocations", '[');
	json_open(json, NULL, '{');
	json_put_bool(json, "executionSuccessful", true);
	json_put_int(json, "exitCode", status);
	json_close(json, '}');
	json_close(json, ']');
	json_open(json, "results", '[');
	for (size_t i = 0; i < results->n; i++)
		if (result_is_bad(&results->all[i]))
			put_result(results, json, root, &results->all[i]);
	json_close(json, ']');
	json_close(json, '}');
}

int results_print_sarif(const struct results *results, int status)
{
	struct text text = { 0 };
	struct json json = { .out = &text };
	char root[PATH_MAX];

	sarif_begin(&json, root);
	json_open(&json, "runs", '[');
	put_run(results, &json, root, status);
	json_close(&json, ']');
	json_close(&json, '}');
	return results_write(&text);
}
