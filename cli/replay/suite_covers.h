#pragma once
/*
 * A short description of what a trace covers, for a table of many traces. One thread.
 */
#include <stdbool.h>

#include "core/base/text.h"

struct trace;

/*
 * Add "RC, SRQ; SEND, RDMA_WRITE; REM_ACCESS_ERR; refused modify_qp" to @covers. *@ret_alone: it
 * must be replayed alone, since it uses names that others on the same device could use, too.
 * Returns 0 or -errno.
 */
int suite_covers(struct trace *trace, struct text *covers, bool *ret_alone);
