/*
 * Queues that are asked for more than they can hold
 *
 * A refused post is not a mistake by itself: programs fill a queue until it refuses, poll, and post
 * again. So a refusal is remembered until it is resolved: the request that was refused is posted
 * again (nothing is reported), or the queue ends without it. A request with the same wr_id or the
 * same buffer counts as the same request: it is better to resolve a refusal wrongly than to report
 * one wrongly.
 *
 * Counts of a queue are reported only if they are certain: no doubt about its content (queue.h), a
 * capacity that the device has granted, and one thread that posts and polls, since the order of two
 * threads is not exact.
 */
#include "analyzer/model/overflow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/queue.h"
#include "core/base/map.h"

/* fewer unsignalled requests, or less than 1/SHARE of the queue, need no completion */
enum { FEW = 8, SHARE = 8 };

/* ns: time between the first and the last post that shows a long-running program */
#define LONG_NS INT64_C(60000000000)

static bool is_certain(const struct queue *queue)
{
	return !queue->doubt && queue->limits.known && queue->owner &&
	       (!queue->poller || queue->poller == queue->poster);
}

static uint32_t larger_of(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t get_capacity(const struct queue *queue)
{
	return larger_of(queue->limits.asked, queue->limits.given);
}

/* How many requests of @post are accepted together: ibv_wr_complete() posts all or none. */
static uint32_t count_together(const struct post *post)
{
	return post->verb == VERB_wr_complete ? post->nwr : 1;
}

static bool is_full_for(const struct queue *queue, uint32_t requests)
{
	return is_certain(queue) && get_capacity(queue) &&
	       queue->outstanding + (uint64_t)requests > get_capacity(queue);
}

static void report_problem_of(const struct model_watcher *watcher, struct queue *queue,
			      struct model_queue_problem *queue_problem)
{
	queue_problem->object = queue->owner;
	queue_problem->queue = queue;
	watcher->queue_problem(watcher->arg, queue_problem);
}

/* One request: its elements, its inline bytes */

static void check_request(const struct model_watcher *watcher, const struct trace_event *event,
			  struct queue *queue, uint32_t i)
{
	const struct wr *wr = &event->post->wr[i];
	const struct queue_limits *limits = &queue->limits;
	struct model_queue_problem queue_problem = { .index = i };

	if (wr->num_sge > queue->easy_sges) {
		queue_problem.kind = PROBLEM_SGE;
		queue_problem.number = (uint32_t)wr->num_sge;
		queue_problem.limit = larger_of(limits->sge_asked, limits->sge_given);
	} else if (queue->send && wr->send_flags & ABI_SEND_INLINE &&
		   wr_bytes(wr) > larger_of(limits->inline_asked, limits->inline_given)) {
		queue_problem.kind = PROBLEM_INLINE;
		queue_problem.number = wr_bytes(wr);
		queue_problem.limit = larger_of(limits->inline_asked, limits->inline_given);
	} else {
		return;
	}
	queue_problem.moment = moment_of(event);
	if (event->post->bad == i + 1)
		queue_problem.unposted = event->post->nwr - i - 1;
	report_problem_of(watcher, queue, &queue_problem);
}

const char *overflow_reason(const struct queue *queue, const struct post *post, char *text,
			    size_t size)
{
	uint32_t together = count_together(post);
	size_t used;

	if (queue->owner->kind == OBJECT_qp && queue->limits.known && !get_capacity(queue)) {
		snprintf(text, size, "%s was created with %s 0", queue->owner->name,
			 queue->send ? "max_send_wr" : "max_recv_wr");
		return text;
	}
	if (!is_full_for(queue, together))
		return NULL;
	if (queue->send)
		snprintf(text, size, "%s: %u of %u outstanding, %u of them signalled",
			 queue->owner->name, queue->outstanding, get_capacity(queue),
			 queue->signalled);
	else
		snprintf(text, size, "%s: %u of %u receives outstanding", queue->owner->name,
			 queue->outstanding, get_capacity(queue));
	used = strlen(text);
	if (together > 1)
		snprintf(text + used, size - used, "; the list has %u, and all or none is posted",
			 together);
	return text;
}

/* Refusals */

static struct queue_mark mark_of(const struct wr *wr)
{
	return (struct queue_mark){ .wr_id = wr->wr_id,
				    .addr = wr->nsge ? wr->sge[0].addr : 0,
				    .remote_addr = wr->remote_addr,
				    .opcode = wr->opcode };
}

static bool is_same(const struct queue_mark *a, const struct queue_mark *b)
{
	return a->wr_id == b->wr_id && a->addr == b->addr && a->remote_addr == b->remote_addr &&
	       a->opcode == b->opcode;
}

/* May @a and @b be the same request, perhaps with another wr_id? */
static bool is_alike(const struct queue_mark *a, const struct queue_mark *b)
{
	return a->wr_id == b->wr_id || a->addr == b->addr;
}

static uint64_t hash_list(const struct post *post)
{
	uint64_t hash = post->nwr;

	for (uint32_t i = 0; i < post->nwr; i++) {
		struct queue_mark mark = mark_of(&post->wr[i]);

		hash = map_hash(hash ^ mark.wr_id);
		hash = map_hash(hash ^ mark.addr);
		hash = map_hash(hash ^ mark.remote_addr ^ (uint64_t)(unsigned int)mark.opcode);
	}
	return hash;
}

static void store_refusal(struct queue *queue, const struct trace_event *event, uint32_t taken)
{
	const struct post *post = event->post;
	bool full = post->ret == ENOMEM || post->ret == -ENOMEM;
	uint64_t recovered = queue->refusal->recovered;

	*queue->refusal = (struct queue_refusal){
		.open = true,
		.at = moment_of(event),
		.error = abs(post->ret),
		.nwr = post->nwr,
		.taken = taken,
		.first = mark_of(&post->wr[0]),
		.last = mark_of(&post->wr[taken ? taken - 1 : 0]),
		.bad = mark_of(&post->wr[taken]),
		.list = hash_list(post),
		.outstanding = queue->outstanding,
		.signalled = queue->signalled,
		.limit = get_capacity(queue),
		.together = count_together(post),
		.full = full && is_full_for(queue, count_together(post)),
		.completed = queue->completed,
		.recovered = recovered,
	};
}

/* Is @a a retry of request @b? */
static bool is_retry(const struct queue_mark *a, const struct queue_mark *b)
{
	return a->wr_id == b->wr_id || (a->addr == b->addr && a->remote_addr == b->remote_addr);
}

/* Is @mark @like a request that was refused after the first one? */
static bool was_refused_later(const struct queue_refusal *refusal, const struct queue_mark *mark,
			      bool (*like)(const struct queue_mark *a, const struct queue_mark *b))
{
	uint64_t n = refusal->nmore < QUEUE_REFUSED ? refusal->nmore : QUEUE_REFUSED;

	for (uint64_t i = 0; i < n; i++)
		if (like(mark, &refusal->more[i]))
			return true;
	return false;
}

/* Another request is refused by a queue that is still full, and the program continues. */
static void note_next_refusal(struct queue *queue, const struct trace_event *event, uint32_t taken)
{
	struct queue_refusal *refusal = queue->refusal;
	struct queue_mark mark = mark_of(&event->post->wr[taken]);

	if (!refusal->full || refusal->later || queue->completed != refusal->completed ||
	    abs(event->post->ret) != ENOMEM || event->id.thread != refusal->at.id.thread ||
	    is_retry(&mark, &refusal->bad) || was_refused_later(refusal, &mark, is_retry))
		return;
	if (refusal->nmore < QUEUE_REFUSED)
		refusal->more[refusal->nmore] = mark;
	refusal->nmore++;
}

static int note_refused_wr(const struct model_watcher *watcher, const struct trace_event *event,
			   struct queue *queue, uint32_t taken)
{
	struct model_queue_problem queue_problem = { .kind = PROBLEM_STUCK, .index = taken };

	if (taken >= event->post->nwr)
		return 0; /* the refused request is not in the trace */
	check_request(watcher, event, queue, taken);
	if (queue->refusal && queue->refusal->open) {
		note_next_refusal(queue, event, taken);
		return 0;
	}
	if (!queue->refusal && !(queue->refusal = calloc(1, sizeof(*queue->refusal))))
		return -ENOMEM;
	store_refusal(queue, event, taken);
	if (!queue->refusal->full || !queue->send || queue->signalled ||
	    queue->outstanding < get_capacity(queue))
		return 0;
	/* no request will complete, and none fits, so the refusal is final */
	queue->refusal->open = false;
	queue->beyond = true;
	queue_problem.moment = queue->refusal->at;
	queue_problem.limit = queue->refusal->limit;
	report_problem_of(watcher, queue, &queue_problem);
	return 0;
}

/* Requests were accepted while a refusal is open. */
static void resolve_refusal(const struct model_watcher *watcher, const struct trace_event *event,
			    struct queue *queue, uint32_t taken)
{
	struct queue_refusal *refusal = queue->refusal;
	const struct post *post = event->post;
	struct model_queue_problem queue_problem = { .kind = PROBLEM_REPEATED, .refusal = refusal };

	if (refusal->taken && !refusal->later && post->nwr == refusal->nwr &&
	    !is_same(&refusal->first, &refusal->bad) && refusal->list == hash_list(post)) {
		refusal->open = false;
		queue_problem.moment = moment_of(event);
		report_problem_of(watcher, queue, &queue_problem);
		return;
	}
	for (uint32_t i = 0; i < taken; i++) {
		struct queue_mark mark = mark_of(&post->wr[i]);

		if (is_alike(&mark, &refusal->bad)) {
			refusal->open = false;
			refusal->recovered++;
			return;
		}
		refusal->returned |= was_refused_later(refusal, &mark, is_alike);
	}
	if (!refusal->later && queue->completed == refusal->completed &&
	    event->id.thread == refusal->at.id.thread)
		refusal->ignored = true;
	refusal->later += taken;
}

/* The oldest outstanding request with the wr_id, or (@buffer) the buffer, of the last request. */
static const struct queue_request *find_earlier(const struct queue *queue, bool buffer)
{
	const struct queue_request *last = queue_at(queue, queue->count - 1);

	for (uint32_t i = 0; i + 1 < queue->count; i++) {
		const struct queue_request *request = queue_at(queue, i);

		if (request->done)
			continue;
		if (buffer ? queue_fills(request) && queue_sge(queue, request, 0)->addr ==
							     queue_sge(queue, last, 0)->addr
			   : request->signalled && request->wr_id == last->wr_id)
			return request;
	}
	return NULL;
}

void overflow_report_duplicate(const struct model_watcher *watcher, struct queue *queue,
			       bool buffer)
{
	const struct queue_request *last = queue_at(queue, queue->count - 1);
	struct model_queue_problem queue_problem = {
		.kind = buffer ? PROBLEM_BUFFER : PROBLEM_WR_ID,
		.index = last->index,
		.number = buffer ? queue_sge(queue, last, 0)->addr : last->wr_id,
		.earlier = find_earlier(queue, buffer)
	};

	if (!queue_problem.earlier || !is_certain(queue))
		return;
	queue->buffer_told |= buffer;
	queue_problem.moment = queue_moment(queue, last);
	report_problem_of(watcher, queue, &queue_problem);
}

static void check_room(const struct model_watcher *watcher, const struct trace_event *event,
		       struct queue *queue, uint32_t taken)
{
	struct model_queue_problem queue_problem;

	if (queue->outstanding <= get_capacity(queue) || queue->beyond || !queue->limits.given ||
	    !is_certain(queue))
		return;
	queue_problem = (struct model_queue_problem){ .kind = PROBLEM_BEYOND,
						      .index = taken - 1,
						      .number = queue->outstanding,
						      .limit = get_capacity(queue) };
	queue->beyond = true;
	if (queue->send && !queue->signalled)
		queue_problem.kind = PROBLEM_STUCK;
	queue_problem.moment = moment_of(event);
	report_problem_of(watcher, queue, &queue_problem);
}

static void check_cq(const struct model_watcher *watcher, const struct trace_event *event,
		     struct queue *queue, uint32_t taken)
{
	struct queue_cq *cq = queue->cq;
	uint32_t limit = cq ? (cq->given ?: cq->resized.id.thread ? cq->asked : 0) : 0;
	struct model_queue_problem queue_problem;

	if (!limit || cq->signalled <= limit || cq->overflowed || cq->doubt || !cq->owner ||
	    !is_certain(queue))
		return;
	cq->overflowed = true;
	queue_problem = (struct model_queue_problem){ .kind = PROBLEM_CQ,
						      .index = taken - 1,
						      .number = cq->signalled,
						      .limit = limit,
						      .moment = moment_of(event) };
	report_problem_of(watcher, queue, &queue_problem);
}

static __attribute__((noinline)) int check_post(const struct model_watcher *watcher,
						const struct trace_event *event,
						struct queue *queue, uint32_t taken)
{
	const struct post *post = event->post;

	for (uint32_t i = 0; i < taken && queue->limits.known; i++)
		check_request(watcher, event, queue, i);
	if (taken) {
		check_room(watcher, event, queue, taken);
		check_cq(watcher, event, queue, taken);
		if (queue->refusal && queue->refusal->open)
			resolve_refusal(watcher, event, queue, taken);
	}
	if (post->ret && post->verb != VERB_wr_abort)
		return note_refused_wr(watcher, event, queue, taken);
	return 0;
}

/* Were all outstanding requests posted at one place, as in a loop? */
static bool is_posted_in_loop(const struct queue *queue)
{
	uint32_t stack = queue_at(queue, 0)->stack;

	for (uint32_t i = 0; i < queue->count; i++)
		if (!stack || queue_at(queue, i)->stack != stack)
			return false;
	return true;
}

/* Does a post that was not refused need any check? */
static bool may_overflow(const struct queue *queue, const struct post *post, uint32_t taken)
{
	bool overflowed = queue->outstanding > get_capacity(queue) || queue->refusal ||
			  (queue->cq && queue->cq->signalled > queue->cq->given);

	for (uint32_t i = 0; i < taken; i++)
		overflowed |= post->wr[i].num_sge > queue->easy_sges ||
			      post->wr[i].send_flags & ABI_SEND_INLINE;
	return overflowed;
}

int overflow_note_post(const struct model_watcher *watcher, const struct trace_event *event,
		       struct queue *queue, uint32_t taken)
{
	if (__builtin_expect(event->post->ret || may_overflow(queue, event->post, taken), 0))
		return check_post(watcher, event, queue, taken);
	return 0;
}

/*
 * Are there as many unsignalled requests as fit? If the program ended by itself and has never
 * signalled any, half as many are enough, fewer if one loop posted them, or a few over a long time.
 */
static bool is_unsignalled(const struct queue *queue, bool killed)
{
	uint32_t room = queue->limits.given ? get_capacity(queue) : UINT32_MAX;
	const struct queue_stats *stats = &queue->stats;

	if (queue->run >= room)
		return true;
	return !killed && queue->run == queue->posted && queue->run >= FEW &&
	       (queue->run >= room / 2 ||
		(queue->run >= room / SHARE && is_posted_in_loop(queue)) ||
		(queue->limits.given && stats->last_time - stats->first_time >= LONG_NS));
}

/* The requests that @queue may have outstanding, if it was used and they complete in @cq. */
static uint64_t capacity_in_cq(const struct queue *queue, const struct life *owner,
			       const struct queue_cq *cq)
{
	return queue && queue->owner == owner && queue->cq == cq && queue->posted
		       ? queue->limits.asked ?: queue->limits.given
		       : 0;
}

/*
 * Unsignalled requests complete only if they are flushed. Reported at the end: later posts may show
 * that it is too small for those that are signalled.
 */
static void check_flushed(const struct model_watcher *watcher, struct queue *queue)
{
	struct queue_cq *cq = queue->cq;
	struct model_queue_problem queue_problem = { .kind = PROBLEM_FLUSHED_CQ };

	if (!cq || !cq->owner || !cq->given || cq->overflowed || cq->doubt ||
	    cq->high <= cq->given || !is_certain(queue))
		return;
	cq->overflowed = true;
	queue_problem.number = cq->high;
	queue_problem.limit = cq->given;
	queue_problem.moment = cq->owner->created;
	report_problem_of(watcher, queue, &queue_problem);
}

/*
 * A program whose only queue pair fills the CQ exactly has that size on purpose. The queue pairs
 * are summed again only if more requests were outstanding than the last time.
 */
static void check_narrow(const struct model_watcher *watcher, struct queue *queue)
{
	struct queue_cq *cq = queue->cq;
	struct model_queue_problem queue_problem = { .kind = PROBLEM_NARROW_CQ };
	unsigned int qps = 0;

	if (!cq || !cq->owner || !cq->given || cq->overflowed || cq->doubt || cq->pools ||
	    cq->high_signalled < cq->given - cq->given / 4 || cq->high_signalled <= cq->compared ||
	    !is_certain(queue))
		return;
	cq->compared = cq->high_signalled;
	for (const struct life_link *link = cq->owner->children; link; link = link->next_child) {
		uint64_t room = capacity_in_cq(link->child->sq, link->child, cq) +
				capacity_in_cq(link->child->rq, link->child, cq);

		queue_problem.number += room;
		qps += room > 0;
	}
	if (queue_problem.number <= cq->given || (qps == 1 && cq->high_signalled == cq->given))
		return;
	cq->overflowed = true;
	queue_problem.limit = cq->given;
	queue_problem.moment = cq->owner->created;
	report_problem_of(watcher, queue, &queue_problem);
}

void overflow_end_queue(const struct model_watcher *watcher, struct queue *queue, bool killed)
{
	struct model_queue_problem queue_problem = { .kind = PROBLEM_GIVEN_UP,
						     .refusal = queue->refusal };
	const struct queue_request *last;

	check_flushed(watcher, queue);
	check_narrow(watcher, queue);

	if (queue->refusal && queue->refusal->open) {
		queue->refusal->open = false;
		queue_problem.moment = queue->refusal->at;
		queue_problem.index = queue->refusal->taken;
		report_problem_of(watcher, queue, &queue_problem);
		return;
	}
	if (!queue->send || queue->signalled || queue->beyond || !is_certain(queue) ||
	    !is_unsignalled(queue, killed))
		return;
	last = queue_at(queue, queue->count - 1);
	queue_problem.kind = killed ? PROBLEM_STUCK : PROBLEM_FULL;
	queue_problem.limit = get_capacity(queue);
	queue_problem.index = last->index;
	queue_problem.moment = queue_moment(queue, last);
	report_problem_of(watcher, queue, &queue_problem);
}
