/*
 * The default of --max-memory
 */
#include "cli/replay/replay_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/test.h"

static uint64_t available_of(const char *meminfo, uint64_t cgroup_limit)
{
	char path[] = "/tmp/meminfo-XXXXXX";
	int fd = mkstemp(path);
	uint64_t bytes;

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "%s", meminfo) >= 0);
	close(fd);
	bytes = replay_memory_available(path, cgroup_limit);
	unlink(path);
	return bytes;
}

TEST(available_memory_is_within_the_cgroup)
{
	static const char meminfo[] = "MemTotal: 4000 kB\nMemFree: 5 kB\nMemAvailable: 2000 kB\n";

	assert_int_equal(available_of(meminfo, UINT64_MAX), 2000 << 10);
	assert_int_equal(available_of(meminfo, 1000), 1000);
	assert_true(available_of("MemFree: 5 kB\n", UINT64_MAX) == UINT64_MAX);
	assert_true(replay_memory_available("/no/such/file", UINT64_MAX) == UINT64_MAX);
}

TEST(default_is_a_quarter_of_it)
{
	assert_true(replay_memory_default(8ull << 30) == 2ull << 30);
	assert_true(replay_memory_default(0) == REPLAY_MEMORY_LEAST);
	assert_true(replay_memory_default(UINT64_MAX) == 1ull << 30);
}
