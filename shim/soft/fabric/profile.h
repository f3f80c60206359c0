#pragma once
/*
 * The device's properties: its names, limits and ports.
 *
 * The defaults are in profile_own.c and link.c. VERBATIM_SOFT_PERSONA names a file that describes
 * another machine's device (docs/SOFT-DEVICE.md has the format). Read once, when the library is
 * loaded; any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "shim/soft/fabric/profile_own.h"

/*
 * The profile of this process, never NULL: the default one if there is no file, or no valid file.
 */
const struct profile *profile_get(void);

/* The limits of the profile in use. */
static inline const struct ibv_device_attr *profile_limits(void)
{
	return &profile_get()->attr.orig_attr;
}

/* Is the file valid? 0 or -errno; the first failing call reports the error on stderr. */
int profile_check(void);

/*
 * Read the file at @path into *@out. 0; or -EINVAL, or -errno if it cannot be read, with one line
 * about the error in @why.
 */
enum { PROFILE_WHY = 256 };
int profile_read(const char *path, struct profile *out, char why[PROFILE_WHY]);
