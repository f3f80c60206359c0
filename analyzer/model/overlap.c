/*
 * Buffers of two requests that are outstanding at once
 *
 *	receive, receive	the second message lands on the first
 *	READ, READ		the same
 *	READ, SEND or WRITE	without a fence, the data sent may be older than the data read
 *	SEND, receive		a retransmitted SEND may send what was received
 *	READ, receive		the message overwrites the data read, or vice versa
 *	receive, SEND		a message may arrive before the SEND
 *	READ, WRITE		to the same remote bytes: without a fence the WRITE may go first
 *	SEND, SEND		if the peer receives them in different places: both may have the
 *				bytes of the second
 *	receive, the peer's WRITE	a message overwrites the data written, or vice versa; or the
 *				WRITE answers a request that was given up
 *
 * A receive queue may be an SRQ's; sends are compared with receives only within one queue pair.
 * Across queue pairs only sends of the data of a READ are examined here: a fence does not help
 * there. Other requests of different queues are in crossing.c.
 */
#include "analyzer/model/overlap.h"

#include <stdlib.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/queue.h"

enum {
	SEARCH_REQUESTS = 512, /* requests of a queue */
	COMPARED_REQUESTS =
		256, /* a request is compared with so many outstanding requests, the latest first */
	LEAST_SENDS = 4,             /* number of outstanding sends of one buffer */
	GIVEN_UP_NS = 5000000,       /* ns after the last message */
	COMPARED_BUFFERS = 50000000, /* buffers compared in a whole trace: about a second */
};

static bool takes_data(const struct queue_request *request)
{
	return queue_takes_receive(request->opcode) || request->opcode == ABI_WR_RDMA_WRITE;
}

/* Is @request a WRITE that need not wait for the READs before it? */
static bool is_write(const struct queue_request *request)
{
	return (request->opcode == ABI_WR_RDMA_WRITE ||
		request->opcode == ABI_WR_RDMA_WRITE_WITH_IMM) &&
	       !(request->flags & ABI_SEND_FENCE);
}

/* The bytes that two elements share; 0: none. */
static uint64_t share_bytes(const struct sge *a, const struct sge *b, uint64_t *ret_addr)
{
	uint64_t from = a->addr > b->addr ? a->addr : b->addr;
	uint64_t a_end = a->addr + a->length, b_end = b->addr + b->length;
	uint64_t to = a_end < b_end ? a_end : b_end;

	*ret_addr = from;
	return to > from ? to - from : 0;
}

static uint64_t share_buffer(struct model *model, const struct queue *of_earlier,
			     const struct queue_request *earlier, const struct queue *of_later,
			     const struct queue_request *later, uint64_t *ret_addr)
{
	for (uint32_t i = 0; i < earlier->nsge; i++)
		for (uint32_t k = 0; k < later->nsge; k++) {
			uint64_t shared = share_bytes(queue_sge(of_earlier, earlier, i),
						      queue_sge(of_later, later, k), ret_addr);

			model->compared++;
			if (shared)
				return shared;
		}
	return 0;
}

/* Is @request a signalled atomic? */
static bool takes_value(const struct queue_request *request)
{
	return queue_reads(request->opcode) && request->opcode != ABI_WR_RDMA_READ &&
	       request->signalled;
}

static void store_pair(struct overlap_pair *pair, const struct queue *of_earlier,
		       const struct queue_request *earlier, const struct queue *of_later,
		       const struct queue_request *later)
{
	pair->gathered += earlier->opcode == ABI_WR_RDMA_READ &&
			  later->opcode == ABI_WR_RDMA_READ &&
			  earlier->remote_addr != later->remote_addr;
	pair->returned += takes_value(earlier) && takes_value(later) &&
			  earlier->wr_id != later->wr_id &&
			  (!pair->n || later->wr_id == pair->later_id);
	if (pair->n++)
		return;
	pair->earlier = queue_moment(of_earlier, earlier);
	pair->later = queue_moment(of_later, later);
	pair->earlier_id = earlier->wr_id;
	pair->later_id = later->wr_id;
	pair->earlier_opcode = earlier->opcode;
	pair->later_opcode = later->opcode;
	pair->index = later->index;
	pair->earlier_index = earlier->index;
	pair->other = of_earlier->owner->id;
	pair->apart =
		queue_sge(of_earlier, earlier, 0)->addr != queue_sge(of_later, later, 0)->addr;
}

/*
 * Is @request a READ or atomic that may still be in progress? No poll since, nor a reply of the
 * peer, shows that it is done.
 */
static bool is_reading(const struct queue *queue, const struct queue_request *request)
{
	const struct life *qp = queue->owner;

	return queue_reads(request->opcode) && queue_fills(request) && request->signalled &&
	       (!qp->rq || request->time > qp->rq->polled);
}

/* Does @receive belong to the queue's last post, made after a completion was polled? */
static bool is_reposted(const struct queue *queue, const struct queue_request *receive)
{
	const struct queue_request *last = queue_at(queue, queue->count - 1);

	return queue->polled && receive->time > queue->polled && receive->n == last->n &&
	       receive->thread == last->thread;
}

/* The kind of the pair if @later must not share a buffer with @earlier; else NULL. */
static struct overlap_pair *choose_pair(struct queue *queue, const struct queue *other,
					const struct queue_request *earlier,
					const struct queue_request *later)
{
	struct overlaps *overlaps = queue->overlaps;

	if (earlier->done || earlier == later)
		return NULL;
	if (other->owner != queue->owner)
		return is_reading(other, earlier) ? &overlaps->abroad : NULL;
	if (!queue->send) /* a receive, after a receive or a send */
		return earlier->opcode == QUEUE_RECEIVE ? &overlaps->filled
		       : is_reading(other, earlier)     ? &overlaps->refilled
		       : takes_data(earlier) && earlier->signalled &&
				       !(earlier->flags & ABI_SEND_INLINE)
			       ? &overlaps->resent
			       : NULL;
	if (!queue_fills(earlier))
		return NULL;
	if (earlier->opcode == QUEUE_RECEIVE)
		return is_reposted(other, earlier) ? &overlaps->received : NULL;
	if (queue_fills(later))
		return &overlaps->filled;
	return takes_data(later) && !(later->flags & ABI_SEND_FENCE) ? &overlaps->unfenced : NULL;
}

/* Compare @later, the last of @queue, with requests outstanding on @other, maybe the same queue. */
static void check_earlier(struct model *model, struct queue *queue, const struct queue *other,
			  const struct queue_request *later)
{
	uint32_t most = other->count < COMPARED_REQUESTS ? other->count : COMPARED_REQUESTS;

	for (uint32_t i = 0; i < most; i++) {
		const struct queue_request *earlier = queue_at(other, other->count - 1 - i);
		struct overlap_pair *pair = choose_pair(queue, other, earlier, later);
		uint64_t addr, length;

		if (!pair)
			continue;
		length = share_buffer(model, other, earlier, queue, later, &addr);
		if (!length)
			continue;
		store_pair(pair, other, earlier, queue, later);
		if (pair->n == 1) {
			pair->addr = addr;
			pair->length = length;
		}
		return;
	}
}

/* Does @write begin where an outstanding READ or atomic of the same queue begins at the peer? */
static void check_remote_read(struct model *model, struct queue *queue,
			      const struct queue_request *write)
{
	struct overlap_pair *pair = &queue->overlaps->overtaken;
	uint32_t most = queue->count < COMPARED_REQUESTS ? queue->count : COMPARED_REQUESTS;

	for (uint32_t i = 1; i < most; i++) {
		const struct queue_request *read = queue_at(queue, queue->count - 1 - i);

		model->compared++;
		if (read->done || !is_reading(queue, read) || read->rkey != write->rkey ||
		    read->remote_addr != write->remote_addr)
			continue;
		store_pair(pair, queue, read, queue, write);
		pair->addr = write->remote_addr;
		return;
	}
}

/* The receives that the peer of @queue has outstanding; NULL: not known. */
static struct queue *receives_of_peer(struct model *model, const struct queue *queue)
{
	struct life *qp = queue->owner;
	struct peer *other = peer_find_other(&model->peers, qp->peer);
	struct queue *rq = other && other->life ? other->life->rq : NULL;

	return rq && !rq->doubt && rq->owner && other->life->state == LIFE_LIVE ? rq : NULL;
}

/* Does @receive share bytes with what @write writes at its peer? */
static bool is_written_to(const struct queue *rq, const struct queue_request *receive,
			  const struct queue *queue, const struct queue_request *write,
			  uint64_t *ret_addr, uint64_t *ret_length)
{
	struct sge to = { .addr = write->remote_addr };

	for (uint32_t i = 0; i < write->nsge; i++)
		to.length += queue_sge(queue, write, i)->length;
	for (uint32_t i = 0; i < receive->nsge; i++) {
		*ret_length = share_bytes(queue_sge(rq, receive, i), &to, ret_addr);
		if (*ret_length)
			return true;
	}
	return false;
}

/* Did a WRITE go to the place of @write before it was posted as a receive? */
static bool was_written(const struct overlaps *overlaps, const struct queue_request *write)
{
	for (unsigned int i = 0; i < overlaps->nwritten && i < OVERLAP_WRITTEN; i++)
		if (overlaps->written[i] == write->remote_addr)
			return true;
	return false;
}

/*
 * Did the peer, the owner of @rq, give up the answer that @write brings? It posted @receive to the
 * same place long after its last message, and has sent no message since then: it cannot have asked
 * for @write again.
 */
static bool is_given_up(const struct queue *rq, const struct queue_request *receive)
{
	const struct queue *sends = rq->owner->sq;

	return sends && !sends->doubt && sends->stats.posts &&
	       receive->time - sends->stats.last_time >= GIVEN_UP_NS;
}

static void store_entered(struct overlap_pair *pair, const struct overlap_pair *one,
			  const struct queue *rq, const struct queue_request *receive,
			  const struct queue *queue, const struct queue_request *write)
{
	store_pair(pair, rq, receive, queue, write);
	if (pair->n == 1) {
		pair->addr = one->addr;
		pair->length = one->length;
	}
}

/*
 * A WRITE with immediate data takes a receive, whose buffer may be the one that it writes to.
 * Receives that only announce a WRITE may have no data: then all have one buffer, or none.
 */
static void check_peer_receives(struct model *model, struct queue *queue,
				const struct queue_request *write)
{
	struct overlaps *overlaps = queue->overlaps;
	const struct queue *rq = receives_of_peer(model, queue);
	uint32_t most = rq ? rq->count < COMPARED_REQUESTS ? rq->count : COMPARED_REQUESTS : 0;
	struct overlap_pair one;

	if (!rq || !rq->overlaps || !rq->overlaps->apart)
		return;
	for (uint32_t i = 0; i < most; i++) {
		const struct queue_request *receive = queue_at(rq, rq->count - 1 - i);

		model->compared++;
		if (receive->done ||
		    !is_written_to(rq, receive, queue, write, &one.addr, &one.length))
			continue;
		store_entered(&overlaps->entered, &one, rq, receive, queue, write);
		if (was_written(overlaps, write) && is_given_up(rq, receive))
			store_entered(&overlaps->late, &one, rq, receive, queue, write);
		return;
	}
	if (!was_written(overlaps, write))
		overlaps->written[overlaps->nwritten++ % OVERLAP_WRITTEN] = write->remote_addr;
}

static bool sends_buffer(const struct queue_request *request)
{
	return takes_data(request) && !(request->flags & ABI_SEND_INLINE) && request->nsge;
}

/* Are the messages to @qp polled in the order in which they come? */
static bool is_in_order(const struct life *qp)
{
	const struct queue *rq = qp->rq;

	return rq && rq->owner == qp && !rq->doubt && rq->poller != UINT32_MAX;
}

/* How many messages to @rq, which are polled in order, have been. */
static uint64_t count_polled(const struct queue *rq)
{
	const struct queue_request *oldest = queue_oldest(rq);

	return oldest ? oldest->message - 1 : rq->messages;
}

/*
 * The number of messages that the peer had received when it posted the last message that the queue
 * pair of @queue has polled. False: not known.
 */
static bool find_seen(struct model *model, const struct queue *queue, uint64_t *ret_seen)
{
	const struct life *qp = queue->owner;
	const struct peer *other = peer_find_other(&model->peers, qp->peer);
	const struct queue *sq = other && other->life ? other->life->sq : NULL;
	uint64_t polled = is_in_order(qp) ? count_polled(qp->rq) : 0;

	if (!polled || polled > SEARCH_REQUESTS || !sq || sq->doubt || !sq->seen)
		return false;
	*ret_seen = sq->seen[polled - 1];
	return (*ret_seen)--;
}

bool overlap_is_unanswered(struct model *model, const struct queue *queue,
			   const struct queue_request *send)
{
	const struct queue *rq = queue->owner->rq;
	uint64_t seen;

	if (!rq || send->time > rq->polled)
		return true;
	return send->message && find_seen(model, queue, &seen) && seen < send->message;
}

/*
 * Is @earlier a send that may not have left? An unsignalled one may be known to be done by an
 * answer in memory, unless both are of one post.
 */
static bool may_be_unsent(struct model *model, const struct queue *queue,
			  const struct queue_request *earlier, const struct queue_request *later)
{
	return !earlier->done && sends_buffer(earlier) &&
	       (earlier->signalled ||
		(earlier->n == later->n && earlier->thread == later->thread)) &&
	       overlap_is_unanswered(model, queue, earlier);
}

/* Do both go to different places of the peer? Only then can the peer want different bytes. */
static bool goes_elsewhere(struct model *model, const struct queue *queue,
			   const struct queue_request *earlier, const struct queue_request *later)
{
	const struct queue *rq;

	if (earlier->opcode == ABI_WR_RDMA_WRITE || later->opcode == ABI_WR_RDMA_WRITE)
		return earlier->opcode == later->opcode &&
		       earlier->remote_addr != later->remote_addr;
	rq = receives_of_peer(model, queue);
	return rq && rq->overlaps && rq->overlaps->apart;
}

/* How many outstanding sends, at most LEAST_SENDS, have the buffer of @later? */
static unsigned int count_same(struct model *model, const struct queue *queue,
			       const struct queue_request *later,
			       const struct queue_request **ret_earlier)
{
	uint32_t most = queue->count < COMPARED_REQUESTS ? queue->count : COMPARED_REQUESTS;
	uint64_t addr = queue_sge(queue, later, 0)->addr;
	unsigned int n = 0;

	for (uint32_t i = 1; i < most && n < LEAST_SENDS; i++) {
		const struct queue_request *earlier = queue_at(queue, queue->count - 1 - i);

		model->compared++;
		if (earlier->nsge && queue_sge(queue, earlier, 0)->addr == addr &&
		    may_be_unsent(model, queue, earlier, later) && !n++)
			*ret_earlier = earlier;
	}
	return n;
}

/*
 * Is @later hardly the same message once more? It differs in length or opcode, or answers a message
 * that came after @earlier was posted. What a benchmark sends again and again is one message.
 */
static bool is_another_message(const struct queue *queue, const struct queue_request *earlier,
			       const struct queue_request *later)
{
	const struct life *qp = queue->owner;

	return earlier->opcode != later->opcode ||
	       queue_sge(queue, earlier, 0)->length != queue_sge(queue, later, 0)->length ||
	       (queue->overlaps->answers && qp->rq && qp->rq->polled > earlier->time);
}

/* Is the queue pair of @queue connected to one of its own process? */
static bool sends_to_own_process(struct model *model, const struct queue *queue)
{
	const struct life *qp = queue->owner;
	const struct peer *other = peer_find_other(&model->peers, qp->peer);

	return other && other->life && other->life->process == qp->process;
}

/* Was the buffer of @later, the last send of @queue, sent by an outstanding one? */
static void check_reused(struct model *model, struct queue *queue,
			 const struct queue_request *later)
{
	struct overlaps *overlaps = queue->overlaps;
	const struct sge *sge = queue_sge(queue, later, 0);
	const struct queue_request *earlier = NULL;
	unsigned int n = sge->length ? count_same(model, queue, later, &earlier) : 0;

	if (!overlaps->sent_from)
		overlaps->sent_from = sge->addr;
	overlaps->sent_apart |= overlaps->sent_from != sge->addr;
	if (!n || !goes_elsewhere(model, queue, earlier, later))
		return;
	overlaps->deep += n == LEAST_SENDS;
	overlaps->others += n == LEAST_SENDS && is_another_message(queue, earlier, later);
	overlaps->to_itself = sends_to_own_process(model, queue);
	store_pair(&overlaps->reused, queue, earlier, queue, later);
	if (overlaps->reused.n == 1) {
		overlaps->reused.addr = sge->addr;
		overlaps->reused.length =
			share_buffer(model, queue, earlier, queue, later, &overlaps->reused.addr);
	}
}

/* Store what the queue pair of @message, the last of @queue, had received when it was posted. */
static void note_seen(struct queue *queue, const struct queue_request *message)
{
	const struct life *qp = queue->owner;
	uint64_t polled;

	if (message->message > SEARCH_REQUESTS || !is_in_order(qp))
		return;
	if (!queue->seen)
		queue->seen = calloc(SEARCH_REQUESTS, sizeof(*queue->seen));
	if (!queue->seen)
		return; /* a finding is missing */
	polled = count_polled(qp->rq);
	queue->seen[message->message - 1] = polled < UINT16_MAX ? (uint16_t)(polled + 1) : 0;
}

static void note_place(struct queue *queue, const struct queue_request *request)
{
	uint64_t addr = queue_sge(queue, request, 0)->addr;

	if (!queue->overlaps->first)
		queue->overlaps->first = addr;
	else if (queue->overlaps->first != addr)
		queue->overlaps->apart = true;
}

/* Must one more request of @queue be examined? */
static bool may_check_more(const struct model *model, const struct queue *queue)
{
	return (!queue->overlaps || queue->overlaps->looked < SEARCH_REQUESTS) && !queue->doubt &&
	       queue->owner && model->compared <= COMPARED_BUFFERS;
}

/* Compare @later, a send of @queue, with the READs that other queue pairs of its process have. */
static void check_other_queues(struct model *model, struct queue *queue,
			       const struct queue_request *later)
{
	for (const struct queue *other = model->busy; other; other = other->next) {
		model->compared++;
		if (other != queue && other->reads && !other->doubt && other->owner &&
		    other->owner->process == queue->owner->process && other->overlaps &&
		    other->overlaps->apart)
			check_earlier(model, queue, other, later);
	}
}

static bool begin_overlaps(struct queue *queue)
{
	const struct queue *receives = queue->owner->rq;

	queue->overlaps = calloc(1, sizeof(*queue->overlaps));
	if (!queue->overlaps)
		return false;
	queue->overlaps->answers = queue->send && receives && receives->completed;
	return true;
}

static __attribute__((noinline)) void examine_last(struct model *model, struct queue *queue)
{
	const struct queue_request *request = queue_at(queue, queue->count - 1);
	const struct life *owner = queue->owner;

	if (!request->nsge)
		return;
	if (!queue->overlaps && !begin_overlaps(queue))
		return; /* if out of memory, one finding is missing */
	queue->overlaps->looked++;
	if (queue_fills(request))
		note_place(queue, request);
	model->reads |= queue_reads(request->opcode);
	check_earlier(model, queue, queue, request);
	if (model->reads && queue->send && takes_data(request))
		check_other_queues(model, queue, request);
	if (!queue->send && owner->kind == OBJECT_qp && owner->sq && !owner->sq->doubt)
		check_earlier(model, queue, owner->sq, request);
	if (!queue->send)
		return;
	if (request->message)
		note_seen(queue, request);
	if (sends_buffer(request) && owner->kind == OBJECT_qp)
		check_reused(model, queue, request);
	if (queue->reads && request->rkey && is_write(request))
		check_remote_read(model, queue, request);
	if (request->opcode == ABI_WR_RDMA_WRITE && owner->kind == OBJECT_qp)
		check_peer_receives(model, queue, request);
	if (takes_data(request) && !(request->flags & ABI_SEND_INLINE) && owner->rq &&
	    owner->rq->owner == owner && !owner->rq->doubt)
		check_earlier(model, queue, owner->rq, request);
}

/* Requests posted to a queue pair that the program has moved to ERR are flushed without data. */
void overlap_check_request(struct model *model, struct queue *queue)
{
	if (may_check_more(model, queue) && !queue->draining)
		examine_last(model, queue);
}
