#pragma once
/*
 * Reading a faults file. Not thread-safe.
 */
#include <stdio.h>

#include "core/faults/link_model.h"
#include "core/faults/rule.h"

struct faults_reader {
	enum fault_maker maker;
	/* Called for each rule. 0, or -errno, which ends reading. NULL: rules are ignored. */
	int (*rule)(void *context, const struct fault_rule *rule);
	/*
	 * Called for the link model of process @node, -1: of all processes. Returns and NULL: as
	 * above.
	 */
	int (*link)(void *context, const struct link_model *model, int node);
	/* Called if line @line is wrong. 0: continue; or -errno, which ends reading. */
	int (*wrong)(void *context, unsigned int line, const char *why);
	void *context;
};

enum { FAULTS_FILE_MAX = 1 << 20 };

/*
 * The absolute path of the file that libverbatim.so reads; and PID:FD, a memory file of that
 * process: an int, the number of processes that have opened a device.
 */
#define FAULTS_ENV     "VERBATIM_FAULTS"
#define FAULTS_RUN_ENV "VERBATIM_FAULTS_RUN"
#define FAULTS_COUNTER "verbatim-faults"

/* If set, the program is a replay, and may request faults from libverbatim.so. */
#define FAULTS_GIVEN_ENV "VERBATIM_FAULTS_GIVEN"

/* Read all lines of @file. 0, or the -errno of a callback. */
int faults_read(FILE *file, const struct faults_reader *reader);
