/*
 * SQL functions that use symbols
 */
#include "cli/sql/sql_functions.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/symbols.h"
#include "core/base/text.h"
#include "core/wire/log.h"

enum { FRAMES = 128, INLINED = 16, SYMBOL = 1536 };

struct sql_symbols {
	struct trace *trace;
	struct symbols *symbols;
};

/* The functions at one frame, several if one is inlined, with "<" between them. */
static void add_frame(struct sql_symbols *s, const struct frame *frame, struct text *text)
{
	struct symbol found[INLINED];
	char one[SYMBOL];
	unsigned int n = symbols_find(s->symbols, frame, found, INLINED);

	for (unsigned int i = 0; i < n; i++)
		text_addf(text, "%s%s", text->used ? " < " : "",
			  symbol_text(&found[i], one, sizeof(one)));
}

static void result_text(sqlite3_context *context, struct text *text)
{
	if (text->failed)
		sqlite3_result_error_nomem(context);
	else if (text->used)
		sqlite3_result_text(context, text->at, (int)text->used, SQLITE_TRANSIENT);
	text_fini(text);
}

static void stack_text(sqlite3_context *context, int n, sqlite3_value **values)
{
	struct sql_symbols *s = sqlite3_user_data(context);
	int64_t id = sqlite3_value_int64(values[0]);
	struct frame frames[FRAMES];
	struct text text = { 0 };
	unsigned int nframes;

	(void)n;
	nframes = id > 0 && id <= UINT32_MAX ? trace_stack(s->trace, (uint32_t)id, frames, FRAMES)
					     : 0;
	for (unsigned int i = 0; i < nframes; i++)
		if (!frame_is_ours(&frames[i]))
			add_frame(s, &frames[i], &text);
	result_text(context, &text);
}

static const char modules[] =
	"SELECT DISTINCT path, build_id, ?1 - base FROM module"
	" WHERE start <= ?1 AND ?1 < end AND (?2 IS NULL OR process = ?2) LIMIT 2";

/* The symbols at @ip: 1 and their names in @text; 0 there are none, or they are ambiguous. */
static int find_symbol(struct sql_symbols *s, int64_t ip, sqlite3_value *process, struct text *text)
{
	sqlite3_stmt *stmt;
	int found = 0;

	if (sqlite3_prepare_v2(trace_db(s->trace), modules, -1, &stmt, NULL))
		return 0;
	sqlite3_bind_int64(stmt, 1, ip);
	if (process)
		sqlite3_bind_value(stmt, 2, process);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		struct frame frame = { .ip = (uint64_t)ip,
				       .module = (const char *)sqlite3_column_text(stmt, 0),
				       .build_id = (const char *)sqlite3_column_text(stmt, 1),
				       .offset = (uint64_t)sqlite3_column_int64(stmt, 2) };

		text_cut(text, 0);
		add_frame(s, &frame, text);
		found++;
	}
	sqlite3_finalize(stmt);
	return found == 1;
}

static void symbol_of(sqlite3_context *context, int n, sqlite3_value **values)
{
	struct sql_symbols *s = sqlite3_user_data(context);
	struct text text = { 0 };

	if (sqlite3_value_type(values[0]) == SQLITE_INTEGER &&
	    find_symbol(s, sqlite3_value_int64(values[0]), n > 1 ? values[1] : NULL, &text))
		result_text(context, &text);
	else
		text_fini(&text);
}

void sql_symbols_free(struct sql_symbols *symbols)
{
	if (symbols)
		symbols_close(symbols->symbols);
	free(symbols);
}

int sql_symbols_add(struct trace *trace, struct sql_symbols **ret_symbols)
{
	struct sql_symbols *s = calloc(1, sizeof(*s));
	sqlite3 *db = trace_db(trace);
	int err;

	if (!s)
		return log_err(-ENOMEM, "symbols");
	s->trace = trace;
	err = symbols_open(&s->symbols);
	if (!err &&
	    (sqlite3_create_function(db, "stack", 1, SQLITE_UTF8, s, stack_text, NULL, NULL) ||
	     sqlite3_create_function(db, "symbol", 1, SQLITE_UTF8, s, symbol_of, NULL, NULL) ||
	     sqlite3_create_function(db, "symbol", 2, SQLITE_UTF8, s, symbol_of, NULL, NULL)))
		err = log_err(-ENOMEM, "add functions: %s", sqlite3_errmsg(db));
	if (err)
		sql_symbols_free(s);
	else
		*ret_symbols = s;
	return err;
}
