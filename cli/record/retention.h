#pragma once
/*
 * What is kept of a long recording: its newest part (a flight recorder), with
 * copies of that when something goes wrong, or one trace after the other. One
 * thread.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/record/collector.h"
#include "cli/record/vitals.h"
#include "cli/record/watch.h"
#include "core/store/write/writer.h"
#include "core/wire/session.h"

struct retention {
	const char *path;      /* of the trace */
	uint64_t flight;       /* bytes of the trace; 0: all is kept */
	uint64_t rotate_bytes; /* 0: never for its size */
	int64_t rotate_ns;     /* 0: never for its age */
	struct watch *watch;   /* its findings go into the copies; may be NULL */
	struct vitals *vitals;
	bool quiet;
	bool asked;                  /* a signal has asked for a copy */
	struct collector *collector; /* borrowed, as the next two */
	struct session *session;
	struct writer *writer;

	unsigned int number; /* of the last copy */
	uint64_t begun;      /* CLOCK_MONOTONIC: when the current trace began */
	uint64_t carried;    /* bytes that it began with */
	uint64_t again;      /* bytes at which a rotation that failed is due again; 0: none did */
	struct writer_alarms seen;
	bool refused;       /* a cut is due, but a thread is within a post */
	int64_t refused_at; /* since then; of a flight by the trace's clock, else CLOCK_MONOTONIC */
	bool told;          /* that what is needed is more than there is room for */
};

/* From now on the collector cuts the trace where that is due. */
void retention_start(struct retention *retention);

/* Does it leave out some of the past? */
bool retention_cuts(const struct retention *retention);

/* How many bytes a file may have; 0: any number. */
uint64_t retention_most(const struct retention *retention);

/*
 * Make the copies that are due; call it some times a second. The session may ask
 * for one (session_page.copies_asked) and gets an answer. A copy that fails is
 * reported, and recording goes on. Returns 0 or -errno of the writer.
 */
int retention_tend(struct retention *retention);

/* "trace.3.db" for "trace.db" and 3; false where it is too long. */
bool retention_name(const char *path, unsigned int number, char name[PATH_MAX]);
