#pragma once
/*
 * Errors of several queue pairs that have one cause, to be told once.
 *
 * One thread.
 */
#include "analyzer/facts/first.h"

struct group {
	size_t first; /* index of the one that is told */
	size_t n;     /* with it */
	size_t nprocesses;
	uint64_t flushes; /* of all queue pairs */
};

struct groups {
	struct group *errors; /* the same status, request and place; in order of time */
	size_t nerrors;
};

/* Equal where two errors are told once. */
uint64_t group_key_of_error(struct trace *trace, const struct first_error *error);

/* Returns 0 or -ENOMEM after log_err(). */
int groups_make(struct trace *trace, const struct first_list *errors, struct groups *ret_groups);

void groups_fini(struct groups *groups);
