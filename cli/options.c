/*
 * Reads the options of a subcommand, which its rows describe (struct option_row)
 *
 * Like getopt_long(3), but without abbreviations: an option that is added later must not change the
 * meaning of existing scripts.
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

/* State of the reader. */
struct reader {
	int argc, at;
	char **argv;
	const struct option_set *sets;
	const struct option_default *defaults; /* NULL: none */
	/* by row: given on the command line; given as =no */
	bool given[OPTIONS_SETS][OPTIONS_MAX], off[OPTIONS_SETS][OPTIONS_MAX];
	char *complaint;
};

/* A row of one of the sets; -1: none. */
struct found_option {
	int set, row;
};

const char *options_variable(const char *name, char variable[OPTIONS_VARIABLE])
{
	int n = snprintf(variable, OPTIONS_VARIABLE, "VERBATIM_%s", name);

	for (int i = 0; i < n && i < OPTIONS_VARIABLE - 1; i++)
		variable[i] = variable[i] == '-' ? '_' : (char)toupper((unsigned char)variable[i]);
	return variable;
}

const char *options_from_environment(const struct option_row *row, char variable[OPTIONS_VARIABLE])
{
	const char *value = getenv(options_variable(row->name, variable));

	return value || !row->alias ? value : getenv(options_variable(row->alias, variable));
}

static bool is_word(const char *word, const char *name, size_t length)
{
	return word && strlen(word) == length && !strncmp(word, name, length);
}

static bool has_name(const struct option_row *row, const char *name, size_t length)
{
	return is_word(row->name, name, length) || is_word(row->alias, name, length);
}

static struct found_option find_name(const struct reader *r, const char *name, size_t length)
{
	for (int set = 0; set < OPTIONS_SETS && r->sets[set].rows; set++)
		for (int i = 0; r->sets[set].rows[i].name; i++)
			if (has_name(&r->sets[set].rows[i], name, length))
				return (struct found_option){ set, i };
	return (struct found_option){ -1, -1 };
}

static struct found_option find_letter(const struct reader *r, char letter)
{
	for (int set = 0; set < OPTIONS_SETS && r->sets[set].rows; set++)
		for (int i = 0; r->sets[set].rows[i].name; i++)
			if (r->sets[set].rows[i].letter == letter)
				return (struct found_option){ set, i };
	return (struct found_option){ -1, -1 };
}

/* The option that had @letter before; NULL: none. */
static const struct option_row *find_former_letter(const struct reader *r, char letter)
{
	for (int set = 0; set < OPTIONS_SETS && r->sets[set].rows; set++)
		for (const struct option_row *row = r->sets[set].rows; row->name; row++)
			if (row->former == letter)
				return row;
	return NULL;
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
	for (int set = 0; set < OPTIONS_SETS && r->sets[set].rows; set++)
		for (const struct option_row *row = r->sets[set].rows; row->name; row++)
			suggest_name(&near, row->name);
	snprintf(r->complaint, OPTIONS_COMPLAINT, "unknown option '%.120s'%s", r->argv[r->at],
		 suggest_text(&near));
	return -EINVAL;
}

/* The value of a flag. 1, 0, or -EINVAL. */
static int read_flag(const char *value)
{
	return !strcmp(value, "yes") ? 1 : !strcmp(value, "no") ? 0 : -EINVAL;
}

/* "--flag=no" */
static int set_flag(struct reader *r, struct found_option found, const char *value)
{
	const struct option_set *set = &r->sets[found.set];
	int on = value ? read_flag(value) : 1;

	if (on < 0)
		return refuse_word(r, "only yes or no is allowed as the value of");
	r->given[found.set][found.row] = true;
	r->off[found.set][found.row] = !on;
	return on ? options_store(&set->rows[found.row], NULL, set->settings, r->complaint) : 0;
}

/* Read option @found, with @value if that is in the same word. */
static int store_option(struct reader *r, struct found_option found, const char *value)
{
	const struct option_set *set = &r->sets[found.set];
	const struct option_row *row = &set->rows[found.row];

	if (!row->arg)
		return set_flag(r, found, value);
	if (!value) {
		if (r->at + 1 == r->argc)
			return refuse_word(r, "a value is missing after");
		value = r->argv[++r->at];
	}
	r->given[found.set][found.row] = true;
	return options_store(row, value, set->settings, r->complaint);
}

static int read_long_option(struct reader *r)
{
	const char *name = r->argv[r->at] + 2;
	struct found_option found = find_name(r, name, strcspn(name, "="));
	const char *equals = strchr(name, '=');

	if (found.row < 0)
		return refuse_unknown(r, name);
	return store_option(r, found, equals ? equals + 1 : NULL);
}

static int refuse_letter(struct reader *r, char letter)
{
	const struct option_row *former = find_former_letter(r, letter);

	if (!former)
		return refuse_word(r, "unknown option");
	snprintf(r->complaint, OPTIONS_COMPLAINT, "-%c is no longer short for --%s: write --%s",
		 letter, former->name, former->name);
	return -EINVAL;
}

/* Take an option given by its letter, which may have been another option's. */
static int store_letter_option(struct reader *r, struct found_option found, const char *value)
{
	char letter = r->sets[found.set].rows[found.row].letter;
	const struct option_row *former = find_former_letter(r, letter);
	int err = store_option(r, found, value);
	size_t n = strlen(r->complaint);

	if (err < 0 && former)
		snprintf(r->complaint + n, OPTIONS_COMPLAINT - n,
			 "; -%c is no longer short for --%s", letter, former->name);
	return err;
}

static int read_letter_options(struct reader *r)
{
	for (const char *at = r->argv[r->at] + 1; *at; at++) {
		struct found_option found = find_letter(r, *at);
		int err;

		if (found.row < 0)
			return refuse_letter(r, *at);
		if (r->sets[found.set].rows[found.row].arg)
			return store_letter_option(r, found, at[1] ? at + 1 : NULL);
		err = store_letter_option(r, found, NULL);
		if (err < 0)
			return err;
	}
	return 0;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* Read the command line. Returns 0, 1 for --help, or -EINVAL. */
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
			err = word[1] == '-' ? read_long_option(r) : read_letter_options(r);
		}
	}
	arguments->at[arguments->n] = NULL; /* argv has room for it */
	return err;
}

/* Do both rows set one field? */
static bool set_same_field(const struct option_row *a, const struct option_row *b)
{
	return a == b || (a->at == b->at && (a->type == OPTION_VALUE || b->type == OPTION_VALUE));
}

/* Was the option, or one for the same field, on the command line? */
static bool is_given(const struct reader *r, int nth, int row)
{
	const struct option_row *rows = r->sets[nth].rows;

	for (int i = 0; rows[i].name; i++)
		if (r->given[nth][i] && set_same_field(&rows[i], &rows[row]))
			return true;
	return false;
}

/*
 * A short form overrides the long form, wherever the long form stands; two short forms are an
 * error.
 */
static int store_short_forms(struct reader *r, int nth)
{
	const struct option_set *set = &r->sets[nth];
	const struct option_row *stored = NULL;
	int err = 0;

	for (int i = 0; set->rows && set->rows[i].name && !err; i++) {
		const struct option_row *row = &set->rows[i];

		if (!r->given[nth][i] || r->off[nth][i] || row->type != OPTION_VALUE)
			continue;
		if (stored && set_same_field(stored, row)) {
			snprintf(r->complaint, OPTIONS_COMPLAINT, "give --%s or --%s, not both",
				 stored->name, row->name);
			return -EINVAL;
		}
		stored = row;
		err = options_store(row, NULL, set->settings, r->complaint);
	}
	return err;
}

static int read_variable(struct reader *r, const struct option_set *set,
			 const struct option_row *row, const char *value, const char *variable)
{
	size_t n;
	int err = options_store(row, value, set->settings, r->complaint);

	if (!err)
		return 0;
	n = strlen(r->complaint);
	snprintf(r->complaint + n, OPTIONS_COMPLAINT - n, " (%s)", variable);
	return err;
}

static int read_default(struct reader *r, const struct option_set *set,
			const struct option_row *row, const struct option_default *line)
{
	size_t n;
	int on = row->arg ? 1 : read_flag(line->value), err = on < 0 ? on : 0;

	if (on < 0)
		snprintf(r->complaint, OPTIONS_COMPLAINT, "%s must be yes or no, not '%.60s'",
			 row->name, line->value);
	else if (on)
		err = options_store(row, line->value, set->settings, r->complaint);
	if (!err)
		return 0;
	n = strlen(r->complaint);
	snprintf(r->complaint + n, OPTIONS_COMPLAINT - n, " (%.200s:%u)", line->path, line->line);
	return err;
}

/* Read the default from the last line with the option, or from all lines if it adds values. */
static int read_defaults(struct reader *r, const struct option_set *set,
			 const struct option_row *row, bool *ret_found)
{
	const struct option_default *last = NULL;
	int err = 0;

	for (const struct option_default *each = r->defaults; each && each->name && !err; each++) {
		if (strcmp(each->name, row->name) != 0)
			continue;
		if (last && row->type == OPTION_PARSED)
			err = read_default(r, set, row, last);
		last = each;
	}
	*ret_found = last;
	return last && !err ? read_default(r, set, row, last) : err;
}

/* Options that are not on the command line: from the environment, a file, or the default. */
static int read_rest(struct reader *r, int nth)
{
	const struct option_set *set = &r->sets[nth];
	int err = 0;

	for (int i = 0; set->rows && set->rows[i].name && !err; i++) {
		const struct option_row *row = &set->rows[i];
		char variable[OPTIONS_VARIABLE];
		const char *value = options_from_environment(row, variable);
		bool found = false;

		if (is_given(r, nth, i))
			continue;
		if (value && *value && (row->arg || strcmp(value, "0")))
			err = read_variable(r, set, row, value, variable);
		else if (!value || row->arg)
			err = read_defaults(r, set, row, &found);
		if (!err && !found && row->preset && !(value && *value))
			err = options_store(row, row->preset, set->settings, r->complaint);
	}
	return err;
}

int options_read(int argc, char **argv, const struct option_set sets[OPTIONS_SETS],
		 const struct option_default *defaults, bool program,
		 struct arguments *ret_arguments, char complaint[OPTIONS_COMPLAINT])
{
	struct arguments arguments = { .rest = -1, .at = argv + 1 };
	struct reader r = { .argc = argc,
			    .at = 1,
			    .argv = argv,
			    .sets = sets,
			    .defaults = defaults,
			    .complaint = complaint };
	int status = read_words(&r, program, &arguments);

	for (int set = 0; set < OPTIONS_SETS && !status; set++)
		status = store_short_forms(&r, set) ?: read_rest(&r, set);
	if (!status)
		*ret_arguments = arguments;
	return status;
}
