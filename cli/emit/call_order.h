#pragma once
/*
 * The order between a control verb and events of other threads.
 */
#include "cli/emit/maker.h"

/* Does the call end or break an object, so that it is ordered by its return? */
bool call_is_late(const struct call *call);

/*
 * Note the objects that the call creates and connects, and add the waits that it needs. 0 or
 * -errno.
 */
int call_order(struct maker *maker, const struct call *call);
