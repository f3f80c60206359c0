#pragma once
/*
 * What stalls.c collects when processes end, and stalls_finish.c judges at the end of the trace.
 */
#include "analyzer/facts/stalls.h"

/* What a process looked like when it ended. */
struct stall_note {
	struct activity_note threads;
	bool idle;         /* the samples show that it had polled for the last time long before */
	bool unknown;      /* something is outstanding, and its peer is not known */
	bool misled, full; /* stall.object and the like are about that, */
	bool unpolled;     /* or about a completion that has come */
	uint32_t unpolled_cq;   /* of that: object */
	char cq[LIFE_NAME];     /* of the first of its links */
	struct event_id failed; /* its last call that failed, */
	int error;              /* with that errno */
	struct moment forked;   /* the last fork, of a process that may have not ended yet */
	char how[16];
};

struct stalls_work {
	struct trace *trace;
	const struct activity *activity;
	struct stall_note *notes; /* by process */
	size_t n;
	struct stalls_cm *cm;
	struct stalls_gram *grams;
};
