#pragma once
/*
 * Findings that the user knows of: those that a file of suppressions names, and those that were
 * there before, in a baseline. They do not count.
 *
 * A file of suppressions has a line each:
 *
 *	RULE [FUNCTION [PROGRAM]]  # why
 *
 * RULE is an identifier or name of a rule or of a kind of facts, or a pattern of these; FUNCTION a
 * pattern of a function or module in the stack of any step of the finding; PROGRAM one of the
 * program's path or its last part. Patterns are those of fnmatch(3), a blank is '?'. A baseline is
 * what known_write() makes.
 *
 * One thread.
 */
#include "analyzer/report/report.h"

enum { KNOWN_COMPLAINT = 512 };

/*
 * Read the files @suppress and @baseline; each may be NULL. Returns 0; or -errno with @complaint
 * filled: -EINVAL the contents are wrong.
 */
int known_open(const char *suppress, const char *baseline, char complaint[KNOWN_COMPLAINT],
	       struct known **ret_known);

/* Accepts NULL. */
void known_close(struct known *known);

/* Set @known of all findings of the report that are new since the last call. NULL does nothing. */
void known_judge(struct known *known, const struct report *report);

/* The same of all facts; when the last event has been seen. They are told nevertheless. */
void known_judge_facts(struct known *known, const struct report *report);

/*
 * Note on stderr which suppressions matched nothing, and what the baseline has and the trace has
 * not; of rules that were checked. NULL does nothing.
 */
void known_tell(const struct known *known, const struct findings *findings);

/* How many findings are @known; a suppressed one is not counted again in the baseline. */
uint64_t known_count(const struct findings *findings, enum finding_known known);

/* "; 3 suppressed by FILE, 2 in the baseline FILE", or nothing, to the report. */
void known_print_sum(const struct report *report);

bool known_has_baseline(const struct known *known);

/*
 * Write the findings of the report but for suppressed ones to the baseline @path. A file that is
 * there must be a baseline, or empty. 0 or -errno after log_err().
 */
int known_write(const char *path, const struct report *report);
