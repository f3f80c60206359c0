/*
 * Recorded completions of queue pairs whose peer was killed in the recording
 */
#include <string.h>

#include "replay/data/expect_priv.h"
#include "replay/report/pace.h"
#include "replay/state/sent.h"

/* Is no message of @peer in flight, and have all earlier requests been posted? */
static bool has_nothing_in_flight(const struct expected_wc *e, const struct replica_qp *peer)
{
	unsigned int turns = 0;

	sent_remove_counted(e->r, e->qp);
	while (!requests_count(&peer->sent) && !arrivals_first(&e->qp->in[SIDE_RECV])) {
		if (!pace_is_behind())
			return true;
		pace_wait(&turns, INT64_MAX);
	}
	return false;
}

static bool was_killed(const struct replay *r, uint32_t object)
{
	const struct object *o = trace_object(r->trace, object);
	const struct process *process = o ? trace_process(r->trace, o->process) : NULL;

	return process && process->ending && !strcmp(process->ending, "killed");
}

bool expect_died_before(const struct expected_wc *e, enum side side, enum ibv_wc_status here)
{
	return side == SIDE_SEND && e->qp->type == IBV_QPT_RC &&
	       e->wc->status == IBV_WC_WR_FLUSH_ERR && here == IBV_WC_SUCCESS &&
	       was_killed(e->r, e->qp->peer);
}

bool expect_sender_died(const struct expected_wc *e, enum side side, bool waited)
{
	const struct replica *peer = replica_of(e->r, e->qp->peer);

	if (e->wc->status != IBV_WC_SUCCESS || side != SIDE_RECV || !peer || !peer->qp)
		return false;
	sent_remove_counted(e->r, e->qp);
	if (!waited && requests_count(&peer->qp->sent))
		return false; /* a completion is still in flight */
	if (!was_killed(e->r, e->qp->peer))
		return false;
	return waited || (peer->qp->type == IBV_QPT_RC && has_nothing_in_flight(e, peer->qp));
}
