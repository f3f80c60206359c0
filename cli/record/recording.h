#pragma once
/*
 * Running and recording a program. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/check_options.h"
#include "cli/record/alerts.h"
#include "cli/record/launch.h"
#include "cli/record/retention.h"
#include "cli/record/stop_point.h"
#include "core/wire/session.h"

struct node;

struct recording_running;

struct recording_settings {
	const char *path;   /* of the trace */
	const char *device; /* the value of --device; NULL: not given */
	char **program;
	const struct recording_running *running; /* NULL: @program is started */
	struct launch_held_process
		*held; /* its held process (launch_hold()); NULL: started as usual */
	bool soft;
	bool lttng;
	bool memory;
	bool strict;
	bool live;
	bool check;
	struct check_settings findings; /* with --check */
	struct suppressions *known;     /* known findings; NULL: none */
	const char *faults;             /* the file of --faults; NULL: none */
	struct stop_setting stop;
	struct alerts_settings alerts;
	bool core;
	bool quiet;
	bool shared; /* the recording is shared with other recorders of the job on this node */
	uint64_t ring_bytes;
	uint64_t ring_budget; /* 0: computed by core/wire/budget.h */
	int64_t max_wait;     /* ns */
	int64_t linger;       /* ns */
	unsigned int on_full; /* enum session_on_full */
	struct session_filter filter;
	uint32_t redact;            /* REDACT_* */
	uint64_t payload;           /* core/wire/payload.h */
	struct retention retention; /* settings of --flight and --rotate-* */
	/* the node, whose recorders start the programs; NULL: we start the program */
	struct node *node;
};

/*
 * Run and record the program, or those of the node's recorders, to their end. Returns the exit
 * status.
 */
int recording_run(const struct recording_settings *settings);
