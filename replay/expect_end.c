/*
 * Completions that nobody asked for
 */
#include "replay/expect_priv.h"

static void count_leftovers(struct replay *r, struct replica_qp *qp, enum side side)
{
	struct arrivals *passed = &qp->passed[side];
	const struct arrival *a;

	for (; (a = arrivals_first(passed)); arrivals_drop(passed))
		expect_report_extra(r, a->passed_by, a);
	for (; (a = arrivals_first(&qp->in[side])); arrivals_drop(&qp->in[side])) {
		if (a->wc.status == IBV_WC_SUCCESS || a->wc.status == IBV_WC_WR_FLUSH_ERR)
			outcome_count(r->outcome, OUTCOME_UNPOLLED, 1);
		else
			expect_report_extra(r, a->request.event, a);
	}
}

void expect_end(struct replay *r)
{
	for (uint32_t i = 0; i < r->nreplicas; i++)
		for (int side = 0; r->replicas[i].qp && side < SIDES; side++)
			count_leftovers(r, r->replicas[i].qp, (enum side)side);
}
