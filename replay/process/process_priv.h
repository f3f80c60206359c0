#pragma once
/*
 * What the files of process.h share.
 */
#include <stdint.h>

struct mirror;

/* The copy of the object at @real of the process of @mirror; NULL: none is known. */
void *process_object(const struct mirror *mirror, uint64_t real);
