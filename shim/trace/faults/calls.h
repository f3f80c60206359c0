#pragma once
/* The functions in place of librdmacm's that inject faults. Any thread. */
#include "core/wire/desc.h"

/* The function that injects faults into @verb; NULL if @verb is not librdmacm's. */
void *calls_cm_find(enum verb verb);
