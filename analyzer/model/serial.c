/*
 * One request at a time
 *
 * 	thread	| post | poll | post | poll |	consecutive events: what a turn is
 * 		       flight  gap
 */
#include "analyzer/model/serial.h"

#include "analyzer/model/steady.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/unordered.h"
#include "core/base/span.h"

/* events of the thread between a post and its completion, for example to get an event */
enum { WAIT_EVENTS = 8 };

/*
 * The number of requests that the other end has posted. A request may be an answer without being a
 * message.
 */
static inline __attribute__((always_inline)) uint64_t count_others(struct model *model,
								   const struct life *qp)
{
	const struct peer *other = peer_find_other(&model->peers, qp->peer);

	if (!other || other == qp->peer)
		return 0;
	return other->life && other->life->sq ? other->life->sq->posted : other->left.sends;
}

static uint64_t buffer_of(const struct wr *wr)
{
	return wr->nsge && !(wr->send_flags & ABI_SEND_INLINE) ? wr->sge[0].addr : 0;
}

/* Could the request @now have been posted before the last one was done? */
static bool is_independent(const struct queue_serial *last, const struct queue_serial *now)
{
	if (now->local && now->local == last->local)
		return false;
	switch (now->opcode) {
	case ABI_WR_SEND:
	case ABI_WR_SEND_WITH_IMM:
	case ABI_WR_SEND_WITH_INV:
		return true;
	case ABI_WR_RDMA_WRITE:
	case ABI_WR_RDMA_WRITE_WITH_IMM:
		return now->remote != last->remote;
	case ABI_WR_RDMA_READ:
		return now->opcode == last->opcode && now->stride && now->stride == last->stride;
	default:
		return false;
	}
}

/* Did the same thread post the last request, wait for it, and do nothing else since? */
static inline __attribute__((always_inline)) bool is_next(const struct queue_serial *last,
							  const struct queue_serial *now)
{
	return last->alone && last->polled_n && last->thread == now->thread &&
	       now->posted_n == last->polled_n + 1 && last->received == now->received &&
	       (last->polled_n == last->posted_n + 1 ||
		(now->sends == last->sends + 1 && last->polled_n - last->posted_n <= WAIT_EVENTS));
}

/*
 * The last request of the thread, on another queue, if the request that was just posted to @queue
 * could have been posted at the same time; else NULL.
 */
static __attribute__((noinline)) const struct queue_serial *
find_crossed(struct model *model, struct queue *queue, const struct queue *before,
	     const struct queue_serial *own)
{
	const struct queue_serial *now = &queue->serial, *last = &before->serial;
	const struct qp *qp = queue->owner->qp;

	if (!now->alone || !is_next(last, now) || last->opcode != now->opcode ||
	    (now->local && now->local == last->local) || !is_independent(own, now) ||
	    (own->thread && own->others != now->others) || !qp || qp->type != ABI_QPT_RC ||
	    queue->limits.given < SERIAL_ROOM || queue->high >= SERIAL_ROOM)
		return NULL;
	return count_others(model, before->owner) == last->others ? last : NULL;
}

/* Did the request follow one on another queue? */
static __attribute__((noinline)) void note_crossed(struct model *model, struct queue *queue,
						   const struct trace_event *event,
						   const struct queue_serial *own)
{
	struct steady *steady = &model->steadies[event->process];
	const struct queue_serial *last =
		steady->posted_to ? find_crossed(model, queue, steady->posted_to, own) : NULL;

	unordered_note_post(model, queue, steady->posted_to, event);
	queue->serial.crossed = last;
	queue->serial.since = last ? last->polled : 0;
	if (queue->owner->process == event->process)
		steady->posted_to = queue;
}

void serial_note_post(struct model *model, struct queue *queue, const struct trace_event *event)
{
	const struct post *post = event->post;
	const struct wr *wr = &post->wr[0];
	const struct steady *steady = &model->steadies[event->process];
	const struct queue_serial last = queue->serial;
	struct queue_serial *now = &queue->serial;

	now->alone = post->nwr == 1 && queue->outstanding == 1 && queue->signalled == 1;
	now->thread = event->id.thread;
	now->posted_n = event->id.n;
	now->polled_n = 0;
	now->posted = event->time;
	now->sends = steady->sends;
	now->received = steady->received;
	now->stride = (int64_t)(wr->remote_addr - last.remote);
	now->local = buffer_of(wr);
	now->remote = wr->remote_addr;
	now->opcode = wr->opcode;
	now->ready = now->alone && is_next(&last, now) && is_independent(&last, now);
	if (now->ready || now->alone) {
		now->others = count_others(model, queue->owner);
		now->ready &= now->others == last.others;
	}
	now->crossed = false;
	if (steady->posted_to != queue)
		note_crossed(model, queue, event, &last);
}

/* A request that followed a request on another queue has completed. */
static __attribute__((noinline)) void count_crossed(struct model *model, struct queue *queue,
						    int64_t flight)
{
	struct queue_serial *last = &queue->serial;
	struct steady *steady = queue->owner->process < model->nsteadies
					? &model->steadies[queue->owner->process]
					: NULL;
	int64_t gap = span_limit(last->posted - last->since);

	last->crossed = false;
	if (!steady || gap > flight || queue->doubt)
		return;
	steady->turns.n++;
	steady->turns.flight_ns = span_limit(steady->turns.flight_ns + flight);
	steady->turns.gap_ns = span_limit(steady->turns.gap_ns + gap);
	steady->turns.last = queue_moment(queue, queue_oldest(queue));
}

void serial_note_completion(struct model *model, struct queue *queue,
			    const struct trace_event *event)
{
	struct queue_serial *last = &queue->serial;
	int64_t gap = span_limit(last->posted - last->polled);
	int64_t flight = span_limit(event->time - last->posted);

	last->polled = event->time;
	last->polled_n = event->id.thread == last->thread ? event->id.n : 0;
	if (last->crossed)
		count_crossed(model, queue, flight);
	if (!last->alone || !last->ready || gap > flight)
		return;
	last->turns++;
	last->flight_ns = span_limit(last->flight_ns + flight);
	last->gap_ns = span_limit(last->gap_ns + gap);
}
