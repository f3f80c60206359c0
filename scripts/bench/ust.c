/*
 * A post that is traced by LTTng: what the recorder is compared with
 *
 * A library, loaded where it is asked for, because LTTng starts its threads in
 * each program that it is in.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "scripts/bench/ust.h"

int ust_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

/* what is called behind it */
int (*ust_next)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

int ust_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int ret = ust_next(qp, wr, bad);

	lttng_ust_tracepoint(verbatim_bench, post, qp, 1, wr, ret);
	return ret;
}
