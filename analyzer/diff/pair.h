#pragma once
/*
 * Matches functions between all runs of both sides. For the files of this folder. Not thread-safe.
 */
#include "analyzer/diff/compared.h"

/* Fill in diff->pairs. Lack of memory is noted in @diff. */
void pair_sites(struct diff *diff);
void pair_free(struct diff *diff);
