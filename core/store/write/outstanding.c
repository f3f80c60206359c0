/*
 * The earlier data-plane events that a trace which begins in the middle must have
 *
 * A cut removes the events of the data plane up to some moment. The rest is consistent, and can be
 * replayed, only with the earlier requests that have not completed yet, and with those that have
 * completed but whose counterpart at the peer has not. So four kinds of earlier events are needed:
 *
 *	sq, rq     requests that have no completion yet
 *	streams    messages that are complete at one end only: the request and the completion of
 *	           this end; and messages that a queue pair had sent before its destruction, as
 *	           long as the peer may receive them
 *	failed     the first failed request of a queue pair, with its completion, which has put the
 *	           queue pair into the error state
 *	early      completions that were read before their posts, from another thread's ring
 *
 * and the last ibv_req_notify_cq() of each CQ, if no event followed it yet.
 *
 * Not here: messages (outstanding_stream.c), early completions (outstanding_early.c), the list
 * (outstanding_list.c), adding it to the trace (cut.c), forgetting what has ended
 * (outstanding_forget.c).
 */
#include "core/store/write/outstanding_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/chunk/abi.h"
#include "core/wire/desc.h"

static struct queue *find_queue(const struct outstanding *o, uint32_t process, uint64_t handle)
{
	return outstanding_entry(&o->by_handle, outstanding_handle_key(process, handle));
}

int outstanding_new(struct outstanding **ret_outstanding)
{
	*ret_outstanding = calloc(1, sizeof(**ret_outstanding));
	return *ret_outstanding ? 0 : -ENOMEM;
}

/* Objects */

static void unlink_number(struct outstanding *o, struct queue *queue)
{
	uint64_t key = outstanding_pair_key(queue->process, queue->qp.number);
	struct queue *first = outstanding_entry(&o->by_number, key), **at = &first;

	while (*at && *at != queue)
		at = &(*at)->same_number;
	if (!*at)
		return;
	*at = queue->same_number;
	if (first)
		map_put(&o->by_number, key, (uintptr_t)first); /* cannot fail: the key exists */
	else
		map_remove(&o->by_number, key);
}

static void clear_queue(struct queue *queue)
{
	request_list_clear(&queue->sq);
	request_list_clear(&queue->rq);
	free(queue->failed);
	queue->failed = NULL;
	queue->dest = 0;
}

static void free_queue(struct outstanding *o, struct queue *queue)
{
	map_remove(&o->by_handle, outstanding_handle_key(queue->process, queue->handle));
	if (queue->is_qp)
		unlink_number(o, queue);
	*queue->link = queue->after;
	if (queue->after)
		queue->after->link = queue->link;
	clear_queue(queue);
	free(queue);
}

void outstanding_free(struct outstanding *o)
{
	if (!o)
		return;
	while (o->queues)
		free_queue(o, o->queues);
	while (o->streams)
		stream_free(o, o->streams);
	early_fini(o);
	for (size_t i = 0; i < o->narmed; i++)
		free(o->armed[i]);
	free(o->armed);
	map_fini(&o->by_handle);
	map_fini(&o->by_number);
	map_fini(&o->ends);
	map_fini(&o->by_pair);
	map_fini(&o->by_cq);
	free(o);
}

/*
 * The queue ends. Its messages without a completion count as complete, since the peer may have
 * received them or may still receive them. If out of memory, they are dropped.
 */
static void end_queue(struct outstanding *o, struct queue *queue)
{
	while (queue->sq.count && !queue->failed) {
		struct request *request = request_list_take(&queue->sq, 0);

		if (request->hidden)
			free(request);
		else
			stream_note_completion(o, queue, request, false);
	}
	free_queue(o, queue);
}

/*
 * Add a queue. If its handle is in use, an outer call has created it already, or the end of an
 * earlier queue was lost.
 */
static struct queue *add_queue(struct outstanding *o, uint32_t process, uint64_t handle)
{
	struct queue *queue = find_queue(o, process, handle);

	if (queue)
		free_queue(o, queue);
	queue = calloc(1, sizeof(*queue));
	if (!queue ||
	    map_put(&o->by_handle, outstanding_handle_key(process, handle), (uintptr_t)queue)) {
		free(queue);
		return NULL;
	}
	queue->process = process;
	queue->handle = handle;
	queue->after = o->queues;
	queue->link = &o->queues;
	if (queue->after)
		queue->after->link = &queue->after;
	o->queues = queue;
	return queue;
}

int outstanding_create_qp(struct outstanding *o, uint32_t process, uint64_t handle,
			  const struct outstanding_qp *qp, int64_t time)
{
	struct queue *queue = add_queue(o, process, handle);
	uint64_t key = outstanding_pair_key(process, qp->number);

	if (!queue)
		return -ENOMEM;
	queue->qp = *qp;
	queue->same_number = outstanding_entry(&o->by_number, key);
	if ((qp->datagrams && map_put(&o->ends, outstanding_pair_key(qp->number, 0), 1)) ||
	    map_put(&o->by_number, key, (uintptr_t)queue)) {
		free_queue(o, queue);
		return -ENOMEM;
	}
	queue->is_qp = true;
	stream_forget(o, qp->number, time);
	return 0;
}

int outstanding_create_srq(struct outstanding *o, uint32_t process, uint64_t handle, uint64_t cq)
{
	struct queue *queue = add_queue(o, process, handle);

	if (!queue)
		return -ENOMEM;
	queue->cq = cq;
	return 0;
}

void outstanding_destroy(struct outstanding *o, uint32_t process, uint64_t handle)
{
	struct queue *queue = find_queue(o, process, handle);

	if (queue)
		end_queue(o, queue);
}

void outstanding_reset_qp(struct outstanding *o, uint32_t process, uint64_t handle, int64_t time)
{
	struct queue *queue = find_queue(o, process, handle);

	if (!queue)
		return;
	clear_queue(queue);
	stream_forget(o, queue->qp.number, time);
}

int outstanding_connect_qp(struct outstanding *o, uint32_t process, uint64_t handle, uint32_t dest)
{
	struct queue *queue = find_queue(o, process, handle);

	if (!queue)
		return 0;
	queue->dest = dest;
	return dest ? map_put(&o->ends, outstanding_pair_key(queue->qp.number, dest), 1) : 0;
}

static void free_armed(struct outstanding *o, struct armed_cq *armed)
{
	struct armed_cq *last = o->armed[--o->narmed];

	map_remove(&o->by_cq, outstanding_handle_key(armed->process, armed->cq));
	o->armed[armed->index] = last;
	last->index = armed->index;
	free(armed);
}

void outstanding_destroy_cq(struct outstanding *o, uint32_t process, uint64_t cq)
{
	struct armed_cq *armed = outstanding_entry(&o->by_cq, outstanding_handle_key(process, cq));

	if (armed)
		free_armed(o, armed);
}

void outstanding_end_process(struct outstanding *o, uint32_t process)
{
	for (size_t i = o->narmed; i-- > 0;)
		if (o->armed[i]->process == process)
			free_armed(o, o->armed[i]);
	for (struct queue *queue = o->queues, *after; queue; queue = after) {
		after = queue->after;
		if (queue->process == process)
			end_queue(o, queue);
	}
}

/* Posts */

/* The number of the queue pair to which a datagram is sent. */
static uint32_t dest_of(const struct event_wr *wr)
{
	const uint8_t *at = (const uint8_t *)(wr + 1);

	if (!(wr->parts & WR_UD))
		return 0;
	at += wr_parts_bytes(wr->parts & (WR_UD - 1)); /* parts are in the order of their bits */
	return ((const struct event_ud *)(const void *)at)->remote_qpn;
}

static size_t bytes_of(const struct event_wr *wr)
{
	return sizeof(*wr) + wr_parts_bytes(wr->parts) + wr->nsge * sizeof(struct event_sge);
}

static struct request *new_request(const struct event_place *at, const struct event_wr *wr,
				   size_t bytes)
{
	struct request *request = malloc(offsetof(struct request, wr) + bytes);

	if (!request)
		return NULL;
	memset(request, 0, offsetof(struct request, wr));
	memcpy(&request->wr, wr, bytes);
	request->bytes = bytes;
	request->at = *at;
	return request;
}

static int add_request(struct queue *queue, const struct event_place *at, uint32_t verb,
		       const struct event_wr *wr, uint32_t index)
{
	bool send = verb != VERB_post_recv && verb != VERB_post_srq_recv;
	struct request *request = new_request(at, wr, bytes_of(wr));

	if (!request)
		return -ENOMEM;
	request->object = queue->handle;
	request->verb = verb;
	request->index = index;
	request->signaled = !send || queue->qp.sq_sig_all || (wr->flags & ABI_SEND_SIGNALED);
	request->message = !send || operation_is_message(wr->opcode);
	request->dest = send ? dest_of(wr) : 0;
	if (!request_list_push(send ? &queue->sq : &queue->rq, request))
		return 0;
	free(request);
	return -ENOMEM;
}

/* Remove the requests from index @accepted on: the call has refused them. */
static void refuse_requests(struct request_list *list, const struct event_place *at,
			    uint32_t accepted)
{
	while (list->count) {
		struct request *last = request_list_at(list, list->count - 1);

		if (last->at.thread != at->thread || last->at.n != at->n || last->index < accepted)
			return;
		free(last);
		list->count--;
	}
}

int outstanding_note_bind(struct outstanding *o, uint32_t process, uint64_t handle, uint64_t wr_id,
			  bool signaled)
{
	const struct event_wr wr = { .wr_id = wr_id, .flags = signaled ? ABI_SEND_SIGNALED : 0 };
	const struct event_place at = { .process = process };
	struct queue *queue = find_queue(o, process, handle);
	int err = queue ? add_request(queue, &at, VERB_post_send, &wr, 0) : 0;

	if (queue && !err) {
		request_list_at(&queue->sq, queue->sq.count - 1)->hidden = true;
		request_list_at(&queue->sq, queue->sq.count - 1)->message = false;
	}
	return err;
}

/* Polls */

static int64_t find_request(const struct request_list *list, uint64_t wr_id, bool signaled)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct request *request = request_list_at(list, i);

		if (request->wr.wr_id == wr_id && (!signaled || request->signaled))
			return i;
	}
	return -1;
}

/* The queue pair to which a completion belongs. */
static struct queue *find_qp(const struct outstanding *o, const struct completion *completion)
{
	struct queue *qp = outstanding_entry(
		&o->by_number, outstanding_pair_key(completion->at.process, completion->wc.qp_num));

	/* the target of an XRC connection has no CQs: skip it */
	while (qp && qp->qp.send_cq && qp->qp.send_cq != completion->cq &&
	       qp->qp.recv_cq != completion->cq)
		qp = qp->same_number;
	return qp;
}

/*
 * The receive queue of @qp; for XRC, the queue of the SRQ that completes on the CQ and has the
 * request.
 */
static struct request_list *find_receives(struct outstanding *o, struct queue *qp,
					  const struct completion *completion)
{
	struct queue *srq = qp->qp.srq ? find_queue(o, qp->process, qp->qp.srq) : NULL;

	if (srq)
		return &srq->rq;
	if (qp->rq.count)
		return &qp->rq;
	for (struct queue *queue = o->queues; queue; queue = queue->after)
		if (queue->cq == completion->cq && queue->process == qp->process &&
		    find_request(&queue->rq, completion->wc.wr_id, false) >= 0)
			return &queue->rq;
	return &qp->rq;
}

/*
 * Is it the completion of a receive? In an error the opcode is not valid: then this guesses like
 * core/store/read/match.c, but by simpler rules.
 */
static bool is_receive(struct outstanding *o, struct queue *qp, const struct completion *completion)
{
	const struct event_wc *wc = &completion->wc;
	const struct request_list *receives;
	int64_t send, receive;

	if (wc->status == ABI_WC_SUCCESS)
		return wc->opcode & ABI_WC_RECV;
	if (qp->qp.send_cq != qp->qp.recv_cq)
		return completion->cq == qp->qp.recv_cq;
	receives = find_receives(o, qp, completion);
	send = find_request(&qp->sq, wc->wr_id, false);
	receive = find_request(receives, wc->wr_id, false);
	if (send < 0 || receive < 0)
		return receive >= 0;
	if (wc->status == ABI_WC_WR_FLUSH_ERR)
		return request_list_at(receives, (uint32_t)receive)->at.time <
		       request_list_at(&qp->sq, (uint32_t)send)->at.time;
	return wc->status == ABI_WC_LOC_LEN_ERR || wc->status == ABI_WC_LOC_ACCESS_ERR;
}

/* @request of @qp has completed. Takes ownership of @request. */
static int end_request(struct outstanding *o, struct queue *qp, struct request *request,
		       bool receive)
{
	uint32_t status = request->done ? request->completion.wc.status : ABI_WC_SUCCESS;

	if (status == ABI_WC_SUCCESS && !request->hidden)
		return stream_note_completion(o, qp, request, receive);
	if (status != ABI_WC_SUCCESS && status != ABI_WC_WR_FLUSH_ERR && !request->hidden &&
	    !qp->failed)
		qp->failed = request;
	else
		free(request);
	return 0;
}

/* The send at index @before has completed, and retires the unsignaled sends before it. */
static int end_sends(struct outstanding *o, struct queue *qp, uint32_t before)
{
	uint32_t at = 0;
	int err = 0;

	while (before-- && !err) {
		if (request_list_at(&qp->sq, at)->signaled)
			at++;
		else
			err = end_request(o, qp, request_list_take(&qp->sq, at), false);
	}
	return err;
}

static int end_completion(struct outstanding *o, const struct completion *completion)
{
	struct queue *qp = find_qp(o, completion);
	bool success = completion->wc.status == ABI_WC_SUCCESS, receive;
	struct request_list *list;
	struct request *request;
	int64_t at;
	int err = 0;

	if (!qp ||
	    abi_is_of_tags(completion->wc.status, completion->wc.opcode, completion->wc.wc_flags))
		return 0;
	receive = is_receive(o, qp, completion);
	list = receive ? find_receives(o, qp, completion) : &qp->sq;
	at = find_request(list, completion->wc.wr_id, success);
	if (at < 0)
		return 0;
	request = request_list_take(list, (uint32_t)at);
	request->completion = *completion;
	request->done = true;
	if (!receive)
		err = end_sends(o, qp, (uint32_t)at);
	return end_request(o, qp, request, receive) ?: err ?: 1;
}

int outstanding_note_post(struct outstanding *o, const struct event_place *at,
			  const struct event_post *event, uint32_t first)
{
	struct queue *queue = find_queue(o, at->process, event->object);
	const uint8_t *wr = (const uint8_t *)(event + 1);
	int err = 0;

	if (!queue || event->verb == VERB_wr_abort || event->head.flags & EVENT_INNER)
		return 0;
	for (uint32_t i = 0; i < event->nwr && !err; i++) {
		err = add_request(queue, at, event->verb, (const void *)wr, first + i);
		wr += bytes_of((const void *)wr);
	}
	if (!(event->head.flags & EVENT_PART) && event->ret) {
		uint32_t accepted = event->bad ? event->bad - 1 : 0;

		refuse_requests(&queue->sq, at, accepted);
		refuse_requests(&queue->rq, at, accepted);
	}
	return err || !o->nearly ? err : early_match(o, queue, at->time, end_completion);
}

int outstanding_note_poll(struct outstanding *o, const struct event_place *at,
			  const struct event_poll *event)
{
	const struct event_wc *wcs = (const void *)(event + 1);
	const struct event_wc_extra *extras =
		event->head.flags & EVENT_EXTRA ? event_poll_extras(event) : NULL;
	struct completion completion = { .at = *at, .cq = event->cq, .flags = event->head.flags };
	int ended = 1;

	if (event->head.flags & EVENT_INNER)
		return 0;
	for (uint32_t i = 0; i < event->nwc && ended >= 0; i++) {
		completion.index = i;
		completion.wc = wcs[i];
		if (extras)
			completion.extra = extras[i];
		ended = end_completion(o, &completion);
		if (!ended)
			ended = early_add(o, &completion);
	}
	return ended < 0 ? ended : 0;
}

/* Completion events */

static struct armed_cq *get_armed(struct outstanding *o, uint32_t process, uint64_t cq)
{
	struct armed_cq *armed = outstanding_entry(&o->by_cq, outstanding_handle_key(process, cq)),
			**place;

	if (armed)
		return armed;
	armed = calloc(1, sizeof(*armed));
	place = armed ? vec_push(o->armed, o->narmed) : NULL;
	if (!place || map_put(&o->by_cq, outstanding_handle_key(process, cq), (uintptr_t)armed)) {
		o->narmed -= place != NULL;
		free(armed);
		return NULL;
	}
	*place = armed;
	armed->process = process;
	armed->cq = cq;
	armed->index = o->narmed - 1;
	armed->fetched = INT64_MIN;
	return armed;
}

int outstanding_note_arming(struct outstanding *o, const struct event_place *at,
			    const struct event_notify *event)
{
	struct armed_cq *armed;

	if (event->ret || event->head.flags & EVENT_INNER)
		return 0;
	armed = get_armed(o, at->process, event->cq);
	if (!armed)
		return -ENOMEM;
	armed->at = *at;
	armed->notify = *event;
	return 0;
}

void outstanding_note_fetch(struct outstanding *o, uint32_t process, uint64_t cq, int64_t time)
{
	struct armed_cq *armed = outstanding_entry(&o->by_cq, outstanding_handle_key(process, cq));

	if (armed)
		armed->fetched = time;
}

bool outstanding_is_whole(const struct outstanding *o, int64_t time)
{
	return !early_is_awaited(o, time) && stream_is_all_posted(o);
}
