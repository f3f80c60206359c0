#pragma once
/*
 * The part of a trace selected with --from, --to, --process and --phase. Not thread-safe.
 */
#include "analyzer/profile/pass.h"
#include "cli/dump/point.h"

enum { PART_PHASES = 16 };

struct part {
	struct point_range range;
	uint32_t process;
	struct part_phases {
		size_t n;
		const char *at[PART_PHASES];
	} phases;
};

int part_add_phase(const char *text, void *phases, char complaint[OPTIONS_COMPLAINT]);

/* clang-format off */
/* The option rows of a command whose settings have a struct part named part. */
#define PART_OPTIONS(settings)                                                              \
	POINT_RANGE_OPTIONS(settings, part.range),                                          \
	{ "process", 'p', "P", "only this process",                                         \
	  NUMBER_AT(settings, part.process), .least = 1 },                                  \
	{ "phase", 0, "NAME",                                                               \
	  "only while a process is in this phase of verbatim_phase(); may be repeated",     \
	  PARSED_AT(settings, part.phases, part_add_phase) }
/* clang-format on */

/*
 * Find the part @part in @trace. Returns 0 and @ret_select, whose phases are borrowed from @part;
 * or an exit status after one line that lists the possible names.
 */
int part_find(const char *command, const struct part *part, struct trace *trace,
	      struct profile_select *ret_select);
