#pragma once
/*
 * A trace, compiled: read, decoded, matched, put in order, and told what each step waits for.
 *
 * It needs nothing of the devices, so it is done before the first verb is called.
 */
#include "replay/schedule/tape.h"

struct replay;

/* Returns 0 and tapes, one for each recorded thread unless it is @serial; or -errno. */
int compile_trace(struct replay *r, bool serial, struct tapes **ret_tapes, uint32_t *ret_players);
