#pragma once
/*
 * What is kept of a long recording: its newest part (a flight recorder), with
 * copies of that when something goes wrong, or one trace after the other. One
 * thread.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/record/watch.h"
#include "core/store/write/writer.h"
#include "core/wire/session.h"

struct retention {
	const char *path;      /* of the trace */
	uint64_t flight;       /* bytes of the data plane that are kept; 0: all */
	uint64_t rotate_bytes; /* 0: never for its size */
	int64_t rotate_ns;     /* 0: never for its age */
	struct watch *watch;   /* whose findings belong into a copy; may be NULL */
	bool quiet;
	bool asked; /* for a copy, by a signal */

	unsigned int number; /* of the last copy */
	uint64_t begun;      /* CLOCK_MONOTONIC of the trace that grows now */
	uint64_t carried;    /* bytes it began with */
	struct writer_alarms seen;
};

void retention_start(struct retention *retention);

/*
 * Make the copies that are due; call it some times a second. @session may ask
 * for one (session_page.copies_asked) and gets an answer. A copy that fails is
 * reported, and recording goes on. Returns 0 or -errno of the writer.
 */
int retention_tend(struct retention *retention, struct session *session, struct writer *writer);

/* "trace.3.db" for "trace.db" and 3; false where it is too long. */
bool retention_name(const char *path, unsigned int number, char name[PATH_MAX]);
