#pragma once
/*
 * Fork support, as it looks to programs.
 */
#include <stdbool.h>

/* Are registered pages kept from children, as on older kernels? */
bool fork_is_kept_from(void);
