#pragma once
/*
 * A slice of a trace: the part selected with --from, --to, --last and --only, as a trace.
 *
 * trim writes it, replay replays it. Not thread-safe.
 */
#include "cli/dump/point.h"
#include "core/base/text.h"
#include "core/store/excerpt/excerpt.h"

enum { SLICE_ONLY_MAX = 64 };

struct slice {
	struct point_range range;
	uint32_t last; /* 0: all */
	struct slice_only {
		size_t n;
		const char *at[SLICE_ONLY_MAX];
	} only;
};

int slice_add_only(const char *text, void *only, char complaint[OPTIONS_COMPLAINT]);

/* clang-format off */
/* The option rows of a command whose settings have a struct slice named slice. */
#define SLICE_OPTIONS(settings)                                                             \
	{ "from", 0, "TIME|EVENT",                                                          \
	  "from this time or event on, with the calls that set up objects alive then",      \
	  PARSED_AT(settings, slice.range.from, point_read) },                              \
	{ "to", 0, "TIME|EVENT",                                                            \
	  "up to this event, or before this time; live objects are not destroyed",          \
	  PARSED_AT(settings, slice.range.to, point_read), .alias = "until" },              \
	{ "last", 0, "N", "only the last N events, with the same set-up calls as --from", \
	  NUMBER_AT(settings, slice.last), .least = 1 },                                    \
	{ "only", 0, "WHAT",                                                                \
	  "only this process (process=2) or object (qp1/2), with dependencies; "            \
	  "may be repeated",                                                                \
	  PARSED_AT(settings, slice.only, slice_add_only) }
/* clang-format on */

/* Is the slice less than the whole trace? */
bool slice_is_part(const struct slice *slice);

/*
 * Check the options for @n traces, since a slice is of one trace. 0, or the exit status after one
 * line that names the conflicting options.
 */
int slice_check(const char *command, const struct slice *slice, int n);

/* Does @trace have the slice? 0, or the exit status after one line. */
int slice_find(const char *command, const struct slice *slice, struct trace *trace);

/* Add "from 1:60 until 1:70"; nothing for a slice that is the whole trace. */
void slice_describe(const struct slice *slice, struct text *text);

/*
 * Write @slice of @trace, which was opened as @path, to @to. @scratch: the file need not survive a
 * crash. @ret_size may be NULL. Returns 0; or the exit status, after one line.
 */
int slice_write(const char *command, const struct slice *slice, const char *path,
		struct trace *trace, const char *to, bool scratch, struct excerpt_size *ret_size);
