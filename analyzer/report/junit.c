/*
 * A JUnit report, as Jenkins' xunit plugin and its like read it
 *
 *	<testsuites> <testsuite> <properties/> <testcase> <failure/> | <skipped/> ...
 */
#include "analyzer/report/junit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"
#include "core/base/xml.h"
#include "core/wire/log.h"

static void put_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	xml_put(out, value, printable_text);
	fputc('"', out);
}

void junit_line(struct text *text, const char *line)
{
	size_t size = PRINTABLE_GROWS * strlen(line) + 1;
	char *shown = malloc(size);

	if (shown)
		text_add(text, shown, printable_text(shown, size, line, strlen(line)));
	text_char(text, '\n');
	free(shown);
}

int junit_begin(struct junit *junit)
{
	*junit = (struct junit){ 0 };
	junit->cases = open_memstream(&junit->text, &junit->size);
	return junit->cases ? 0 : log_err(-ENOMEM, "report");
}

static void put_seconds(FILE *out, double seconds)
{
	fprintf(out, " time=\"%.*f\"", seconds > 0 ? 3 : 0, seconds);
}

static void put_failure(FILE *out, const struct junit_outcome *outcome)
{
	fputs("<failure", out);
	put_attribute(out, "message", outcome->failure);
	put_attribute(out, "type", outcome->type);
	fputc('>', out);
	xml_put(out, outcome->details ? outcome->details : "", printable_lines);
	fputs("</failure>\n", out);
}

static void put_skipped(FILE *out, const char *why)
{
	fputs("<skipped", out);
	put_attribute(out, "message", why);
	fputs("/>\n", out);
}

static void put_output(FILE *out, const char *output)
{
	fputs("<system-out>", out);
	xml_put(out, output, printable_lines);
	fputs("</system-out>\n", out);
}

void junit_case(struct junit *junit, const char *family, const char *name,
		const struct junit_outcome *outcome)
{
	FILE *out = junit->cases;

	junit->tests++;
	junit->failures += outcome->failure != NULL;
	junit->skipped += !outcome->failure && outcome->skipped;
	fprintf(out, "<testcase classname=\"verbatim.%s\"", family);
	put_attribute(out, "name", name);
	put_seconds(out, outcome->seconds);
	fputs(">\n", out);
	junit->seconds += outcome->seconds;
	if (outcome->failure)
		put_failure(out, outcome);
	else if (outcome->skipped)
		put_skipped(out, outcome->skipped);
	if (outcome->output)
		put_output(out, outcome->output);
	fputs("</testcase>\n", out);
}

int junit_end(struct junit *junit, const char *name, const char *const *properties, FILE *out)
{
	int err = ferror(junit->cases) | fclose(junit->cases) ? log_err(-ENOMEM, "report") : 0;

	if (!err) {
		fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite", out);
		put_attribute(out, "name", name);
		fprintf(out, " tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"%u\"",
			junit->tests, junit->failures, junit->skipped);
		put_seconds(out, junit->seconds);
		fputs(">\n<properties>\n", out);
		for (; properties[0]; properties += 2) {
			fputs("<property", out);
			put_attribute(out, "name", properties[0]);
			put_attribute(out, "value", properties[1]);
			fputs("/>\n", out);
		}
		fputs("</properties>\n", out);
		fwrite(junit->text, 1, junit->size, out);
		fputs("</testsuite>\n</testsuites>\n", out);
	}
	free(junit->text);
	return err;
}
