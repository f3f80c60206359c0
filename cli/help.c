/* The output of --help */
#include "cli/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/explain/explain.h"
#include "analyzer/rules/rule.h"
#include "analyzer/tables/tables.h"
#include "cli/command.h"
#include "cli/common.h"
#include "core/store/chunk/tables.h"
#include "core/store/vtab/views.h"
#include "core/wire/desc.h"

enum { WIDTH = 100, COLUMN = 34, LINE = 512 };

void help_commands(FILE *to)
{
	for (const struct command *c = commands; c->name; c++)
		fprintf(to, "  %-10s%s\n", c->name, c->help);
}

/* Print @text in lines from column COLUMN to WIDTH; the first begins at @column. */
static void print_wrapped(const char *text, int column)
{
	while (*text) {
		int n = (int)strcspn(text, " ");

		if (column > COLUMN && column + 1 + n > WIDTH) {
			printf("\n%*s", COLUMN - 1, "");
			column = COLUMN - 1;
		}
		printf(" %.*s", n, text);
		column += 1 + n;
		text += n + (text[n] == ' ');
	}
	putchar('\n');
}

/* The row's help, its limits, its default and its variable. */
static void describe_row(const struct option_row *row, char text[LINE])
{
	char limits[OPTIONS_LIMITS], variable[OPTIONS_VARIABLE];
	const char *preset = options_default(row);

	options_limits(row, limits);
	snprintf(text, LINE, "%s%s%s%s%s%s%s [%s]", row->help, *limits || preset ? " (" : "",
		 limits, *limits && preset ? "; " : "", preset ? "default: " : "",
		 preset ? preset : "", *limits || preset ? ")" : "",
		 options_variable(row->name, variable));
}

static void print_row(const struct option_row *row)
{
	char letter[8] = "    ", text[LINE];
	int n;

	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	n = printf("  %s--%s%s%s", letter, row->name, row->arg ? " " : "",
		   row->arg ? row->arg : "");
	if (n >= COLUMN) {
		putchar('\n');
		n = 0;
	}
	describe_row(row, text);
	printf("%*s", COLUMN - 1 - n, "");
	print_wrapped(text, COLUMN - 1);
}

void help_print(const struct command *command)
{
	const struct option_row *row;

	printf("usage: verbatim %s [OPTION...]%s%s\n\n%s.\n", command->name,
	       *command->arguments ? " " : "", command->arguments, command->help);
	printf("\noptions, each with its environment variable:\n");
	for (row = command->options; row->name; row++)
		print_row(row);
	for (const struct option_row *each = common_options; each->name; each++)
		print_row(each);
	printf("  -h, %-*sprint this\n", COLUMN - 6, "--help");
	if (row->help)
		printf("\n%s\n", row->help);
	printf("\nMore in verbatim-%s(1).\n", command->name);
}

static void print_fact(const char *name, const char *value)
{
	if (value && *value)
		printf("%s %s\n", name, value);
}

static void print_row_facts(const struct option_row *row)
{
	char limits[OPTIONS_LIMITS], variable[OPTIONS_VARIABLE], letter[2] = { row->letter, '\0' };

	print_fact("option", row->name);
	print_fact("letter", letter);
	print_fact("arg", row->arg);
	print_fact("does", row->help);
	print_fact("limits", options_limits(row, limits));
	print_fact("default", options_default(row));
	print_fact("variable", options_variable(row->name, variable));
}

static void print_enum_facts(const char *name)
{
	const struct enum_info *info = enum_find(name);

	for (unsigned int i = 0; i < info->nvalues; i++)
		print_fact("topic", info->values[i].name);
}

/* Print the topics of `verbatim explain` other than rules and verbs. */
static void print_topics(void)
{
	print_enum_facts("ibv_wc_status");
	print_enum_facts("ibv_event_type");
	for (int error = 1; error < EXPLAIN_ERRNOS; error++)
		for (int verb = 0; verb < VERB_COUNT; verb++)
			if (explain_has_own((enum verb)verb, error)) {
				print_fact("topic", strerrorname_np(error));
				break;
			}
}

static void print_table_columns(const struct data_table *table)
{
	for (const struct table_column *c = table->columns; c->name; c++)
		print_fact("column", c->name);
}

/* Print the columns of a view: its own, or those of its table. */
static void print_columns(const struct view *view)
{
	struct computed_column *columns = view_columns(view->name);

	for (struct computed_column *c = columns; c && c->name; c++)
		print_fact("column", c->name);
	for (int table = 0; table < TABLES && !view->columns; table++)
		if (!strcmp(tables[table].name, view->table))
			print_table_columns(&tables[table]);
	free(columns);
}

/* Print the tables that the file does not store. */
static void print_tables(void)
{
	for (const struct computed_table *const *made = model_tables; *made; made++) {
		print_fact("table", (*made)->name);
		for (const struct computed_column *c = (*made)->columns; c->name; c++)
			if (!c->argument)
				print_fact("column", c->name);
	}
	for (const struct view *view = views; view->name; view++) {
		print_fact("table", view->name);
		print_columns(view);
	}
	for (int table = 0; table < TABLES; table++) {
		print_fact("table", tables[table].name);
		print_table_columns(&tables[table]);
	}
}

void help_table(void)
{
	for (const struct command *c = commands; c->name; c++) {
		print_fact("command", c->name);
		print_fact("about", c->help);
		print_fact("arguments", c->arguments);
		for (const struct option_row *row = c->options; row->name; row++)
			print_row_facts(row);
	}
	print_fact("common", "options");
	for (const struct option_row *row = common_options; row->name; row++)
		print_row_facts(row);
	print_tables();
	for (int verb = 0; verb < VERB_COUNT; verb++)
		print_fact("verb", verb_infos[verb].name);
	for (int rule = 0; rule < RULE_COUNT; rule++)
		print_fact("rule", rules[rule].id);
	print_topics();
}
