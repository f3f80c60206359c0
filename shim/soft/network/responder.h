#pragma once
/*
 * The responder: executing requests of the other end of a connected queue pair. All with the lock
 * of the engine held (engine.h).
 */
#include "shim/soft/network/network_qp.h"

void responder_start(struct network_qp *n, uint32_t psn);

/*
 * A request has arrived. True if the queue pair failed: its send queue must be flushed.
 * responder_answer() sends the answer.
 */
bool responder_take(struct network_qp *n, const struct arrival *arrival);

/* Send the responses that are due; true: more are due. */
bool responder_answer(struct network_qp *n);
