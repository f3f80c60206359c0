#pragma once
/*
 * A program is run and recorded. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/record/retention.h"
#include "core/wire/session.h"

/* What is to be stopped: a process with a finding of severity error. */
enum { STOP_ON_ERROR = 1 };

struct recording_settings {
	const char *path;   /* of the trace */
	const char *device; /* as it was asked for; NULL: it was not */
	char **program;
	bool soft;
	bool lttng;
	bool check;
	unsigned int stop_on; /* STOP_ON_ERROR, or 0 */
	bool quiet;
	uint64_t ring_bytes;
	uint64_t ring_budget; /* 0: as core/wire/budget.h says */
	int64_t max_wait;     /* ns */
	unsigned int on_full; /* enum session_on_full */
	struct session_filter filter;
	uint64_t payload;           /* core/wire/payload.h */
	struct retention retention; /* what --flight and --rotate-* ask for */
};

/* From its start to its end. Returns the status to exit with. */
int recording_run(const struct recording_settings *settings);
