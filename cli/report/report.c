/*
 * verbatim report: a trace as one page that a browser shows
 *
 * 	check, diff			their output for programs (documents.c), in the meantime
 * 	stat				its output for programs  \
 * 	stacks				as `export -f folded`     > from one pass over the trace
 * 	timeline, rows of tables	page_data.c              /
 * 	the events named in these	the line of dump for each
 *
 * All of it is one JSON object in the page, which the scripts in page/ draw.
 *
 * Not here: the look of the page (page/).
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/profile/pass.h"
#include "analyzer/report/symbols.h"
#include "analyzer/tables/qps.h"
#include "analyzer/tables/tables.h"
#include "cli/cli.h"
#include "cli/export/folded.h"
#include "cli/output.h"
#include "cli/part/slice_file.h"
#include "cli/report/documents.h"
#include "cli/report/page.h"
#include "cli/report/page_data.h"
#include "cli/stat/stat.h"
#include "cli/written.h"
#include "core/base/text.h"
#include "core/store/vtab/views.h"
#include "core/wire/log.h"

enum { EVENTS = 48, EVENT_NAME = 32, AT_ONCE = 4 };

struct settings {
	const char *path, *base;
	bool json;
	struct slice slice;
	int64_t deadline;
};

/* A trace that the page shows: its path, and the name that the page shows. */
struct shown_trace {
	const char *path, *name;
};

/* clang-format off */
const struct option_row cli_report_options[] = {
	{ "output", 'o', "FILE", "the page to write", TEXT_AT(struct settings, path),
	  .otherwise = OPTIONS_STDOUT ", unless it is a terminal" },
	{ "compare", 'c', "BASE", "compare with this earlier trace",
	  TEXT_AT(struct settings, base), .otherwise = "none" },
	WRITTEN_OPTION(struct settings),
	SLICE_OPTIONS(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

/* Events that the documents name */

struct named_events {
	char names[EVENTS][EVENT_NAME];
	size_t n;
};

/* The length of "3:1042" with its quotes, at @at; 0: it is something else. */
static size_t event_length(const char *at)
{
	size_t n = 1, digits;

	for (digits = n; isdigit((unsigned char)at[n]); n++)
		;
	if (n == digits || at[n] != ':')
		return 0;
	for (digits = ++n; isdigit((unsigned char)at[n]); n++)
		;
	return n > digits && at[n] == '"' && n < EVENT_NAME ? n : 0;
}

static void add_name(struct named_events *named, const char *name, size_t n)
{
	for (size_t i = 0; i < named->n; i++)
		if (strlen(named->names[i]) == n && !memcmp(named->names[i], name, n))
			return;
	if (named->n == EVENTS)
		return;
	memcpy(named->names[named->n], name, n);
	named->names[named->n++][n] = '\0';
}

static void find_names(struct named_events *named, const struct text *text)
{
	const char *at = text->at;

	while (at && (at = strchr(at, '"')) != NULL) {
		size_t n = event_length(at);

		if (n)
			add_name(named, at + 1, n - 1);
		at += n ? n : 1;
	}
}

static unsigned long thread_of(const char *name)
{
	return strtoul(name, NULL, 10);
}

/* A `dump` of all named events of one thread, which reads the trace once. */
static void name_events(struct document *document, const char *path,
			const struct named_events *named, unsigned long thread)
{
	size_t n = 0;

	document->words[n++] = "dump";
	document->words[n++] = path;
	for (size_t i = 0; i < named->n; i++)
		if (thread_of(named->names[i]) == thread)
			document->words[n++] = named->names[i];
}

/* The event whose line begins at @line: "  57.500000000  1:45  app:1234  ..."; NULL: another. */
static const char *find_event(const struct named_events *named, const char *line)
{
	char *end;

	strtod(line, &end);
	if (end == line || strncmp(end, "  ", 2))
		return NULL;
	for (size_t i = 0; i < named->n; i++) {
		size_t n = strlen(named->names[i]);

		if (!strncmp(end + 2, named->names[i], n) && end[2 + n] == ' ')
			return named->names[i];
	}
	return NULL;
}

static void put_event(struct json *json, const char *name, char *from, const char *to)
{
	while (to > from + 1 && to[-1] == '\n' && to[-2] == '\n')
		to--;
	if (!name || to == from)
		return;
	from[to - from] = '\0';
	json_put_text(json, name, from);
}

/* Add the text of each named event; the lines at @at are in the order of time. */
static void put_texts(struct json *json, const struct named_events *named, char *at)
{
	const char *name = NULL;
	char *from = at;

	while (at && *at) {
		const char *next = find_event(named, at);
		char *end = strchr(at, '\n');

		if (next) {
			if (at > from)
				at[-1] = '\0';
			put_event(json, name, from, at > from ? at - 1 : at);
			from = at;
			name = next;
		}
		at = end ? end + 1 : at + strlen(at);
	}
	put_event(json, name, from, at);
}

static int put_threads(struct json *json, const char *path, const struct named_events *named,
		       const unsigned long *threads, size_t n)
{
	struct document documents[AT_ONCE] = { 0 };
	int err;

	for (size_t i = 0; i < n; i++)
		name_events(&documents[i], path, named, threads[i]);
	err = documents_make(documents, n);
	for (size_t i = 0; i < n && !err; i++)
		if (!documents[i].status)
			put_texts(json, named, documents[i].text.at);
	documents_fini(documents, n);
	return err;
}

static int put_events(struct json *json, const char *path, const struct named_events *named)
{
	unsigned long threads[EVENTS];
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < named->n; i++) {
		size_t k = 0;

		while (k < n && threads[k] != thread_of(named->names[i]))
			k++;
		threads[k] = thread_of(named->names[i]);
		n += k == n;
	}
	json_open(json, "events", '{');
	for (size_t i = 0; i < n && !err; i += AT_ONCE)
		err = put_threads(json, path, named, &threads[i],
				  n - i < AT_ONCE ? n - i : AT_ONCE);
	json_close(json, '}');
	return err;
}

/* A trace */

enum document_kind { CHECK, DIFF, DOCUMENTS };

static void name_documents(struct document documents[DOCUMENTS], const char *path, const char *base)
{
	const struct document all[DOCUMENTS] = {
		[CHECK] = { .words = { "check", "--format", "json", path } },
		[DIFF] = { .words = { "diff", "--format", "json", base, path } },
	};

	memcpy(documents, all, sizeof(all));
}

/* The worst exit status of a document that could not be made; CLI_FINE: all were made. */
static int find_status(const struct document *documents, size_t n)
{
	int status = CLI_FINE;

	for (size_t i = 0; i < n; i++)
		if (documents[i].status > CLI_FINDINGS && documents[i].status > status)
			status = documents[i].status;
	return status;
}

static void put_document(struct json *json, const char *name, const struct document *document)
{
	json_put_name(json, name);
	text_add(json->out, document->text.at, document->text.used);
}

static void put_documents(struct json *json, const struct document *documents, bool diff)
{
	put_document(json, "check", &documents[CHECK]);
	if (diff)
		put_document(json, "diff", &documents[DIFF]);
}

/* The data that one pass over the trace collects. */
struct page_sources {
	struct model_tables *tables;
	struct lanes *lanes;
	struct timeline *timeline;
	struct profile *profile;
	struct symbols *symbols;
};

/* The stacks of `export -f folded`, by three values. */
static int put_stacks(struct json *json, struct trace *trace, const struct page_sources *r)
{
	static const char *const names[] = { "requests", "time", "bytes" };
	static const enum folded_value values[] = { FOLDED_REQUESTS, FOLDED_TIME, FOLDED_BYTES };
	enum { N = sizeof(values) / sizeof(values[0]) };
	struct text texts[N] = { 0 };
	int err = folded_profile(trace, r->symbols, r->profile, values, N, texts);

	for (size_t i = 0; i < N; i++) {
		if (!err)
			json_put_text(json, names[i], texts[i].used ? texts[i].at : "");
		text_fini(&texts[i]);
	}
	return err;
}

static int put_stat(struct json *json, struct trace *trace, const struct page_sources *r)
{
	struct text text = { 0 };
	int err;

	profile_join_places(r->profile);
	err = stat_document(trace, r->profile, r->symbols, &text);
	if (!err) {
		json_put_name(json, "stat");
		text_add(json->out, text.at, text.used);
	}
	text_fini(&text);
	return err;
}

static int read_trace(struct trace *trace, struct page_sources *r)
{
	static const struct profile_select select = { .by_process = true };
	struct profile_extras more = { .ret_timeline = &r->timeline, .leave = qps_leave };
	int err = model_tables_add(trace, &r->tables);

	if (err)
		return err;
	more.arg = model_tables_qps(r->tables);
	more.lanes = r->lanes = lanes_new();
	err = r->lanes ? qps_begin(more.arg) : log_err(-ENOMEM, "report");
	if (!err)
		err = profile_trace_more(trace, &select, &more, &r->profile);
	if (!err)
		err = qps_end(more.arg);
	return err ? err : symbols_open(&r->symbols);
}

static int put_reading(struct json *json, struct trace *trace, const struct page_sources *r)
{
	int err = views_create(trace_db(trace), true, NULL);

	if (!err)
		err = page_data_put(json, trace, r->timeline, r->lanes);
	if (!err)
		err = put_stacks(json, trace, r);
	return err ? err : put_stat(json, trace, r);
}

static int put_opened_trace(struct json *json, struct trace *trace)
{
	struct page_sources r = { .tables = NULL };
	int err;

	cli_report_loss(trace);
	cli_show_progress("report", trace);
	err = read_trace(trace, &r);
	if (!err)
		err = put_reading(json, trace, &r);
	trace_close(trace);
	model_tables_free(r.tables);
	symbols_close(r.symbols);
	profile_free(r.profile);
	timeline_free(r.timeline);
	lanes_free(r.lanes);
	return cli_status(err);
}

/* Replace the path of a slice's private file in @text, which is JSON, by the name on the page. */
static void rename_source(struct text *text, const struct shown_trace *source)
{
	struct text path = { 0 }, renamed = { 0 };
	const char *at;

	text_json(&path, source->path, strlen(source->path));
	at = text->used && path.used ? strstr(text->at, path.at) : NULL;
	if (at && source->path != source->name) {
		text_add(&renamed, text->at, (size_t)(at - text->at));
		text_json(&renamed, source->name, strlen(source->name));
		at += path.used;
		text_add(&renamed, at, text->used - (size_t)(at - text->at));
		text_fini(text);
		*text = renamed;
	}
	text_fini(&path);
}

/* The description of a trace: @base is NULL, or the trace it is compared with. */
static int put_trace(struct json *json, const struct shown_trace *source, const char *base,
		     struct named_events *named)
{
	struct arguments arguments = { .at = (char *[]){ (char *)source->path }, .n = 1 };
	struct document documents[DOCUMENTS];
	size_t n = base ? DOCUMENTS : DIFF;
	struct trace *trace;
	int status = cli_open("report", &arguments, 1, &trace);

	if (status)
		return status;
	json_put_text(json, "path", source->name);
	name_documents(documents, source->path, base);
	status = cli_status(documents_start(documents, n));
	if (status)
		trace_close(trace);
	else
		status = put_opened_trace(json, trace);
	if (!status)
		status = cli_status(documents_await(documents, n));
	if (!status)
		status = find_status(documents, n);
	if (!status)
		rename_source(&documents[CHECK].text, source);
	if (!status)
		put_documents(json, documents, base);
	if (!status && named) {
		find_names(named, &documents[CHECK].text);
		if (base)
			find_names(named, &documents[DIFF].text);
	}
	documents_fini(documents, n);
	return status;
}

static int put_page_data(struct text *data, const struct shown_trace *source, const char *base)
{
	const struct shown_trace before = { base, base };
	struct json json = { .out = data };
	struct named_events named = { .n = 0 };
	int status;

	json_open(&json, NULL, '{');
	json_put_text(&json, "version", VERBATIM_VERSION);
	json_open(&json, "after", '{');
	status = put_trace(&json, source, base, &named);
	json_close(&json, '}');
	if (!status && base) {
		json_open(&json, "before", '{');
		status = put_trace(&json, &before, NULL, NULL);
		json_close(&json, '}');
	}
	if (!status)
		status = cli_status(put_events(&json, source->path, &named));
	json_close(&json, '}');
	if (!status && data->failed)
		status = cli_status(log_err(-ENOMEM, "report"));
	return status;
}

static int make_page(const struct shown_trace *source, const struct settings *set)
{
	struct text data = { 0 }, page = { 0 };
	int status = put_page_data(&data, source, set->base);

	if (!status)
		status = cli_status(page_write(&page, &data));
	if (!status)
		status = cli_status(output_put(set->path, &page));
	if (!status && set->json)
		status = cli_status(written_put("report", set->path, NULL));
	text_fini(&data);
	text_fini(&page);
	return status;
}

static int make_page_of_slice(const struct arguments *arguments, const struct settings *set)
{
	struct slice_file part = { 0 };
	struct text name = { 0 };
	struct trace *trace;
	int status = cli_open("report", arguments, 1, &trace);

	if (status)
		return status;
	status = slice_file_make("report", &set->slice, arguments->at[0], trace, &part);
	trace_close(trace);
	text_addf(&name, "%s, ", arguments->at[0]);
	slice_describe(&set->slice, &name);
	if (!status && name.failed)
		status = cli_status(log_err(-ENOMEM, "report"));
	if (!status)
		status = make_page(&(struct shown_trace){ part.path, name.at }, set);
	slice_file_remove(&part);
	text_fini(&name);
	return status;
}

static int check_slice(const struct settings *set)
{
	if (set->base && slice_is_part(&set->slice))
		return cli_misuse(
			"report",
			"-c compares whole traces: write a part as a trace with 'verbatim trim'");
	return slice_check("report", &set->slice, 1);
}

int cli_report(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	if (!arguments.n)
		return cli_misuse("report", "no trace given");
	if (arguments.n > 1)
		return cli_refuse_second("report", arguments.at[1]);
	if (set.path && (cli_is_same_file(arguments.at[0], set.path) ||
			 (set.base && cli_is_same_file(set.base, set.path))))
		return cli_misuse("report", "'%s' is an input trace: choose another name",
				  set.path);
	if (!set.path && isatty(STDOUT_FILENO))
		return cli_misuse("report", "will not write the page to a terminal: give -o "
					    "FILE.html");
	status = output_check("report", set.path) ?: check_slice(&set);
	if (status)
		return status;
	cli_deadline(set.deadline);
	cli_show_work("report");
	if (slice_is_part(&set.slice))
		return make_page_of_slice(&arguments, &set);
	return make_page(&(struct shown_trace){ arguments.at[0], arguments.at[0] }, &set);
}
