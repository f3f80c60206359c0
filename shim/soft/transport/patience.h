#pragma once
/*
 * How long the request at the head of a send queue may wait. Any thread.
 */
#include "shim/soft/transport/objects.h"

/* Does nobody tell the sender what became of its requests? */
bool patience_is_unreliable(const struct soft_qp *qp);

/* What an RNR timer (enum of IBA 9.7.5.2.8) stands for. */
uint64_t patience_rnr_ns(uint8_t timer);

/*
 * How long the head may wait; ns, or UINT64_MAX. A process that must copy
 * for us has other things to do, which no adapter has.
 */
uint64_t patience_ns(struct soft_qp *qp, enum soft_wait wait);
