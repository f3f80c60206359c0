/*
 * verbatim sql: queries of a trace
 *
 * They run on the database of the opened trace, with its virtual tables, those of the model, and
 * functions. They can read only the trace and write nothing.
 *
 * Not here: what is allowed (sql_guard.c), rows (sql_print.c), interactive lines (sql_prompt.c).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/tables/tables.h"
#include "cli/cli.h"
#include "cli/pager.h"
#include "cli/sql/sql_complete.h"
#include "cli/sql/sql_functions.h"
#include "cli/sql/sql_guard.h"
#include "cli/sql/sql_print.h"
#include "cli/sql/sql_prompt.h"
#include "cli/sql/sql_tables.h"
#include "core/base/read_file.h"
#include "core/store/db/deadline.h"
#include "core/store/open.h"
#include "core/store/read/trace.h"
#include "core/store/vtab/views.h"
#include "core/wire/log.h"

struct settings {
	unsigned int format; /* enum sql_format */
	bool header, tables;
	const char *file;
	int64_t deadline;
};

const struct option_row cli_sql_options[] = {
	{ "format", 'f', "text|csv|json|jsonl", "output format", CHOICE_AT(struct settings, format),
	  .preset = "text" },
	{ "csv", 0, NULL, "same as --format csv; overrides it",
	  VALUE_AT(struct settings, format, SQL_CSV) },
	CLI_JSON(struct settings, format, SQL_JSON),
	{ "header", 0, NULL, "print column names first, as always on a terminal",
	  FLAG_AT(struct settings, header) },
	{ "file", 0, "FILE", "read the queries from FILE", TEXT_AT(struct settings, file),
	  .former = 'f' },
	{ "tables", 0, NULL, "list the tables, views and functions, then exit",
	  FLAG_AT(struct settings, tables) },
	CLI_DEADLINE(struct settings),
	{ 0 },
};

struct session {
	sqlite3 *db;
	enum sql_format format;
	bool header;
	char refused[SQL_REFUSED];
};

static int refuse_action(const char *what)
{
	log_note("sql: %s: not allowed, traces are read-only; 'verbatim unpack' writes a copy "
		 "that can be modified",
		 what);
	return CLI_USAGE;
}

/* Report SQLite's error, and whether the trace is to blame. */
static int report_failure(const struct session *session)
{
	int code = sqlite3_errcode(session->db);
	char error[512];

	if (sqlite3_extended_errcode(session->db) ==
	    SQLITE_CORRUPT_VTAB) /* reported by the code that read the table */
		return CLI_TRACE;
	if (code == SQLITE_READONLY || code == SQLITE_AUTH)
		return refuse_action(*session->refused ? session->refused
						       : sqlite3_errmsg(session->db));
	if (code == SQLITE_INTERRUPT && deadline_is_over())
		return cli_status(deadline_fail());
	snprintf(error, sizeof(error), "%s", sqlite3_errmsg(session->db));
	log_note("sql: %s%s", error, sql_hint(session->db, error));
	return code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? CLI_TRACE : CLI_USAGE;
}

/* Run all statements of @sql up to the first that fails. *@asked: there was a statement. */
static int run_queries(struct session *session, const char *sql, bool *asked)
{
	int status = CLI_FINE;

	*session->refused = '\0';
	while (!status && *sql) {
		sqlite3_stmt *stmt = NULL;

		if (sqlite3_prepare_v2(session->db, sql, -1, &stmt, &sql))
			return report_failure(session);
		if (stmt && !sqlite3_stmt_readonly(stmt)) /* VACUUM bypasses the authorizer */
			status = refuse_action("not a query");
		else if (stmt && sql_print(stmt, session->format, session->header) != SQLITE_DONE)
			status = report_failure(session);
		*asked = *asked || stmt;
		sqlite3_finalize(stmt);
	}
	return status;
}

/* The prompt */

static sqlite3 *volatile interrupted; /* the connection of a query that is running */

/* The first ^C ends the query, another one the command. */
static void end_query(int number)
{
	sqlite3 *db = interrupted;

	interrupted = NULL;
	if (db) {
		sqlite3_interrupt(db);
		return;
	}
	signal(number, SIG_DFL);
	raise(number);
}

enum { GO_ON = -1 };

static bool is_command(const char *line, const char *name)
{
	size_t n = strcspn(line, " \t;");

	return n == strlen(name) && !strncmp(line, name, n);
}

/* ".help", ".help wc" */
static void help_with(const struct session *session, const char *rest)
{
	char name[SQL_NAME] = "", error[SQL_NAME + 32];

	sscanf(rest, " %63[^; \t]", name);
	snprintf(error, sizeof(error), "no such table: %s", name);
	if (*name && !sql_explain(session->db, name))
		log_note("sql: no table or function '%s'%s; .tables lists them", name,
			 sql_hint(session->db, error));
	if (*name)
		return;
	printf(SQL_QUERY " ...;   a query; may span several lines, ends with a semicolon\n"
			 ".tables       list tables, views and functions\n"
			 ".help NAME    describe a table or a function, with an example\n"
			 ".quit         quit, like end of file\n"
			 "The tab key completes names. Common queries are in verbatim-sql(1).\n");
}

/* Execute a line that begins with a dot. Returns GO_ON or an exit status. */
static int run_command(const struct session *session, const char *line)
{
	if (is_command(line, ".quit") || is_command(line, ".exit"))
		return CLI_FINE;
	if (is_command(line, ".tables"))
		sql_tables(session->db);
	else if (is_command(line, ".help"))
		help_with(session, line + strlen(".help"));
	else
		log_note("sql: unknown command %.32s; try .help, .tables or .quit", line);
	return GO_ON;
}

/*
 * Run statements that are typed, or come from a pipe. The first failure ends the command if they
 * come from a pipe, not on a terminal.
 */
static int run_prompt(struct session *session)
{
	bool terminal = isatty(STDIN_FILENO), asked = false;
	struct sql_prompt *prompt = sql_prompt_open(terminal);
	const char *sql;
	int status = GO_ON;

	if (!prompt)
		return CLI_ENVIRONMENT;
	if (terminal) {
		pager_cancel();
		sql_complete(session->db);
		signal(SIGINT, end_query);
	}
	while (status == GO_ON && (sql = sql_prompt_read(prompt))) {
		if (*sql == '.') {
			status = run_command(session, sql);
			asked = true;
			continue;
		}
		interrupted = session->db;
		status = run_queries(session, sql, &asked);
		interrupted = NULL;
		if (terminal || !status)
			status = GO_ON;
	}
	sql_complete_end();
	sql_prompt_close(prompt);
	if (status != GO_ON)
		return status;
	return asked || terminal ? CLI_FINE : cli_misuse("sql", "no query given");
}

static int run_text(struct session *session, const char *sql)
{
	bool asked = false;
	int status = run_queries(session, sql, &asked);

	return status || asked ? status : cli_misuse("sql", "no query given");
}

static int run_file(struct session *session, const char *path)
{
	char *text;
	size_t n;
	int err = cli_find_file(path), status;

	if (err)
		return cli_status(err);
	err = read_file(path, &text, &n);
	if (err)
		return cli_status(log_err(err, "open %s", path));
	status = run_text(session, text);
	free(text);
	return status;
}

static int run_session(struct session *session, const struct settings *set, const char *query)
{
	sql_guard(session->db, session->refused);
	if (set->tables)
		return sql_tables(session->db);
	if (set->file)
		return run_file(session, set->file);
	return query ? run_text(session, query) : run_prompt(session);
}

static int find_misuse(const struct settings *set, const char *query)
{
	if (!!query + !!set->file + set->tables > 1)
		return cli_misuse("sql", "give only one of a query, --file and --tables");
	return 0;
}

static int ask_trace(struct trace *trace, const struct settings *set, const char *query)
{
	struct session session = { .db = trace_db(trace),
				   .format = set->format,
				   .header = set->header || isatty(STDOUT_FILENO) };
	struct model_tables *tables = NULL;
	struct sql_symbols *symbols = NULL;
	int err = model_tables_add(trace, &tables), status;

	if (!err)
		err = sql_symbols_add(trace, &symbols);
	if (!err)
		err = views_create(session.db, true, query);
	status = err ? (int)cli_status(err) : run_session(&session, set, query);
	trace_close(trace);
	sql_symbols_free(symbols);
	model_tables_free(tables);
	return status;
}

int cli_sql(int argc, char **argv)
{
	struct settings set = { false };
	struct arguments arguments;
	struct trace *trace;
	const char *query;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	query = arguments.n > 1 ? arguments.at[1] : NULL;
	status = find_misuse(&set, query);
	if (status)
		return status;
	cli_deadline(set.deadline);
	if (!isatty(STDOUT_FILENO))
		cli_show_work("sql");
	if (query && cli_is_trace(query))
		return cli_refuse_second("sql", query);
	status = cli_open("sql", &arguments, 2, &trace);
	if (status)
		return status;
	cli_report_loss(trace);
	trace_unlock(trace);
	return ask_trace(trace, &set, query);
}
