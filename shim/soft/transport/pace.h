#pragma once
/*
 * Packet pacing: a send queue with a rate limit waits between requests. Callers hold its lock.
 */
#include "shim/soft/transport/objects.h"

/* Limit @sq to @rate kbit/s (0: no limit), except for bursts of @burst bytes (0: no bursts). */
void pace_set(struct soft_sq *sq, uint32_t rate, uint32_t burst);

/* Must the next request wait for its time (WAIT_HELD)? */
bool pace_holds(struct soft_sq *sq);

/* A request with @length bytes has been sent. */
void pace_note_sent(struct soft_sq *sq, uint32_t length);
