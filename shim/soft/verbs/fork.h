#pragma once
/*
 * Fork support: the verbs for it.
 */
#include <stdbool.h>

/* Are registered pages not mapped in children, as on older kernels? */
bool fork_is_protected(void);
