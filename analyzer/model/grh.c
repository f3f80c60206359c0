/*
 * The 40 bytes for a global route header at the begin of each datagram's buffer
 *
 * A receive queue stores the addresses of the buffers into which it received last.
 */
#include "analyzer/model/grh.h"

#include "analyzer/model/model_state.h"
#include "analyzer/model/queue.h"

static void report_queue_problem(struct model *model, struct queue *queue,
				 enum queue_problem_kind kind, uint64_t number)
{
	const struct queue_request *last = queue_at(queue, queue->count - 1);
	struct model_queue_problem queue_problem = { .kind = kind,
						     .moment = queue_moment(queue, last),
						     .index = last->index,
						     .object = queue->owner,
						     .queue = queue,
						     .number = number,
						     .limit = GRH_BYTES };

	if (queue->grh_told || queue->doubt)
		return;
	queue->grh_told = true;
	model->watcher.queue_problem(model->watcher.arg, &queue_problem);
}

static uint64_t count_bytes(const struct queue *queue, const struct queue_request *request)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < request->nsge; i++)
		bytes += queue_sge(queue, request, i)->length;
	return bytes;
}

/* Was a datagram received into a buffer at @addr that was not posted again since? */
static bool is_received(struct queue *receives, uint64_t addr)
{
	for (unsigned int i = 0; i < QUEUE_RECEIVED; i++)
		if (receives->received[i] == addr)
			return true;
	return false;
}

static void forget_received(struct queue *receives, uint64_t addr)
{
	for (unsigned int i = 0; i < QUEUE_RECEIVED; i++)
		if (receives->received[i] == addr)
			receives->received[i] = 0;
}

void grh_note_receive(struct model *model, struct queue *queue)
{
	const struct queue_request *request = queue_at(queue, queue->count - 1);
	const struct life *owner = queue->owner;
	uint64_t bytes, addr;

	if (!request->nsge || !owner)
		return;
	addr = queue_sge(queue, request, 0)->addr;
	if (!queue->send) {
		bytes = count_bytes(queue, request);
		forget_received(queue, addr);
		if (bytes <= GRH_BYTES)
			report_queue_problem(model, queue, PROBLEM_GRH_ROOM, bytes);
	} else if (owner->rq && owner->rq->owner == owner && is_received(owner->rq, addr)) {
		report_queue_problem(model, queue, PROBLEM_GRH_SENT, addr);
	}
}

void grh_note_completion(struct queue *queue, uint32_t at)
{
	const struct queue_request *request = queue_at(queue, at);

	if (request->nsge)
		queue->received[queue->nreceived++ % QUEUE_RECEIVED] =
			queue_sge(queue, request, 0)->addr;
}
