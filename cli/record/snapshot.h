#pragma once
/*
 * A copy of a trace that is being recorded. Not thread-safe.
 */
#include <limits.h>

#include "core/wire/session.h"

/*
 * Ask the recorder of @session for a copy and wait for it. Returns 0 and its path; or -errno after
 * log_err(): -ESRCH without a message, the recorder has ended.
 */
int snapshot_take(struct session *session, char path[PATH_MAX]);
