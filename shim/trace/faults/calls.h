#pragma once
/*
 * The calls of librdmacm that make faults. Any thread.
 */
#include "core/wire/desc.h"

/* The function that makes faults of @verb, or NULL if it is none of librdmacm. */
void *calls_cm_find(enum verb verb);
