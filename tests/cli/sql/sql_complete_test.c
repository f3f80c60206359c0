/*
 * Words that begin with what was typed: names of the trace, keywords, commands
 */
#include "cli/sql/sql_complete.h"

#include <stdlib.h>

#include "cli/sql/editline.h"
#include "tests/core/store/example.h"

static int open_trace(void **state)
{
	(void)state;
	example_begin(&example);
	example_open(&example);
	sql_complete(trace_db(example.trace));
	return 0;
}

static int close_trace(void **state)
{
	(void)state;
	sql_complete_end();
	assert_null(*editline.rl_attempted_completion_function);
	example_end(&example);
	return 0;
}

GROUP(open_trace, close_trace);

static const struct row {
	const char *name; /* the line, whose last word is completed */
	int start;
	const char *matches[6]; /* the first is what all have in common */
} rows[] = {
	{ "SELECT * FROM poll_c", 14, { "poll_count" } },
	{ "sel", 0, { "SELECT" } },
	{ "SELECT tim", 7, { "time", "time", "timestamp" } },
	{ "group", 0, { "GROUP BY" } },
	{ "ORD", 0, { "ORDER BY", "ORDER BY", "ordinal" } },
	{ "is N", 0, { "IS N", "IS NOT NULL", "IS NULL" } },
	{ "union", 0, { "UNION ALL" } },
	{ "percentil", 0, { "percentile" } },
	{ ".", 1, { "", "help", "tables", "quit", "exit" } },
	{ ".t", 1, { "tables" } },
	{ ".ex", 1, { "exit" } },
	{ "xtable", 1, { "" } },
	{ "no_such_word", 0, { NULL } },
};

static bool has_match(char **matches, const char *wanted)
{
	for (size_t i = 1; matches[i]; i++)
		if (!strcmp(matches[i], wanted))
			return true;
	return false;
}

static void word_is_completed(void **state)
{
	const struct row *row = *state;
	char line[64], **matches;

	snprintf(line, sizeof(line), "%s", row->name);
	*editline.rl_line_buffer = line;
	*editline.rl_attempted_completion_over = 0;
	matches = (*editline.rl_attempted_completion_function)(line + row->start, row->start,
							       (int)strlen(line));
	assert_int_equal(*editline.rl_attempted_completion_over, 1);
	*editline.rl_line_buffer = NULL;
	if (!row->matches[0]) {
		assert_null(matches);
		return;
	}
	if (!*row->matches[0] && !matches)
		return;
	assert_non_null(matches);
	for (size_t i = 1; i < 6 && row->matches[i]; i++)
		if (!has_match(matches, row->matches[i]))
			fail_msg("no %s", row->matches[i]);
	if (!row->matches[1])
		assert_string_equal(matches[0], row->matches[0]);
	for (size_t i = 0; matches[i]; i++)
		free(matches[i]);
	free(matches);
}
TEST_ROWS(rows, word_is_completed);

TEST(words_end_at_operators_and_quotes)
{
	for (const char *c = " \t\n\"'`<>=;|(),+-*/%."; *c; c++)
		assert_non_null(strchr(*editline.rl_basic_word_break_characters, *c));
	assert_null(strchr(*editline.rl_completer_word_break_characters, '_'));
}
