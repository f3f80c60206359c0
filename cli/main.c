/*
 * The command `verbatim`: finds the subcommand (command.c) and ends as it says
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/screen.h"
#include "core/wire/log.h"

static void print_usage(FILE *to)
{
	fprintf(to, "usage: verbatim COMMAND [OPTION...] [ARGUMENT...]\n\n"
		    "Records every RDMA verb of a program, replays the recording and checks it.\n\n");
	for (const struct command *c = commands; c->name; c++)
		fprintf(to, "  %-10s%s\n", c->name, c->help);
	fprintf(to, "\n'verbatim help COMMAND' tells more; so does verbatim(1).\n"
		    "Exit status: 0 fine, 1 findings, 2 usage, 3 bad trace, 4 environment;\n"
		    "of record and run: the program's own.\n");
}

static int help(int argc, char **argv)
{
	const struct command *command;
	char *asked[] = { argv[1], "--help", NULL };

	if (argc < 2) {
		print_usage(stdout);
		return CLI_FINE;
	}
	command = command_find(argv[1]);
	if (!command) {
		log_note("there is no command '%s'; see 'verbatim --help'", argv[1]);
		return CLI_USAGE;
	}
	return command->run(2, asked);
}

static int dispatch(int argc, char **argv)
{
	const struct command *command = command_find(argv[0]);

	if (command)
		return command->run(argc, argv);
	if (!strcmp(argv[0], "help") || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))
		return help(argc, argv);
	if (!strcmp(argv[0], "--version") || !strcmp(argv[0], "-V")) {
		printf("verbatim %s\n", VERBATIM_VERSION);
		return CLI_FINE;
	}
	log_note("there is no %s '%s'; see 'verbatim --help'",
		 argv[0][0] == '-' ? "option" : "command", argv[0]);
	return CLI_USAGE;
}

/* What stdio still held may meet a full disk, or a reader that has gone. */
static int flush_stdout(int status)
{
	bool failed = ferror(stdout);

	if (!fclose(stdout) && !failed)
		return status;
	if (errno == EPIPE)
		return status;
	log_err(-errno, "write to standard output");
	return CLI_ENVIRONMENT;
}

/* No file of ours takes the place of a standard one that is closed; who we start has it closed. */
static void keep_standard_free(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	FILE *screen;

	keep_standard_free();
	screen = screen_open(STDOUT_FILENO);
	if (screen)
		stdout = screen;
	if (argc < 2) {
		print_usage(stderr);
		return CLI_USAGE;
	}
	return flush_stdout(dispatch(argc - 1, argv + 1));
}
