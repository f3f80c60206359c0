#pragma once
/*
 * How a run paces itself: gaps between posts and polls, depth of queues, starvation, duration. For
 * the files of this folder. Not thread-safe.
 */
#include "analyzer/diff/compared.h"

/* Add those that certainly changed; with one run per side, those that differ by far. */
void pace_compare(struct diff *diff);
