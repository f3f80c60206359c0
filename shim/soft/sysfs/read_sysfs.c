/*
 * Functions of libibverbs that read sysfs
 */
#include "shim/soft/sysfs/sysfs_tree.h"

#include <stdio.h>
#include <stdlib.h>

#include "shim/soft/verbs/enter.h"

/* Functions that no header of libibverbs-dev declares. */
int ibv_read_sysfs_file(const char *dir, const char *name, char *buf, size_t size);
const char *ibv_get_sysfs_path(void);

EXPORT int ibv_read_sysfs_file(const char *dir, const char *name, char *buf, size_t size)
{
	char path[512], there[SYSFS_TREE_PATH];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	/* redirect the path here: if libc is searched first, its own fopen() is called */
	file = fopen(sysfs_tree_path(path, there), "re");
	if (!file)
		return -1;
	n = fread(buf, 1, size, file);
	fclose(file);
	if (n > 0 && buf[n - 1] == '\n')
		buf[--n] = '\0';
	else if (n < size)
		buf[n] = '\0';
	else
		return -1;
	return n;
}

EXPORT const char *ibv_get_sysfs_path(void)
{
	const char *path = getenv("SYSFS_PATH");

	return path ? path : "/sys";
}
