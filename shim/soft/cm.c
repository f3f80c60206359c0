/*
 * The connection manager's device
 */
#include "shim/soft/cm.h"

#include <errno.h>

int cm_open(int flags)
{
	(void)flags;
	errno = ENOENT;
	return -1;
}

bool cm_owns(int fd)
{
	(void)fd;
	return false;
}

ssize_t cm_write(int fd, const void *buf, size_t len)
{
	(void)fd;
	(void)buf;
	(void)len;
	errno = EBADF;
	return -1;
}

void cm_close(int fd)
{
	(void)fd;
}
