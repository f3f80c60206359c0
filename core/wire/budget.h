#pragma once
/*
 * How much memory the rings of one process may have
 *
 * Rings are shared memory, which the kernel charges to the memory cgroup of the
 * process that touches it first: the recorded program. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

enum {
	BUDGET_MOST = 256 << 20, /* where nothing is said and memory is plenty */
	BUDGET_MIN = 1 << 20,
	BUDGET_SHARE = 4,        /* of what the process may have at all, one part of so many */
};

/*
 * Bytes that the memory cgroup of this process and those above it allow, v1 or
 * v2; UINT64_MAX: there is no limit, or it cannot be read. @self NULL is
 * /proc/self/cgroup, @root NULL is /sys/fs/cgroup.
 */
uint64_t budget_cgroup_limit(const char *self, const char *root);

/* What a process has if nobody says another: its share of that limit, and of the machine. */
uint64_t budget_default(uint64_t cgroup_limit);
