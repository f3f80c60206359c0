#pragma once
/*
 * Points of a trace, and the range between two: each is a time or an event.
 *
 *	1.5s  300ms  "63.4 ms"  0.063400123	a time since the start, as any command prints it
 *	3:1042  b.db:3:1042			an event; the trace is named if there are several
 *
 * A range includes the events that it names: it ends after event --to, or before time --to.
 *
 * Not thread-safe.
 */
#include <stdbool.h>

#include "cli/options.h"
#include "core/store/db/ids.h"

struct trace;

enum { POINT_TRACE = 16 };

struct point {
	const char *text;        /* as given, borrowed; NULL: not given */
	char trace[POINT_TRACE]; /* of the event: "b.db"; "" */
	struct event_id id;      /* thread 0: it is a time */
	int64_t time;            /* ns */
};

struct point_range {
	struct point from, to;
};

/* For option rows, into a struct point: a time or an event; only an event. */
option_parse point_read, point_read_event;

/* clang-format off */
/* The rows of --from and --to; @field is the struct point_range in @settings. */
#define POINT_RANGE_OPTIONS(settings, field)                                                \
	{ "from", 0, "TIME|EVENT", "only from this time or event on: 12.5ms, 1.2s, 3:1042", \
	  PARSED_AT(settings, field.from, point_read) },                                    \
	{ "to", 0, "TIME|EVENT", "only up to this event, or before this time",              \
	  PARSED_AT(settings, field.to, point_read), .alias = "until" }
/* clang-format on */

/* Is an end of the range given? */
bool point_range_given(const struct point_range *range);

/*
 * The time of @point, given as --@option, in @trace, which may be joint; for a call, of its begin.
 * Returns 0, or an exit status after one line.
 */
int point_find(const char *command, const char *option, const struct point *point,
	       struct trace *trace, int64_t *ret_time);

/*
 * The times from @ret_from on and before @ret_to; unchanged for an end that is not given. Returns
 * 0, or an exit status after one line, also if the range is empty.
 */
int point_find_range(const char *command, const struct point_range *range, struct trace *trace,
		     int64_t *ret_from, int64_t *ret_to);
