/*
 * The memory limit of the rings of one process
 *
 *	/proc/self/cgroup    4:memory:/a/b       v1: ROOT/memory/a/b/memory.limit_in_bytes
 *	                     0::/a/b             v2: ROOT/a/b/memory.max
 *
 * The smallest limit on the path to the root is used. In a container, the path may be that of the
 * host, of which only the last part or nothing exists in the container: the files that exist are
 * read.
 *
 * Not here: how much memory is in use (shim/trace/ring/rings.c).
 */
#include "core/wire/budget.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/*
 * Allocated with mmap(), not on the stack: the thread that calls the first verb may have a small
 * stack.
 */
struct scratch {
	char groups[4096], dir[PATH_MAX], path[PATH_MAX + 64];
};

static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Read a limit: "max" or a number; v1 writes "no limit" as a number larger than any memory. */
static uint64_t read_limit(const char *path)
{
	char text[32];

	return read_text(path, text, sizeof(text)) && isdigit((unsigned char)*text)
		       ? strtoull(text, NULL, 10)
		       : UINT64_MAX;
}

/*
 * The smallest limit in @file of @group, a path below @root and @below, and in those of all its
 * parent groups.
 */
static uint64_t find_least_limit(struct scratch *s, const char *root, const char *below,
				 const char *group, const char *file)
{
	const size_t top = strlen(root) + strlen(below);
	uint64_t least = UINT64_MAX;

	if (snprintf(s->dir, sizeof(s->dir), "%s%s%s", root, below, group) >= (int)sizeof(s->dir))
		return UINT64_MAX;
	for (;;) {
		uint64_t limit;

		snprintf(s->path, sizeof(s->path), "%s/%s", s->dir, file);
		limit = read_limit(s->path);
		least = limit < least ? limit : least;
		if (strlen(s->dir) <= top)
			return least;
		*strrchr(s->dir, '/') = '\0';
	}
}

/* Is "memory" one of the words of @list, which are separated by commas and end at a colon? */
static bool has_memory(const char *list)
{
	const size_t n = strlen("memory");

	for (;; list++) {
		if (!strncmp(list, "memory", n) && (list[n] == ',' || list[n] == ':'))
			return true;
		list += strcspn(list, ",:");
		if (*list != ',')
			return false;
	}
}

/* The limit from a line of /proc/self/cgroup: ID:CONTROLLERS:PATH. */
static uint64_t limit_of_line(struct scratch *s, const char *line, const char *root)
{
	const char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;

	if (!group || group[1] != '/')
		return UINT64_MAX;
	if (group == list + 1)
		return find_least_limit(s, root, "", group + 1, "memory.max");
	return has_memory(list + 1)
		       ? find_least_limit(s, root, "/memory", group + 1, "memory.limit_in_bytes")
		       : UINT64_MAX;
}

static uint64_t least_of_groups(struct scratch *s, const char *root)
{
	uint64_t least = UINT64_MAX;
	char *rest = s->groups, *line;

	while ((line = strsep(&rest, "\n"))) {
		uint64_t limit = limit_of_line(s, line, root);

		least = limit < least ? limit : least;
	}
	return least >= INT64_MAX / 2 ? UINT64_MAX : least;
}

uint64_t budget_cgroup_limit(const char *self, const char *root)
{
	uint64_t least = UINT64_MAX;
	struct scratch *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		return UINT64_MAX;
	if (read_text(self ? self : "/proc/self/cgroup", s->groups, sizeof(s->groups)))
		least = least_of_groups(s, root ? root : "/sys/fs/cgroup");
	munmap(s, sizeof(*s));
	return least;
}

uint64_t budget_choose_default(uint64_t cgroup_limit)
{
	struct sysinfo machine;
	uint64_t most = cgroup_limit;

	if (!sysinfo(&machine) && (uint64_t)machine.totalram * machine.mem_unit < most)
		most = (uint64_t)machine.totalram * machine.mem_unit;
	most /= BUDGET_SHARE;
	return most > BUDGET_MOST ? BUDGET_MOST : most < BUDGET_MIN ? BUDGET_MIN : most;
}
