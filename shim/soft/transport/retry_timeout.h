#pragma once
/*
 * How long the request at the head of a send queue may wait. Any thread.
 */
#include "shim/soft/transport/objects.h"

/*
 * A receiver that has posted requests gets this many ns to post the next one. On a reliable
 * connection, VERBATIM_SOFT_LAG, in ms, replaces this, and is also the minimum time for a peer that
 * does not answer.
 */
#define RETRY_TIMEOUT_LAG 200000000ull

/*
 * VERBATIM_SOFT_TIMERS=real: waiting requests are retried only when a timer of the queue pair has
 * expired, as on hardware. The variable is read when the process first opens the device.
 */
extern bool retry_timeout_is_real;
void retry_timeout_load(void);
/*
 * Read VERBATIM_SOFT_LAG each time a device is opened: a replay sets the variable after it has
 * opened one.
 */
void retry_timeout_load_lag(void);
/* VERBATIM_SOFT_LAG, ns; 0: not set. */
uint64_t retry_timeout_lag_ns(void);

/* Is the transport of @qp one whose sender does not learn the fate of its requests? */
bool retry_timeout_is_unreliable(const struct soft_qp *qp);

/* The time in ns of an RNR timer, encoded as in IBA 9.7.5.2.8. */
uint64_t retry_timeout_rnr_ns(uint8_t timer);

/*
 * How long the head may wait; ns, or UINT64_MAX. A peer that must copy the data gets more time:
 * unlike an adapter, the process may be busy.
 */
uint64_t retry_timeout_ns(struct soft_qp *qp, enum soft_wait wait);
