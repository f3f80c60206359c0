#pragma once
/*
 * Shared by the subcommands: starting, reporting and ending.
 *
 * Only this folder prints results and exits. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/command.h"
#include "cli/options.h"

struct trace;

enum cli_exit {
	CLI_FINE = 0,
	CLI_FINDINGS = 1, /* findings, divergences */
	CLI_USAGE = 2,
	CLI_TRACE = 3,        /* the trace is bad, truncated, or not one of Verbatim */
	CLI_ENVIRONMENT = 4,  /* no device, no permission, no such file, disk full */
	CLI_CANNOT_RUN = 126, /* record, run: the same status as a shell uses */
	CLI_NOT_FOUND = 127,
};

/*
 * Read the options of the subcommand argv[0] into @settings, and the options that every subcommand
 * has (cli/common.h). Prints help and exits for --help; reports a wrong option or value and exits
 * with
 * 2. The order of @argv is changed.
 */
void cli_parse(int argc, char **argv, void *settings, struct arguments *ret_arguments);

/* The exit status for -errno of trace_open(), cursor_next() and the like. */
enum cli_exit cli_status(int err);

/*
 * Open the trace that @arguments begin with; there may be at most @most arguments. Returns 0; or
 * the exit status, after one line to stderr.
 */
int cli_open(const char *command, const struct arguments *arguments, int most,
	     struct trace **ret_trace);

/*
 * If @path does not exist, but a file with a similar name does: -ENOENT, after log_err() with that
 * name. Else 0: the call that opens it reports any other failure.
 */
int cli_find_file(const char *path);

/* Like trace_open(), after cli_find_file(). */
int cli_open_trace(const char *path, struct trace **ret_trace);

/* @command takes no @argument, nor any after it: report it, as cli_misuse(). */
int cli_refuse_argument(const char *command, const char *argument);

/* Does @path end in ".db", or is it a file that may be a trace? Then it is not a query. */
bool cli_is_trace(const char *path);

/* Would writing @to destroy @from? Both may be missing. */
bool cli_is_same_file(const char *from, const char *to);

/*
 * Report that @path is a second trace for a command that reads only one. Returns the same as
 * cli_misuse().
 */
int cli_refuse_second(const char *command, const char *path);

/* clang-format off */
/* The row of --deadline, which each command that reads a trace has, and its effect. 0: none. */
#define CLI_DEADLINE(settings)                                                              \
	{ "deadline", 0, "TIME", "stop with status 3 after this time, even if incomplete",  \
	  TIME_AT(settings, deadline), .least = 1 }
void cli_deadline(int64_t ns);

/* --format */
#define CLI_FORMAT(settings) \
	{ "format", 'f', "text|json", "output format", CHOICE_AT(settings, json),           \
	  .preset = "text" },                                                               \
	CLI_JSON(settings, json, 1)
#define CLI_JSON(settings, field, value) \
	{ "json", 0, NULL, "same as --format json; overrides it", VALUE_AT(settings, field, value) }
/* clang-format on */

/* Print one line to stderr, which ends with a reference to the help; returns CLI_USAGE. */
int cli_misuse(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Note on stderr every ten seconds how far @command has read @trace. A command
 * that waits without reading calls cli_progress() itself.
 */
void cli_show_progress(const char *command, struct trace *trace);

/* Note every ten seconds that @command is working, if nothing else was printed. Call it once. */
void cli_show_work(const char *command);
void cli_progress(uint64_t events, int64_t time);

/*
 * Note on stderr how long the recorder made the program wait, for commands that print times. With
 * @verdict only if that is long enough to change what a check concludes from times.
 */
void cli_report_waits(struct trace *trace, bool verdict);

/* Note on stderr if @trace is filtered, interrupted, damaged or has lost events. */
void cli_report_loss(struct trace *trace);
