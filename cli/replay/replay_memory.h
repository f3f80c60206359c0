#pragma once
/*
 * The default of --max-memory. Any thread.
 */
#include <stdint.h>

enum { REPLAY_MEMORY_SHARE = 4 };

#define REPLAY_MEMORY_DEFAULT UINT64_MAX /* of struct replay_settings: the user gave none */
#define REPLAY_MEMORY_LEAST   (64ull << 20)

/*
 * Bytes that programs can allocate, by @path, NULL: /proc/meminfo, and at most @cgroup_limit.
 * UINT64_MAX: unknown.
 */
uint64_t replay_memory_available(const char *path, uint64_t cgroup_limit);

/* A share of @available; 1 GiB if that is unknown. */
uint64_t replay_memory_default(uint64_t available);
