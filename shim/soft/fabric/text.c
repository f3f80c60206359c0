/*
 * Text files named by an environment variable
 *
 * Links are followed, since the user chose the file.
 */
#include "shim/soft/fabric/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_file(int fd, const char **ret_why)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		*ret_why = strerror(errno);
		return -errno;
	}
	if (!S_ISREG(st.st_mode)) {
		*ret_why = "not a regular file";
		return -EINVAL;
	}
	if (st.st_size > TEXT_MAX) {
		*ret_why = "longer than 1 MiB";
		return -EFBIG;
	}
	return 0;
}

int text_open(const char *path, const char **ret_why)
{
	/* opening a FIFO would wait for its other side */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err;

	if (fd < 0) {
		*ret_why = strerror(errno);
		return -errno;
	}
	err = check_file(fd, ret_why);
	if (!err)
		return fd;
	close(fd);
	return err;
}
