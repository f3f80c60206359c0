/*
 * How long the request at the head of a send queue may wait
 */
#include "shim/soft/transport/retry_timeout.h"

#include <stdlib.h>
#include <string.h>

#define COPY_PATIENCE 10000000000ull /* ns */

/* RNR timers from IBA 9.7.5.2.8, in units of 10 us. */
/* clang-format off */
static const uint32_t rnr_timer[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384,
	512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
	24576, 32768, 49152,
};
/* clang-format on */

bool retry_timeout_is_real;

static uint64_t least; /* minimum of each wait for the peer, ns; 0: only the requested time */

void retry_timeout_load(void)
{
	const char *value = getenv("VERBATIM_SOFT_TIMERS");

	retry_timeout_is_real = value && !strcmp(value, "real");
}

void retry_timeout_load_lag(void)
{
	const char *value = getenv("VERBATIM_SOFT_LAG");

	__atomic_store_n(&least, value ? strtoull(value, NULL, 10) * 1000000 : 0, __ATOMIC_RELAXED);
}

uint64_t retry_timeout_lag_ns(void)
{
	return __atomic_load_n(&least, __ATOMIC_RELAXED);
}

bool retry_timeout_is_unreliable(const struct soft_qp *qp)
{
	return qp->shm->type == IBV_QPT_UC || qp->shm->type == IBV_QPT_UD ||
	       qp->shm->type == IBV_QPT_RAW_PACKET;
}

uint64_t retry_timeout_rnr_ns(uint8_t timer)
{
	return rnr_timer[timer & 31] * 10000ull;
}

/* Time in ns until a request without an answer fails: IBA 9.7.6.1.3. */
static uint64_t transport_timeout(const struct ibv_qp_attr *attr)
{
	return attr->timeout ? (attr->retry_cnt + 1) * (4096ull << (attr->timeout & 31))
			     : UINT64_MAX;
}

/*
 * Additional time for a peer that may be waiting for a processor: another process; or another
 * thread of this one, if the receiver has posted requests before. On a real network, neither shares
 * a processor with the sender.
 */
static uint64_t processor_timeout(const struct soft_remote *r)
{
	bool elsewhere = !r->peer || r->peer->seg != segment_own;
	uint64_t lag = retry_timeout_lag_ns() > RETRY_TIMEOUT_LAG ? retry_timeout_lag_ns()
								  : RETRY_TIMEOUT_LAG;

	return elsewhere || (r->rq.shm && r->rq.shm->prod) ? lag : 0;
}

static uint64_t rnr_timeout(const struct soft_qp *qp)
{
	uint64_t asked = qp->attr.rnr_retry * retry_timeout_rnr_ns(qp->remote.shm->min_rnr_timer);
	uint64_t processor = processor_timeout(&qp->remote);

	return asked > processor ? asked : processor;
}

uint64_t retry_timeout_ns(struct soft_qp *qp, enum soft_wait wait)
{
	const struct ibv_qp_attr *attr = &qp->attr;
	uint64_t ns = transport_timeout(attr);

	if (wait == WAIT_PEER)
		return ns > retry_timeout_lag_ns() ? ns : retry_timeout_lag_ns();
	if (retry_timeout_is_unreliable(qp))
		return UINT64_MAX; /* no limit: execute_request() ends the wait */
	if (wait == WAIT_COPY)
		return ns > COPY_PATIENCE ? ns : COPY_PATIENCE;
	if (attr->rnr_retry == 7)
		return UINT64_MAX;
	return rnr_timeout(qp);
}
