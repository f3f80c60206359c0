/*
 * Messages that a queue pair has sent and that its peer has not received
 */
#include "replay/state/sent.h"

#include "replay/state/state.h"

void sent_remove_counted(struct replay *r, struct replica_qp *receiver)
{
	struct replica *peer = receiver->received ? replica_of(r, receiver->peer) : NULL;
	struct requests *sent = peer && peer->qp ? &peer->qp->sent : NULL;

	for (; sent && receiver->received && requests_count(sent); receiver->received--)
		requests_complete(sent, sent->head, false);
	receiver->received = 0;
}

void sent_remove_counted_of(struct replay *r, const struct replica_qp *sender)
{
	struct replica *peer = replica_of(r, sender->peer);

	if (peer && peer->qp)
		sent_remove_counted(r, peer->qp);
}
