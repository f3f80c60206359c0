#pragma once
/*
 * The options of a subcommand: one row each, from which it is read, stored and
 * checked, and from which help, the manual pages and the shell's completion
 * are made.
 *
 * Each option has an environment variable: VERBATIM_ and its name in capitals,
 * "--ring-size" being VERBATIM_RING_SIZE. The command line comes before the
 * environment, and that before the row's default. A flag is off in the
 * environment where its variable is empty or 0.
 *
 * One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OPTIONS_MAX = 32,
	OPTIONS_COMPLAINT = 256,
	OPTIONS_VARIABLE = 64,
	OPTIONS_LIMITS = 96,
};

enum option_type {
	OPTION_FLAG,   /* bool; the option has no value */
	OPTION_TEXT,   /* const char *, borrowed from argv or the environment */
	OPTION_NUMBER, /* uint32_t */
	OPTION_SIZE,   /* uint64_t, bytes: 4096, 256k, 4M, 1G */
	OPTION_TIME,   /* int64_t, ns: 490ms, 1.5s, 5m, 6h, 1d; a plain number if arg is SECONDS */
	OPTION_CHOICE, /* unsigned int: the place in arg, "text|json", the first being .least */
	OPTION_PARSED, /* by the row's function */
};

/*
 * Stores @text, the value of an option, in @field; called again where the
 * option is given again. Returns 0; or -EINVAL, with @complaint filled or left
 * empty (then the value is said not to be one of what arg lists).
 */
typedef int option_parse(const char *text, void *field, char complaint[OPTIONS_COMPLAINT]);

struct option_row {
	const char *name;
	char letter;     /* 0: none */
	const char *arg; /* what help calls the value: "FILE", "wait|drop"; NULL for a flag */
	const char *help;
	enum option_type type;
	size_t at;            /* of the field, in the command's settings */
	uint64_t least, most; /* of a number, size or time; most 0: what the field holds */
	option_parse *parse;  /* OPTION_PARSED */
	const char *preset;   /* the default, as it would be given; NULL: the field is left alone */
	const char *otherwise; /* for help: what holds without the option, if there is no preset */
};

/* clang-format off */
/* The type and field of a row; does not compile where the field is of another size. */
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
#define PARSED_AT(settings, field, function) \
	.type = OPTION_PARSED, .at = offsetof(settings, field), .parse = (function)
/* clang-format on */

/* What is not an option: @at[@n] is NULL. From @rest on it came after "--"; -1: there is none. */
struct arguments {
	int n, rest;
	char **at;
};

/*
 * Read @argv, less its first, by @rows into @settings: returns 0, 1 for --help,
 * or -EINVAL with @complaint filled. The last of @rows has no name; its help,
 * if any, is printed below all. With @program everything from the first
 * argument that is no option on is left alone.
 */
int options_read(int argc, char **argv, const struct option_row *rows, bool program, void *settings,
		 struct arguments *ret_arguments, char complaint[OPTIONS_COMPLAINT]);

/* "VERBATIM_RING_SIZE" for "ring-size". */
const char *options_variable(const char *name, char variable[OPTIONS_VARIABLE]);

/* "256k to 1G", "at least 1M"; "" where the row has no limits. */
const char *options_limits(const struct option_row *row, char text[OPTIONS_LIMITS]);

/* The row's default as text; NULL where there is none to be told. */
const char *options_default(const struct option_row *row);

/* Store @text as the value of @row, where it is right. Returns as options_read() does. */
int options_store(const struct option_row *row, const char *text, void *settings,
		  char complaint[OPTIONS_COMPLAINT]);
