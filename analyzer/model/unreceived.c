/*
 * Messages of unreliable queue pairs that found no receive
 *
 *	UC	messages of the sender's queue that are not outstanding
 *	UD	datagrams to this number and address, counted when they complete
 */
#include "analyzer/model/unreceived.h"

#include <string.h>

#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"

enum { MULTICAST = 0xffffff };

static void count_datagram(struct model *model, uint32_t process,
			   const struct queue_request *request)
{
	const struct life *ah = model_find(model, process, OBJECT_ah, request->ah);
	struct place place = { 0 };
	struct peer *peer;

	if (!ah || !ah->path || request->remote_qpn == MULTICAST)
		return;
	place.is_global = ah->path->is_global;
	place.lid = ah->path->dlid;
	memcpy(place.gid, ah->path->dgid, sizeof(place.gid));
	peer = peer_at(&model->peers, process, request->remote_qpn, &place);
	if (peer && peer->life->qp && peer->life->qp->type == ABI_QPT_UD)
		peer->life->datagrams++;
}

void unreceived_sent(struct model *model, uint32_t process, const struct queue *queue, uint32_t at)
{
	for (uint32_t i = 0; i <= at; i++)
		if (!queue_at(queue, i)->done)
			count_datagram(model, process, queue_at(queue, i));
}

static void find_sender(struct model *model, const struct life *qp, struct unreceived *ret)
{
	const struct peer *other = qp->peer ? peer_other(&model->peers, qp->peer) : NULL;

	if (!other || (other->life && (!other->life->sq || !other->life->qp)))
		return;
	if (other->life && !other->life->sq->doubt && !other->life->qp->reset &&
	    qp_state(other->life) == ABI_QPS_RTS)
		ret->sent = queue_count_sent(other->life->sq);
	else if (!other->life && other->left.known && !other->left.interrupted)
		ret->sent = other->left.messages;
}

bool unreceived_find(struct model *model, const struct life *qp, struct unreceived *ret)
{
	int state = qp_state(qp);

	*ret = (struct unreceived){ .sent = qp->datagrams };
	if (!qp->qp || !qp->rq || qp->rq->owner != qp || qp->rq->doubt || qp->qp->reset ||
	    (state != ABI_QPS_RTR && state != ABI_QPS_RTS))
		return false;
	ret->receives = qp->rq->posted;
	if (qp->qp->type == ABI_QPT_UC)
		find_sender(model, qp, ret);
	else if (qp->qp->type != ABI_QPT_UD)
		return false;
	return ret->sent > ret->receives;
}
