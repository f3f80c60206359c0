#pragma once
/*
 * Running a command on each node of a job, through a launcher or ssh. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/job/nodes.h"

struct ask {
	const char *via; /* words before our command; "%n" is the node, "%j" the job */
	const char *job; /* NULL: not known */
	char **words;    /* our own command, NULL after the last word */
	const char *dir; /* for NODE.out and NODE.err: what each node prints */
	uint32_t at_once;
	int64_t patience; /* ns, for each node */
};

/*
 * Ask all @nodes. @answered[i]: the command on node i has ended with 0; otherwise NODE.err has the
 * reason. Returns 0, or -errno after log_err() if no node was asked.
 */
int ask_nodes(const struct ask *ask, const struct nodes *nodes, bool *answered);

/* The path of what @node has printed: @kind is "out" or "err". */
void ask_format_path(const struct ask *ask, const char *node, const char *kind, char path[4096]);
