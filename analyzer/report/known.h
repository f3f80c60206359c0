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
 * program's path or its last part. Patterns are those of fnmatch(3), a blank is '?'. known_write()
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
int known_open(const char *suppress, const char *baseline, char complaint[KNOWN_COMPLAINT],
	       struct known **ret_known);

/* Accepts NULL. */
void known_close(struct known *known);

/* Set @known of all findings of the report that are new since the last call. NULL does nothing. */
void known_mark_findings(struct known *known, const struct report *report);

/* Mark all known facts, after the last event. They are reported nevertheless. */
void known_mark_facts(struct known *known, const struct report *report);

/*
 * Note on stderr which suppressions matched nothing, and which entries of the baseline are missing
 * in the trace, for rules that were checked. NULL does nothing.
 */
void known_report(const struct known *known, const struct findings *findings);

/* The number of findings with @known; a suppressed one is not counted again in the baseline. */
uint64_t known_count(const struct findings *findings, enum finding_known known);

/* Print "; 3 suppressed by FILE, 2 in the baseline FILE", or nothing. */
void known_print_sum(const struct report *report);

bool known_has_baseline(const struct known *known);

/* May known_write() write @path? An existing file must be a baseline, or empty. Same results. */
int known_check_target(const char *path);

/*
 * Write the findings of the report, except suppressed ones, to the baseline @path. 0 or -errno
 * after log_err().
 */
int known_write(const char *path, const struct report *report);
