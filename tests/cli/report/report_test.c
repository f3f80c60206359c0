/*
 * The data of the page of a recorded example: report_test.txt
 */
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

/* Is it a row of table meta that differs in each recording? */
static bool is_of_machine(const char *line)
{
	static const char *const keys[] = { "recorder", "monotonic", "sqlite", "payload_seed",
					    "fingerprint" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strncmp(line, "[\"", 2) && !strncmp(line + 2, keys[i], strlen(keys[i])))
			return true;
	return false;
}

/* Leave out such lines, and those that repeat the one before. */
static void drop_lines(char *text)
{
	const char *before = "";
	char *to = text;

	for (char *line = text, *next; *line; line = next) {
		size_t n = strcspn(line, "\n");

		next = line + n + (line[n] == '\n');
		if (is_of_machine(line) || !strncmp(before, line, n + 1))
			continue;
		before = memmove(to, line, (size_t)(next - line));
		to += next - line;
	}
	*to = '\0';
}

/* Only the data is left, a line for each of its parts. */
static void leave_data(char *text)
{
	char *begin = strstr(text, "id=\"data\">"),
	     *end = begin ? strstr(begin, "</script>") : NULL;

	if (!end)
		return;
	begin += strlen("id=\"data\">");
	memmove(text, begin, (size_t)(end - begin));
	text[end - begin] = '\0';
	for (char *c = text; (c = strchr(c, ',')); c++)
		if (strchr("]}", c[-1]) || strchr("[{", c[1]))
			*c = '\n';
	drop_lines(text);
}

TEST(data_are_those_of_the_transcript)
{
	run_mask = leave_data;
	run_transcript(__FILE__);
}
