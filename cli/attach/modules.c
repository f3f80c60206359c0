/*
 * Opens the files of mappings that have code
 */
#include "cli/attach/modules.h"

#include <unistd.h>

#include "cli/attach/facts.h"

/* Is @map the beginning of a file of which a later mapping has code? */
static bool begins_module(const struct target *process, const struct target_map *map)
{
	const struct target_map *end = process->maps + process->nmaps, *at = map;

	if (map->offset || map->path[0] != '/' || !map->inode)
		return false;
	for (; at < end && at->inode == map->inode; at++)
		if (at->mode[2] == 'x')
			return true;
	return false;
}

/* Open the file of a mapping, if it is still the one that is mapped; else -1. */
int modules_open_file(const struct facts *facts, const struct target_map *map)
{
	const struct target *process = &facts->process;
	struct stat st;
	int fd = begins_module(process, map) ? target_open(process, map->path, &st) : -1;

	if (fd >= 0 && st.st_ino == map->inode)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

size_t modules_open(const struct facts *facts, modules_open_fn *open,
		    struct unwind_module modules[UNWIND_MODULES])
{
	const struct target *process = &facts->process;
	size_t n = 0;

	for (size_t i = 0; i < process->nmaps && n < UNWIND_MODULES; i++) {
		int fd = open(facts, &process->maps[i]);

		if (fd >= 0)
			modules[n++] = (struct unwind_module){ process->maps[i].start,
							       process->maps[i].path, fd };
	}
	return n;
}

void modules_close(struct unwind_module *modules, size_t n)
{
	while (n)
		close(modules[--n].fd);
}
