#pragma once
/*
 * The tap of this process (core/wire/tap.h), if there is one. Any thread.
 */
#include "core/wire/tap.h"

/* The tap; NULL: none. */
const struct tap *tap_get(void);

/* Load TAP_LIBRARY from the folder of this library; on failure there is no tap. */
void tap_load(void);

/* TAP_LIBRARY finds this function by its name. */
__attribute__((visibility("default"))) tap_set_fn verbatim_tap_set;
