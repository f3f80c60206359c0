#pragma once
/*
 * Writing findings into a finished trace. One thread.
 */
#include <stddef.h>

#include "core/store/db/finding.h"

/*
 * Make @n findings those that the trace at @path has, in one transaction; nothing else of it is
 * changed. Nobody may have it open but for reading. Returns 0; or -errno after log_err(): also
 * -EACCES where it or what lies beside it is not ours.
 */
int trace_save_findings(const char *path, const struct stored_finding *findings, size_t n);
