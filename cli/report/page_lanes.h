#pragma once
/*
 * The single requests of a page, as JSON (format: page_lanes.c). Not thread-safe.
 */
#include "analyzer/profile/lanes.h"
#include "core/base/json.h"
#include "core/store/read/trace.h"

void page_lanes_put(struct json *json, struct trace *trace, const struct lanes *lanes);
