/*
 * The command `verbatim`: runs the subcommand (command.c) and exits with its status
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "cli/help.h"
#include "cli/pager.h"
#include "analyzer/report/wrap.h"
#include "cli/screen.h"
#include "cli/suggest.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

static void print_usage(FILE *to)
{
	fprintf(to,
		"usage: verbatim COMMAND [OPTION...] [ARGUMENT...]\n\n"
		"Records every RDMA verb of a program, replays the recording and checks it.\n\n");
	help_commands(to);
	fprintf(to, "\nSee 'verbatim help COMMAND' and verbatim(1).\nExit status: 0 fine, 1 "
		    "findings, 2 usage, 3 bad trace, 4 environment;\nrecord and run return the "
		    "status of the program.\n");
}

static int refuse_command(const char *name)
{
	struct suggestion near = { .word = name };

	for (const struct command *c = commands; c->name; c++)
		suggest_name(&near, c->name);
	log_note("unknown %s '%s'%s; see 'verbatim --help'", name[0] == '-' ? "option" : "command",
		 name, suggest_text(&near));
	return CLI_USAGE;
}

static int run_help(int argc, char **argv)
{
	const struct command *command = argc < 2 ? NULL : command_find(argv[1]);

	if (argc < 2)
		print_usage(stdout);
	else if (!strcmp(argv[1], "--table"))
		help_table();
	else if (command)
		help_print(command);
	else
		return refuse_command(argv[1]);
	return CLI_FINE;
}

static int run_command(int argc, char **argv)
{
	const struct command *command = command_find(argv[0]);

	if (command)
		return command->run(argc, argv);
	if (!strcmp(argv[0], "help") || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))
		return run_help(argc, argv);
	if (!strcmp(argv[0], "--version") || !strcmp(argv[0], "-V")) {
		printf("verbatim %s\n", VERBATIM_VERSION);
		return CLI_FINE;
	}
	return refuse_command(argv[0]);
}

static FILE *screen; /* replaces stdout; NULL: stdout is closed, or was not replaced */

/* Why a write failed: @last, if it is not 0, or @earlier, which may be another call's. */
static int write_error(int earlier, int last)
{
	static const int reasons[] = { EPIPE, ENOSPC, EDQUOT, EFBIG, EIO, EBADF };

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons) && !last; i++)
		if (earlier == reasons[i])
			return earlier;
	return last;
}

/* Flushing may fail: the disk is full, or the reader is gone. */
static int flush_stdout(int status)
{
	bool failed = ferror(stdout);
	int error = errno;

	screen = NULL;
	errno = 0;
	failed |= fclose(stdout) != 0;
	error = write_error(error, errno);
	pager_close();
	if (!failed || error == EPIPE)
		return status;
	log_err(-error, "write to standard output");
	return CLI_ENVIRONMENT;
}

/*
 * If stdin, stdout or stderr is closed, open it, so that no other file gets its number; programs
 * that we start have it closed.
 */
static void reserve_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

static void ignore_limit_signal(int signal)
{
	(void)signal;
}

/*
 * At the file size limit a write fails and the file is removed, instead of a signal ending us.
 * Programs that we start do not inherit the handler.
 */
static void ignore_file_limit(void)
{
	struct sigaction action = { .sa_handler = ignore_limit_signal, .sa_flags = SA_RESTART },
			 before;

	if (!sigaction(SIGXFSZ, NULL, &before) && before.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &action, NULL);
}

/* For commands that end by exit(). */
static void close_screen(void)
{
	if (screen)
		fclose(screen);
	pager_close();
}

/* For --verbose. */
static void note_end(const char *command, int status, uint64_t began)
{
	char took[FORMAT_TEXT], used[FORMAT_TEXT], memory[FORMAT_TEXT];
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	log_detail("%s: status %d after %s, CPU time %s, peak memory %s", command, status,
		   format_time((int64_t)(clock_monotonic() - began), took),
		   format_time((usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ll +
				       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ll,
			       used),
		   format_bytes((uint64_t)usage.ru_maxrss * 1024, memory));
}

int main(int argc, char **argv)
{
	uint64_t began = clock_monotonic();
	int status;

	reserve_standard_files();
	ignore_file_limit();
	screen = screen_open(STDOUT_FILENO);
	if (screen) {
		stdout = screen;
		atexit(close_screen);
	}
	if (screen_columns(STDOUT_FILENO))
		wrap_to_columns(screen_columns(STDOUT_FILENO));
	if (argc < 2) {
		print_usage(stderr);
		return CLI_USAGE;
	}
	status = flush_stdout(run_command(argc - 1, argv + 1));
	note_end(argv[1], status, began);
	return status;
}
