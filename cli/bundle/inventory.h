#pragma once
/*
 * What a trace holds that may be nobody else's business, and what a reader of it needs to know.
 * One thread.
 */
#include <stdbool.h>

#include "core/base/text.h"

struct trace;

/* A line for each kind that there is: "GIDs: 4". */
void inventory_print(struct trace *trace, bool anonymised);

/* The object files of its processes, each with its build id. */
int inventory_add_builds(struct trace *trace, struct text *to);

/* Of verbatim, the format, libibverbs and the kernel; with @here of this machine as well. */
int inventory_add_versions(struct trace *trace, bool here, struct text *to);
