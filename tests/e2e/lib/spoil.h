#pragma once
/* Compiled into the recorder by tests/e2e/errno.sh. */
#include <errno.h>

/* Returns errno, and changes it. */
static inline int spoil_errno(void)
{
	int was = errno;

	errno = ENOTRECOVERABLE;
	return was;
}
