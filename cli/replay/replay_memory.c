/*
 * The default of --max-memory: a quarter of the available memory
 *
 * Several replays can then run at once, and none makes the machine swap.
 */
#include "cli/replay/replay_memory.h"

#include <inttypes.h>
#include <stdio.h>

#define UNKNOWN_MEMORY (1ull << 30)

static uint64_t read_meminfo(const char *path)
{
	FILE *file = fopen(path, "re");
	uint64_t kib = UINT64_MAX >> 10;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib < UINT64_MAX >> 10 ? kib << 10 : UINT64_MAX;
}

uint64_t replay_memory_available(const char *path, uint64_t cgroup_limit)
{
	uint64_t bytes = read_meminfo(path ?: "/proc/meminfo");

	return bytes < cgroup_limit ? bytes : cgroup_limit;
}

uint64_t replay_memory_default(uint64_t available)
{
	uint64_t bytes = available / REPLAY_MEMORY_SHARE;

	if (available == UINT64_MAX)
		return UNKNOWN_MEMORY;
	return bytes < REPLAY_MEMORY_LEAST ? REPLAY_MEMORY_LEAST : bytes;
}
