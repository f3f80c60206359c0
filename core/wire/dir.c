/*
 * Directories and files beside which others may write
 *
 * Opened first, without following a link or waiting for the other side of a
 * FIFO, and looked at afterwards: what fstat() says is of what was opened.
 */
#include "core/wire/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAFELY = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };

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
	/* another opening: its place in the list is its own */
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !list)
		close(fd);
	return list;
}
