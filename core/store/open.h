#pragma once
/*
 * Opening a recorded trace.
 */
#include "core/store/read/trace.h"

/*
 * Open the trace at @path for reading. A trace whose recorder died is
 * completed first, if it and what lies beside it are ours (vfs.h).
 *
 * Returns 0 and a trace to be given to trace_close(); or -errno with
 * *@ret_trace untouched, after log_err(): -EINVAL it is not a trace of ours or
 * is damaged, -EPROTO another version's, -EBUSY still being recorded.
 */
int trace_open(const char *path, struct trace **ret_trace);
