/*
 * The options of a subcommand, read by its table
 *
 * Like getopt_long(3), less its abbreviations: an option that is added later
 * must not change what a script says today.
 *
 *	--name value   --name=value   -n value   -nvalue   --switch   -s
 *	--             all that follows is no option
 */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

void options_variable(const char *name, char variable[64])
{
	int n = snprintf(variable, 64, "VERBATIM_%s", name);

	for (int i = 0; i < n && i < 63; i++)
		variable[i] = variable[i] == '-' ? '_' : (char)toupper((unsigned char)variable[i]);
}

static void read_environment(const struct option_row *rows, struct options *options)
{
	char variable[64];

	for (int i = 0; rows[i].name; i++) {
		options_variable(rows[i].name, variable);
		const char *value = getenv(variable);
		bool off = !value || !*value || (!rows[i].arg && !strcmp(value, "0"));

		options->value[i] = off ? NULL : value;
	}
}

static int find_long(const struct option_row *rows, const char *name, size_t length)
{
	for (int i = 0; rows[i].name; i++)
		if (strlen(rows[i].name) == length && !strncmp(rows[i].name, name, length))
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

/* Where the reader stands. */
struct reader {
	int argc, at;
	char **argv;
	const struct option_row *rows;
	struct options *options;
	char *complaint;
};

static int complain(struct reader *r, const char *what, const char *option)
{
	snprintf(r->complaint, 256, "%s '%.200s'", what, option);
	return -EINVAL;
}

/* Option @row, its value in the same word being @value if that is not NULL. */
static int take(struct reader *r, int row, const char *value)
{
	if (!r->rows[row].arg && value)
		return complain(r, "no value is taken by", r->argv[r->at]);
	if (r->rows[row].arg && !value) {
		if (r->at + 1 == r->argc)
			return complain(r, "a value is missing after", r->argv[r->at]);
		value = r->argv[++r->at];
	}
	r->options->value[row] = value ? value : "";
	return 0;
}

static int take_long(struct reader *r)
{
	const char *name = r->argv[r->at] + 2;
	const char *equals = strchr(name, '=');
	int row = find_long(r->rows, name, equals ? (size_t)(equals - name) : strlen(name));

	if (row < 0)
		return complain(r, "unknown option", r->argv[r->at]);
	return take(r, row, equals ? equals + 1 : NULL);
}

static int take_letters(struct reader *r)
{
	for (const char *at = r->argv[r->at] + 1; *at; at++) {
		int row = find_letter(r->rows, *at);

		if (row < 0)
			return complain(r, "unknown option", r->argv[r->at]);
		if (r->rows[row].arg)
			return take(r, row, at[1] ? at + 1 : NULL);
		r->options->value[row] = "";
	}
	return 0;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

int options_read(int argc, char **argv, const struct option_row *rows, bool program,
		 struct options *ret_options, char complaint[256])
{
	struct options options = { .args = argv + 1 };
	struct reader r = { argc, 1, argv, rows, &options, complaint };
	bool over = false;
	int err;

	read_environment(rows, &options);
	for (; r.at < argc; r.at++) {
		char *word = argv[r.at];

		over = over || (program && options.nargs);
		if (over || word[0] != '-' || !word[1]) {
			options.args[options.nargs++] = word;
		} else if (!strcmp(word, "--")) {
			over = true;
		} else if (is_help(word)) {
			return 1;
		} else {
			err = word[1] == '-' ? take_long(&r) : take_letters(&r);
			if (err < 0)
				return err;
		}
	}
	options.args[options.nargs] = NULL; /* argv has room for it */
	*ret_options = options;
	return 0;
}

static void print_help(const char *name, const struct option_row *rows)
{
	const struct command *command = command_find(name);
	const struct option_row *row;

	printf("usage: verbatim %s %s\n\n%s.\n", name, command->usage, command->help);
	printf("\noptions, each with its environment variable:\n");
	for (row = rows; row->name; row++) {
		char variable[64], option[64], letter[8] = "    ";

		if (row->letter)
			snprintf(letter, sizeof(letter), "-%c, ", row->letter);
		snprintf(option, sizeof(option), "--%s%s%s", row->name, row->arg ? " " : "",
			 row->arg ? row->arg : "");
		options_variable(row->name, variable);
		printf("  %s%-22s %s [%s]\n", letter, option, row->help, variable);
	}
	printf("  -h, %-22s %s\n", "--help", "print this");
	if (row->help)
		printf("\n%s\n", row->help);
	printf("\nMore in verbatim-%s(1).\n", name);
}

void options_parse(int argc, char **argv, const struct option_row *rows, bool program,
		   struct options *ret_options)
{
	char complaint[256];
	int err = options_read(argc, argv, rows, program, ret_options, complaint);

	if (err < 0)
		exit(cli_misuse(argv[0], "%s", complaint));
	if (err > 0) {
		print_help(argv[0], rows);
		exit(CLI_FINE);
	}
}

uint64_t options_time(const char *text)
{
	static const char units[] = "smhd";
	static const uint64_t seconds[] = { 1, 60, 3600, 86400 };
	char *end;
	unsigned long long n = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (!isdigit((unsigned char)*text) || !unit || end[1] || n > UINT64_MAX / 1000000000 / 86400)
		return 0;
	return n * seconds[unit - units] * 1000000000ull;
}
