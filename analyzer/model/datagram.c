/*
 * Datagrams whose receiver is in the trace, too
 *
 *	address handle, number --> the only queue pair with both: its Q_Key, its receives
 *	address handle of a multicast group --> its members: their Q_Keys
 *
 * A datagram takes the oldest receive that is outstanding when it arrives. If all receives posted
 * before it was sent are too short for it, it cannot be received, whenever it arrives.
 */
#include "analyzer/model/datagram.h"

#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/astray.h"
#include "analyzer/model/grh.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"

enum {
	SEARCH_REQUESTS = 512 /* datagrams of a queue */,
	SEARCH_GROUP = 16,
	MULTICAST = 0xffffff,
	OWN_QKEY = 1u << 31
};

/* The path of the datagram, from its address handle; NULL: not known. */
static const struct qp_path *find_path(struct model *model, const struct life *from,
				       const struct wr *wr)
{
	const struct life *ah = model_find(model, from->process, OBJECT_ah, wr->ah);

	return ah && ah->state == LIFE_LIVE ? ah->path : NULL;
}

/* The queue pair, of the same trace, that a datagram is sent to; NULL: not known. */
static const struct life *find_receiver(struct model *model, const struct life *from,
					const struct wr *wr, const struct qp_path *path)
{
	struct place place = { 0 };
	const struct peer *peer;
	int state;

	if (wr->remote_qpn == MULTICAST)
		return NULL;
	place.is_global = path->is_global;
	place.lid = path->dlid;
	memcpy(place.gid, path->dgid, sizeof(place.gid));
	peer = peer_find_at(&model->peers, from->process, wr->remote_qpn, &place);
	if (!peer || !peer->life || !peer->life->qp || peer->life->qp->type != ABI_QPT_UD ||
	    peer_slack(&model->peers, from->process, peer->process))
		return NULL;
	state = qp_state(peer->life);
	return state >= ABI_QPS_RTR && state <= ABI_QPS_SQE ? peer->life : NULL;
}

/* The Q_Key that a datagram is sent with; false: not known. */
static bool find_qkey(const struct life *from, const struct wr *wr, uint32_t *ret_qkey)
{
	*ret_qkey = (uint32_t)wr->remote_qkey;
	if (!(*ret_qkey & OWN_QKEY))
		return true;
	*ret_qkey = from->qp ? from->qp->qkey : 0;
	return from->qp && from->qp->set & ABI_QP_QKEY;
}

static void report_qkey(struct model *model, struct queue *queue,
			const struct model_queue_problem *sent, uint32_t qkey, const struct wr *wr)
{
	struct model_queue_problem queue_problem = *sent;

	queue->qkey_told = true;
	queue_problem.kind = PROBLEM_QKEY;
	queue_problem.number = qkey;
	queue_problem.given = (uint32_t)wr->remote_qkey;
	queue_problem.limit = sent->other->qp->qkey;
	model->watcher.queue_problem(model->watcher.arg, &queue_problem);
}

static void check_qkey(struct model *model, struct queue *queue,
		       const struct model_queue_problem *sent, const struct wr *wr)
{
	const struct qp *to = sent->other->qp;
	uint32_t qkey;

	if (!queue->qkey_told && to->set & ABI_QP_QKEY && find_qkey(queue->owner, wr, &qkey) &&
	    qkey != to->qkey)
		report_qkey(model, queue, sent, qkey, wr);
}

/*
 * A datagram to a multicast group whose members in the trace, apart from the sender, all have
 * another Q_Key.
 */
static void check_group_qkey(struct model *model, struct queue *queue,
			     struct model_queue_problem *sent, const struct wr *wr,
			     const struct qp_path *path)
{
	const uint64_t group = astray_group(path->dgid);
	const struct life *life = NULL;
	uint32_t process = 1, qkey;

	if (queue->qkey_told || queue->posted > SEARCH_GROUP || wr->remote_qpn != MULTICAST ||
	    !astray_is_group(path) || !find_qkey(queue->owner, wr, &qkey))
		return;
	while ((life = astray_next_member(model, group, &process, life))) {
		if (life == queue->owner)
			continue;
		if (!(life->qp->set & ABI_QP_QKEY) || life->qp->qkey == qkey ||
		    peer_slack(&model->peers, queue->owner->process, life->process))
			return;
		sent->other = life;
	}
	if (sent->other)
		report_qkey(model, queue, sent, qkey, wr);
}

/* The bytes of the longest outstanding receive. */
static uint64_t find_longest_receive(const struct queue *receives)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < receives->count; i++) {
		const struct queue_request *request = queue_at(receives, i);
		uint64_t bytes = 0;

		for (uint32_t k = 0; k < request->nsge && !request->done; k++)
			bytes += queue_sge(receives, request, k)->length;
		most = bytes > most ? bytes : most;
	}
	return most;
}

static void check_receive_size(struct model *model, const struct queue *queue,
			       const struct model_queue_problem *sent, const struct wr *wr)
{
	struct queue *receives = sent->other->rq;
	struct model_queue_problem queue_problem = { .kind = PROBLEM_GRH_SHORT,
						     .object = sent->other,
						     .queue = receives,
						     .other = queue->owner };

	if (!receives || receives->owner != sent->other || receives->doubt || receives->grh_told ||
	    !receives->outstanding)
		return;
	queue_problem.number = wr_bytes(wr);
	queue_problem.limit = find_longest_receive(receives);
	if (!queue_problem.number || queue_problem.number + GRH_BYTES <= queue_problem.limit)
		return;
	receives->grh_told = true;
	queue_problem.moment = queue_moment(receives, queue_oldest(receives));
	queue_problem.index = queue_oldest(receives)->index;
	model->watcher.queue_problem(model->watcher.arg, &queue_problem);
}

/*
 * A datagram was posted to @to. Those that were posted since a receive of it was last polled may
 * all be there at once, and need as many receives.
 */
static void count_burst(const struct life *to, const struct trace_event *event)
{
	struct queue *receives = to->rq;
	struct queue_flood *flood = &receives->flood;

	if (receives->owner != to || receives->doubt)
		return;
	if (flood->completed != receives->completed)
		flood->n = 0;
	flood->completed = receives->completed;
	if (++flood->n <= receives->outstanding + flood->excess)
		return;
	flood->most = flood->n;
	flood->room = receives->outstanding;
	flood->excess = flood->n - flood->room;
	flood->at = moment_of(event);
}

void datagram_check_post(struct model *model, const struct trace_event *event, struct queue *queue,
			 uint32_t taken)
{
	struct model_queue_problem sent = { .moment = moment_of(event),
					    .object = queue->owner,
					    .queue = queue };

	if (queue->posted > SEARCH_REQUESTS || queue->doubt || !queue->owner)
		return;
	for (uint32_t i = 0; i < taken; i++) {
		const struct wr *wr = &event->post->wr[i];

		const struct qp_path *path = find_path(model, queue->owner, wr);

		sent.index = i;
		sent.other = path ? find_receiver(model, queue->owner, wr, path) : NULL;
		if (path && !sent.other) {
			astray_note_post(model, event, queue, i, path);
			check_group_qkey(model, queue, &sent, wr, path);
			continue;
		}
		if (!sent.other)
			continue;
		if (sent.other == queue->owner)
			astray_note_post(model, event, queue, i, path);
		check_qkey(model, queue, &sent, wr);
		check_receive_size(model, queue, &sent, wr);
		if (sent.other->rq)
			count_burst(sent.other, event);
	}
}
