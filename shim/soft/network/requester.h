#pragma once
/*
 * The requester: sending the requests of a connected queue pair, and completing them as the peer
 * answers. Callers hold the lock of the send queue.
 */
#include "shim/soft/network/network_qp.h"

/* The queue pair may send from now on, with first PSN @psn. */
void requester_start(struct network_qp *n, uint32_t psn);

/* The functions of struct soft_wire. */
void requester_run(struct soft_qp *qp);
bool requester_is_busy(const struct soft_qp *qp);

/* An acknowledge or a response has arrived. */
void requester_take(struct network_qp *n, const struct arrival *arrival);

/* The timer has expired. */
void requester_expire(struct network_qp *n);
