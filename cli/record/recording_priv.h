#pragma once
/*
 * A recording, for recording.c (its rounds) and recording_prepare.c (what it needs before them).
 * Not thread-safe.
 */
#include "cli/record/collector.h"
#include "cli/record/descendants.h"
#include "cli/record/device_counters.h"
#include "cli/record/idle.h"
#include "cli/record/progress.h"
#include "cli/record/recording.h"
#include "cli/record/signal_witness.h"
#include "cli/record/standby.h"
#include "cli/record/live_stats.h"
#include "cli/record/watch.h"
#include "core/store/anonymise/redact.h"

struct recording {
	const struct recording_settings *set;
	struct session session;
	struct writer *writer;
	struct collector *collector;
	struct live_stats *vitals;
	pid_t onlooker;      /* 0 without --live */
	struct watch *watch; /* NULL without --check */
	struct signal_witness witness;
	struct stop_point spot;
	struct progress progress;
	struct retention retention;
	struct alerts *alerts;
	struct redact *redact; /* NULL: only passwords are */
	struct device_counters counters;
	struct idle idle;
	struct standby standby; /* of a node's collector */

	pid_t child;
	uint64_t child_start;           /* of a running program */
	uint64_t until;                 /* when to leave a running program; 0: never */
	bool ended;                     /* the child */
	int status;                     /* the child's exit status, as in a shell */
	struct descendants descendants; /* the program's descendants, after it has ended */
	uint64_t tended_at;
	bool gone;           /* the session's directory */
	bool bypassed;       /* it was reported that posts may bypass the verbs */
	uint32_t gave_up;    /* threads of the program that gave up waiting for us so far */
	sigset_t pending;    /* signals to pass on */
	uint64_t pending_at; /* 0: none */
	uint64_t asked_at;   /* time of the first signal that asked us to end; 0: none */
	int asked;           /* that signal */
	bool stop;           /* second signal: leave the program running */
	int error;
};

/* Create session, trace and the environment by which the program finds both. 0 or -errno. */
int recording_prepare(struct recording *recording);
