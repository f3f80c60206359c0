#pragma once
/*
 * Times, with confidence. For the files of this folder. Not thread-safe.
 */
#include "analyzer/diff/compared.h"

/* Add the latencies by opcode and size class, and the rate of requests. */
void times_compare(struct diff *diff);
