#pragma once
/*
 * Compiling a trace: its events are read, decoded, matched and ordered, and each step gets the list
 * of events that it waits for.
 *
 * No device is needed, so it is done before the first verb is called.
 */
#include "replay/schedule/tape.h"

struct replay;

/* Returns 0 and tapes, one for each recorded thread unless it is @serial; or -errno. */
int compile_trace(struct replay *r, bool serial, struct tapes **ret_tapes, uint32_t *ret_players);
