/*
 * Reports of sanitizers
 *
 * 	==7==ERROR: AddressSanitizer: heap-use-after-free on address ...    begins a report
 * 	    #0 0x55d0c8c1b2ea in reap /src/app.c:58
 * 	SUMMARY: AddressSanitizer: heap-use-after-free /src/app.c:58 in reap
 *
 * 	/src/app.c:60:9: runtime error: signed integer overflow: ...        is one by itself
 *
 * A report is known by its summary, or by its begin if it has none.
 */
#include "cli/torture/sanitizer.h"

#include <stdio.h>
#include <string.h>

static const char of_sanitizer[] = "Sanitizer: ", summary[] = "SUMMARY: ", leaked[] = " leaked in ";

/* Where @word stands in the line at @line of @length characters. */
static const char *find_in_line(const char *line, size_t length, const char *word)
{
	return memmem(line, length, word, strlen(word));
}

static bool is_summary(const char *line, size_t length)
{
	return !strncmp(line, summary, strlen(summary)) && find_in_line(line, length, of_sanitizer);
}

static bool has_summary(const char *text)
{
	for (const char *at = text; (at = strstr(at, summary)); at++)
		if ((at == text || at[-1] == '\n') && is_summary(at, strcspn(at, "\n")))
			return true;
	return false;
}

static bool is_report(const char *line, size_t length)
{
	if (find_in_line(line, length, ": runtime error: ") || is_summary(line, length))
		return true;
	return find_in_line(line, length, "ERROR: ") && find_in_line(line, length, of_sanitizer) &&
	       !has_summary(line);
}

/* The caller of the allocator in the first stack of @text: ", allocated in reap /src/app.c:58". */
static void add_allocation(const char *text, const char *end, struct sanitizer_report *report)
{
	const char *frame = memmem(text, (size_t)(end - text), "    #1 ", strlen("    #1 "));
	const char *in = frame ? strstr(frame, " in ") : NULL;
	size_t used = strlen(report->says);

	if (in && in < end)
		snprintf(report->says + used, sizeof(report->says) - used, ", allocated%.*s",
			 (int)strcspn(in, "\n"), in);
}

bool sanitizer_next(const char **text, struct sanitizer_report *ret_report)
{
	const char *begin = *text;

	for (const char *line = begin; *line; line = *text) {
		size_t length = strcspn(line, "\n");

		*text = line + length + (line[length] == '\n');
		if (!is_report(line, length))
			continue;
		snprintf(ret_report->says, sizeof(ret_report->says), "%.*s", (int)length, line);
		ret_report->leak = find_in_line(line, length, leaked);
		if (ret_report->leak)
			add_allocation(begin, line, ret_report);
		return true;
	}
	return false;
}
