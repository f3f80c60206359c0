/*
 * The options of a subcommand, read by its rows
 *
 * Like getopt_long(3), less its abbreviations: an option that is added later must not change what a
 * script does today.
 *
 * 	--name value   --name=value   -n value   -nvalue   --flag   -f
 * 	--             no word after it is an option
 *
 * Not here: what a value may be (options_value.c), what --help prints (help.c).
 */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/suggest.h"

/* Where reading stands. */
struct reader {
	int argc, at;
	char **argv;
	const struct option_row *rows;
	void *settings;
	bool given[OPTIONS_MAX]; /* by row: set if on the command line */
	char *complaint;
};

const char *options_variable(const char *name, char variable[OPTIONS_VARIABLE])
{
	int n = snprintf(variable, OPTIONS_VARIABLE, "VERBATIM_%s", name);

	for (int i = 0; i < n && i < OPTIONS_VARIABLE - 1; i++)
		variable[i] = variable[i] == '-' ? '_' : (char)toupper((unsigned char)variable[i]);
	return variable;
}

static bool is_word(const char *word, const char *name, size_t length)
{
	return word && strlen(word) == length && !strncmp(word, name, length);
}

static int find_name(const struct option_row *rows, const char *name, size_t length)
{
	for (int i = 0; rows[i].name; i++)
		if (is_word(rows[i].name, name, length) || is_word(rows[i].alias, name, length))
			return i;
	return -1;
}

static int find_letter(const struct option_row *rows, char letter)
{
	for (int i = 0; rows[i].name; i++)
		if (rows[i].letter == letter)
			return i;
	return -1;
}

static int find_former(const struct option_row *rows, char letter)
{
	for (int i = 0; rows[i].name; i++)
		if (rows[i].former == letter)
			return i;
	return -1;
}

static int refuse_word(struct reader *r, const char *what)
{
	snprintf(r->complaint, OPTIONS_COMPLAINT, "%s '%.200s'", what, r->argv[r->at]);
	return -EINVAL;
}

static int refuse_unknown(struct reader *r, const char *name)
{
	char word[OPTIONS_VARIABLE];
	struct suggestion near = { .word = word, .prefix = "--" };

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(name, "="), name);
	for (const struct option_row *row = r->rows; row->name; row++)
		suggest_name(&near, row->name);
	snprintf(r->complaint, OPTIONS_COMPLAINT, "unknown option '%.120s'%s", r->argv[r->at],
		 suggest_text(&near));
	return -EINVAL;
}

/* Read option @row, with @value if that is in the same word. */
static int take_option(struct reader *r, int row, const char *value)
{
	if (!r->rows[row].arg && value)
		return refuse_word(r, "no value is allowed for");
	if (r->rows[row].arg && !value) {
		if (r->at + 1 == r->argc)
			return refuse_word(r, "a value is missing after");
		value = r->argv[++r->at];
	}
	r->given[row] = true;
	return options_store(&r->rows[row], value, r->settings, r->complaint);
}

static int take_long(struct reader *r)
{
	const char *name = r->argv[r->at] + 2;
	const char *equals = strchr(name, '=');
	int row = find_name(r->rows, name, equals ? (size_t)(equals - name) : strlen(name));

	if (row < 0)
		return refuse_unknown(r, name);
	return take_option(r, row, equals ? equals + 1 : NULL);
}

static int refuse_letter(struct reader *r, char letter)
{
	int former = find_former(r->rows, letter);

	if (former < 0)
		return refuse_word(r, "unknown option");
	snprintf(r->complaint, OPTIONS_COMPLAINT, "-%c is no longer short for --%s: write --%s",
		 letter, r->rows[former].name, r->rows[former].name);
	return -EINVAL;
}

/* Take option @row, given by its letter, which may have been another option's. */
static int take_letter(struct reader *r, int row, const char *value)
{
	char letter = r->rows[row].letter;
	int former = find_former(r->rows, letter), err = take_option(r, row, value);
	size_t n = strlen(r->complaint);

	if (err < 0 && former >= 0)
		snprintf(r->complaint + n, OPTIONS_COMPLAINT - n,
			 "; -%c is no longer short for --%s", letter, r->rows[former].name);
	return err;
}

static int take_letters(struct reader *r)
{
	for (const char *at = r->argv[r->at] + 1; *at; at++) {
		int row = find_letter(r->rows, *at), err;

		if (row < 0)
			return refuse_letter(r, *at);
		if (r->rows[row].arg)
			return take_letter(r, row, at[1] ? at + 1 : NULL);
		err = take_letter(r, row, NULL);
		if (err < 0)
			return err;
	}
	return 0;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* The command line. Returns 0, 1 for --help, or -EINVAL. */
static int read_words(struct reader *r, bool program, struct arguments *arguments)
{
	bool over = false;
	int err = 0;

	for (; r->at < r->argc && !err; r->at++) {
		char *word = r->argv[r->at];

		over = over || (program && arguments->n);
		if (over || word[0] != '-' || !word[1]) {
			arguments->at[arguments->n++] = word;
		} else if (!strcmp(word, "--")) {
			arguments->rest = arguments->n;
			over = true;
		} else if (is_help(word)) {
			return 1;
		} else {
			err = word[1] == '-' ? take_long(r) : take_letters(r);
		}
	}
	arguments->at[arguments->n] = NULL; /* argv has room for it */
	return err;
}

/* The value in the environment; NULL: none. */
static const char *find_variable(const struct option_row *row)
{
	char variable[OPTIONS_VARIABLE];
	const char *value = getenv(options_variable(row->name, variable));

	return value || !row->alias ? value : getenv(options_variable(row->alias, variable));
}

static int read_variable(struct reader *r, const struct option_row *row, const char *value)
{
	char variable[OPTIONS_VARIABLE];
	size_t n;
	int err = options_store(row, value, r->settings, r->complaint);

	if (!err)
		return 0;
	n = strlen(r->complaint);
	snprintf(r->complaint + n, OPTIONS_COMPLAINT - n, " (%s)",
		 options_variable(row->name, variable));
	return err;
}

/* Options that are not on the command line: from the environment, or the default. */
static int read_rest(struct reader *r)
{
	int err = 0;

	for (int i = 0; r->rows[i].name && !err; i++) {
		const struct option_row *row = &r->rows[i];
		const char *value = find_variable(row);

		if (r->given[i])
			continue;
		if (value && *value && (row->arg || strcmp(value, "0")))
			err = read_variable(r, row, value);
		else if (row->preset)
			err = options_store(row, row->preset, r->settings, r->complaint);
	}
	return err;
}

int options_read(int argc, char **argv, const struct option_row *rows, bool program, void *settings,
		 struct arguments *ret_arguments, char complaint[OPTIONS_COMPLAINT])
{
	struct arguments arguments = { .rest = -1, .at = argv + 1 };
	struct reader r = { argc, 1, argv, rows, settings, { false }, complaint };
	int status = read_words(&r, program, &arguments);

	if (!status)
		status = read_rest(&r);
	if (!status)
		*ret_arguments = arguments;
	return status;
}
