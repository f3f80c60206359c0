#pragma once
/*
 * How a run paces itself: gaps between posts and polls, depth of queues, starvation, duration. For
 * the files of this folder. Not thread-safe.
 */
#include "analyzer/diff/compared.h"

/* Add the numbers that certainly changed; with one run per side, those that doubled or halved. */
void pace_compare(struct diff *diff);
