#pragma once
/*
 * The facts of the first screen as one list, for all report formats: verbs that failed, calls that
 * never returned, completions in error, processes that were killed, fatal events.
 *
 * Not thread-safe.
 */
#include "analyzer/report/fingerprint.h"

struct listed_fact {
	enum fact_kind kind;
	struct event_id event;
	int64_t time;
	uint32_t process, thread;
	enum verb verb;     /* VERB_COUNT: none */
	uint32_t stack;     /* of the event, or of the failed request; 0 none */
	const char *object; /* "qp1"; NULL: none */
	const char *says;
	uint64_t count;
	unsigned int known; /* enum finding_known */
	char fingerprint[FINGERPRINT];
};

/* Call @tell for each fact, also muted or known. Returns 0, the result of @tell, or -ENOMEM. */
int fact_list_each(const struct report *report,
		   int (*tell)(void *arg, const struct listed_fact *fact), void *arg);
