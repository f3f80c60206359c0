/*
 * Shared by all files of a writer: its first failure, valid times, losses
 *
 * If another process removes the last name of the trace, or truncates it, this is a failure, too:
 * SQLite would continue writing without noticing.
 */
#include <errno.h>
#include <sys/stat.h>

#include "core/store/db/finding.h"
#include "core/store/write/writer_priv.h"
#include "core/wire/log.h"

#define SECOND_NS INT64_C(1000000000)
#define DAY_NS    (86400 * SECOND_NS)

int writer_fail(struct writer *writer, int err)
{
	if (err && !writer->err)
		writer->err = err;
	return writer->err;
}

/*
 * A prepared statement; it is prepared at its first use, since a recording needs only few of them.
 */
sqlite3_stmt *writer_statement(struct writer *writer, enum statement which)
{
	static const char *const sql[] = {
#define S(name, sql) [STATEMENT_##name] = sql,
		STATEMENTS(S)
#undef S
	};

	if (!writer->statements[which])
		sql_prepare(writer->db, sql[which], &writer->statements[which]);
	return writer->statements[which];
}

const char *writer_redact_text(struct writer *writer, enum writer_text kind, const char *text)
{
	struct text *to = &writer->redacted;

	text_cut(to, 0);
	if (!writer->redact.replace || !text ||
	    !writer->redact.replace(writer->redact.arg, kind, text, to))
		return text;
	if (to->failed)
		writer_fail(writer, -ENOMEM);
	return to->failed || !to->at ? "" : to->at;
}

int writer_cover(struct writer *writer, const struct thread_log *log, uint64_t n, int64_t time,
		 const char *what, uint64_t handle, const char *detail)
{
	return WRITER_RUN(writer, coverage, "uzuitzt", log->id, n, log->process, time, what, handle,
			  detail);
}

/* The latest possible time of an event, with a margin for clock changes and reboots. */
static int64_t latest_time(const struct writer *writer)
{
	struct timespec now;
	int64_t real, monotonic = (int64_t)(clock_monotonic() - writer->clock.monotonic);

	if (writer->live)
		return clock_ns(&writer->clock, clock_ticks(writer->clock.kind)) + SECOND_NS;
	clock_gettime(CLOCK_REALTIME, &now);
	real = (int64_t)((uint64_t)now.tv_sec * 1000000000 - writer->clock.realtime);
	return (real > monotonic ? real : monotonic) + DAY_NS;
}

bool writer_is_timely(struct writer *writer, int64_t time)
{
	if (time > writer->horizon)
		writer->horizon = latest_time(writer);
	return writer->horizon == INT64_MAX || (time <= writer->horizon && time >= -DAY_NS);
}

int64_t writer_time(struct writer *writer, uint64_t ticks, int64_t otherwise)
{
	int64_t time = clock_ns(&writer->clock, ticks);

	return writer_is_timely(writer, time) ? time : otherwise;
}

int writer_store_loss(struct writer *writer, struct thread_log *log)
{
	uint64_t events = log->lost + log->over.events;
	int64_t first = log->lost_first, last = log->lost_last;

	if (!events)
		return 0;
	if (log->over.events) {
		first = log->lost && first < log->over.first ? first : log->over.first;
		last = log->lost && last > log->over.last ? last : log->over.last;
	}
	return WRITER_RUN(writer, loss, "uuiiii", log->id, log->process, events, first, last,
			  log->over.events);
}

void writer_count_over(struct writer *writer, struct thread_log *log, uint64_t events,
		       int64_t begin, int64_t end)
{
	if (!log->over.events || begin < log->over.first)
		log->over.first = begin;
	if (!log->over.events || end > log->over.last)
		log->over.last = end;
	log->over.events += events;
	writer->overwritten += events;
}

int writer_store_gone(struct writer *writer)
{
	uint64_t events = writer->discarded + writer->gone.lost + writer->gone.over;

	if (!events)
		return 0;
	return WRITER_RUN(writer, loss, "uuiiii", 0, 0, events, writer->gone.first,
			  writer->gone.threads ? writer->gone.last : writer->last,
			  writer->gone.over);
}

const char *writer_find_damage(const struct writer *writer)
{
	struct stat st;

	if (fstat(writer->file, &st))
		return "cannot be examined";
	if (!st.st_nlink)
		return "was removed or replaced while it was recorded";
	return st.st_size < writer->longest ? "was truncated while it was recorded" : NULL;
}

int writer_check_file(struct writer *writer)
{
	const char *ruin = writer_find_damage(writer);
	struct stat st;

	if (ruin)
		return writer_fail(writer, log_why(-ENODATA, "%s %s",
						   sqlite3_db_filename(writer->db, "main"), ruin));
	if (!fstat(writer->file, &st))
		writer->longest = st.st_size;
	return 0;
}
