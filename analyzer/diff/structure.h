#pragma once
/*
 * A program's structure, without its times. For the files of this folder. Not thread-safe.
 */
#include "analyzer/diff/compared.h"

/* Add the changes of structure. */
void structure_compare(struct diff *diff);
