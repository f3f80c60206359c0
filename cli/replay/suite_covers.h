#pragma once
/*
 * What a trace covers, in a few words: for a table of many traces. One thread.
 */
#include <stdbool.h>

#include "core/base/text.h"

struct trace;

/*
 * Add "RC, SRQ; SEND, RDMA_WRITE; REM_ACCESS_ERR; refused modify_qp" to @covers. *@ret_alone: it
 * needs names that others on the same device could have, too. Returns 0 or -errno.
 */
int suite_covers(struct trace *trace, struct text *covers, bool *ret_alone);
