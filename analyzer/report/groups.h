#pragma once
/*
 * Groups errors that are the same in several queue pairs, places or processes, so that they are
 * reported once.
 *
 * Not thread-safe.
 */
#include "analyzer/facts/first_errors.h"
#include "core/base/map.h"

struct group {
	size_t first;   /* index of the member that is reported */
	uint64_t count; /* number of members, with the first */
	size_t nprocesses;
	uint64_t flushes; /* behind errors */
};

/* All zero: empty; groups are in the order of their first members. */
struct groups {
	struct group *all;
	size_t n;
	struct map by_key; /* 1 + index */
	struct map seen;   /* processes of groups */
	int err;           /* -ENOMEM: members are missing */
};

/* Add member @i, of @process, to group @key; it stands for @count errors. NULL if out of memory. */
struct group *groups_add(struct groups *groups, uint64_t key, size_t i, uint32_t process,
			 uint64_t count);

/* Group errors by status, request and place. Returns 0 or -ENOMEM after log_err(). */
int groups_add_errors(struct trace *trace, const struct first_list *errors,
		      struct groups *ret_groups);

/* Equal for errors of one group. */
uint64_t group_key_of_error(struct trace *trace, const struct first_error *error);

void groups_fini(struct groups *groups);
