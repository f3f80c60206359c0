#pragma once
/*
 * The shape of histograms. For the files of this folder. Not thread-safe.
 */
#include "analyzer/diff/compared.h"

/* Add modes that only the runs after have. */
void shape_compare(struct diff *diff);
