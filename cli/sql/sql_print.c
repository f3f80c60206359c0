/*
 * The rows of a query: columns between bars, CSV, a JSON array, or JSON lines
 *
 * CSV is as in RFC 4180, without the carriage return at the end of a record, so that line tools can
 * read it. NULL is an empty field, an empty text is "", except in a row of a single column, where
 * NULL is "", too: most readers skip an empty line.
 */
#include "cli/sql/sql_print.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/table.h"
#include "core/base/printable.h"
#include "core/base/style.h"

static size_t count_until(const char *ends, const char *text, size_t n)
{
	size_t span = 0;

	while (span < n && (!text[span] || !strchr(ends, text[span])))
		span++;
	return span;
}

/* Print a CSV field. A newline is printed as it is, since the field is then quoted. */
static void put_csv(const char *text, size_t n)
{
	bool quoted = !n || count_until(",\"\n", text, n) < n;

	if (quoted)
		putchar('"');
	while (n) {
		size_t span = count_until("\"\n", text, n);

		print_untrusted_bytes(stdout, text, span);
		text += span;
		n -= span;
		if (!n)
			break;
		if (*text == '"')
			putchar('"');
		putchar(*text++);
		n--;
	}
	if (quoted)
		putchar('"');
}

static void put_plain(enum sql_format format, const char *text, size_t n)
{
	if (format == SQL_CSV)
		put_csv(text, n);
	else
		print_untrusted_bytes(stdout, text, n);
}

/* A text may contain NULs. */
static const char *column_text(sqlite3_stmt *stmt, int column, size_t *ret_n)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	*ret_n = (size_t)sqlite3_column_bytes(stmt, column);
	return text ? text : "";
}

static void put_blob(sqlite3_stmt *stmt, int column)
{
	const unsigned char *bytes = sqlite3_column_blob(stmt, column);
	int n = sqlite3_column_bytes(stmt, column);

	for (int i = 0; i < n; i++)
		printf("%02X", bytes[i]);
}

static void put_number(sqlite3_stmt *stmt, int column)
{
	double value = sqlite3_column_double(stmt, column);
	size_t n;

	if (isinf(value)) /* JSON has no infinity */
		fputs(value < 0 ? "-9e999" : "9e999", stdout);
	else
		fputs(column_text(stmt, column, &n), stdout);
}

static void put_json(sqlite3_stmt *stmt, int column)
{
	const char *text;
	size_t n;

	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_INTEGER:
	case SQLITE_FLOAT:
		put_number(stmt, column);
		break;
	case SQLITE_NULL:
		json_text(NULL);
		break;
	case SQLITE_BLOB:
		putchar('"');
		put_blob(stmt, column);
		putchar('"');
		break;
	default:
		text = column_text(stmt, column, &n);
		json_bytes(text, n);
	}
}

static bool is_json(enum sql_format format)
{
	return format == SQL_JSON || format == SQL_JSON_LINES;
}

static void put_null(sqlite3_stmt *stmt, enum sql_format format)
{
	if (format == SQL_CSV && sqlite3_column_count(stmt) == 1)
		put_csv("", 0);
}

static void put_value(sqlite3_stmt *stmt, enum sql_format format, int column)
{
	const char *text;
	size_t n;

	if (is_json(format)) {
		put_json(stmt, column);
	} else if (sqlite3_column_type(stmt, column) == SQLITE_NULL) {
		put_null(stmt, format);
	} else if (sqlite3_column_type(stmt, column) == SQLITE_BLOB) {
		put_blob(stmt, column);
	} else {
		text = column_text(stmt, column, &n);
		put_plain(format, text, n);
	}
}

static const char *row_separator(enum sql_format format)
{
	return format == SQL_PLAIN ? "|" : format == SQL_CSV ? "," : ", ";
}

static void put_row(sqlite3_stmt *stmt, enum sql_format format)
{
	int n = sqlite3_column_count(stmt);

	for (int i = 0; i < n; i++) {
		fputs(i ? row_separator(format) : is_json(format) ? "{" : "", stdout);
		if (is_json(format)) {
			json_text(sqlite3_column_name(stmt, i));
			fputs(": ", stdout);
		}
		put_value(stmt, format, i);
	}
	fputs(format == SQL_JSON ? "}" : format == SQL_JSON_LINES ? "}\n" : "\n", stdout);
}

static void put_header(sqlite3_stmt *stmt, enum sql_format format)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		const char *name = sqlite3_column_name(stmt, i);

		fputs(i ? row_separator(format) : "", stdout);
		if (format == SQL_PLAIN)
			style_put(stdout, STYLE_HEAD);
		put_plain(format, name, strlen(name));
		if (format == SQL_PLAIN)
			style_put(stdout, STYLE_PLAIN);
	}
	putchar('\n');
}

int sql_print(sqlite3_stmt *stmt, enum sql_format format, bool header)
{
	unsigned long long n = 0;
	int code;

	if (header && !is_json(format))
		put_header(stmt, format);
	for (; (code = sqlite3_step(stmt)) == SQLITE_ROW; n++) {
		if (format == SQL_JSON)
			fputs(n ? ",\n" : "[", stdout);
		put_row(stmt, format);
	}
	if (format == SQL_JSON)
		fputs(n ? "]\n" : "[]\n", stdout);
	return code;
}
