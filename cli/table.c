/*
 * Results as a table
 *
 * A cell is stored both as text and as JSON, made when it is added: tables of results are small.
 */
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyzer/report/highlight.h"
#include "cli/format.h"
#include "core/base/style.h"
#include "core/base/vec.h"
#include "core/base/text.h"
#include "core/base/printable.h"

struct cell {
	char *text;  /* "-" for nothing */
	char *shown; /* @text, with unprintable characters replaced */
	bool null;
	int64_t value; /* for all kinds but text */
};

struct table {
	const char *name;
	const struct column *columns;
	unsigned int ncolumns;
	struct cell *cells; /* row by row */
	size_t ncells, size;
};

struct table *table_new(const char *name, const struct column *columns)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		abort(); /* only out of memory, at the start of a command */
	table->name = name;
	table->columns = columns;
	while (columns[table->ncolumns].name)
		table->ncolumns++;
	return table;
}

static char *make_printable(const char *text)
{
	size_t size = PRINTABLE_GROWS * strlen(text) + 1;
	char *shown = malloc(size);

	if (!shown)
		abort();
	printable_text(shown, size, text, strlen(text));
	return shown;
}

static void add_cell(struct table *table, const char *text, bool null, int64_t value)
{
	if (vec_reserve(table->cells, table->size, table->ncells + 1))
		abort();
	table->cells[table->ncells++] =
		(struct cell){ strdup(text), make_printable(text), null, value };
}

static const char *status_text(int status, char text[FORMAT_TEXT])
{
	if (WIFSIGNALED(status))
		snprintf(text, FORMAT_TEXT, "SIG%s", sigabbrev_np(WTERMSIG(status)) ?: "?");
	else
		snprintf(text, FORMAT_TEXT, "exit %d", WEXITSTATUS(status));
	return text;
}

static const char *cell_text(enum column_kind kind, int64_t value, char text[FORMAT_TEXT])
{
	switch (kind) {
	case COLUMN_COUNT:
		return format_count((uint64_t)value, text);
	case COLUMN_BYTES:
		return format_bytes((uint64_t)value, text);
	case COLUMN_TIME:
		return format_time(value, text);
	case COLUMN_STATUS:
		return status_text((int)value, text);
	default:
		snprintf(text, FORMAT_TEXT, "%lld", (long long)value);
		return text;
	}
}

static enum column_kind next_kind(const struct table *table)
{
	return table->columns[table->ncells % table->ncolumns].kind;
}

void table_number(struct table *table, int64_t value)
{
	enum column_kind kind = next_kind(table);
	char text[FORMAT_TEXT];

	add_cell(table, cell_text(kind, value, text), kind == COLUMN_TIME && value < 0, value);
}

void table_text(struct table *table, const char *text)
{
	add_cell(table, text ? text : "-", !text, 0);
}

static void add_limit(struct table *table, const struct listing *listing, unsigned int column)
{
	char text[FORMAT_TEXT];
	struct cell *cell;

	table_text(table, listing_text(listing, column));
	if (listing_cell(listing, column) != LISTING_INTEGER)
		return;
	format_bytes((uint64_t)listing_integer(listing, column), text);
	cell = &table->cells[table->ncells - 1];
	free(cell->shown);
	cell->shown = make_printable(text);
}

static void add_listed_cell(struct table *table, const struct listing *listing, unsigned int column)
{
	if (listing_cell(listing, column) == LISTING_NULL)
		table_text(table, NULL);
	else if (next_kind(table) == COLUMN_LIMIT)
		add_limit(table, listing, column);
	else if (next_kind(table) == COLUMN_TEXT)
		table_text(table, listing_text(listing, column));
	else
		table_number(table, listing_integer(listing, column));
}

int table_add_listing(struct table *table, struct trace *trace, enum listing_kind list)
{
	struct listing *listing;
	int err = listing_open(trace, list, &listing);

	while (!err && (err = listing_next(listing)) > 0) {
		for (unsigned int i = 0; i < table->ncolumns; i++)
			add_listed_cell(table, listing, i);
		err = 0;
	}
	listing_close(listing);
	return err;
}

/* Columns on the screen: bytes that continue a character take none. */
static int text_width(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

/* "mean_ns" is shown as "mean": the cells have the unit. */
static const char *column_title(const struct column *column, char text[FORMAT_TEXT])
{
	snprintf(text, FORMAT_TEXT, "%s", column->name);
	if (column->kind == COLUMN_TIME && strlen(text) > 3)
		text[strlen(text) - 3] = '\0';
	for (char *at = text; *at; at++)
		if (*at == '_')
			*at = ' ';
	return text;
}

static int column_width(const struct table *table, unsigned int column)
{
	char head[FORMAT_TEXT];
	int widest = text_width(column_title(&table->columns[column], head));

	for (size_t i = column; i < table->ncells; i += table->ncolumns) {
		int w = text_width(table->cells[i].shown);

		widest = w > widest ? w : widest;
	}
	return widest;
}

/* Counts in these columns are bad news unless they are 0. */
static bool is_error_count(const char *column)
{
	static const char *const names[] = { "errors", "failed", "lost", "unfinished" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], column))
			return true;
	return false;
}

static bool is_text(const struct column *column)
{
	return column->kind == COLUMN_TEXT || column->kind == COLUMN_STATUS ||
	       column->kind == COLUMN_LIMIT;
}

static bool is_bad(const struct column *column, const struct cell *cell)
{
	return (column->kind == COLUMN_STATUS || is_error_count(column->name)) && !cell->null &&
	       cell->value;
}

static void put_shown(const struct column *column, const struct cell *cell)
{
	if (is_bad(column, cell))
		style_text(stdout, STYLE_ERROR, cell->shown);
	else if (column->kind == COLUMN_TEXT)
		highlight_text(stdout, cell->text);
	else
		fputs(cell->shown, stdout);
}

/* Align text to the left, numbers to the right; no blanks after the last. @cell NULL: the title. */
static void put_cell(const struct table *table, unsigned int nth, int room, const struct cell *cell)
{
	const struct column *column = &table->columns[nth];
	char head[FORMAT_TEXT];
	const char *title = column_title(column, head);
	int pad = room - text_width(cell ? cell->shown : title);

	printf("%*s", is_text(column) ? 0 : pad, "");
	if (cell)
		put_shown(column, cell);
	else
		style_text(stdout, STYLE_DIM, title);
	printf("%*s", is_text(column) && nth + 1 < table->ncolumns ? pad : 0, "");
}

/* @gap: blanks between two columns. */
static void print_rows(const struct table *table, const int *widths, int gap)
{
	putchar('\n');
	style_text(stdout, STYLE_HEAD, table->name);
	putchar('\n');
	for (unsigned int c = 0; c < table->ncolumns; c++) {
		printf("%*s", c ? gap : 2, "");
		put_cell(table, c, widths[c], NULL);
	}
	for (size_t i = 0; i < table->ncells; i++) {
		unsigned int c = (unsigned int)(i % table->ncolumns);

		printf("%s%*s", c ? "" : "\n", c ? gap : 2, "");
		put_cell(table, c, widths[c], &table->cells[i]);
	}
	putchar('\n');
}

static void print_table(const struct table *table, int most)
{
	int widths[table->ncolumns], all = 0;

	if (!table->ncells)
		return;
	for (unsigned int c = 0; c < table->ncolumns; c++) {
		widths[c] = column_width(table, c);
		all += 2 + widths[c];
	}
	print_rows(table, widths, most && all > most ? 1 : 2);
}

void table_print(const struct table *table)
{
	print_table(table, 0);
}

void table_print_within(const struct table *table, int columns)
{
	print_table(table, columns);
}

void json_bytes(const char *bytes, size_t n)
{
	struct text text = { 0 };

	text_json(&text, bytes, n);
	fputs(text.failed ? "null" : text.at, stdout);
	text_fini(&text);
}

void json_text(const char *text)
{
	if (text)
		json_bytes(text, strlen(text));
	else
		fputs("null", stdout);
}

/* "control verbs" becomes control_verbs. */
static void put_json_name(const char *name)
{
	putchar('"');
	for (; *name; name++)
		putchar(*name == ' ' ? '_' : *name);
	putchar('"');
}

static void put_json_cell(const struct column *column, const struct cell *cell)
{
	json_text(column->name);
	fputs(": ", stdout);
	if (cell->null)
		fputs("null", stdout);
	else if (column->kind == COLUMN_TEXT || column->kind == COLUMN_STATUS ||
		 column->kind == COLUMN_LIMIT)
		json_text(cell->text);
	else
		printf("%lld", (long long)cell->value);
}

void table_print_json(const struct table *table)
{
	printf("  ");
	put_json_name(table->name);
	printf(": [");
	for (size_t i = 0; i < table->ncells; i++) {
		unsigned int c = (unsigned int)(i % table->ncolumns);

		fputs(c ? ", " : i ? ",\n    {" : "\n    {", stdout);
		put_json_cell(&table->columns[c], &table->cells[i]);
		if (c + 1 == table->ncolumns)
			putchar('}');
	}
	printf("%s]", table->ncells ? "\n  " : "");
}

void table_free(struct table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->ncells; i++) {
		free(table->cells[i].text);
		free(table->cells[i].shown);
	}
	free(table->cells);
	free(table);
}
