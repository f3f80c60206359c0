/*
 * SENDs without bytes to receives that have room for some
 */
#include "analyzer/model/empty.h"

#include "analyzer/model/abi.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/queue.h"

enum { LOOK = 512 }; /* requests of a queue */

static uint64_t count_bytes(const struct queue *queue, const struct queue_request *request)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < request->nsge; i++)
		bytes += queue_sge(queue, request, i)->length;
	return bytes;
}

/* The bytes of the receive that the next message to the peer of @qp takes; 0: not known. */
static uint64_t find_room(struct model *model, const struct life *qp)
{
	const struct peer *other = peer_find_other(&model->peers, qp->peer);
	const struct queue *receives = other && other->life ? other->life->rq : NULL;
	const struct queue_request *oldest =
		receives && !receives->doubt ? queue_oldest(receives) : NULL;

	return oldest ? count_bytes(receives, oldest) : 0;
}

void empty_check_request(struct model *model, struct queue *queue)
{
	const struct queue_request *request = queue_at(queue, queue->count - 1);
	uint64_t room;

	if (queue->empty.never || queue->posted > LOOK)
		return;
	room = request->opcode == ABI_WR_SEND && queue->owner && !count_bytes(queue, request)
		       ? find_room(model, queue->owner)
		       : 0;
	queue->empty.never = !room;
	if (room && !queue->empty.n++) {
		queue->empty.room = room;
		queue->empty.first = queue_moment(queue, request);
	}
}
