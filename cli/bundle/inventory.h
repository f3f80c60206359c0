#pragma once
/*
 * Lists confidential data in a trace, and facts that a reader of it needs. Not thread-safe.
 */
#include <stdbool.h>

#include "core/base/text.h"

struct trace;

/* A line for each kind in the trace: "GIDs: 4". */
void inventory_print(struct trace *trace, bool anonymised);

/* The object files of its processes, each with its build id. */
int inventory_add_builds(struct trace *trace, struct text *to);

/*
 * Versions of verbatim, the format, libibverbs and the kernel; @here: also the versions on this
 * machine.
 */
int inventory_add_versions(struct trace *trace, bool here, struct text *to);
