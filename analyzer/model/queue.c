/*
 * The outstanding requests of one queue
 *
 * 	ring	| done | req | req | done | req |      oldest first
 * 	sges	| sge sge | sge | sge ... |            of each request, consecutive
 *
 * Most requests complete in the order of their posts. A request that completes before an older one
 * (in an SRQ, or by a poll of another thread) is only marked as done, and removed with the older
 * one. When one of the two rings is full, both are rebuilt without the requests that are done, at
 * least twice as large as the rest: so a request that never completes costs only its own entry.
 *
 * Not here: the events that add and remove requests (queues.c).
 */
#include "analyzer/model/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue_priv.h"

enum { SMALL = 16 };

struct queue *queue_new(struct life *owner, bool send)
{
	struct queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return NULL;
	queue->owner = owner;
	queue->send = send;
	queue->refs = 1;
	return queue;
}

struct queue *queue_get(struct queue *queue)
{
	if (queue)
		queue->refs++;
	return queue;
}

void queue_put(struct queue *queue)
{
	if (!queue || --queue->refs)
		return;
	queue_clear(queue);
	queue_cq_put(queue->cq);
	free(queue->refusal);
	free(queue->overlaps);
	free(queue->seen);
	free(queue->astray);
	free(queue->slots);
	free(queue->stride);
	free(queue->unordered);
	free(queue->release);
	free(queue->twice);
	wr_id_set_fini(&queue->wr_ids);
	wr_id_set_fini(&queue->buffers);
	free(queue);
}

struct queue_cq *queue_cq_get(struct queue_cq *cq)
{
	if (cq)
		cq->refs++;
	return cq;
}

void queue_cq_put(struct queue_cq *cq)
{
	if (cq && !--cq->refs)
		free(cq);
}

/* The list of queues that have outstanding requests. */

static void link_busy(struct queue **list, struct queue *queue)
{
	queue->next = *list;
	queue->at = list;
	if (queue->next)
		queue->next->at = &queue->next;
	*list = queue;
}

static void unlink_busy(struct queue *queue)
{
	if (!queue->at)
		return;
	*queue->at = queue->next;
	if (queue->next)
		queue->next->at = queue->at;
	queue->at = NULL;
}

/* The ring */

static struct queue_request *request_at(const struct queue *queue, uint32_t i)
{
	return &queue->ring[(queue->first + i) & (queue->size - 1)];
}

static uint32_t size_for_count(uint64_t n)
{
	uint32_t size = SMALL;

	while (size < n)
		size *= 2;
	return size;
}

static uint64_t live_sges(const struct queue *queue)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < queue->count; i++)
		if (!request_at(queue, i)->done)
			n += request_at(queue, i)->nsge;
	return n;
}

/* Copy the outstanding requests into the new rings @to. */
static void move_requests(const struct queue *from, struct queue *to)
{
	for (uint32_t i = 0; i < from->count; i++) {
		const struct queue_request *request = request_at(from, i);
		struct queue_request *copy = &to->ring[to->count];

		if (request->done)
			continue;
		*copy = *request;
		copy->sge = to->sge_end;
		for (uint32_t s = 0; s < request->nsge; s++)
			to->sges[to->sge_end++] = *queue_sge(from, request, s);
		to->count++;
	}
}

/* Make both rings large enough for one more request with @nsge SGEs. 0 or -ENOMEM. */
static int grow_queue(struct queue *queue, uint32_t nsge)
{
	struct queue to = *queue;

	to.size = size_for_count(2 * (uint64_t)queue->outstanding + 1);
	to.sge_size = size_for_count(2 * (live_sges(queue) + nsge));
	to.ring = malloc(to.size * sizeof(*to.ring));
	to.sges = malloc(to.sge_size * sizeof(*to.sges));
	if (!to.ring || !to.sges) {
		free(to.ring);
		free(to.sges);
		return -ENOMEM;
	}
	to.first = to.count = to.sge_first = to.sge_end = 0;
	move_requests(queue, &to);
	free(queue->ring);
	free(queue->sges);
	*queue = to;
	return 0;
}

static inline void count_request(struct queue *queue, const struct queue_request *request)
{
	queue->outstanding++;
	queue->signalled += request->signalled;
	queue->with_ah += request->ah != 0;
	queue->reads += queue_reads(request->opcode);
	if (queue->reads > queue->most_reads)
		queue->most_reads = queue->reads;
	if (queue->outstanding > queue->high)
		queue->high = queue->outstanding;
	if (!queue->cq)
		return;
	queue->cq->could++;
	queue->cq->signalled += request->signalled;
	if (queue->cq->could > queue->cq->high)
		queue->cq->high = queue->cq->could;
	if (queue->cq->signalled > queue->cq->high_signalled)
		queue->cq->high_signalled = queue->cq->signalled;
}

static inline void uncount_request(struct queue *queue, const struct queue_request *request)
{
	queue->outstanding--;
	queue->signalled -= request->signalled;
	queue->with_ah -= request->ah != 0;
	queue->reads -= queue_reads(request->opcode);
	if (!queue->wr_ids.off && request->signalled)
		wr_id_set_remove(&queue->wr_ids, request->wr_id);
	if (!queue->buffers.off && queue_fills(request))
		wr_id_set_remove(&queue->buffers, queue_sge(queue, request, 0)->addr);
	if (!queue->cq)
		return;
	queue->cq->could--;
	queue->cq->signalled -= request->signalled;
}

struct queue_request *queue_reserve(struct queue *queue, uint32_t nsge)
{
	if ((queue->count == queue->size ||
	     queue->sge_end - queue->sge_first + nsge > queue->sge_size) &&
	    grow_queue(queue, nsge))
		return NULL;
	return request_at(queue, queue->count);
}

void queue_push(struct queue *queue, struct queue **busy, const struct sge *sges)
{
	struct queue_request *request = request_at(queue, queue->count++);

	request->sge = queue->sge_end;
	for (uint32_t i = 0; i < request->nsge; i++)
		queue->sges[queue->sge_end++ & (queue->sge_size - 1)] = sges[i];
	if (!queue->outstanding)
		link_busy(busy, queue);
	count_request(queue, request);
}

/* Remove the requests at the front that are done. */
static void remove_done_requests(struct queue *queue)
{
	while (queue->count && request_at(queue, 0)->done) {
		queue->first = (queue->first + 1) & (queue->size - 1);
		queue->count--;
	}
	queue->sge_first = queue->count ? request_at(queue, 0)->sge : queue->sge_end;
}

static inline void finish_request(struct queue *queue, struct queue_request *request)
{
	request->done = true;
	uncount_request(queue, request);
}

static __attribute__((noinline)) void finish_unsignalled(struct queue *queue, uint32_t before)
{
	for (uint32_t i = 0; i < before; i++)
		if (!request_at(queue, i)->done && !request_at(queue, i)->signalled)
			finish_request(queue, request_at(queue, i));
}

void queue_retire(struct queue *queue, uint32_t at)
{
	finish_request(queue, request_at(queue, at));
	if (at && queue->send)
		finish_unsignalled(queue, at);
	remove_done_requests(queue);
	if (!queue->outstanding)
		unlink_busy(queue);
}

void queue_notify_forget(const struct model *model, const struct queue *queue, uint32_t at,
			 bool reset)
{
	struct model_forget forget = { .queue = queue,
				       .request = queue_at(queue, at),
				       .reset = reset };

	if (model->watcher.forget && !forget.request->done)
		model->watcher.forget(model->watcher.arg, &forget);
}

void queue_clear(struct queue *queue)
{
	for (uint32_t i = 0; i < queue->count; i++)
		if (!request_at(queue, i)->done)
			uncount_request(queue, request_at(queue, i));
	unlink_busy(queue);
	free(queue->ring);
	free(queue->sges);
	queue->ring = NULL;
	queue->sges = NULL;
	queue->first = queue->count = queue->size = 0;
	queue->sge_first = queue->sge_end = queue->sge_size = 0;
	queue->run = 0;
	queue->draining = false;
	wr_id_set_clear(&queue->wr_ids);
	wr_id_set_clear(&queue->buffers);
}

int64_t queue_search(const struct queue *queue, struct event_id id, uint32_t index)
{
	for (uint32_t i = 1; i < queue->count; i++)
		if (queue_is_request(request_at(queue, i), id, index))
			return i;
	return -1;
}

/* Questions */

const struct queue_request *queue_oldest(const struct queue *queue)
{
	for (uint32_t i = 0; i < queue->count; i++)
		if (!request_at(queue, i)->done)
			return request_at(queue, i);
	return NULL;
}

static bool belongs_to(const struct queue *queue, uint32_t process)
{
	return queue->owner && queue->owner->process == process;
}

bool queues_each(const struct model *model, uint32_t process, queue_visit *visit, void *arg)
{
	for (const struct queue *queue = model->busy; queue; queue = queue->next)
		for (uint32_t i = 0; belongs_to(queue, process) && i < queue->count; i++)
			if (!request_at(queue, i)->done && visit(arg, queue, request_at(queue, i)))
				return true;
	return false;
}

static struct moment last_post(const struct queue *queue)
{
	const struct queue_stats *stats = &queue->stats;

	return (struct moment){ .id = { stats->last_thread, stats->last_number },
				.verb = stats->last_verb,
				.stack = stats->last_stack,
				.time = stats->last_time };
}

uint64_t queue_count_sent(const struct queue *sends)
{
	uint64_t n = sends->messages;

	for (uint32_t i = 0; i < sends->count; i++)
		n -= !queue_at(sends, i)->done && queue_at(sends, i)->message;
	return n;
}

const struct life *queue_receiver(const struct queue *queue)
{
	if (!queue->owner || queue->owner->kind == OBJECT_qp)
		return queue->owner;
	return queue->users == 1 ? queue->user : NULL;
}

/* Are the receives of @qp in an SRQ, and may they complete to @cq? */
static bool receives_from_srq(const struct life *qp, const struct life *cq)
{
	return qp->qp && qp->qp->srq && qp->qp->recv_cq == cq->handle &&
	       (!qp->rq || qp->rq->doubt || qp->rq->outstanding);
}

bool queues_expect_none(const struct life *cq)
{
	if (!cq->cq || !cq->cq->queues || cq->cq->doubt || cq->cq->pools || cq->cq->could)
		return false;
	for (const struct life_link *link = cq->children; link; link = link->next_child)
		if (receives_from_srq(link->child, cq))
			return false;
	return true;
}

struct peer_work queues_peer_work(const struct life *qp)
{
	const struct queue *sq = qp->sq, *rq = qp->rq;
	struct peer_work work = { .state = qp_state(qp) };

	if (qp->qp)
		work.moved = qp->qp->moved;
	if (!qp->unwatched && qp->arrived > qp->taken)
		work.unread = qp->arrived - qp->taken;
	if (!sq || !rq || sq->doubt || rq->doubt || queue_receiver(rq) != qp)
		return work;
	work.known = true;
	work.sends = sq->posted;
	work.to_receives = sq->to_receives;
	work.writes = sq->writes;
	work.receives = rq->messages;
	work.before = rq->posted - rq->messages;
	work.dropped = rq->dropped;
	work.room = rq->outstanding;
	work.received = rq->completed;
	work.sending = sq->signalled;
	work.messages = queue_count_sent(sq);
	work.interrupted = qp->qp && (qp->qp->reset || work.state != ABI_QPS_RTS);
	work.last = last_post(sq->stats.last_time > rq->stats.last_time ? sq : rq);
	return work;
}

struct peer_work queues_work_of(const struct peer *peer)
{
	if (!peer)
		return (struct peer_work){ .state = QP_UNKNOWN };
	return peer->life ? queues_peer_work(peer->life) : peer->left;
}

static bool has_receives_in_cq(const struct life *qp, uint64_t cq)
{
	return qp->kind == OBJECT_qp && qp->qp && qp->qp->recv_cq == cq && qp->rq &&
	       qp->rq->outstanding;
}

struct receive_cq queues_receive_cq(const struct life *qp)
{
	const struct life_link *link = qp->qp ? qp->parents : NULL;
	struct receive_cq found = { 0 };
	const struct life *cq;

	while (link && (link->parent->kind != OBJECT_cq || link->parent->handle != qp->qp->recv_cq))
		link = link->next_parent;
	cq = link ? link->parent : NULL;
	if (!cq || cq->inherited)
		return found;
	found.id = cq->id;
	for (link = cq->parents; link; link = link->next_parent)
		if (link->parent->kind == OBJECT_comp_channel)
			found.channel = link->parent->handle;
	for (link = cq->children; link; link = link->next_child)
		found.others += link->child != qp && has_receives_in_cq(link->child, cq->handle);
	return found;
}

/* How many messages has @sender posted? False: that is not known. */
static bool count_messages(const struct peer *sender, uint64_t *ret_n)
{
	const struct queue *sq = sender && sender->life ? sender->life->sq : NULL;

	if (!sender || (sender->life ? !sq || sq->doubt : !sender->left.known))
		return false;
	*ret_n = sender->life ? sq->to_receives : sender->left.to_receives;
	return true;
}

struct shared_receives queues_shared_receives(struct peers *peers, const struct life *qp)
{
	const struct queue *rq = qp->rq && !qp->rq->doubt ? qp->rq : NULL;
	const struct life *srq = rq && rq->owner != qp ? rq->owner : NULL;
	struct shared_receives shared = { 0 };

	for (const struct life_link *link = srq ? srq->children : NULL; link;
	     link = link->next_child) {
		struct peer *user = link->child->kind == OBJECT_qp ? link->child->peer : NULL;
		uint64_t messages;

		if (!user || !count_messages(peer_find_other(peers, user), &messages))
			continue;
		shared.messages += messages;
		shared.users++;
	}
	if (shared.users > 1) {
		shared.srq = srq->id;
		shared.receives = rq->posted;
	}
	return shared;
}

/* The device context that @life depends on, directly or not. */
static const struct life *context_of(const struct life *life)
{
	while (life && life->kind != OBJECT_context) {
		const struct life_link *link = life->parents;

		while (link && link->parent->kind != OBJECT_context &&
		       link->parent->kind != OBJECT_pd)
			link = link->next_parent;
		life = link ? link->parent : NULL;
	}
	return life;
}

/*
 * Index of the SGE of @request with @lkey; -1: none. The device does not check the lkeys of inline
 * sends.
 */
static int64_t find_key(const struct queue *queue, const struct queue_request *request,
			uint32_t lkey)
{
	if (request->flags & ABI_SEND_INLINE)
		return -1;
	for (uint32_t i = 0; i < request->nsge; i++) {
		const struct sge *sge = queue_sge(queue, request, i);

		if (sge->lkey == lkey && sge->length)
			return i;
	}
	return -1;
}

/*
 * Does @request certainly still use @ah? An unsignalled request may be done: the peer may tell the
 * program.
 */
static bool still_uses_ah(const struct queue_request *request, const struct life *ah)
{
	return request->ah == ah->handle && request->signalled;
}

static void note_use(struct queue_users *named, const struct queue *queue,
		     const struct queue_request *request, const struct life *object)
{
	int64_t sge = object->kind == OBJECT_ah   ? (still_uses_ah(request, object) ? 0 : -1)
		      : object->kind == OBJECT_mr ? find_key(queue, request, object->number)
						  : -1;

	if (sge < 0)
		return;
	if (named->n++)
		return;
	named->queue = queue;
	named->request = request;
	named->sge = (uint32_t)sge;
}

struct queue_users queues_find_users(const struct model *model, const struct life *object)
{
	const struct life *context = context_of(object);
	struct queue_users named = { 0 };

	for (const struct queue *queue = model->busy; queue; queue = queue->next) {
		if (!belongs_to(queue, object->process) || queue->doubt)
			continue;
		if (object->kind == OBJECT_ah && !queue->with_ah)
			continue;
		if (context && context_of(queue->owner) != context)
			continue;
		for (uint32_t i = 0; i < queue->count; i++)
			if (!request_at(queue, i)->done)
				note_use(&named, queue, request_at(queue, i), object);
	}
	return named;
}

const struct queue_destroyed *queues_find_left(const struct model *model, const struct life *qp)
{
	const struct queue_destroyed *found = NULL;

	for (int i = 0; model->left && i < LEFT; i++) {
		const struct queue_destroyed *left = &model->left[i];

		if (left->requests && left->process == qp->process && left->number == qp->number &&
		    left->destroyed.time < qp->created.time &&
		    (!found || left->destroyed.time > found->destroyed.time))
			found = left;
	}
	return found;
}
