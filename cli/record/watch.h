#pragma once
/*
 * The check of a program that is still running: `verbatim record --check`.
 *
 * Runs in the recorder's own thread, in slices between two rounds of reading, on the events that
 * the writer has put into the trace. So it delays nothing: if it is slower, unread events wait in
 * the trace. A failure ends the check but not the recording. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/check_options.h"
#include "cli/record/progress.h"
#include "core/store/write/writer.h"
#include "core/wire/session.h"

struct watch;

struct stored_finding;

struct watch_options {
	struct session *session;
	struct writer *writer;
	struct progress *progress; /* its line is cleared before something is printed */
	const char *path;          /* of the trace */
	const struct check_settings *check;
	struct suppressions *known; /* known findings, which do not count; NULL: none */
	struct live_stats *vitals;  /* receives each event, too; NULL: none */
	bool stop;                  /* --stop-on=finding */
	/* gets each new finding, with alerts as @arg; NULL: none */
	void (*each)(void *arg, const struct stored_finding *finding);
	void *each_arg;
	bool in_parts; /* the trace will not have the whole recording */
};

/*
 * @options' members are borrowed until watch_finish(), path and check until watch_end(). 0 or
 * -errno after log_err().
 */
int watch_new(const struct watch_options *options, struct watch **ret_watch);

/*
 * Continue for a while; @seen as of collector_last_event(), @fullest of collector_drain(). True:
 * there is more to read, call it again soon.
 */
bool watch_step(struct watch *watch, int64_t seen, int fullest);

/* Read all events up to @time now, since they are dropped afterwards. Accepts NULL. */
void watch_read_until(struct watch *watch, int64_t time);

/*
 * Write the findings that are not in the trace yet into it, for example before it is copied.
 * Accepts NULL.
 */
void watch_store(struct watch *watch);

/*
 * The writer has all events: read the rest, print the remaining output, and put the findings into
 * the trace. Accepts NULL.
 */
void watch_finish(struct watch *watch);

/*
 * The trace is finished: check it as a whole if events were missing and that was not known from the
 * start. Frees the watch; accepts NULL. Returns whether there were findings for which `verbatim
 * check` ends with 1.
 */
bool watch_end(struct watch *watch);

/* Free the watch and print nothing; accepts NULL. */
void watch_free(struct watch *watch);
