#pragma once
/*
 * Requests of one packet that are answered by one packet: atomics, flushes and atomic writes.
 */
#include "shim/soft/network/network_qp.h"

/* Is @opcode, an enum ibv_wr_opcode, such a request? */
bool single_is(uint32_t opcode);

/* Fill in the extended headers of the packet of @wr. Returns the packet's opcode. */
uint8_t single_fill(const struct soft_wr *wr, struct header *h);

/*
 * Execute a flush or an atomic write at @end. Callers hold its locks, and the lock of the engine.
 * Returns a completion status, or CARRY_*.
 */
int single_execute(struct soft_remote *end, const struct arrival *arrival);
