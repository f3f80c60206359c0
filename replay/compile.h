#pragma once
/*
 * Compiling a trace: its events are read, decoded, matched and ordered, and each step gets the list
 * of events that it waits for.
 *
 * No device is needed, so it is done before the first verb is called.
 */
#include "replay/schedule/bytecode.h"

struct replay;

/* The code of each recorded thread, or with @serial of all together. Returns 0 or -errno. */
int compile_trace(struct replay *r, bool serial, struct bytecode **ret_bytecode,
		  uint32_t *ret_players);
