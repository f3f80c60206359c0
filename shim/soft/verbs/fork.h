#pragma once
/*
 * Fork support, as programs see it.
 */
#include <stdbool.h>

/* Are registered pages kept from children, as on older kernels? */
bool fork_is_kept_from(void);
