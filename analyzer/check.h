#pragma once
/*
 * All rules over the events of a trace.
 *
 * Events must be in time order: check_trace() reads them from a file; check_event() takes one at a
 * time, also from a trace that is still being written (trace_follow()). Not thread-safe.
 */
#include <stdbool.h>

#include "analyzer/rules/findings.h"

struct check_options {
	bool mute[RULE_COUNT];
	bool mute_fact[FACT_COUNT]; /* reported, but without effect on the exit status */
	bool no_hazards;
	char fail_on; /* the lowest severity that makes the check fail: 'E', 'W', 'H'; 0: 'W' */
};

/*
 * Check @trace. @options may be NULL. Returns 0 and findings, which the caller frees by
 * findings_free(); or -errno after log_err() with *@ret_findings untouched.
 */
int check_trace(struct trace *trace, const struct check_options *options,
		struct findings **ret_findings);

struct checker;

/* To check step by step: open, pass each event in time order, finish. */
int check_open(struct trace *trace, const struct check_options *options,
	       struct checker **ret_checker);
int check_event(struct checker *checker, const struct trace_event *event);
/*
 * For a trace that is still being written: update which events are missing; rules that cannot be
 * checked without them report nothing more. Returns 1 if more events are missing than when earlier
 * events were checked, so that these might now be judged differently; else 0; or -errno after
 * log_err().
 */
int check_gaps(struct checker *checker);
/* Do findings of @severity make the check fail? */
bool check_is_failure(const struct findings *findings, char severity);

/* Are there findings that make the check fail, or bad facts that are not muted? */
bool check_is_bad(const struct findings *findings);

/* The findings until now, borrowed. */
const struct findings *check_findings(const struct checker *checker);

int check_finish(struct checker *checker, struct findings **ret_findings);

/* May be called without check_finish(). Accepts NULL. */
void check_close(struct checker *checker);
