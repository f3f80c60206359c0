#pragma once
/*
 * Empty polls, which are no events: table `poll_count`. One thread.
 */
#include "analyzer/profile/profiler.h"

/*
 * Take the counts of whole threads, in place of those that came with polls that found something:
 * they have the empty polls after the last of these, too. 0 or -errno after log_err().
 */
int empty_count(struct profiler *p);
