/*
 * verbatim sql: a query of a trace
 *
 * The query runs on the database of the opened trace, with its virtual tables. It
 * can read only the trace and write nothing.
 */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/table.h"
#include "core/store/db/deadline.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"
#include "core/base/printable.h"

enum { REFUSED = 128 }; /* size of the name of a refused operation */

struct settings {
	bool csv, json, header;
	int64_t deadline;
};

const struct option_row cli_sql_options[] = {
	{ "csv", 0, NULL, "comma-separated values, RFC 4180", FLAG_AT(struct settings, csv) },
	{ "json", 0, NULL, "an array of objects", FLAG_AT(struct settings, json) },
	{ "header", 0, NULL, "the columns' names first", FLAG_AT(struct settings, header) },
	CLI_DEADLINE(struct settings),
	{ 0 },
};

enum format { AS_PLAIN, AS_CSV, AS_JSON };

static size_t span_before(const char *ends, const char *text, size_t n)
{
	size_t span = 0;

	while (span < n && (!text[span] || !strchr(ends, text[span])))
		span++;
	return span;
}

/* A newline stays: the value is in quotes. */
static void put_csv(const char *text, size_t n)
{
	bool quoted = span_before(",\"\n", text, n) < n;

	if (quoted)
		putchar('"');
	while (n) {
		size_t span = span_before("\"\n", text, n);

		print_foreign_bytes(stdout, text, span);
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

static void put_plain(enum format format, const char *text, size_t n)
{
	if (format == AS_CSV)
		put_csv(text, n);
	else
		print_foreign_bytes(stdout, text, n);
}

/* A text to its end: a NUL does not end it. */
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

	if (isinf(value)) /* JSON has no word for it */
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

static void put_value(sqlite3_stmt *stmt, enum format format, int column)
{
	const char *text;
	size_t n;

	if (format == AS_JSON) {
		put_json(stmt, column);
	} else if (sqlite3_column_type(stmt, column) == SQLITE_BLOB) {
		put_blob(stmt, column);
	} else {
		text = column_text(stmt, column, &n);
		put_plain(format, text, n);
	}
}

static const char *row_separator(enum format format)
{
	return format == AS_PLAIN ? "|" : format == AS_CSV ? "," : ", ";
}

static void put_row(sqlite3_stmt *stmt, enum format format)
{
	int n = sqlite3_column_count(stmt);

	for (int i = 0; i < n; i++) {
		fputs(i ? row_separator(format) : format == AS_JSON ? "{" : "", stdout);
		if (format == AS_JSON) {
			json_text(sqlite3_column_name(stmt, i));
			fputs(": ", stdout);
		}
		put_value(stmt, format, i);
	}
	fputs(format == AS_JSON ? "}" : "\n", stdout);
}

static void put_header(sqlite3_stmt *stmt, enum format format)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		const char *name = sqlite3_column_name(stmt, i);

		fputs(i ? row_separator(format) : "", stdout);
		put_plain(format, name, strlen(name));
	}
	putchar('\n');
}

static int refuse_action(const char *what)
{
	log_note("sql: %s: not allowed, a trace is only read; 'verbatim unpack' makes one that may "
		 "be changed",
		 what);
	return CLI_USAGE;
}

static bool is_one_of(const char *const *list, const char *name)
{
	while (*list && sqlite3_stricmp(*list, name))
		list++;
	return *list;
}

/* Pragmas that take a table's name and only read; and those that set a value if they get one. */
static bool is_question(const char *pragma, const char *value)
{
	static const char *const tell[] = {
		"collation_list",  "compile_options", "database_list", "foreign_key_list",
		"function_list",   "index_info",      "index_list",    "index_xinfo",
		"integrity_check", "module_list",     "pragma_list",   "quick_check",
		"table_info",      "table_list",      "table_xinfo",   NULL
	};
	static const char *const tell_or_set[] = { "application_id", "data_version",
						   "encoding",       "freelist_count",
						   "journal_mode",   "page_count",
						   "page_size",      "schema_version",
						   "user_version",   NULL };

	return is_one_of(tell, pragma) || (!value && is_one_of(tell_or_set, pragma));
}

/* A query may read the trace, and do nothing else that SQLite can do. */
static int authorize_action(void *arg, int action, const char *name, const char *value,
			    const char *schema, const char *from)
{
	static const char *const outside[] = { "load_extension", "fts3_tokenizer", "readfile",
					       "writefile",      "edit",           NULL };
	char(*refused)[REFUSED] = arg;

	(void)schema;
	(void)from;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		if (!is_one_of(outside, value))
			return SQLITE_OK;
		snprintf(*refused, REFUSED, "%s()", value);
		return SQLITE_DENY;
	case SQLITE_PRAGMA:
		if (is_question(name, value))
			return SQLITE_OK;
		snprintf(*refused, REFUSED, "PRAGMA %s", name);
		return SQLITE_DENY;
	case SQLITE_ATTACH:
		snprintf(*refused, REFUSED, "ATTACH");
		return SQLITE_DENY;
	default:
		/*
		 * so it asks when a virtual table is first used: says what columns it has;
		 * SQLite itself refuses these where they are meant
		 */
		if ((action == SQLITE_INSERT || action == SQLITE_UPDATE) &&
		    !strcmp(name, "sqlite_master"))
			return SQLITE_OK;
		snprintf(*refused, REFUSED, "what is no query");
		return SQLITE_DENY;
	}
}

/* Report SQLite's error, and whether the trace is to blame. */
static int tell_failure(sqlite3 *db, const char *refused)
{
	int code = sqlite3_errcode(db);

	if (sqlite3_extended_errcode(db) ==
	    SQLITE_CORRUPT_VTAB) /* reported by the code that read the table */
		return CLI_TRACE;
	if (code == SQLITE_READONLY || code == SQLITE_AUTH)
		return refuse_action(*refused ? refused : sqlite3_errmsg(db));
	if (code == SQLITE_INTERRUPT)
		return cli_status(deadline_fail());
	log_note("sql: %s", sqlite3_errmsg(db));
	return code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? CLI_TRACE : CLI_USAGE;
}

static int print_answer(sqlite3 *db, sqlite3_stmt *stmt, enum format format, bool header)
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
	return err == SQLITE_DONE ? CLI_FINE : tell_failure(db, "");
}

static int run_query(sqlite3 *db, const char *sql, enum format format, bool header)
{
	int status = CLI_FINE;
	char refused[REFUSED] = "";
	bool asked = false;

	sqlite3_set_authorizer(db, authorize_action, &refused);
	while (!status && *sql) {
		sqlite3_stmt *stmt = NULL;

		if (sqlite3_prepare_v2(db, sql, -1, &stmt, &sql))
			return tell_failure(db, refused);
		if (stmt && !sqlite3_stmt_readonly(stmt)) /* VACUUM asks nobody */
			status = refuse_action("what is no query");
		else if (stmt)
			status = print_answer(db, stmt, format, header);
		asked = asked || stmt;
		sqlite3_finalize(stmt);
	}
	return asked ? status : cli_misuse("sql", "no query is given");
}

int cli_sql(int argc, char **argv)
{
	struct settings set = { false };
	struct arguments arguments;
	struct trace *trace;
	enum format format;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	if (set.csv && set.json)
		return cli_misuse("sql", "--csv or --json, not both");
	if (arguments.n == 1)
		return cli_misuse("sql", "no query is given");
	format = set.csv ? AS_CSV : set.json ? AS_JSON : AS_PLAIN;
	cli_deadline(set.deadline);
	status = cli_open("sql", &arguments, 2, &trace);
	if (status)
		return status;
	cli_tell_loss(trace);
	status = run_query(trace_db(trace), arguments.at[1], format, set.header);
	trace_close(trace);
	return status;
}
