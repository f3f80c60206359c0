#pragma once
/*
 * The responder: executing requests of the other end of a connected queue pair. All with the lock
 * of the engine held (engine.h).
 */
#include "shim/soft/network/network_qp.h"

void responder_start(struct network_qp *n, uint32_t psn);

/*
 * A request has arrived. True if the queue pair failed: its send queue must be flushed. The answer
 * is owed.
 */
bool responder_take(struct network_qp *n, const struct arrival *arrival);

/* Send what is owed; true if there is more. */
bool responder_answer(struct network_qp *n);
