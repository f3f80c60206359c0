#pragma once
/*
 * The output of --help, from the table of subcommands and their option rows. Not thread-safe.
 */
#include <stdio.h>

struct command;

/* Print one line for each subcommand. */
void help_commands(FILE *to);

/* Print the help of one subcommand and its options. */
void help_print(const struct command *command);

/*
 * All subcommands and options, for scripts/gen-completion and scripts/man-options: one fact a line:
 * its name, a space and its value.
 *
 * 	command, about, arguments                             of each subcommand; then
 * 	option, letter, arg, does, limits, default, variable  of each of its options
 * 	common                                                then the options of all commands
 * 	table, column ...                                     of each virtual table; at the end
 * 	verb, rule                                            the names of all
 */
void help_table(void);
