/*
 * WRITEs that nothing announces in order
 *
 * A message on another queue pair is taken to announce WRITEs if the same thread posts it right
 * after them, to the same process, while the last of them is outstanding.
 *
 * Not here: which of these are reported (analyzer/rules/unordered.c).
 */
#include "analyzer/model/unordered.h"

#include <stdlib.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/key.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/queue.h"
#include "core/store/read/trace.h"

enum {
	NEXT_EVENTS = 3, /* events of a thread that posts a receive in between */
	FLAG = 64,       /* bytes: a flag, a counter or a header */
};

static struct unordered *unordered_of(struct queue *queue)
{
	if (!queue->unordered)
		queue->unordered = calloc(1, sizeof(*queue->unordered));
	return queue->unordered; /* if out of memory, one hazard is missing */
}

static uint32_t peer_process(struct model *model, const struct queue *queue)
{
	const struct life *qp = queue->owner;
	const struct peer *other = qp ? peer_find_other(&model->peers, qp->peer) : NULL;

	return other ? other->process : 0;
}

/* Is the last request of @queue an RDMA WRITE that has not completed? */
static const struct queue_request *last_write(const struct queue *queue)
{
	const struct queue_request *last = queue->count ? queue_at(queue, queue->count - 1) : NULL;

	return last && !last->done && last->opcode == ABI_WR_RDMA_WRITE && last->nsge ? last : NULL;
}

static bool is_next_to(const struct queue_request *write, const struct trace_event *event)
{
	return write->thread == event->id.thread && event->id.n - write->n <= NEXT_EVENTS;
}

static void note_message(struct model *model, const struct queue *queue, struct queue *before,
			 const struct trace_event *event)
{
	const struct queue_request *write = last_write(before);
	uint32_t process;

	if (!write || !before->unordered || !is_next_to(write, event) || before->to_receives ||
	    before->doubt || queue->doubt)
		return;
	process = peer_process(model, before);
	if (!process || process != peer_process(model, queue))
		return;
	if (!before->unordered->nfollowed++) {
		before->unordered->write = queue_moment(before, write);
		before->unordered->send = moment_of(event);
		before->unordered->other = queue->owner->id;
	}
}

void unordered_note_post(struct model *model, struct queue *queue, struct queue *before,
			 const struct trace_event *event)
{
	int opcode = event->post->nwr ? event->post->wr[0].opcode : -1;

	if (opcode == ABI_WR_RDMA_WRITE && !queue->to_receives && unordered_of(queue)) {
		queue->unordered->batches++;
		queue->unordered->beside = before && before->owner ? before->owner->id : 0;
	} else if (before && before->writes && queue_takes_receive(opcode))
		note_message(model, queue, before, event);
}

/*
 * The other queue to which the thread wrote just before, unless something shows that this WRITE has
 * completed.
 */
static struct queue *find_beside(struct model *model, const struct queue *queue,
				 const struct trace_event *event)
{
	const struct queue_request *write;
	const struct life *qp;
	uint32_t process;
	uint64_t life;

	if (!queue->unordered->beside || !map_get(&model->by_id, queue->unordered->beside, &life))
		return NULL;
	qp = (const struct life *)(uintptr_t)life;
	write = qp->sq && qp->sq->owner == qp ? last_write(qp->sq) : NULL;
	if (!write || write->thread != event->id.thread ||
	    event->id.n - write->n > 2 * NEXT_EVENTS || qp->sq->doubt || queue->doubt)
		return NULL;
	process = peer_process(model, qp->sq);
	return process && process == peer_process(model, queue) ? qp->sq : NULL;
}

/* A small WRITE may be the flag of a larger one on another queue pair that writes no flags. */
static void note_raised(struct model *model, struct queue *queue, const struct trace_event *event,
			uint64_t length)
{
	struct queue *other = find_beside(model, queue, event);
	struct unordered *of = other ? other->unordered : NULL;

	queue->unordered->beside = 0;
	if (!of || of->small || of->raised.n++)
		return;
	of->raised.write = queue_moment(other, last_write(other));
	of->raised.flag = moment_of(event);
	of->raised.length = (uint32_t)length;
	of->raised.other = queue->owner->id;
}

void unordered_note_flag(struct model *model, struct queue *queue, const struct trace_event *event)
{
	uint64_t length = wr_bytes(&event->post->wr[event->post->nwr - 1]);

	if (length > FLAG || !queue->owner)
		return;
	queue->unordered->small++;
	note_raised(model, queue, event, length);
}

void unordered_note_write(struct queue *queue, const struct trace_event *event, const struct wr *wr,
			  const struct key *key, uint64_t length)
{
	struct unordered *unordered = queue ? unordered_of(queue) : NULL;
	struct unordered_flag *flag = unordered ? &unordered->flag : NULL;

	if (!flag || wr->opcode != ABI_WR_RDMA_WRITE)
		return;
	if (length <= FLAG && flag->last > length && !flag->n++) {
		flag->first = moment_of(event);
		flag->length = (uint32_t)length;
		flag->before = (uint32_t)flag->last;
		flag->region = key->object;
	}
	flag->last = length;
}
