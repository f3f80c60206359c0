#pragma once
/*
 * The command `verbatim`: its subcommands and how it ends.
 *
 * Only this folder prints results and exits. One thread.
 */
#include <stddef.h>
#include <stdint.h>

struct trace;

enum cli_exit {
	CLI_FINE = 0,
	CLI_FINDINGS = 1,    /* findings, divergences */
	CLI_USAGE = 2,
	CLI_TRACE = 3,       /* the trace is bad, cut short or not one of ours */
	CLI_ENVIRONMENT = 4, /* no device, no permission, no such file, disk full */
	CLI_CANNOT_RUN = 126, /* record, run: as a shell says it */
	CLI_NOT_FOUND = 127,
};

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
	const char *help;
	const char *usage; /* what follows the name */
};

int cli_record(int argc, char **argv);
int cli_collect(int argc, char **argv);
int cli_snapshot(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_info(int argc, char **argv);
int cli_dump(int argc, char **argv);
int cli_stat(int argc, char **argv);
int cli_sql(int argc, char **argv);
int cli_unpack(int argc, char **argv);
int cli_import(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_explain(int argc, char **argv);
int cli_replay(int argc, char **argv);
int cli_doctor(int argc, char **argv);

/* The row of that name, or NULL. */
const struct command *command_find(const char *name);

/* All rows; the last has no name. */
extern const struct command commands[];

/* The exit status for -errno of trace_open(), cursor_next() and the like. */
enum cli_exit cli_status(int err);

/*
 * Open the trace that is the only argument of @command. Returns 0; or the
 * exit status, after one line to stderr.
 */
int cli_open(const char *command, int nargs, char **args, struct trace **ret_trace);

/*
 * --deadline, which each command has that reads a trace: its row, and what it
 * does. Returns 0 or the exit status.
 */
#define CLI_DEADLINE { "deadline", 0, "TIME", "end with status 3 after 30s, 5m, 1h" }
int cli_deadline(const char *command, const char *time);

/* One line to stderr that ends with where help is; returns CLI_USAGE. */
int cli_misuse(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --format: true for json, false for text or NULL; anything else exits. */
int cli_wants_json(const char *command, const char *format);

/*
 * Reading @trace may take long: note on stderr how far @command is, every ten seconds.
 * cli_progress() is what does it, for who waits without reading.
 */
void cli_show_progress(const char *command, struct trace *trace);
void cli_progress(uint64_t events, int64_t time);

/* To stderr: that @trace was interrupted, is damaged or has lost events; nothing if it is whole. */
void cli_tell_loss(struct trace *trace);
