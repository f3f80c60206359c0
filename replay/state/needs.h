#pragma once
/*
 * Features that the recorded programs used and that the devices of this machine lack.
 *
 * Not thread-safe.
 */
#include <stdbool.h>

#include "core/store/db/ids.h"

struct replay;

/*
 * Compare the trace with the devices, unless these are like the recorded ones. Returns 0;
 * -EOPNOTSUPP after a line that names all missing features; or, if the options say that calls that
 * need these are left out, 0: needs_lacks() then reports each call.
 */
int needs_check(struct replay *r);

/* Why the call at @event cannot be replayed, "XRC, which mlx5_0 lacks"; or NULL. */
const char *needs_lacks(const struct replay *r, struct event_id event);

void needs_fini(struct replay *r);
