/*
 * Statements that are typed, or read from a pipe
 */
#include "cli/sql/sql_prompt.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/sql/editline.h"
#include "core/base/text.h"

struct sql_prompt {
	bool terminal;
	struct text statement;
	char *line;
	size_t size;
	FILE *screen; /* libedit needs a descriptor, which our stdout does not have */
};

struct sql_prompt *sql_prompt_open(bool terminal)
{
	struct sql_prompt *prompt = calloc(1, sizeof(*prompt));

	if (!prompt || !terminal || !editline_load())
		return prompt;
	prompt->screen = fdopen(dup(STDOUT_FILENO), "w");
	prompt->terminal = prompt->screen;
	if (!prompt->terminal)
		return prompt;
	*editline.rl_outstream = prompt->screen;
	*editline.rl_readline_name = "verbatim";
	editline.using_history();
	return prompt;
}

void sql_prompt_close(struct sql_prompt *prompt)
{
	if (!prompt)
		return;
	if (prompt->terminal)
		editline.clear_history();
	if (prompt->screen)
		fclose(prompt->screen);
	text_fini(&prompt->statement);
	free(prompt->line);
	free(prompt);
}

/* The next line without its end; NULL at the end. */
static const char *read_line(struct sql_prompt *prompt, const char *ask)
{
	ssize_t n;

	fflush(stdout);
	if (prompt->terminal) {
		free(prompt->line);
		prompt->line = editline.readline(ask);
		return prompt->line;
	}
	n = getline(&prompt->line, &prompt->size, stdin);
	if (n > 0 && prompt->line[n - 1] == '\n')
		prompt->line[n - 1] = '\0';
	return n < 0 ? NULL : prompt->line;
}

const char *sql_prompt_read(struct sql_prompt *prompt)
{
	struct text *statement = &prompt->statement;
	const char *line;

	text_cut(statement, 0);
	while ((line = read_line(prompt, statement->used ? "     ...> " : "verbatim> "))) {
		if (!statement->used && (!line[strspn(line, " \t")]))
			continue;
		text_addf(statement, "%s%s", statement->used ? "\n" : "", line);
		if (statement->failed)
			return NULL;
		if (*statement->at == '.' || sqlite3_complete(statement->at))
			break;
	}
	if (!line && prompt->terminal)
		fputc('\n', prompt->screen);
	if (!statement->used)
		return NULL;
	if (prompt->terminal)
		editline.add_history(statement->at);
	return statement->at;
}
