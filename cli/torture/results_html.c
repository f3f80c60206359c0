/*
 * Verdicts as a page that needs no other file: a table, worst first
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/torture/results.h"
#include "core/base/printable.h"
#include "core/base/xml.h"
#include "core/wire/log.h"

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n<title>verbatim torture</title>\n"
	"<style>\n"
	":root { color-scheme: light dark; }\n"
	"body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em;"
	" padding: 0 1em; }\n"
	"table { border-collapse: collapse; width: 100%; }\n"
	"td, th { text-align: left; vertical-align: top; padding: .3em .8em;"
	" border-bottom: 1px solid #8884; }\n"
	"code { font-size: .9em; overflow-wrap: anywhere; }\n"
	".bad { color: #b3261e; font-weight: 600; }\n.good { color: #2e7d32; }\n"
	"@media (prefers-color-scheme: dark) { .bad { color: #ff8a80; }"
	" .good { color: #81c784; } }\n"
	"</style>\n";

static void put_text(const char *text)
{
	xml_put(stdout, text, printable_text);
}

static void put_program(const struct results *results)
{
	for (char *const *at = results->program; *at; at++) {
		put_text(" ");
		put_text(*at);
	}
}

static void put_repeat(const struct results *results, const struct result *result)
{
	printf("<br><code>verbatim torture%s --again %u --", results->options,
	       result->failure->number);
	put_program(results);
	printf("</code>");
}

static void put_trace(const struct results *results, const struct result *result)
{
	char path[4096];

	result_trace(results, result, path, sizeof(path));
	printf("<br>trace: <code>");
	put_text(path);
	printf("</code>");
}

static const char *name_state(const struct result *result)
{
	if (!result->done)
		return "not tried";
	return result->known ? "known" : verdict_name(result->judgement.verdict);
}

static void put_row(const struct results *results, const struct result *result)
{
	const struct failure *failure = result->failure;
	bool bad = result_is_bad(result) && !result->known;

	printf("<tr><td class=\"%s\">%s<td>%u<td>", bad ? "bad" : "good", name_state(result),
	       failure->number);
	put_text(failure->what);
	printf("<td>");
	put_text(failure->site->place);
	printf("<td>");
	if (result->done)
		put_text(result->judgement.says);
	if (bad) {
		put_trace(results, result);
		put_repeat(results, result);
	}
	printf("\n");
}

static void put_rows(const struct results *results, int verdict)
{
	for (size_t i = 0; i < results->n; i++) {
		const struct result *result = &results->all[i];

		if (verdict == (result->done ? (int)result->judgement.verdict : VERDICTS))
			put_row(results, result);
	}
}

int results_print_html(const struct results *results)
{
	fputs(head, stdout);
	printf("<h1>Each error path once</h1>\n<p><code>");
	put_program(results);
	printf("</code>\n<table>\n"
	       "<tr><th>verdict<th>failure<th>what fails<th>where<th>what the program does\n");
	for (int verdict = 0; verdict <= VERDICTS; verdict++)
		put_rows(results, verdict);
	printf("</table>\n</html>\n");
	return ferror(stdout) ? log_err(-EIO, "results") : 0;
}
