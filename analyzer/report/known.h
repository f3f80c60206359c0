#pragma once
/*
 * Findings that the user knows already, from a suppressions file or a baseline. They do not count.
 *
 * A file of suppressions has one line each:
 *
 * 	RULE [FUNCTION [PROGRAM]]  # why
 *
 * RULE is an identifier or name of a rule or of a kind of facts, or a pattern of these; FUNCTION a
 * pattern of a function or module in the stack of any step of the finding; PROGRAM one of the
 * program's path or its last part. Patterns are those of fnmatch(3), a blank is '?'. put_baseline()
 * writes a baseline.
 *
 * Not thread-safe.
 */
#include "analyzer/report/report.h"

enum { KNOWN_COMPLAINT = 512 };

/*
 * Read the files @suppress and @baseline; each may be NULL. Returns 0; or -errno with @complaint
 * set: -EINVAL for invalid contents.
 */
int suppressions_open(const char *suppress, const char *baseline, char complaint[KNOWN_COMPLAINT],
		      struct suppressions **ret_known);

/* Accepts NULL. */
void suppressions_close(struct suppressions *known);

/* Set @known of all findings of the report that are new since the last call. NULL does nothing. */
void suppressions_mark_findings(struct suppressions *known, const struct report *report);

/* Mark all known facts, after the last event. They are reported nevertheless. */
void suppressions_mark_facts(struct suppressions *known, const struct report *report);

/*
 * Note on stderr which suppressions matched nothing, and which entries of the baseline are missing
 * in the trace, for rules that were checked. NULL does nothing.
 */
void suppressions_report(const struct suppressions *known, const struct findings *findings);

/* The number of findings with @known; a suppressed one is not counted again in the baseline. */
uint64_t suppressions_count(const struct findings *findings, enum finding_known known);

/* Print "; 3 suppressed by FILE, 2 in the baseline FILE", or nothing. */
void suppressions_print_sum(const struct report *report);

bool suppressions_have_baseline(const struct suppressions *known);

/* May put_baseline() write @path? An existing file must be a baseline, or empty. Same results. */
int suppressions_check_target(const char *path);

/*
 * Write the findings of the report, except suppressed ones, to the baseline @path. 0 or -errno
 * after log_err().
 */
int put_baseline(const char *path, const struct report *report);
