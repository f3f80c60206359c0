#pragma once
/*
 * The responder: executing the requests of the peer of a connected queue pair. Callers hold the
 * lock of the engine (engine.h).
 */
#include "shim/soft/network/network_qp.h"

void responder_start(struct network_qp *n, uint32_t psn);

/*
 * A request has arrived. True if the queue pair failed: its send queue must be flushed.
 * responder_answer() sends the answer later.
 */
bool responder_take(struct network_qp *n, const struct arrival *arrival);

/* Send the next responses. Returns true if more must be sent. */
bool responder_answer(struct network_qp *n);
