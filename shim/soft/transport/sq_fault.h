#pragma once
/*
 * Faults of send requests. Under the lock of the send queue.
 */
#include "shim/soft/transport/objects.h"

/* As carry_request(), with the fault that strikes the request. */
int sq_fault_carry(struct soft_qp *qp, struct soft_wr *wr);
