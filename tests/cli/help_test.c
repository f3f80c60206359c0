/*
 * cli/help.c: the help of two commands that are the test's, and the table for scripts, of which
 * names of tables and topics are listed and the others counted: help_test.txt
 */
#include "cli/help.h"

#include <stdlib.h>

#include "analyzer/rules/rule.h"
#include "cli/command.h"
#include "core/wire/desc.h"
#include "tests/transcript.h"

struct settings {
	bool fast;
	char *to;
	uint32_t number;
	uint64_t room;
	int64_t patience;
};

static const struct option_row rows[] = {
	{ "fast", 'f', NULL, "be fast", FLAG_AT(struct settings, fast) },
	{ "a-long-name-of-an-option", 'a', "SOME-VALUE", "where the text does not fit in its line",
	  TEXT_AT(struct settings, to) },
	{ "number", 0, "N",
	  "how many of them there are to be, in words enough that the line is wrapped "
	  "once, and then again, since the text of an option may be that long, or even longer",
	  NUMBER_AT(struct settings, number), .least = 1, .most = 90, .preset = "7" },
	{ "room", 'r', "SIZE", "bytes", SIZE_AT(struct settings, room), .most = 1 << 20,
	  .otherwise = "as it is" },
	{ "patience", 0, "TIME", "how long to wait", TIME_AT(struct settings, patience) },
	{ 0 },
};

static const struct option_row none[] = { { 0 } };

const struct command commands[] = {
	{ "act", NULL, "Act on a trace", "TRACE...", rows },
	{ "rest", NULL, "Do nothing", "", none },
	{ 0 },
};

static FILE *before;

static void begin_capture(char **ret_text, size_t *ret_n)
{
	before = stdout;
	stdout = open_memstream(ret_text, ret_n);
	assert_non_null(stdout);
}

static void end_capture(void)
{
	fclose(stdout);
	stdout = before;
}

/* The table, with counts in place of columns, verbs and rules. */
static void add_table(struct text *out, char *text)
{
	static const char *const counted[] = { "column", "verb", "rule" };
	unsigned int counts[3] = { 0 };

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		size_t n = strcspn(line, " "), i = 0;

		while (i < 3 && strncmp(line, counted[i], n) != 0)
			i++;
		if (i < 3 && !counts[i]++)
			text_addf(out, "\t%s\n", line);
		if (i < 3)
			continue;
		if (!strncmp(line, "table ", 6) && counts[0]) {
			text_addf(out, "\t%u columns\n", counts[0]);
			counts[0] = 0;
		}
		text_addf(out, "%s\n", line);
	}
	assert_int_equal(counts[1], VERB_COUNT);
	assert_int_equal(counts[2], RULE_COUNT);
}

TEST(help_is_that_of_the_transcript)
{
	struct text out = { 0 };
	char *text = NULL;
	size_t n = 0;

	begin_capture(&text, &n);
	help_commands(stdout);
	help_print(&commands[0]);
	help_print(&commands[1]);
	end_capture();
	text_addf(&out, "%s\n", text);
	free(text);
	begin_capture(&text, &n);
	help_table();
	end_capture();
	add_table(&out, text);
	free(text);
	transcript_expect(__FILE__, &out);
}
