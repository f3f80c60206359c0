#pragma once
/*
 * Limits of the memory of the rings of one process
 *
 * Rings are shared memory, which the kernel charges to the memory cgroup of the process that
 * touches it first: the recorded program. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

enum {
	BUDGET_MOST = 256 << 20, /* maximum of the default budget */
	BUDGET_MIN = 1 << 20,
	BUDGET_SHARE = 4, /* the default budget is the memory limit divided by this */
};

/*
 * The lowest memory limit in bytes of this process's cgroup and its parent groups, v1 or v2;
 * UINT64_MAX: there is none, or it cannot be read. @self NULL: /proc/self/cgroup; @root NULL:
 * /sys/fs/cgroup.
 */
uint64_t budget_cgroup_limit(const char *self, const char *root);

/*
 * The default budget of a process in bytes: a share of @cgroup_limit, or of the machine's memory.
 */
uint64_t budget_choose_default(uint64_t cgroup_limit);
