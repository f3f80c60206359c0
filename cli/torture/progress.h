#pragma once
/*
 * The results of runs so far, in a file beside their traces, so that a stopped torture can go on.
 * Not thread-safe.
 */
#include "cli/torture/results.h"

struct progress;

/*
 * Open DIR/progress of @results: @resume: the file must exist, and its results are reused; else it
 * begins empty. 0 or -errno after log_err().
 */
int progress_open(struct results *results, bool resume, struct progress **ret_progress);

/* Add a result. 0 or -errno after log_err(). */
int progress_add(struct progress *progress, const struct result *result);

/* Close the file; @over: remove it, as there is nothing to continue. Accepts NULL. */
void progress_close(struct progress *progress, bool over);
