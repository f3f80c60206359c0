#pragma once
/*
 * The environments of the runs. For the files of this folder. One thread.
 */
#include "analyzer/diff/compared.h"

/* Add the facts that differ. */
void environment_compare(struct diff *diff);
