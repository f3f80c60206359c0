/*
 * Messages of unreliable queue pairs that found no receive
 *
 *	UC	messages of the sender's queue that are not outstanding
 *	UD	datagrams to this number and address, counted when they complete
 *
 * Messages were lost if fewer receives were posted in all, or until such a message had completed.
 */
#include "analyzer/model/unreceived.h"

#include <string.h>

#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"

enum { MULTICAST = 0xffffff };

/* A datagram to @life has completed at a sender whose clock differs by up to @slack. */
static void compare_receives(struct life *life, int64_t slack, int64_t now)
{
	const struct queue *rq = life->rq;

	life->datagrams++;
	if (slack || !rq || rq->owner != life || rq->doubt ||
	    life->datagrams <= rq->posted + life->lacking)
		return;
	life->lacking = life->datagrams - rq->posted;
	life->lacking_since = now;
}

void unreceived_note_post(struct life *qp, const struct trace_event *event, uint32_t taken)
{
	if (event->time - qp->lacking_since < UNRECEIVED_NS) {
		qp->lacking -= qp->lacking < taken ? qp->lacking : taken;
		return;
	}
	if (qp->lacking > qp->lost) {
		qp->lost = qp->lacking;
		qp->late = event->time - qp->lacking_since;
	}
	qp->lacking = 0;
}

static void count_datagram(struct model *model, const struct trace_event *event,
			   const struct queue_request *request)
{
	uint32_t process = event->process;
	const struct life *ah = model_find(model, process, OBJECT_ah, request->ah);
	struct place place = { 0 };
	struct peer *peer;

	if (!ah || !ah->path || request->remote_qpn == MULTICAST)
		return;
	place.is_global = ah->path->is_global;
	place.lid = ah->path->dlid;
	memcpy(place.gid, ah->path->dgid, sizeof(place.gid));
	peer = peer_find_at(&model->peers, process, request->remote_qpn, &place);
	if (peer && peer->life->qp && peer->life->qp->type == ABI_QPT_UD)
		compare_receives(peer->life, peer_slack(&model->peers, process, peer->process),
				 event->time);
}

/* A message of a UC queue pair is done: it has one receiver. */
static void count_message(struct model *model, const struct trace_event *event,
			  const struct life *qp)
{
	const struct peer *other = peer_find_other(&model->peers, qp->peer);

	if (other && other->life && other->life->qp && other->life->qp->type == ABI_QPT_UC)
		compare_receives(other->life,
				 peer_slack(&model->peers, event->process, other->process),
				 event->time);
}

void unreceived_note_send(struct model *model, const struct trace_event *event,
			  const struct queue *queue, uint32_t at)
{
	for (uint32_t i = 0; i <= at; i++) {
		const struct queue_request *request = queue_at(queue, i);

		if (request->done)
			continue;
		if (queue->datagrams)
			count_datagram(model, event, request);
		else if (queue_takes_receive(request->opcode))
			count_message(model, event, queue->owner);
	}
}

static void find_sender(struct model *model, const struct life *qp, struct unreceived *ret)
{
	const struct peer *other = peer_find_other(&model->peers, qp->peer);

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

	*ret = (struct unreceived){ .sent = qp->datagrams, .late = qp->lost ? qp->late : 0 };
	if (!qp->qp || !qp->rq || qp->rq->owner != qp || qp->rq->doubt || qp->qp->reset ||
	    (state != ABI_QPS_RTR && state != ABI_QPS_RTS))
		return false;
	ret->receives = qp->rq->posted;
	if (qp->qp->type == ABI_QPT_UC)
		find_sender(model, qp, ret);
	else if (qp->qp->type != ABI_QPT_UD)
		return false;
	ret->lost = ret->sent > ret->receives ? ret->sent - ret->receives : 0;
	if (qp->lost > ret->lost)
		ret->lost = qp->lost;
	return ret->lost;
}
