#pragma once
/*
 * Writing findings into a finished trace. Not thread-safe.
 */
#include <stddef.h>

#include "core/store/db/finding.h"

/*
 * Replace the findings of the trace at @path by @n findings, in one transaction; nothing else is
 * changed. No process may have the trace open for writing. Returns 0; or -errno after log_err():
 * also -EACCES if the trace or the files beside it do not belong to this user.
 */
int trace_save_findings(const char *path, const struct stored_finding *findings, size_t n);
