#pragma once
/*
 * The table of subcommands. Constant data; any thread.
 */
#include <stdbool.h>

#include "cli/options.h"

/* clang-format off */
/*
 * Name, help, arguments. An argument's name says how a shell completes it
 * (scripts/gen-completion).
 */
#define CLI_COMMANDS(C) \
	C(record, "Run a program and record every RDMA verb that it calls", \
	  "[--] PROGRAM [ARG...]") \
	C(collect, "Make a trace of what was recorded without a recorder", \
	  "DIR") \
	C(snapshot, "Write what a flight recorder holds by now", \
	  "[PID|DIR]") \
	C(top, "Show what a recorded program does, once a second", \
	  "[PID|DIR]") \
	C(run, "Run a program on the software device, recording nothing", \
	  "[--] PROGRAM [ARG...]") \
	C(info, "Say what is in a trace", \
	  "TRACE") \
	C(dump, "Print the events of a trace, a line each", \
	  "TRACE... [T:N]") \
	C(stat, "Count and time what a run did", \
	  "TRACE") \
	C(diff, "Compare runs: what changed, where, and whether it is a regression", \
	  "TRACE... [-- TRACE...]") \
	C(sql, "Ask a trace questions in SQL", \
	  "TRACE [QUERY]") \
	C(query, "Ask what was so at a moment: a state, a queue, a key, a request", \
	  "TRACE... QUESTION") \
	C(trim, "Write a part of a trace as a trace", \
	  "-o FILE TRACE") \
	C(reduce, "Write the smallest trace that still shows something", \
	  "--keep WHAT -o FILE TRACE") \
	C(merge, "Make one trace of several machines' traces, on one time line", \
	  "-o FILE TRACE TRACE...") \
	C(unpack, "Turn a trace into one that any SQLite program can read", \
	  "-o FILE TRACE") \
	C(import, "Make a trace of what an LTTng session has recorded", \
	  "CTF-DIR") \
	C(check, "Look for mistakes in the use of verbs", \
	  "TRACE...") \
	C(explain, "Explain a rule, a completion status, an event, or an errno of a verb", \
	  "[TOPIC...]") \
	C(replay, "Do again what was recorded, and compare", \
	  "TRACE") \
	C(emit, "Make a C program of plain verbs from a trace", \
	  "TRACE...") \
	C(export, "Turn a trace into what other programs draw", \
	  "TRACE") \
	C(report, "Make a page of a trace, or of two that are compared, for a browser", \
	  "-o FILE TRACE") \
	C(bundle, "Put what a bug report needs into one file", \
	  "TRACE") \
	C(unbundle, "Verify and unpack what bundle has made", \
	  "BUNDLE") \
	C(doctor, "Say what stops RDMA or recording on this machine, and what to do", \
	  "[--] [PROGRAM]")
/* clang-format on */

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
	const char *help;
	const char *arguments; /* what follows the options */
	const struct option_row *options;
};

/* Each subcommand is a function, and the rows of its options. */
#define COMMAND(name, help, arguments)         \
	int cli_##name(int argc, char **argv); \
	extern const struct option_row cli_##name##_options[];
CLI_COMMANDS(COMMAND)
#undef COMMAND

/* The row of that name, or NULL. */
const struct command *command_find(const char *name);

/* Is its first argument a program, which gets the options that follow? */
bool command_runs_program(const struct command *command);

/* All rows; the last has no name. */
extern const struct command commands[];
