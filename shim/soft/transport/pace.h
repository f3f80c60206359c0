#pragma once
/*
 * Packet pacing: a send queue with a rate limit waits between requests. With its lock held.
 */
#include "shim/soft/transport/objects.h"

/* Limit it to @rate kbit/s, except for bursts of @burst bytes. 0: no limit; no bursts. */
void pace_set(struct soft_sq *sq, uint32_t rate, uint32_t burst);

/* Is it too early for the next request? Then it waits (WAIT_HELD). */
bool pace_holds(struct soft_sq *sq);

/* A request with @length bytes was sent. */
void pace_sent(struct soft_sq *sq, uint32_t length);
