/*
 * Opening a file with an untrusted name
 *
 * O_PATH refers to the file without opening it. The file is checked, and then opened through /proc:
 * so another process cannot replace it in between.
 */
#include "core/wire/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* Is it a file of the kernel? Those are generated while they are read, which may take any time. */
static bool is_of_kernel(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) || fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC ||
	       fs.f_type == DEBUGFS_MAGIC || fs.f_type == TRACEFS_MAGIC;
}

static int check_file(int fd, uint64_t most, uint64_t *ret_size)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || is_of_kernel(fd))
		return -EINVAL;
	if ((uint64_t)st.st_size > most)
		return -EFBIG;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

int regular_open(const char *path, uint64_t most, uint64_t *ret_size)
{
	int place = open(path, O_PATH | O_CLOEXEC), fd;
	char same[32];
	int err;

	if (place < 0)
		return -errno;
	err = check_file(place, most, ret_size);
	if (!err) {
		snprintf(same, sizeof(same), "/proc/self/fd/%d", place);
		fd = open(same, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		err = fd < 0 ? -errno : fd;
	}
	close(place);
	return err;
}
