#pragma once
/*
 * Selects the device of a program, and sets the environment that it needs for that. Not
 * thread-safe.
 */
#include <limits.h>
#include <stdbool.h>

#define DEVICE_SYSFS "/sys/class/infiniband"

/*
 * Select the software device if @asked is "soft", or if it is NULL and @sysfs lists no device.
 * Returns 0; or -ENODEV, after one line, if the requested device does not exist.
 */
int device_choose(const char *asked, const char *sysfs, bool *ret_soft);

/*
 * "soft:eth0", "soft:10.0.0.5": the software device, with that wire. Sets VERBATIM_SOFT_WIRE, and
 * returns "soft"; any other name, "soft:" without a wire, or NULL is returned unchanged.
 */
const char *device_set_wire(const char *asked);

/* Note on stderr that the software device is used by default. */
void device_report_soft(void);

/*
 * A note for each device below @root ("": the machine; only @asked, if not NULL) whose node in
 * /dev/infiniband this user may not open: programs then find the device, and fail to open it.
 */
void device_report_closed(const char *asked, const char *root);

/*
 * Put the variables that a traced program (@dir: the session's directory, or NULL) or a soft device
 * needs into our environment, for the program to inherit. Returns 0 or -errno after one line: our
 * libraries are missing, or their path is not usable.
 */
int device_set_environment(const char *dir, bool soft);

/* Preload the library that records calls that release memory. 0 or -errno after log_err(). */
int device_watch_memory(void);

/* The path of @name, one of our libraries. Returns 0, or -errno as above. */
int device_find_library(const char *name, char path[PATH_MAX]);
