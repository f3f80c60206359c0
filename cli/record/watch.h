#pragma once
/*
 * The check of a program that is still running: `verbatim record --check`.
 *
 * In the recorder's own thread, in slices between two rounds of reading, on
 * what the writer has put into the trace. So it holds nothing up: where it does
 * not keep pace, what it has not read yet waits in the trace. A failure ends
 * the check and not the recording. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/check_options.h"
#include "cli/record/progress.h"
#include "core/store/write/writer.h"
#include "core/wire/session.h"

struct watch;

struct watch_options {
	struct session *session;
	struct writer *writer;
	struct progress *progress; /* its line is cleared before something is printed */
	const char *path;          /* of the trace */
	const struct check_settings *check;
	struct known *known;   /* findings that do not count; NULL: none */
	struct vitals *vitals; /* is given each event as well; NULL: none */
	bool stop;             /* --stop-on=finding */
	bool in_parts;         /* the trace will not have all of the recording */
};

/*
 * What is in @options is borrowed until watch_finish(), path and check until watch_end(). 0 or
 * -errno after log_err().
 */
int watch_new(const struct watch_options *options, struct watch **ret_watch);

/*
 * Go on for a while; @seen as of collector_seen(), @fullest of
 * collector_drain(). True: there is more to be read, come back soon.
 */
bool watch_step(struct watch *watch, int64_t seen, int fullest);

/* Read all events up to @time now, which are then forgotten. Accepts NULL. */
void watch_read_until(struct watch *watch, int64_t time);

/*
 * Write the findings that are not in the trace yet into it, for example before
 * it is copied. Accepts NULL.
 */
void watch_store(struct watch *watch);

/*
 * All has been given to the writer: read the rest, print what is left to say,
 * and put the findings into the trace. Accepts NULL.
 */
void watch_finish(struct watch *watch);

/*
 * The trace is finished: where something was missing that was not known from the start, check it as
 * a whole. Frees the watch; accepts NULL. Returns whether there were findings for which `verbatim
 * check` ends with 1.
 */
bool watch_end(struct watch *watch);

/* Frees it and prints nothing; accepts NULL. */
void watch_free(struct watch *watch);
