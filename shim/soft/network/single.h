#pragma once
/*
 * Requests of one packet that are answered by one: atomics, flushes and atomic writes.
 */
#include "shim/soft/network/network_qp.h"

/* Is @opcode, an enum ibv_wr_opcode, one of them? */
bool single_is(uint32_t opcode);

/* Fill in the extended headers of @wr. Returns the opcode of its packet. */
uint8_t single_fill(const struct soft_wr *wr, struct header *h);

/*
 * Execute a flush or an atomic write at @end, with its locks held, and those of the engine. Returns
 * a status, or CARRY_*.
 */
int single_execute(struct soft_remote *end, const struct arrival *arrival);
