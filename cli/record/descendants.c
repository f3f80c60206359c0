/*
 * Descendants of the program that still run after it has ended
 *
 * 	has called a verb       waited for, since it is recorded
 * 	has called none         waited for until --linger is over: from the end of the program, or
 * 	                        of the last one that had called a verb, since it may start others
 *
 * A request to end (SIGTERM, ...) changes that: descendants that have called no verb are not waited
 * for any longer. A descendant that has called a verb is waited for if the signal has reached it,
 * as a member of our process group; or, if the signal was passed on to the running program, until
 * --linger is over, since the program's end may end its descendants.
 *
 * Not here: which processes are descendants (guests.c), signals (recording.c).
 */
#include "cli/record/descendants.h"

#include <unistd.h>

#include "cli/format.h"
#include "cli/record/guests.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

#define MS 1000000ull

enum {
	SCAN_MS = 50,
	SCAN_LATER_MS = 500, /* after a long wait */
	PATIENCE_MS = 2000,  /* time until we report the processes that we wait for */
};

static uint64_t waited_ns(const struct descendants *d)
{
	return clock_monotonic() - d->ended_at;
}

static bool is_lingering(const struct descendants *d, uint64_t since)
{
	return clock_monotonic() - since < (uint64_t)d->linger;
}

/* Each scan reads all of /proc: scan less often if the result has not changed for long. */
uint64_t descendants_pause(const struct descendants *d)
{
	bool soon = !d->scanned_at || waited_ns(d) < PATIENCE_MS * MS;

	return (soon ? SCAN_MS : SCAN_LATER_MS) * MS;
}

static bool is_awaited(const struct descendants *d, pid_t pid, bool recorded)
{
	if (!recorded)
		return !d->asked &&
		       is_lingering(d, d->heard_at > d->ended_at ? d->heard_at : d->ended_at);
	if (!d->asked || (d->group && getpgid(pid) == getpgrp()))
		return true;
	return !d->late && is_lingering(d, d->ended_at);
}

static void count_descendant(void *arg, pid_t pid)
{
	struct descendants *d = arg;
	bool recorded = collector_has_guest(d->collector, pid);
	bool awaited = is_awaited(d, pid, recorded);

	if (!d->first || (awaited && !d->awaited))
		d->first = pid;
	d->awaited += awaited;
	d->running++;
	if (!recorded)
		return;
	d->recorded++;
	d->heard_at = clock_monotonic();
}

/* May @pid be a descendant? A process older than the program takes part only if it records. */
static bool may_descend(void *arg, pid_t pid)
{
	const struct descendants *d = arg;

	return !d->grow || pid > d->since.pid || collector_has_guest(d->collector, pid);
}

/* A process that is forked while its parent ends may be missed once. */
static void count_descendants(struct descendants *d)
{
	d->running = d->recorded = d->awaited = 0;
	d->first = 0;
	if (!guests_visit(d->dir, may_descend, count_descendant, d))
		guests_visit(d->dir, may_descend, count_descendant, d);
}

/* --linger begins when the end of the last one with verbs is noticed, so it is never shorter. */
static void scan_descendants(struct descendants *d)
{
	unsigned int recorded = d->recorded;

	d->grow = guests_grow_since(&d->since);
	count_descendants(d);
	if (!recorded || d->recorded)
		return;
	d->heard_at = clock_monotonic();
	count_descendants(d);
}

static void report_patience(struct descendants *d)
{
	if (d->reported || !d->awaited || d->progress->quiet || waited_ns(d) < PATIENCE_MS * MS)
		return;
	d->reported = true;
	progress_clear(d->progress);
	log_note("the program has ended; %u of its descendants still run%s (pid %d%s): "
		 "Ctrl-C ends the recording",
		 d->awaited, d->awaited == 1 ? "s" : "", (int)d->first,
		 d->awaited > 1 ? ", ..." : "");
}

bool descendants_have_ended(struct descendants *d)
{
	uint64_t now = clock_monotonic();

	if (now - d->scanned_at < descendants_pause(d))
		return false;
	d->scanned_at = now;
	scan_descendants(d);
	report_patience(d);
	if (d->awaited)
		return false;
	/* the last descendants may have written events that were not read */
	d->scanned_at = 0;
	return d->recorded || !collector_has_live_rings(d->collector);
}

void descendants_report_left(struct descendants *d)
{
	if (d->asked)
		scan_descendants(d); /* after a second request there was no scan */
	if (!d->running)
		return;
	progress_clear(d->progress);
	log_note("the program has ended; %u of its descendants %s left running, unrecorded "
		 "(pid %d%s)%s",
		 d->running, d->running == 1 ? "is" : "are", (int)d->first,
		 d->running > 1 ? ", ..." : "", d->asked ? "" : ": no verb called within --linger");
}
