#pragma once
/*
 * Writes a trace with plain tables only: any SQLite reads it without the extension, and its data
 * plane may be edited.
 */

/*
 * Write the trace @from as @to. An existing @to is treated as by writer_create().
 * Returns 0 or -errno after log_err().
 */
int trace_unpack(const char *from, const char *to);
