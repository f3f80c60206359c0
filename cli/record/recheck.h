#pragma once
/*
 * Checks the whole trace after a check that ran during its recording and did not know from the
 * start which events would be missing. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cli/check_options.h"

/* Findings that were printed. */
struct printed_list {
	struct printed_finding {
		enum rule_id rule;
		struct event_id event;
	} * all;
	size_t n;
};

/* Add a finding. 0 or -ENOMEM after log_err(). */
int printed_list_add(struct printed_list *shown, const struct finding *finding);
void printed_list_fini(struct printed_list *shown);

/*
 * Note on stderr the findings of @shown that are not among @findings; known or uncertain ones count
 * as missing.
 */
void printed_list_retract(const struct printed_list *shown, const struct findings *findings);

/*
 * Check the finished trace at @path; print on stderr which findings of @shown are not valid, all
 * valid findings, and the first screen; and store the findings in the trace. @ret_found: there were
 * findings for which `verbatim check` ends with 1. 0 or -errno after log_err().
 */
int recheck_trace(const char *path, const struct check_settings *settings,
		  const struct printed_list *shown, bool *ret_found);
