/*
 * Queue pairs that are no longer replayed
 */
#include "replay/state/cut.h"

#include "replay/state/state.h"

void cut_connection(struct replay *r, uint32_t id, uint32_t from, const char *why)
{
	struct replica *replica = replica_of(r, id), *peer;

	if (!replica || !replica->qp || replica->qp->cut)
		return;
	replica->qp->cut = why;
	r->changes++;
	if (from)
		outcome_inherit_cause(r->outcome, id, from);
	peer = replica_of(r, replica->qp->peer);
	if (peer && peer->qp && !peer->qp->cut) {
		peer->qp->cut = "the peer of its queue pair is not replayed";
		outcome_inherit_cause(r->outcome, replica->qp->peer, id);
	}
}
