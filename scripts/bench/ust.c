/*
 * A post that is traced by LTTng, for comparison with the recorder
 *
 * A library, loaded only on request, because LTTng starts its threads in each program that loads
 * it.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "scripts/bench/ust.h"

int ust_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

/* the function that is called after it */
int (*ust_next)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

int ust_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int ret = ust_next(qp, wr, bad);

	lttng_ust_tracepoint(verbatim_bench, post, qp, 1, wr, ret);
	return ret;
}
