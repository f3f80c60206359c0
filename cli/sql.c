/*
 * verbatim sql: a question to a trace
 *
 * The database is the reader's: its virtual tables are there, and it cannot
 * be written to.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/table.h"
#include "core/store/trace.h"
#include "core/wire/log.h"

enum { CSV, JSON, HEADER };

static const struct option_row rows[] = {
	[CSV] = { "csv", 0, NULL, "comma-separated values, RFC 4180" },
	[JSON] = { "json", 0, NULL, "an array of objects" },
	[HEADER] = { "header", 0, NULL, "the columns' names first" },
	{ 0 },
};

enum format { PLAIN, AS_CSV, AS_JSON };

static void put_csv(const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, stdout);
		return;
	}
	putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	putchar('"');
}

static void put_plain(enum format format, const char *text)
{
	if (format == AS_CSV)
		put_csv(text);
	else
		fputs(text, stdout);
}

static const char *column_text(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? text : "";
}

static void put_json(sqlite3_stmt *stmt, int column)
{
	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_INTEGER:
	case SQLITE_FLOAT:
		fputs(column_text(stmt, column), stdout);
		break;
	case SQLITE_NULL:
		json_text(NULL);
		break;
	default:
		json_text(column_text(stmt, column));
	}
}

static void put_row(sqlite3_stmt *stmt, enum format format)
{
	int n = sqlite3_column_count(stmt);

	for (int i = 0; i < n; i++) {
		if (format == AS_JSON) {
			fputs(i ? ", " : "{", stdout);
			json_text(sqlite3_column_name(stmt, i));
			fputs(": ", stdout);
			put_json(stmt, i);
		} else {
			fputs(i ? (format == AS_CSV ? "," : "|") : "", stdout);
			put_plain(format, column_text(stmt, i));
		}
	}
	fputs(format == AS_JSON ? "}" : "\n", stdout);
}

static void put_header(sqlite3_stmt *stmt, enum format format)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		fputs(i ? (format == AS_CSV ? "," : "|") : "", stdout);
		put_plain(format, sqlite3_column_name(stmt, i));
	}
	putchar('\n');
}

/* What SQLite says, and where it was the trace's fault. */
static int failure(sqlite3 *db)
{
	int code = sqlite3_errcode(db);

	log_note("sql: %s", sqlite3_errmsg(db));
	if (code == SQLITE_READONLY || code == SQLITE_AUTH)
		log_note("sql: a trace is not written to; 'verbatim unpack' makes one that may be");
	return code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? CLI_TRACE : CLI_USAGE;
}

static int answer(sqlite3 *db, sqlite3_stmt *stmt, enum format format, bool header)
{
	unsigned long long n = 0;
	int err;

	if (header && format != AS_JSON)
		put_header(stmt, format);
	for (; (err = sqlite3_step(stmt)) == SQLITE_ROW; n++) {
		if (format == AS_JSON)
			fputs(n ? ",\n" : "[", stdout);
		put_row(stmt, format);
	}
	if (format == AS_JSON)
		fputs(n ? "]\n" : "[]\n", stdout);
	return err == SQLITE_DONE ? CLI_FINE : failure(db);
}

static int ask(sqlite3 *db, const char *sql, enum format format, bool header)
{
	int status = CLI_FINE;

	while (!status && *sql) {
		sqlite3_stmt *stmt = NULL;

		if (sqlite3_prepare_v2(db, sql, -1, &stmt, &sql))
			return failure(db);
		if (stmt && !sqlite3_stmt_readonly(stmt)) {
			log_note("sql: a trace is not written to; 'verbatim unpack' makes one "
				 "that may be");
			status = CLI_USAGE;
		} else if (stmt) {
			status = answer(db, stmt, format, header);
		}
		sqlite3_finalize(stmt);
	}
	return status;
}

int cli_sql(int argc, char **argv)
{
	struct options options;
	struct trace *trace;
	enum format format;
	int status;

	options_parse(argc, argv, rows, false, &options);
	if (options.value[CSV] && options.value[JSON])
		return cli_misuse("sql", "--csv or --json, not both");
	if (options.nargs == 1)
		return cli_misuse("sql", "no query is given");
	format = options.value[CSV] ? AS_CSV : options.value[JSON] ? AS_JSON : PLAIN;
	status = cli_open("sql", options.nargs > 2 ? options.nargs : options.nargs > 0,
			  options.args, &trace);
	if (status)
		return status;
	cli_tell_loss(trace);
	status = ask(trace_db(trace), options.args[1], format, options.value[HEADER]);
	trace_close(trace);
	return status;
}
