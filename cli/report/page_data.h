#pragma once
/*
 * Data of a page that no other subcommand prints, in JSON. Not thread-safe.
 */
#include "analyzer/profile/timeline.h"
#include "core/base/json.h"
#include "core/store/read/trace.h"

/*
 * Members "timeline", "lanes" and "tables" of the object that @json is in. @timeline's queues are
 * sorted. 0 or -errno after log_err().
 */
int page_data_put(struct json *json, struct trace *trace, struct timeline *timeline,
		  const struct lanes *lanes);
