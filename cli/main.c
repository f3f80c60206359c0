/*
 * The command `verbatim`
 *
 * A row of the table, a function, a file, a manual page: a subcommand is all
 * four under one name.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/store/trace.h"
#include "core/wire/log.h"

const struct command commands[] = {
	{ "record", cli_record, "Run a program and record every RDMA verb that it calls",
	  "[-o FILE] [--device soft|NAME] [--on-full wait|drop] [--] PROGRAM [ARG...]" },
	{ "run", cli_run, "Run a program on the software device, recording nothing",
	  "[--device soft|NAME] [--] PROGRAM [ARG...]" },
	{ "info", cli_info, "Say what is in a trace", "[--format text|json] TRACE" },
	{ "dump", cli_dump, "Print the events of a trace, a line each",
	  "[--thread T] [--process P] [--object NAME] [--verb NAME] [--failed] TRACE [T:N]" },
	{ "stat", cli_stat, "Count and time the verbs, queue pairs and completion queues of a trace",
	  "[--format text|json] TRACE" },
	{ "sql", cli_sql, "Ask a trace a question in SQL", "[--csv|--json] [--header] TRACE QUERY" },
	{ "unpack", cli_unpack, "Turn a trace into one that any SQLite program can read",
	  "-o FILE TRACE" },
	{ "check", cli_check, "Look for mistakes in the use of verbs",
	  "[--format text|json|sarif|junit] [--mute ID] TRACE" },
	{ "explain", cli_explain, "Explain a rule of `verbatim check`", "[ID]" },
	{ "replay", cli_replay, "Do again what was recorded, and compare",
	  "[--device NAME] [--pace asap|recorded|xN] [--report FILE] TRACE" },
	{ 0 },
};

const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

enum cli_exit cli_status(int err)
{
	switch (-err) {
	case 0:
		return CLI_FINE;
	case EINVAL:
	case EPROTO:
	case EBADMSG:
		return CLI_TRACE;
	default:
		return CLI_ENVIRONMENT;
	}
}

int cli_misuse(const char *command, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_note("%s: %s; see 'verbatim help %s'", command, text, command);
	return CLI_USAGE;
}

int cli_open(const char *command, int nargs, char **args, struct trace **ret_trace)
{
	if (nargs < 1)
		return cli_misuse(command, "no trace is given");
	if (nargs > 1)
		return cli_misuse(command, "too much is given: '%s'", args[1]);
	signal(SIGPIPE, SIG_DFL); /* `| head` ends us quietly, whatever was inherited */
	return cli_status(trace_open(args[0], ret_trace));
}

int cli_wants_json(const char *command, const char *format)
{
	if (!format || !strcmp(format, "text"))
		return 0;
	if (!strcmp(format, "json"))
		return 1;
	exit(cli_misuse(command, "--format is text or json, not '%s'", format));
}

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
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (errno == EPIPE)
		return status;
	log_err(-errno, "write to standard output");
	return CLI_ENVIRONMENT;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_usage(stderr);
		return CLI_USAGE;
	}
	return flush_stdout(dispatch(argc - 1, argv + 1));
}
