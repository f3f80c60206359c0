#pragma once
/*
 * The options of a subcommand: one row each. Parsing, checks, help, the manual pages and shell
 * completion all use the rows.
 *
 * Each option has an environment variable: VERBATIM_ and its name in capitals, "--ring-size" being
 * VERBATIM_RING_SIZE. The order of precedence is: command line, environment, the user's
 * configuration (cli/config.h), the row's default. A flag is off in the environment if its variable
 * is empty or 0; elsewhere its value is yes or no.
 *
 * A letter means the same option in all subcommands: tests/cli/command_test.c has the list. A new
 * option gets a letter only if it is typed often, and never one that another option has.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OPTIONS_MAX = 40,
	OPTIONS_SETS = 2,
	OPTIONS_COMPLAINT = 512,
	OPTIONS_VARIABLE = 64,
	OPTIONS_LIMITS = 96,
};

enum option_type {
	OPTION_FLAG,   /* bool; the option has no value */
	OPTION_TEXT,   /* const char *, borrowed from argv or the environment */
	OPTION_NUMBER, /* uint32_t */
	OPTION_SIZE,   /* uint64_t, bytes: 4096, 256k, 4M, 1G */
	OPTION_TIME,   /* int64_t, ns: 490ms, 1.5s, 5m, 6h, 1d; a plain number if arg is SECONDS */
	OPTION_CHOICE, /* unsigned int: the index in arg, "text|json", the first being .least */
	OPTION_VALUE,  /* unsigned int, set to .least; the option has no value */
	OPTION_PARSED, /* by the row's function */
};

/*
 * Stores @text, the value of an option, in @field; called again if the option is repeated. Returns
 * 0; or -EINVAL, with @complaint set or left empty (then the message lists the valid values from
 * arg).
 */
typedef int option_parse(const char *text, void *field, char complaint[OPTIONS_COMPLAINT]);

/* How `otherwise` of a file begins that is standard output unless given; "-" means that, too. */
#define OPTIONS_STDOUT "standard output"

struct option_row {
	const char *name;
	char letter;     /* 0: none */
	const char *arg; /* the value's name in the help: "FILE", "wait|drop"; NULL for a flag */
	const char *help;
	enum option_type type;
	size_t at; /* offset of the field in the command's settings */
	/* for a number, size or time; most 0: the limit of the field's type */
	uint64_t least, most;
	option_parse *parse; /* OPTION_PARSED */
	/* the default, as the user would write it; NULL: the field is unchanged */
	const char *preset;
	/* for help: the behaviour without the option, if there is no preset: OPTIONS_STDOUT ... */
	const char *otherwise;
	/* a letter that it once had: an error message then names this option */
	char former;
	const char *alias; /* a former name, still accepted, also in the environment; or NULL */
};

/* clang-format off */
/* The type and field of a row; does not compile if the size differs. */
#define OPTION_FIELD(settings, field, bytes)                                           \
	.at = offsetof(settings, field) +                                              \
	      0 * sizeof(char[sizeof(((settings *)0)->field) == (bytes) ? 1 : -1])
#define FLAG_AT(settings, field) \
	.type = OPTION_FLAG, OPTION_FIELD(settings, field, sizeof(bool))
#define TEXT_AT(settings, field) \
	.type = OPTION_TEXT, OPTION_FIELD(settings, field, sizeof(char *))
#define NUMBER_AT(settings, field) \
	.type = OPTION_NUMBER, OPTION_FIELD(settings, field, sizeof(uint32_t))
#define SIZE_AT(settings, field) \
	.type = OPTION_SIZE, OPTION_FIELD(settings, field, sizeof(uint64_t))
#define TIME_AT(settings, field) \
	.type = OPTION_TIME, OPTION_FIELD(settings, field, sizeof(int64_t))
#define CHOICE_AT(settings, field) \
	.type = OPTION_CHOICE, OPTION_FIELD(settings, field, sizeof(unsigned int))
/* A row that sets a field of other rows to a fixed value, and overrides them. */
#define VALUE_AT(settings, field, value) \
	.type = OPTION_VALUE, OPTION_FIELD(settings, field, sizeof(unsigned int)), .least = (value)
#define PARSED_AT(settings, field, function) \
	.type = OPTION_PARSED, .at = offsetof(settings, field), .parse = (function)
/* clang-format on */

/*
 * The non-option arguments: @at[@n] is NULL. Those from @rest on came after "--"; -1: there are
 * none.
 */
struct arguments {
	int n, rest;
	char **at;
};

/*
 * Rows, and the settings that they are read into. The last row has no name; its help, if any, is
 * printed after all others.
 */
struct option_set {
	const struct option_row *rows; /* NULL: none */
	void *settings;
};

/* A default from a file; a later one overrides an earlier one, unless the option adds values. */
struct option_default {
	const char *name, *value; /* the last has no name */
	const char *path;
	unsigned int line;
};

/*
 * Read @argv, without its first element, by the rows of @sets, the first of which have precedence:
 * returns 0, 1 for --help, or -EINVAL with @complaint set. With @program everything from the first
 * non-option argument on is left alone. @defaults may be NULL.
 */
int options_read(int argc, char **argv, const struct option_set sets[OPTIONS_SETS],
		 const struct option_default *defaults, bool program,
		 struct arguments *ret_arguments, char complaint[OPTIONS_COMPLAINT]);

/* "VERBATIM_RING_SIZE" for "ring-size". */
const char *options_variable(const char *name, char variable[OPTIONS_VARIABLE]);

/*
 * The value of @row in the environment, by its name or its alias; NULL: not set. @variable: the
 * last variable looked up.
 */
const char *options_from_environment(const struct option_row *row, char variable[OPTIONS_VARIABLE]);

/* "256k to 1G", "at least 1M"; "" if the row has no limits. */
const char *options_limits(const struct option_row *row, char text[OPTIONS_LIMITS]);

/* The row's default as text; NULL if none is shown. */
const char *options_default(const struct option_row *row);

/* Store @text as the value of @row, if valid. Returns the same as options_read() does. */
int options_store(const struct option_row *row, const char *text, void *settings,
		  char complaint[OPTIONS_COMPLAINT]);
