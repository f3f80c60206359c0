#pragma once
/*
 * The functions behind ours: those of the libibverbs that the program would
 * have called. Any thread.
 */
#include <stdint.h>

#include "core/wire/desc.h"

/* The exported function of @verb, or NULL where the library has none. */
void *next_symbol(enum verb verb);

/* Sets errno and gives what @verb returns when it is not supported. */
int64_t missing_verb(enum verb verb);
