/*
 * The table of subcommands
 *
 * A row of the table, a function, a file, a manual page: a subcommand is all
 * four under one name.
 */
#include "cli/command.h"

#include <string.h>

/* clang-format off */
const struct command commands[] = {
#define COMMAND(name, help, arguments) { #name, cli_##name, help, arguments, cli_##name##_options },
	CLI_COMMANDS(COMMAND)
#undef COMMAND
	{ 0 },
};
/* clang-format on */

const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

bool command_runs_program(const struct command *command)
{
	return !strncmp(command->arguments, "[--]", 4);
}

/* A replay prints only its report at the end through a pager (cli/replay/replay_in_process.c). */
bool command_is_paged(const struct command *command)
{
	static const char *const names[] = { "info",  "dump",   "stat",  "diff",
					     "sql",   "query",  "check", "explain",
					     "merge", "doctor", "attach" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], command->name))
			return true;
	return false;
}
