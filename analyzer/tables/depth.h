#pragma once
/*
 * The table-valued function `queue_depth`: outstanding requests of a queue over time.
 */
#include "core/store/vtab/computed.h"

extern const struct computed_table depth_table; /* its argument is the trace */
