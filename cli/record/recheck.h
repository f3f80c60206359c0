#pragma once
/*
 * The check of a whole trace, after a check that went along with its recording and did not know
 * from the start what would be missing. One thread.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cli/check_options.h"

/* Findings that were printed. */
struct told_list {
	struct told {
		enum rule_id rule;
		struct event_id event;
	} * all;
	size_t n;
};

/* Add a finding. 0 or -ENOMEM after log_err(). */
int told_add(struct told_list *told, const struct finding *finding);
void told_fini(struct told_list *told);

/*
 * Note on stderr which of @told are not among @findings, where those that are known, or uncertain,
 * count as missing.
 */
void told_retract(const struct told_list *told, const struct findings *findings);

/*
 * Check the finished trace at @path, print on stderr which of @told do not count, all that does and
 * the first screen, and make its findings those of the trace. @ret_found: there were some for which
 * `verbatim check` ends with 1. 0 or -errno after log_err().
 */
int recheck_trace(const char *path, const struct check_settings *settings,
		  const struct told_list *told, bool *ret_found);
