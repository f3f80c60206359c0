#pragma once
/* Replacements of librdmacm's functions that inject faults. Any thread. */
#include "core/wire/desc.h"

/* The function that injects faults into @verb; NULL if @verb is not in librdmacm. */
void *calls_cm_find(enum verb verb);
