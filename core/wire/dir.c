/*
 * Opening directories and files in directories where others may write
 *
 * We open first, without following a link or waiting for the other side of a FIFO,
 * and check afterwards: fstat() then describes the opened file.
 */
#include "core/wire/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SAFELY = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
	DEPTH = 8, /* maximum depth of directories that are removed */
};

static int check_owner(const struct stat *st)
{
	return st->st_uid != geteuid() || (st->st_mode & 022) ? -EACCES : 0;
}

int dir_open(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | SAFELY), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : check_owner(&st);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int dir_open_file(int at, const char *name, int flags, uint64_t *ret_bytes)
{
	int fd = openat(at, name, flags | SAFELY), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? check_owner(&st) : -EPROTO;
	if (err) {
		close(fd);
		return err;
	}
	*ret_bytes = (uint64_t)st.st_size;
	return fd;
}

DIR *dir_list(int at)
{
	/* open it again, since the open file description has the position of the listing */
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !list)
		close(fd);
	return list;
}

static void remove_below(int at, const char *name, unsigned int depth)
{
	int dir = depth < DEPTH ? dir_open(at, name) : -1;
	DIR *list = dir >= 0 ? dir_list(dir) : NULL;

	for (struct dirent *d; list && (d = readdir(list));)
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, "..") &&
		    unlinkat(dir, d->d_name, 0))
			remove_below(dir, d->d_name, depth + 1);
	if (list)
		closedir(list);
	if (dir >= 0)
		close(dir);
	unlinkat(at, name, AT_REMOVEDIR);
}

void dir_remove(int at, const char *name)
{
	remove_below(at, name, 0);
}
