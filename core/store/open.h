#pragma once
/*
 * Opening a recorded trace.
 */
#include "core/store/read/trace.h"

/*
 * Open the trace at @path for reading. A trace whose recorder died is completed first, if it and
 * the files beside it belong to this user (vfs.h).
 *
 * Returns 0 and a trace for trace_close(); or -errno with *@ret_trace untouched, after log_err():
 * -EINVAL it is not a Verbatim trace or is damaged, -EPROTO it has another version, -EBUSY still
 * being recorded. The file is locked until trace_close(): it does not change while it is read.
 */
int trace_open(const char *path, struct trace **ret_trace);

/*
 * Release the lock for statements of users: then the file is locked only while a statement runs. 0
 * or -errno.
 */
int trace_unlock(struct trace *trace);
