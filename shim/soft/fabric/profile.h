#pragma once
/*
 * What the device looks like: its names, limits and ports.
 *
 * Its own are those of profile_own.c and link.c. VERBATIM_SOFT_PERSONA names a file
 * that describes another machine's (docs/SOFT-DEVICE.md has its form). Read
 * once, as the library is loaded; any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "shim/soft/fabric/profile_own.h"

/* Never NULL. The device's own profile if there is no file, or no valid one. */
const struct profile *profile_get(void);

/* The limits of that profile. */
static inline const struct ibv_device_attr *profile_limits(void)
{
	return &profile_get()->attr.orig_attr;
}

/*
 * Is the file valid? 0, or -errno; the first call reports the error on stderr.
 */
int profile_check(void);

/*
 * Read the file at @path into *@out. 0; or -EINVAL, or -errno if it cannot be read, with one line
 * about it in @why.
 */
enum { PROFILE_WHY = 256 };
int profile_read(const char *path, struct profile *out, char why[PROFILE_WHY]);
