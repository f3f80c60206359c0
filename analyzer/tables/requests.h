#pragma once
/*
 * Table `requests`: each work request with its outcome.
 */
#include "core/store/vtab/made.h"

extern const struct made_table requests_table; /* its argument is the trace */
