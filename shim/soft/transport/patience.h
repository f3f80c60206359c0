#pragma once
/*
 * How long the request at the head of a send queue may wait. Any thread.
 */
#include "shim/soft/transport/objects.h"

/*
 * A receiver that posts requests gets this many ns to post the next one. VERBATIM_SOFT_LAG, in ms,
 * replaces this on a reliable connection, and is the minimum for an end that does not answer.
 */
#define PATIENCE_LAG 200000000ull

/*
 * VERBATIM_SOFT_TIMERS=real: waiting requests are retried when a timer of the queue pair has run
 * out, as on hardware, and not before. Read when the process first opens the device.
 */
extern bool patience_real;
void patience_load(void);
/*
 * Read VERBATIM_SOFT_LAG, whenever a device is opened: a replay sets it only after it has opened
 * one.
 */
void patience_load_lag(void);

/* Does @qp have a transport whose sender does not learn the fate of its requests? */
bool patience_is_unreliable(const struct soft_qp *qp);

/* The time of an RNR timer, encoded as in IBA 9.7.5.2.8. */
uint64_t patience_rnr_ns(uint8_t timer);

/*
 * How long the head may wait; ns, or UINT64_MAX. A peer process that must copy may be busy, unlike
 * an adapter, so it gets more time.
 */
uint64_t patience_ns(struct soft_qp *qp, enum soft_wait wait);
