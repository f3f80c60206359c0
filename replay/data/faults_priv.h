#pragma once
/* Shared by faults.c and faults_learn.c. */
#include "core/base/map.h"
#include "replay/data/faults.h"
#include "replay/device/fault_maker.h"

struct wc;

/* Where the trace shows that a request failed. */
struct shown_failure {
	struct event_id poll;
	enum verb verb;
	uint32_t index, qp;
	int status;
	struct event_id request;
};

struct fault_plan {
	struct fault_maker maker;
	struct map forced;   /* event of a post, to its request that failed: pack_forced_status() */
	struct map shown_of; /* event of a post, to 1 + the index in @shown */
	struct shown_failure *shown;
	size_t nshown;
	uint64_t struck;   /* errors that were injected before a post */
	struct map sudden; /* event of a poll, to the failure before it: pack_sudden() */
	bool *erred;       /* by object: a queue pair with failed requests or receives */
	uint64_t raised;   /* number of asynchronous events that were injected */
};

/* faults_learn.c: the errors of the trace. 0 or -errno after log_err(). */
int faults_learn(struct replay *r, struct fault_plan *plan);
