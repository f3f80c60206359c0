#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "core/wire/budget.h"
#include "tests/test.h"

static char dir[] = "/tmp/verbatim-budget-XXXXXX";
static char self[64];

/* Write @text to @path under the directory; missing directories are made. */
static void put_file(const char *path, const char *text)
{
	char whole[128];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", dir, path);
	for (char *at = whole + sizeof(dir); (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(whole, 0700);
		*at = '/';
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static uint64_t limit_of(const char *groups)
{
	put_file("self", groups);
	return budget_cgroup_limit(self, dir);
}

static int make_groups(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(self, sizeof(self), "%s/self", dir);
	put_file("memory/memory.limit_in_bytes", "9223372036854771712\n");
	put_file("memory/a/memory.limit_in_bytes", "104857600\n");
	put_file("memory/a/b/memory.limit_in_bytes", "209715200\n");
	put_file("c/memory.max", "max\n");
	put_file("c/d/memory.max", "52428800\n");
	put_file("c/d/e/memory.max", "max\n");
	return 0;
}

static int remove_groups(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

GROUP(make_groups, remove_groups);

TEST(v1_limit_is_the_least_on_the_way_up)
{
	assert_int_equal(limit_of("5:devices:/x\n4:cpu,memory:/a/b\n0::/\n"), 100 << 20);
	assert_int_equal(limit_of("4:memory:/a\n"), 100 << 20);
}

TEST(v2_limit_is_the_least_on_the_way_up)
{
	assert_int_equal(limit_of("0::/c/d/e\n"), 50 << 20);
	assert_int_equal(limit_of("0::/c/d\n"), 50 << 20);
}

/* In a container the path of the group may be the host's. */
TEST(group_that_is_not_there_has_those_above_it)
{
	assert_int_equal(limit_of("4:memory:/a/docker/0123\n"), 100 << 20);
	put_file("memory.max", "73400320\n");
	assert_int_equal(limit_of("0::/../..\n"), 70 << 20);
	assert_int_equal(limit_of("0::/\n"), 70 << 20);
	put_file("memory.max", "max\n");
}

TEST(no_limit_is_none)
{
	assert_true(limit_of("0::/c\n") == UINT64_MAX);
	assert_true(limit_of("4:memory:/\n") == UINT64_MAX);
	assert_true(limit_of("4:memoryless:/a\n") == UINT64_MAX);
	assert_true(limit_of("memory") == UINT64_MAX);
	assert_true(limit_of("") == UINT64_MAX);
	assert_true(budget_cgroup_limit("/no/such/file", dir) == UINT64_MAX);
}

TEST(default_is_a_share_within_bounds)
{
	assert_int_equal(budget_choose_default(100 << 20), 25 << 20);
	assert_int_equal(budget_choose_default(1 << 20), BUDGET_MIN);
	assert_true(budget_choose_default(UINT64_MAX) <= BUDGET_MOST);
	assert_true(budget_choose_default(UINT64_MAX) >= BUDGET_MIN);
}
