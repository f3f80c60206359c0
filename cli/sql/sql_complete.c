/*
 * Completion of the words of a query at the prompt
 *
 * The callbacks of readline() have no argument, so their data are static.
 */
#include "cli/sql/sql_complete.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sql/editline.h"
#include "cli/sql/sql_tables.h"
#include "core/base/vec.h"

static const char *const keywords[] = {
	SQL_QUERY,  "FROM",      "WHERE", "GROUP BY", "ORDER BY", "LIMIT",
	"DISTINCT", "COUNT",     "SUM",   "AVG",      "MIN",      "MAX",
	"JOIN",     "LEFT JOIN", "USING", "BETWEEN",  "HAVING",   "IS NOT NULL",
	"IS NULL",  "DESC",      "AND",   "OR",       "LIKE",     "UNION ALL",
};
static const char *const dots[] = { "help", "tables", "quit", "exit" };

static sqlite3 *from;
static char **names;
static size_t nnames;

static void add_completion_name(void *arg, const char *name)
{
	char **slot;

	(void)arg;
	for (size_t i = 0; i < nnames; i++)
		if (!strcmp(names[i], name))
			return;
	slot = vec_push(names, nnames);
	if (slot && !(*slot = strdup(name)))
		nnames--;
}

static void read_names(void)
{
	if (nnames)
		return;
	sql_each_name(from, add_completion_name, NULL);
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		add_completion_name(NULL, keywords[i]);
}

/* The next of @n words that begins with @text. */
static char *next_match(const char *const *words, size_t n, size_t *at, const char *text)
{
	while (*at < n) {
		const char *word = words[(*at)++];

		if (!strncasecmp(word, text, strlen(text)))
			return strdup(word);
	}
	return NULL;
}

static char *next_name(const char *text, int state)
{
	static size_t at;

	if (!state)
		at = 0;
	return next_match((const char *const *)names, nnames, &at, text);
}

static char *next_dot_command(const char *text, int state)
{
	static size_t at;

	if (!state)
		at = 0;
	return next_match(dots, sizeof(dots) / sizeof(*dots), &at, text);
}

static char **complete_word(const char *text, int start, int end)
{
	(void)end;
	*editline.rl_attempted_completion_over = 1; /* not the name of a file */
	if (start == 1 && (*editline.rl_line_buffer)[0] == '.')
		return editline.rl_completion_matches(text, next_dot_command);
	read_names();
	return editline.rl_completion_matches(text, next_name);
}

void sql_complete(struct sqlite3 *db)
{
	static char breaks[] = " \t\n\"'`<>=;|(),+-*/%.";

	from = db;
	if (!editline_load())
		return;
	/* libedit reads the second one */
	*editline.rl_completer_word_break_characters = breaks;
	*editline.rl_basic_word_break_characters = breaks;
	*editline.rl_attempted_completion_function = complete_word;
}

void sql_complete_end(void)
{
	if (from && editline_load())
		*editline.rl_attempted_completion_function = NULL;
	from = NULL;
	for (size_t i = 0; i < nnames; i++)
		free(names[i]);
	free(names);
	names = NULL;
	nnames = 0;
}
