#pragma once
/*
 * The same function in all runs of both sides. For the files of this folder. One thread.
 */
#include "analyzer/diff/compared.h"

/* Make diff->pairs. Memory that runs out is noted in @diff. */
void pair_sites(struct diff *diff);
void pair_free(struct diff *diff);
