/*
 * What is kept of a long recording
 *
 *	--flight    trace.db holds the last of the data plane; trace.1.db, ... are
 *	            copies: asked for, at the first error, at a crash
 *	--rotate-*  trace.db is cut again and again: trace.1.db, ... have its
 *	            content until then, and it goes on with all that is alive
 *
 * For the store both are the same: make a copy of the trace, cut it, and delete what is
 * before the cut of the data plane. A cut is at one moment for all threads: the rings are
 * read up to there.
 */
#include "cli/record/retention.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"

enum {
	TRIES = 16,     /* of names for a copy */
	CUTS = 8,       /* pieces of a flight recorder's data; the oldest is deleted as a whole */
	PATIENCE = 100, /* rounds for threads to come to the end of a post */
};

void retention_start(struct retention *retention)
{
	retention->begun = clock_monotonic();
}

bool retention_name(const char *path, unsigned int number, char name[PATH_MAX])
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');
	int stem = (int)(dot && dot != base ? dot - path : (long)strlen(path));

	return snprintf(name, PATH_MAX, "%.*s.%u%s", stem, path, number, path + stem) < PATH_MAX;
}

/* As an absolute path: the process that asked may be in another directory. */
static void tell_name(struct session_page *page, const char *name)
{
	char whole[PATH_MAX];

	page->copy[0] = '\0';
	if (name && realpath(name, whole) && strlen(whole) < sizeof(page->copy))
		strcpy(page->copy, whole);
}

/* Another file has that name, or is in use: the copy gets another name. */
static bool is_in_the_way(int err)
{
	return err == -EEXIST || err == -ELOOP || err == -EBUSY;
}

static int write_copy(struct retention *retention, const char *why)
{
	struct session_page *page = retention->session->page;
	char name[PATH_MAX];
	int err;

	watch_store(retention->watch);
	for (int i = 0; i < TRIES; i++) {
		err = retention_name(retention->path, ++retention->number, name) ? 0
										 : -ENAMETOOLONG;
		if (!err)
			err = writer_snapshot(retention->writer, name, why);
		if (!is_in_the_way(err))
			break;
		log_note("%s is in the way: the copy gets the next number", name);
	}
	if (err)
		retention->number--; /* to be tried again */
	tell_name(page, err ? NULL : name);
	if (err)
		return log_err(err, "keep a copy of %s", retention->path);
	if (!retention->quiet)
		log_note("%s: %s", name, why);
	return 0;
}

/* Why a copy is due, NULL if it is not. The first error is the one that matters. */
static const char *alarm_of(struct retention *retention, const struct writer_alarms *now)
{
	const char *why =
		retention->asked                         ? "asked for by a signal"
		: now->crashes > retention->seen.crashes ? "a process was killed by a signal"
		: now->errors && !retention->seen.errors ? "the first completion with an error"
		: now->fatal && !retention->seen.fatal   ? "the first fatal asynchronous event"
							 : NULL;

	retention->seen = *now;
	retention->asked = false;
	return why;
}

static void answer_request(struct retention *retention)
{
	struct session_page *page = retention->session->page;
	uint32_t asked = atomic_load(&page->copies_asked);

	if (asked == atomic_load(&page->copies_made))
		return;
	write_copy(retention, "asked for");
	/* pairs with the load in snapshot.c: the name is there */
	atomic_store_explicit(&page->copies_made, asked, memory_order_release);
}

static int tend_flight(struct retention *retention)
{
	struct writer_alarms now = writer_alarms(retention->writer);
	const char *why = alarm_of(retention, &now);

	if (why)
		write_copy(retention, why);
	answer_request(retention);
	return writer_error(retention->writer);
}

/* Cut the trace now. -EAGAIN: a thread is in the middle of a post. */
static int cut_trace(struct retention *retention)
{
	const struct clock *clock = &retention->session->clock;
	uint64_t ticks = clock_ticks(clock->kind);
	int64_t time = clock_ns(clock, ticks);
	int err = collector_drain_until(retention->collector, ticks);

	if (!err && !writer_is_cuttable(retention->writer, time) && retention->refused++ < PATIENCE)
		return -EAGAIN;
	retention->refused = 0;
	return err ? err : writer_cut(retention->writer, time);
}

/* If the copy fails, nothing is deleted, and the next rotation tries again. */
static int rotate_trace(struct retention *retention)
{
	struct writer *writer = retention->writer;
	int err = cut_trace(retention);

	if (err == -EAGAIN)
		return 0;
	if (!err)
		err = write_copy(retention, "rotated; continued in the next file");
	if (!err)
		err = writer_forget(writer, 0);
	if (!err)
		err = writer_carry(writer);
	if (!err)
		err = writer_flush(writer);
	retention->begun = clock_monotonic();
	retention->carried = writer_progress(writer).bytes;
	return writer_error(writer);
}

static int tend_rotation(struct retention *retention)
{
	uint64_t grown = writer_progress(retention->writer).bytes - retention->carried;

	if ((retention->rotate_bytes && grown >= retention->rotate_bytes) ||
	    (retention->rotate_ns &&
	     clock_monotonic() - retention->begun >= (uint64_t)retention->rotate_ns))
		return rotate_trace(retention);
	return 0;
}

bool retention_cuts(const struct retention *retention)
{
	return retention->flight || retention->rotate_bytes || retention->rotate_ns;
}

int retention_cut(struct retention *retention)
{
	int err = 0;

	if (!retention->flight || writer_error(retention->writer))
		return 0;
	if (writer_uncut(retention->writer) >= retention->flight / CUTS)
		err = cut_trace(retention);
	if (!err || err == -EAGAIN)
		err = writer_forget(retention->writer, retention->flight);
	return err;
}

int retention_tend(struct retention *retention)
{
	if (retention->flight)
		return tend_flight(retention);
	return retention_cuts(retention) ? tend_rotation(retention) : 0;
}
