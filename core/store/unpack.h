#pragma once
/*
 * Writes a trace with plain tables only: any SQLite can read it without the extension, and users
 * may edit its data plane.
 */

/*
 * Write the trace @from as @to. An existing @to is treated as by writer_create().
 * Returns 0 or -errno after log_err().
 */
int trace_unpack(const char *from, const char *to);
