#pragma once
/*
 * What the recorded programs used, and the devices at hand lack.
 *
 * One thread.
 */
#include <stdbool.h>

#include "core/store/db/ids.h"

struct replay;

/*
 * Compare the trace with the devices, unless these are alike to the recorded ones. Returns 0;
 * -EOPNOTSUPP after a line that names all that is missing; or, if the options say that this is to
 * be left out, 0 with what needs_lacks() knows.
 */
int needs_check(struct replay *r);

/* Why the call at @event cannot be made here, "XRC, which mlx5_0 lacks"; or NULL. */
const char *needs_lacks(const struct replay *r, struct event_id event);

void needs_fini(struct replay *r);
