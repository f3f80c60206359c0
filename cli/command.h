#pragma once
/*
 * The table of subcommands. Constant data; any thread.
 */
#include <stdbool.h>

#include "cli/options.h"

/* clang-format off */
/*
 * Name, help, arguments. The name of an argument determines how a shell completes it
 * (scripts/gen-completion).
 */
#define CLI_COMMANDS(C) \
	C(record, "Run a program and record every RDMA verb that it calls", \
	  "[--] PROGRAM [ARG...]") \
	C(collect, "Build a trace from files recorded without a recorder", \
	  "DIR") \
	C(snapshot, "Write a snapshot of a flight recording", \
	  "[PID|DIR|TRACE]") \
	C(top, "Show live statistics of a recorded program", \
	  "[PID|DIR|TRACE]") \
	C(attach, "Show what a process that is not recorded waits for", \
	  "PID") \
	C(run, "Run a program on the software device without recording it", \
	  "[--] PROGRAM [ARG...]") \
	C(faults, "Check a file of faults before --faults injects them", \
	  "check FILE") \
	C(job, "Query all nodes of a running or ended job", \
	  "check|facts|report|top|snapshot TRACE [-- OPTION...]") \
	C(facts, "Summarize the trace of a node, for `verbatim job`", \
	  "TRACE") \
	C(info, "Summarize a trace", \
	  "TRACE") \
	C(dump, "Print the events of a trace, one per line", \
	  "TRACE... [T:N...]") \
	C(stat, "Print counts and latencies of a run", \
	  "TRACE") \
	C(diff, "Compare runs: what changed, where, and whether it is a regression", \
	  "TRACE... [-- TRACE...]") \
	C(sql, "Query a trace in SQL", \
	  "TRACE [QUERY]") \
	C(query, "Show the state at a point in time, or the fate of a request", \
	  "TRACE... QUESTION") \
	C(trim, "Write an excerpt of a trace", \
	  "-o FILE TRACE") \
	C(reduce, "Shrink a trace to the minimum that reproduces a problem", \
	  "--keep WHAT -o FILE TRACE") \
	C(merge, "Merge the traces of several machines, on one time line", \
	  "-o FILE TRACE TRACE...") \
	C(unpack, "Convert a trace to plain SQLite tables", \
	  "-o FILE TRACE") \
	C(import, "Convert an LTTng recording to a trace", \
	  "CTF-DIR") \
	C(check, "Check a trace for misuse of the verbs API", \
	  "TRACE...") \
	C(explain, "Explain a rule, a completion status, an event, or an errno of a verb", \
	  "[TOPIC...]") \
	C(replay, "Repeat a recording and compare the results", \
	  "TRACE") \
	C(versus, "Replay a trace on two devices in turn, and compare them", \
	  "TRACE") \
	C(model, "Describe the traffic of a trace in a text that can be edited and replayed", \
	  "TRACE") \
	C(torture, "Try each error path of a program: fail each verb and request once", \
	  "[--] PROGRAM [ARG...]") \
	C(emit, "Generate a C program of plain verbs from a trace", \
	  "TRACE...") \
	C(export, "Export graphs, flame graphs, packets, a timeline or tables", \
	  "TRACE...") \
	C(report, "Write an HTML report of a trace, or of two compared traces", \
	  "-o FILE TRACE") \
	C(bundle, "Pack a trace for a bug report into one file", \
	  "TRACE") \
	C(unbundle, "Verify and unpack a bundle", \
	  "BUNDLE") \
	C(doctor, "Find what prevents RDMA or recording on this machine", \
	  "[--] [PROGRAM]")
/* clang-format on */

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
	const char *help;
	const char *arguments; /* the arguments after the options */
	const struct option_row *options;
};

/* Each subcommand is a function, and the rows of its options. */
#define COMMAND(name, help, arguments)         \
	int cli_##name(int argc, char **argv); \
	extern const struct option_row cli_##name##_options[];
CLI_COMMANDS(COMMAND)
#undef COMMAND

/* The row of command @name, or NULL. */
const struct command *command_find(const char *name);

/* Is the first argument of the command a program, which gets the options after it? */
bool command_runs_program(const struct command *command);

/* Does the command print a trace or another long text from the beginning on, through a pager? */
bool command_is_paged(const struct command *command);

/* All commands; the last row has no name. */
extern const struct command commands[];
