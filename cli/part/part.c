/*
 * The part of a trace that --from, --to, --process and --phase name
 */
#include "cli/part/part.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "cli/quantity.h"
#include "core/base/printable.h"
#include "core/base/text.h"
#include "core/wire/log.h"

int part_add_phase(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	struct part_phases *phases = field;

	if (phases->n == PART_PHASES) {
		snprintf(complaint, OPTIONS_COMPLAINT, "--phase may be given %d times",
			 PART_PHASES);
		return -EINVAL;
	}
	phases->at[phases->n++] = text;
	return 0;
}

static int64_t trace_end(struct trace *trace)
{
	const char *text = trace_meta(trace, "duration");

	return text ? strtoll(text, NULL, 10) : INT64_MAX;
}

/* The time of event @id: 1, 0 if there is none, or -errno after log_err(). */
static int find_event(struct trace *trace, uint32_t thread, uint64_t n, int64_t *ret_time)
{
	static const char sql[] =
		"SELECT begin FROM call WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT end FROM call WHERE thread = ?1 AND end_n = ?2"
		" UNION ALL SELECT time FROM post WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time FROM poll WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time FROM notify WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time FROM mark WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time FROM fork WHERE thread = ?1 AND n = ?2 LIMIT 1";
	sqlite3_stmt *stmt = NULL;
	int err = sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL);

	if (!err) {
		sqlite3_bind_int64(stmt, 1, thread);
		sqlite3_bind_int64(stmt, 2, (sqlite3_int64)n);
		err = sqlite3_step(stmt);
	}
	if (err == SQLITE_ROW)
		*ret_time = sqlite3_column_int64(stmt, 0);
	else if (err != SQLITE_DONE)
		log_err(0, "find an event: %s", sqlite3_errmsg(trace_db(trace)));
	sqlite3_finalize(stmt);
	return err == SQLITE_ROW ? 1 : err == SQLITE_DONE ? 0 : -EBADMSG;
}

/* "3:1042"; false: it is something else. */
static bool read_id(const char *text, uint64_t *ret_thread, uint64_t *ret_n)
{
	const char *colon = strchr(text, ':');
	char thread[16];

	if (!colon || colon - text >= (long)sizeof(thread))
		return false;
	snprintf(thread, sizeof(thread), "%.*s", (int)(colon - text), text);
	return quantity_number(thread, UINT32_MAX, ret_thread) &&
	       quantity_number(colon + 1, INT64_MAX, ret_n);
}

static int find_time(const char *command, const char *option, const char *text, struct trace *trace,
		     int64_t *ret_time)
{
	uint64_t thread, n;
	int found;

	if (quantity_time(text, true, ret_time) && *ret_time >= 0)
		return 0;
	if (!read_id(text, &thread, &n))
		return cli_misuse(command,
				  "--%s is a time as 12.5ms or 1.2s, or an event as 3:1042, not "
				  "'%.60s'",
				  option, text);
	found = find_event(trace, (uint32_t)thread, n, ret_time);
	if (found < 0)
		return CLI_TRACE;
	return found ? 0
		     : cli_misuse(command,
				  "the trace has no event %s (--%s); 'verbatim dump' shows those "
				  "that it has",
				  text, option);
}

/* The phases that the trace has, or nothing. */
static void list_phases(struct trace *trace, struct text *to)
{
	static const char sql[] = "SELECT text FROM mark WHERE kind = 'begin' GROUP BY text"
				  " ORDER BY min(time) LIMIT 8";
	char shown[PRINTABLE_GROWS * 40 + 1];
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL))
		return;
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);
		size_t bytes = (size_t)sqlite3_column_bytes(stmt, 0);

		if (!text)
			continue;
		printable_text(shown, sizeof(shown), text, bytes < 40 ? bytes : 40);
		text_addf(to, "%s'%s'", to->used ? ", " : "", shown);
	}
	sqlite3_finalize(stmt);
}

static bool has_phase(struct trace *trace, const char *phase, uint32_t process)
{
	static const char sql[] = "SELECT 1 FROM mark WHERE kind = 'begin' AND text = ?1"
				  " AND (?2 = 0 OR process = ?2) LIMIT 1";
	sqlite3_stmt *stmt = NULL;
	bool has = false;

	if (!sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL)) {
		sqlite3_bind_text(stmt, 1, phase, -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 2, process);
		has = sqlite3_step(stmt) == SQLITE_ROW;
	}
	sqlite3_finalize(stmt);
	return has;
}

static int check_phase(const char *command, const char *phase, const struct part *part,
		       struct trace *trace)
{
	struct text has = { 0 };

	if (has_phase(trace, phase, part->process))
		return 0;
	list_phases(trace, &has);
	cli_misuse(command, "%s no phase '%.60s'; the trace has %s",
		   part->process ? "that process has" : "there is", phase,
		   has.used && !has.failed ? has.at : "none: see verbatim_phase()");
	text_fini(&has);
	return CLI_USAGE;
}

static int check_times(const char *command, const struct part *part, struct trace *trace,
		       const struct profile_select *select)
{
	char end[FORMAT_TEXT];

	if (part->from && select->from > trace_end(trace))
		return cli_misuse(command, "nothing is from %s on: the trace ends at %s",
				  part->from, format_time(trace_end(trace), end));
	if (part->to && select->from >= select->to)
		return cli_misuse(command, "--from %s is not before --to %s",
				  part->from ? part->from : "0", part->to);
	return 0;
}

int part_find(const char *command, const struct part *part, struct trace *trace,
	      struct profile_select *ret_select)
{
	struct profile_select select = { .process = part->process,
					 .phases = part->phases.at,
					 .nphases = part->phases.n };
	int status = 0;

	if (part->from)
		status = find_time(command, "from", part->from, trace, &select.from);
	if (part->to && !status)
		status = find_time(command, "to", part->to, trace, &select.to);
	if (!status)
		status = check_times(command, part, trace, &select);
	if (!status && part->process && !trace_process(trace, part->process))
		status = cli_misuse(command,
				    "the trace has no process %u; 'verbatim info' lists those that "
				    "it has",
				    part->process);
	for (size_t i = 0; i < part->phases.n && !status; i++)
		status = check_phase(command, part->phases.at[i], part, trace);
	if (!status)
		*ret_select = select;
	return status;
}
