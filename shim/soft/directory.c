/*
 * The directory in which the files of the fabric lie
 *
 *	DIR/fabric			who takes part (fabric.c)
 *	DIR/node.NODE.INSTANCE.0	a process's segment
 *	DIR/pipe.NODE.INSTANCE.ID	events for a process (pipe.c)
 *	DIR/cm				who has bound which port (cm_port.c)
 *	DIR/cmid.NODE.INSTANCE.SERIAL	messages to an id (cm_wire.c)
 *
 * Nobody else may enter it, since who can write a segment can make its
 * readers write to their own memory. So it is a real directory, not a link,
 * ours, and closed to others; all else is refused.
 */
#include "shim/soft/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[DIRECTORY_PATH];

static int choose(void)
{
	const char *given = getenv("VERBATIM_SOFT_FABRIC");
	int n;

	if (given && *given)
		n = snprintf(path, sizeof(path), "%s", given);
	else
		n = snprintf(path, sizeof(path), "/dev/shm/verbatim-soft-%u",
			     (unsigned int)geteuid());
	return n < (int)sizeof(path) ? 0 : -ENAMETOOLONG;
}

static int check(void)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077))
		return -EPERM;
	return 0;
}

int directory_open(bool *ret_made)
{
	int err = choose();
	bool made;

	if (err < 0)
		return err;
	made = mkdir(path, 0700) == 0;
	if (!made && errno != EEXIST)
		return -errno;
	err = check();
	if (err < 0)
		return err;
	*ret_made |= made;
	return 0;
}

void directory_remove(const char *last)
{
	char gone[DIRECTORY_PATH + 32], name[DIRECTORY_PATH + 48];

	snprintf(gone, sizeof(gone), "%s.gone.%d", path, (int)getpid());
	if (rename(path, gone) < 0)
		return;
	snprintf(name, sizeof(name), "%s/%s", gone, last);
	unlink(name);
	rmdir(gone);
}

const char *directory_path(void)
{
	return path;
}

void directory_sweep(bool (*keep)(uint32_t node, uint64_t instance))
{
	DIR *dir = opendir(path);
	unsigned long long instance;
	struct dirent *entry;
	unsigned int node;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (sscanf(entry->d_name, "%*[a-z].%u.%llu.", &node, &instance) != 2)
			continue;
		if (!keep(node, instance))
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
}
