#pragma once
/*
 * The table-valued function `queue_depth`: what was outstanding on a queue, over time.
 */
#include "core/store/vtab/made.h"

extern const struct made_table depth_table; /* its argument is the trace */
