#pragma once
/*
 * What a control verb waits for in other threads, and what waits for it.
 */
#include "cli/emit/maker.h"

/* Does it end or break something, so that its place is where it returns? */
bool call_is_late(const struct call *call);

/* Learn what the call makes and connects, and add what it waits for. 0 or -errno. */
int call_order(struct maker *maker, const struct call *call);
