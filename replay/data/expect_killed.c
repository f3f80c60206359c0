/*
 * A recorded completion whose sender was killed there
 */
#include <string.h>

#include "replay/data/expect_priv.h"
#include "replay/report/pace.h"
#include "replay/state/sent.h"

/* Nothing is under way from @peer, and all has been posted that was before. */
static bool is_nothing_sent(const struct expected *e, const struct replica_qp *peer)
{
	unsigned int turns = 0;

	sent_settle(e->r, e->qp);
	while (!requests_count(&peer->sent) && !arrivals_first(&e->qp->in[SIDE_RECV])) {
		if (!pace_is_behind())
			return true;
		pace_wait(&turns, INT64_MAX);
	}
	return false;
}

bool expect_died_sending(const struct expected *e, enum side side, bool waited)
{
	const struct replica *peer = replica_of(e->r, e->qp->peer);
	const struct object *object;
	const struct process *process;

	if (e->wc->status != IBV_WC_SUCCESS || side != SIDE_RECV || !peer || !peer->qp)
		return false;
	sent_settle(e->r, e->qp);
	if (!waited && requests_count(&peer->qp->sent))
		return false; /* as a rule */
	object = trace_object(e->r->trace, e->qp->peer);
	process = object ? trace_process(e->r->trace, object->process) : NULL;
	if (!process || !process->ending || strcmp(process->ending, "killed"))
		return false;
	return waited || (peer->qp->type == IBV_QPT_RC && is_nothing_sent(e, peer->qp));
}
