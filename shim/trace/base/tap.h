#pragma once
/*
 * The tap of this process (core/wire/tap.h), if there is one. Any thread.
 */
#include "core/wire/tap.h"

/* NULL: there is none. */
const struct tap *tap_get(void);

/* Load TAP_LIBRARY from where we lie; where that fails there is no tap. */
void tap_load(void);

/* What the library finds by name. */
__attribute__((visibility("default"))) tap_set_fn verbatim_tap_set;
