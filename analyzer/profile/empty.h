#pragma once
/*
 * Empty polls, which are not events: table `poll_count`. One thread.
 */
#include "analyzer/profile/profiler.h"

/*
 * Replace the counts from polls that returned completions by the total of each thread, which
 * includes the empty polls after the last of these. 0 or -errno after log_err().
 */
int empty_count(struct profiler *p);
