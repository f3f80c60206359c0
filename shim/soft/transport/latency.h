#pragma once
/*
 * The link that VERBATIM_SOFT_LINK_MODEL or the faults file describes; and its delay and rate for
 * requests within the fabric. Its other effects apply only to packets to other machines (impair.h).
 */
#include "core/faults/link_model.h"
#include "shim/soft/transport/objects.h"

/* Has the link a delay or a rate? Check this before latency_set_arrival() and latency_holds(). */
extern bool latency_any;

/*
 * Read the model, once per process, after the faults file. 0; or -EINVAL, with a line on stderr. In
 * a child it is read again.
 */
int latency_load(void);
void latency_unload(void);

/* The model of the link; NULL: the link is perfect. Any thread. */
const struct link_model *latency_model(void);

/* @wr has just been posted to position @pos. Callers hold the lock of the send queue. */
void latency_set_arrival(struct soft_qp *qp, uint32_t pos, const struct soft_wr *wr);

/* Must @wr, at sq.next, wait until it would arrive (WAIT_HELD)? Callers hold the same lock. */
bool latency_holds(struct soft_qp *qp, const struct soft_wr *wr);
