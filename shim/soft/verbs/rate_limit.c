/*
 * Rate limits: ibv_modify_qp_rate_limit()
 *
 * It works like ibv_modify_qp() with IBV_QP_RATE_LIMIT, and also sets the size of bursts. The
 * typical size of packets is accepted but ignored, since requests are not divided into packets.
 *
 * Source: ibv_modify_qp_rate_limit(3).
 */
#include "shim/soft/transport/pace.h"
#include "shim/soft/transport/sq.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/qp.h"

int soft_modify_qp_rate_limit(struct ibv_qp *ibqp, struct ibv_qp_rate_limit_attr *limit)
{
	struct ibv_qp_attr attr = { .rate_limit = limit->rate_limit };
	struct soft_qp *qp = to_qp(ibqp);
	bool taken;
	int err;

	if (limit->comp_mask ||
	    ((limit->max_burst_sz || limit->typical_pkt_sz) && !limit->rate_limit))
		return EINVAL;
	err = qp_modify(qp, &attr, IBV_QP_RATE_LIMIT, "modify_qp_rate_limit");
	if (err)
		return err;
	taken = sq_lock(&qp->sq);
	pace_set(&qp->sq, limit->rate_limit, limit->max_burst_sz);
	if (taken)
		lock_drop(&qp->sq.lock);
	return 0;
}
