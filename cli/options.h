#pragma once
/*
 * The options of a subcommand, read by its table.
 *
 * Each option has an environment variable: VERBATIM_ and its name in capitals,
 * "--ring-size" being VERBATIM_RING_SIZE. What is given on the command line
 * goes before it. A switch is off in the environment where it is empty or 0.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPTIONS_MAX = 16 };

struct option_row {
	const char *name;
	char letter;      /* 0: none */
	const char *arg;  /* what its value is called; NULL for a switch */
	const char *help;
};

struct options {
	const char *value[OPTIONS_MAX]; /* by row; NULL: not given; "" for a switch */
	char **args;                    /* what is left: points into argv, put in order */
	int nargs;
};

/*
 * Read @argv by @rows (the last has no name; its help, if any, ends that of all). With @program everything from
 * the first argument that is no option on is left alone. Prints help and
 * exits for --help; says what is wrong and exits with 2 for a wrong option.
 */
void options_parse(int argc, char **argv, const struct option_row *rows, bool program,
		   struct options *ret_options);

/*
 * The same without leaving: returns 0, 1 for --help, or -EINVAL with
 * @complaint filled.
 */
int options_read(int argc, char **argv, const struct option_row *rows, bool program,
		 struct options *ret_options, char complaint[256]);

/* "VERBATIM_RING_SIZE" for "ring-size". */
void options_variable(const char *name, char variable[64]);

/* "90s", "10m", "6h", "1d" in ns; 0 where that is no time. */
uint64_t options_time(const char *text);
