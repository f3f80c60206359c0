#pragma once
/*
 * The software device in place of the recorded one. Not thread-safe.
 */
#include <stdbool.h>

#include "core/store/read/trace.h"

/* Was @trace recorded on another device than the software device? */
bool persona_is_other_device(struct trace *trace);

/*
 * Put a description of the recorded device (docs/SOFT-DEVICE.md, "Another machine's device") into
 * our environment, for the software device of a child; unless the user has described one, or the
 * recorded device was the software device. 0 or -errno after log_err().
 */
int persona_write_profile(struct trace *trace);

/* Is a device described in our environment? */
bool persona_is_taken(void);
