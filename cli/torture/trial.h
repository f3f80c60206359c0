#pragma once
/*
 * What the trace of a run shows: findings, the failure, and what the program called after it. Not
 * thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/report/places.h"
#include "analyzer/rules/findings.h"
#include "cli/torture/failures.h"
#include "cli/torture/run.h"

/* A trace that is being judged. */
struct trial {
	struct report report;
	struct findings *findings;
	const struct failure *failure;
	bool occurred;   /* the failure is in the trace */
	bool again;      /* the call that failed succeeded later, from the same place */
	bool *cleaned;   /* by process: it destroyed an object after the failure, not a library */
	int signal;      /* signal that killed a process; 0: none */
	uint32_t killed; /* the process that was killed */
	enum verb verb;  /* the last one of the process that was killed; VERB_COUNT: none */
	uint32_t stack;
};

/*
 * Open and check the trace of @run. The caller has set trial->failure, or NULL for a run without
 * one. 0 or -errno after log_err(); trial_fini() in either case.
 */
int trial_open(struct trial *trial, const struct run *run);
void trial_fini(struct trial *trial);

/* Note from the events whether the failure occurred, and what followed. 0 or -errno. */
int trial_read_events(struct trial *trial);

/*
 * Find the request of the failure. A late completion, an event, or a status that the program never
 * polls leaves no result: such a failure has occurred if its request was posted. The recorder marks
 * each failure that it injects.
 */
int trial_find_request(struct trial *trial, const struct run *run);

/* Does a program that crashes end by @signal? */
bool trial_is_crash(int signal);

/* Note the first process that was killed by such a signal. */
void trial_find_crash(struct trial *trial);
