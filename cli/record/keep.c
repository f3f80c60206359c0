/*
 * What is kept of a long recording
 *
 *	--flight    trace.db holds the last of the data plane; trace.1.db, ... are
 *	            copies: asked for, at the first error, at a crash
 *	--rotate-*  trace.db is cut again and again; trace.1.db, ... are what it
 *	            was until then, and it goes on with all that is alive
 *
 * Both are the same to the store: a copy of what there is, and the oldest of the
 * data plane forgotten.
 */
#include "cli/record/keep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"

enum { TRIES = 16 }; /* of names for a copy */

void keep_start(struct keep *keep)
{
	keep->begun = clock_monotonic();
}

bool keep_name(const char *path, unsigned int number, char name[PATH_MAX])
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');
	int stem = (int)(dot && dot != base ? dot - path : (long)strlen(path));

	return snprintf(name, PATH_MAX, "%.*s.%u%s", stem, path, number, path + stem) < PATH_MAX;
}

/* From the root: who asked may be somewhere else. */
static void tell_name(struct session_page *page, const char *name)
{
	char whole[PATH_MAX];

	page->copy[0] = '\0';
	if (name && realpath(name, whole) && strlen(whole) < sizeof(page->copy))
		strcpy(page->copy, whole);
}

/* Somebody's file has that name, or somebody is reading it: not a reason to have no copy. */
static bool is_in_the_way(int err)
{
	return err == -EEXIST || err == -ELOOP || err == -EBUSY;
}

static int copy(struct keep *keep, struct session *session, struct writer *writer, const char *why)
{
	struct session_page *page = session->page;
	char name[PATH_MAX];
	int err;

	watch_store(keep->watch);
	for (int i = 0; i < TRIES; i++) {
		err = keep_name(keep->path, ++keep->number, name) ? 0 : -ENAMETOOLONG;
		if (!err)
			err = writer_snapshot(writer, name, why);
		if (!is_in_the_way(err))
			break;
		log_note("%s is in the way: the copy gets the next number", name);
	}
	if (err)
		keep->number--; /* to be tried again */
	tell_name(page, err ? NULL : name);
	if (err)
		return log_err(err, "keep a copy of %s", keep->path);
	if (!keep->quiet)
		log_note("%s: %s", name, why);
	return 0;
}

/* Why a copy is due, NULL if it is not. The first error is the one that matters. */
static const char *alarm_of(struct keep *keep, const struct writer_alarms *now)
{
	const char *why = keep->asked                         ? "asked for by a signal"
			  : now->crashes > keep->seen.crashes ? "a process was killed by a signal"
			  : now->errors && !keep->seen.errors ? "the first completion with an error"
			  : now->fatal && !keep->seen.fatal   ? "the first fatal asynchronous event"
							      : NULL;

	keep->seen = *now;
	keep->asked = false;
	return why;
}

static void answer(struct keep *keep, struct session *session, struct writer *writer)
{
	struct session_page *page = session->page;
	uint32_t asked = atomic_load(&page->copies_asked);

	if (asked == atomic_load(&page->copies_made))
		return;
	copy(keep, session, writer, "asked for");
	/* pairs with the load in snapshot.c: the name is there */
	atomic_store_explicit(&page->copies_made, asked, memory_order_release);
}

static int tend_flight(struct keep *keep, struct session *session, struct writer *writer)
{
	struct writer_alarms now = writer_alarms(writer);
	const char *why = alarm_of(keep, &now);

	if (why)
		copy(keep, session, writer, why);
	answer(keep, session, writer);
	return writer_forget(writer, keep->flight);
}

/* Where the copy has failed nothing is forgotten, and it is tried again in time. */
static int rotate(struct keep *keep, struct session *session, struct writer *writer)
{
	int err = copy(keep, session, writer, "one of several; the next goes on where it ends");

	if (!err)
		err = writer_forget(writer, 0);
	if (!err)
		err = writer_carry(writer);
	if (!err)
		err = writer_flush(writer);
	keep->begun = clock_monotonic();
	keep->carried = writer_progress(writer).bytes;
	return writer_error(writer);
}

static int tend_rotation(struct keep *keep, struct session *session, struct writer *writer)
{
	uint64_t grown = writer_progress(writer).bytes - keep->carried;

	if ((keep->rotate_bytes && grown >= keep->rotate_bytes) ||
	    (keep->rotate_ns && clock_monotonic() - keep->begun >= (uint64_t)keep->rotate_ns))
		return rotate(keep, session, writer);
	return 0;
}

int keep_tend(struct keep *keep, struct session *session, struct writer *writer)
{
	if (keep->flight)
		return tend_flight(keep, session, writer);
	if (keep->rotate_bytes || keep->rotate_ns)
		return tend_rotation(keep, session, writer);
	return 0;
}
