/*
 * What a trace that begins in the middle must have of the time before
 *
 * A trace is cut by leaving out events of the data plane up to some moment. What is left makes
 * sense, and can be replayed, if that set is closed: a request that has not completed yet stays,
 * and so does one that has completed if its counterpart at the peer has not. So four things stay:
 *
 *	sq, rq     requests that have no completion yet
 *	streams    messages that one end has seen complete and the other has not: of the former the
 *	           request and its completion
 *	failed     the first request of a queue pair that failed, with its completion: it has put
 *	           the queue pair into the error state
 *	early      completions that were read before their posts, from another thread's ring
 *
 * and the last request for an event of each CQ, if no event has come of it.
 *
 * A message stream has the two-sided messages from one queue pair number to another. Both ends
 * complete them in the same order, so that it is enough to have those of the end that is ahead.
 * Datagrams may get lost: those that nobody has received for a second have been.
 *
 * Not here: how that becomes a part of the trace (cut.c).
 */
#include "core/store/write/outstanding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/store/chunk/abi.h"
#include "core/wire/desc.h"

enum {
	EARLY_MAX = 64,
	STREAM_MAX = 1 << 16,
	FOREIGN_MAX = 1 << 14, /* messages by which the other end was read, if it is recorded */
	MULTICAST_QPN = 0xffffff,
};

#define STALE_NS INT64_C(1000000000)

/* A completion as it was polled. */
struct completion {
	struct event_place at;
	uint64_t cq;
	uint32_t index;
	uint8_t flags;
	struct event_wc wc;
	struct event_wc_extra extra;
};

struct request {
	struct event_place at;
	uint64_t object; /* the queue that it was posted to */
	uint32_t verb, index, dest;
	bool signaled, message, hidden; /* hidden: no event shows its post */
	bool done;
	struct completion completion; /* if it is done, and has one */
	size_t bytes;
	struct event_wr wr; /* with its parts and elements */
};

/* Oldest first. */
struct request_list {
	struct request **ring;
	uint32_t first, count, size; /* size is 0 or a power of two */
};

/* A queue pair or a shared receive queue; an SRQ has only rq. */
struct queue {
	uint32_t process;
	uint64_t handle;
	struct outstanding_qp qp;
	bool is_qp;
	uint64_t cq; /* of an XRC SRQ */
	uint32_t dest;
	struct request_list sq, rq;
	struct request *failed;
	struct queue *same_number;   /* of the process */
	struct queue *after, **link; /* in the list of all */
};

struct stream {
	uint32_t from, to;
	bool datagrams;
	bool foreign;                        /* the other end is not recorded */
	struct request_list sends, receives; /* at most one has any */
	struct stream *after, **link;
};

struct armed {
	uint32_t process;
	struct event_place at;
	struct event_notify notify;
	int64_t fetched;
};

struct outstanding {
	struct map by_handle;        /* to struct queue */
	struct map by_number;        /* process, qp_num: to the first of these */
	struct map datagram_numbers; /* qp_num of any process, as keys */
	struct map connections;      /* qp_num, that of its peer: of any process, as keys */
	struct map by_pair;          /* from, to: to struct stream */
	struct map by_cq;            /* to struct armed */
	struct queue *queues;        /* all */
	struct stream *streams;      /* all */
	struct armed **armed;
	size_t narmed;
	struct request *early[EARLY_MAX]; /* only their completions */
	uint32_t nearly;
};

static struct request *request_at(const struct request_list *list, uint32_t i)
{
	return list->ring[(list->first + i) & (list->size - 1)];
}

static int push_request(struct request_list *list, struct request *request)
{
	if (list->count == list->size) {
		uint32_t size = list->size ? list->size * 2 : 16;
		struct request **ring = malloc(size * sizeof(*ring));

		if (!ring)
			return -ENOMEM;
		for (uint32_t i = 0; i < list->count; i++)
			ring[i] = request_at(list, i);
		free(list->ring);
		list->ring = ring;
		list->first = 0;
		list->size = size;
	}
	list->ring[(list->first + list->count++) & (list->size - 1)] = request;
	return 0;
}

/* Those before it move up, since it is near to the front as a rule. */
static struct request *take_request(struct request_list *list, uint32_t at)
{
	struct request *taken = request_at(list, at);

	for (uint32_t i = at; i > 0; i--)
		list->ring[(list->first + i) & (list->size - 1)] = request_at(list, i - 1);
	list->first = (list->first + 1) & (list->size - 1);
	list->count--;
	return taken;
}

static void clear_requests(struct request_list *list)
{
	while (list->count)
		free(take_request(list, 0));
	free(list->ring);
	*list = (struct request_list){ 0 };
}

static uint64_t handle_key(uint32_t process, uint64_t handle)
{
	return handle ^ (uint64_t)process << 47;
}

static uint64_t pair_key(uint32_t a, uint32_t b)
{
	return (uint64_t)a << 32 | b;
}

static void *find_entry(const struct map *map, uint64_t key)
{
	uint64_t value;

	return map_get(map, key, &value) ? (void *)(uintptr_t)value : NULL;
}

static struct queue *find_queue(const struct outstanding *o, uint32_t process, uint64_t handle)
{
	return find_entry(&o->by_handle, handle_key(process, handle));
}

int outstanding_new(struct outstanding **ret_outstanding)
{
	*ret_outstanding = calloc(1, sizeof(**ret_outstanding));
	return *ret_outstanding ? 0 : -ENOMEM;
}

/* Streams */

static void free_stream(struct outstanding *o, struct stream *stream)
{
	map_remove(&o->by_pair, pair_key(stream->from, stream->to));
	*stream->link = stream->after;
	if (stream->after)
		stream->after->link = stream->link;
	clear_requests(&stream->sends);
	clear_requests(&stream->receives);
	free(stream);
}

static void drop_before(struct request_list *list, int64_t time)
{
	while (list->count) {
		const struct request *first = request_at(list, 0);

		if ((first->done ? first->completion.at.time : first->at.time) >= time)
			break;
		free(take_request(list, 0));
	}
}

/*
 * The number begins anew at @time: with a new queue pair, or from RESET on. What its peer did
 * since may have been read before that.
 */
static void forget_streams(struct outstanding *o, uint32_t number, int64_t time)
{
	for (struct stream *stream = o->streams; stream; stream = stream->after) {
		if (stream->from != number && stream->to != number)
			continue;
		drop_before(&stream->sends, time);
		drop_before(&stream->receives, time);
		stream->foreign = false;
	}
}

/* NULL without memory. */
static struct stream *need_stream(struct outstanding *o, uint32_t from, uint32_t to, bool datagrams)
{
	struct stream *stream = find_entry(&o->by_pair, pair_key(from, to));

	if (stream)
		return stream;
	stream = calloc(1, sizeof(*stream));
	if (!stream || map_put(&o->by_pair, pair_key(from, to), (uintptr_t)stream)) {
		free(stream);
		return NULL;
	}
	stream->from = from;
	stream->to = to;
	stream->datagrams = datagrams;
	stream->after = o->streams;
	stream->link = &o->streams;
	if (stream->after)
		stream->after->link = &stream->after;
	o->streams = stream;
	return stream;
}

static bool has_both_ends(const struct outstanding *o, const struct stream *stream)
{
	uint64_t n;

	if (stream->datagrams)
		return map_get(&o->datagram_numbers, stream->from, &n) &&
		       map_get(&o->datagram_numbers, stream->to, &n);
	return map_get(&o->connections, pair_key(stream->from, stream->to), &n) &&
	       map_get(&o->connections, pair_key(stream->to, stream->from), &n);
}

/* Has it grown for so long that the other end must have been read meanwhile? */
static bool is_long(const struct request_list *list, int64_t now)
{
	return list->count >= FOREIGN_MAX ||
	       (list->count && now - STALE_NS > request_at(list, 0)->at.time);
}

static void leave_stream(struct stream *stream)
{
	stream->foreign = true;
	clear_requests(&stream->sends);
	clear_requests(&stream->receives);
}

/* One end has seen @request complete: it stays until the other end has, too. Takes it. */
static int note_message(struct outstanding *o, struct stream *stream, struct request *request,
			bool receive)
{
	struct request_list *ours = receive ? &stream->receives : &stream->sends;
	struct request_list *others = receive ? &stream->sends : &stream->receives;

	if (others->count)
		free(take_request(others, 0));
	else if (is_long(ours, request->completion.at.time) && !has_both_ends(o, stream))
		leave_stream(stream);
	else if (ours->count == STREAM_MAX)
		free(take_request(ours, 0));
	else if (push_request(ours, request))
		return -ENOMEM;
	else
		return 0;
	free(request);
	return 0;
}

/* @request of @qp has completed with success. Takes it. */
static int pass_message(struct outstanding *o, const struct queue *qp, struct request *request,
			bool receive)
{
	bool datagrams = qp->qp.datagrams;
	uint32_t other = !datagrams ? qp->dest
			 : receive  ? request->completion.wc.src_qp
				    : request->dest;
	struct stream *stream = NULL;
	int err = 0;

	if (request->message && other && other != MULTICAST_QPN) {
		stream = receive ? need_stream(o, other, qp->qp.number, datagrams)
				 : need_stream(o, qp->qp.number, other, datagrams);
		err = stream ? 0 : -ENOMEM;
	}
	if (stream && !stream->foreign)
		err = note_message(o, stream, request, receive);
	else
		free(request);
	return err;
}

/* Objects */

static void unlink_number(struct outstanding *o, struct queue *queue)
{
	uint64_t key = pair_key(queue->process, queue->qp.number);
	struct queue *first = find_entry(&o->by_number, key), **at = &first;

	while (*at && *at != queue)
		at = &(*at)->same_number;
	if (!*at)
		return;
	*at = queue->same_number;
	if (first)
		map_put(&o->by_number, key, (uintptr_t)first); /* needs no memory */
	else
		map_remove(&o->by_number, key);
}

static void clear_queue(struct queue *queue)
{
	clear_requests(&queue->sq);
	clear_requests(&queue->rq);
	free(queue->failed);
	queue->failed = NULL;
	queue->dest = 0;
}

static void free_queue(struct outstanding *o, struct queue *queue)
{
	map_remove(&o->by_handle, handle_key(queue->process, queue->handle));
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
		free_stream(o, o->streams);
	while (o->nearly)
		free(o->early[--o->nearly]);
	for (size_t i = 0; i < o->narmed; i++)
		free(o->armed[i]);
	free(o->armed);
	map_fini(&o->by_handle);
	map_fini(&o->by_number);
	map_fini(&o->datagram_numbers);
	map_fini(&o->connections);
	map_fini(&o->by_pair);
	map_fini(&o->by_cq);
	free(o);
}

/* A handle that is there already is an outer call's, or its object's end was lost. */
static struct queue *add_queue(struct outstanding *o, uint32_t process, uint64_t handle)
{
	struct queue *queue = find_queue(o, process, handle);

	if (queue)
		free_queue(o, queue);
	queue = calloc(1, sizeof(*queue));
	if (!queue || map_put(&o->by_handle, handle_key(process, handle), (uintptr_t)queue)) {
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
	uint64_t key = pair_key(process, qp->number);

	if (!queue)
		return -ENOMEM;
	queue->qp = *qp;
	queue->same_number = find_entry(&o->by_number, key);
	if ((qp->datagrams && map_put(&o->datagram_numbers, qp->number, 1)) ||
	    map_put(&o->by_number, key, (uintptr_t)queue)) {
		free_queue(o, queue);
		return -ENOMEM;
	}
	queue->is_qp = true;
	forget_streams(o, qp->number, time);
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
		free_queue(o, queue);
}

void outstanding_reset_qp(struct outstanding *o, uint32_t process, uint64_t handle, int64_t time)
{
	struct queue *queue = find_queue(o, process, handle);

	if (!queue)
		return;
	clear_queue(queue);
	forget_streams(o, queue->qp.number, time);
}

int outstanding_connect_qp(struct outstanding *o, uint32_t process, uint64_t handle, uint32_t dest)
{
	struct queue *queue = find_queue(o, process, handle);

	if (!queue)
		return 0;
	queue->dest = dest;
	return map_put(&o->connections, pair_key(queue->qp.number, dest), 1);
}

void outstanding_exit(struct outstanding *o, uint32_t process)
{
	for (struct queue *queue = o->queues, *after; queue; queue = after) {
		after = queue->after;
		if (queue->process == process)
			free_queue(o, queue);
	}
}

/* Posts */

static bool is_message(unsigned int opcode)
{
	return opcode == ABI_WR_SEND || opcode == ABI_WR_SEND_WITH_IMM ||
	       opcode == ABI_WR_SEND_WITH_INV || opcode == ABI_WR_RDMA_WRITE_WITH_IMM ||
	       opcode == ABI_WR_TSO;
}

/* The queue pair that a datagram goes to. */
static uint32_t dest_of(const struct event_wr *wr)
{
	const uint8_t *at = (const uint8_t *)(wr + 1);

	if (!(wr->parts & WR_UD))
		return 0;
	at += wr_parts_bytes(wr->parts & (WR_UD - 1)); /* they are in the order of their bits */
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
	request->message = !send || is_message(wr->opcode);
	request->dest = send ? dest_of(wr) : 0;
	if (!push_request(send ? &queue->sq : &queue->rq, request))
		return 0;
	free(request);
	return -ENOMEM;
}

/* The call has refused its requests from @accepted on. */
static void refuse_requests(struct request_list *list, const struct event_place *at,
			    uint32_t accepted)
{
	while (list->count) {
		struct request *last = request_at(list, list->count - 1);

		if (last->at.thread != at->thread || last->at.n != at->n || last->index < accepted)
			return;
		free(last);
		list->count--;
	}
}

static int match_early(struct outstanding *o, int64_t now);

int outstanding_post(struct outstanding *o, const struct event_place *at,
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
	return err || !o->nearly ? err : match_early(o, at->time);
}

int outstanding_bind(struct outstanding *o, uint32_t process, uint64_t handle, uint64_t wr_id,
		     bool signaled)
{
	const struct event_wr wr = { .wr_id = wr_id, .flags = signaled ? ABI_SEND_SIGNALED : 0 };
	const struct event_place at = { .process = process };
	struct queue *queue = find_queue(o, process, handle);
	int err = queue ? add_request(queue, &at, VERB_post_send, &wr, 0) : 0;

	if (queue && !err) {
		request_at(&queue->sq, queue->sq.count - 1)->hidden = true;
		request_at(&queue->sq, queue->sq.count - 1)->message = false;
	}
	return err;
}

/* Polls */

static int64_t find_request(const struct request_list *list, uint64_t wr_id, bool signaled)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct request *request = request_at(list, i);

		if (request->wr.wr_id == wr_id && (!signaled || request->signaled))
			return i;
	}
	return -1;
}

/* The queue pair of a completion. */
static struct queue *find_qp(const struct outstanding *o, const struct completion *completion)
{
	struct queue *qp =
		find_entry(&o->by_number, pair_key(completion->at.process, completion->wc.qp_num));

	/* the target of an XRC connection has none */
	while (qp && qp->qp.send_cq && qp->qp.send_cq != completion->cq &&
	       qp->qp.recv_cq != completion->cq)
		qp = qp->same_number;
	return qp;
}

/* Where receives of @qp are; those of XRC are in the SRQ that completes there and has it. */
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

/* Of an error the opcode is not valid: as core/store/read/match.c has it, but shorter. */
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
		return request_at(receives, (uint32_t)receive)->at.time <
		       request_at(&qp->sq, (uint32_t)send)->at.time;
	return wc->status == ABI_WC_LOC_LEN_ERR || wc->status == ABI_WC_LOC_ACCESS_ERR;
}

/* Takes @request, which has completed. */
static int end_request(struct outstanding *o, struct queue *qp, struct request *request,
		       bool receive)
{
	uint32_t status = request->done ? request->completion.wc.status : ABI_WC_SUCCESS;

	if (status == ABI_WC_SUCCESS && !request->hidden)
		return pass_message(o, qp, request, receive);
	if (status != ABI_WC_SUCCESS && status != ABI_WC_WR_FLUSH_ERR && !request->hidden &&
	    !qp->failed)
		qp->failed = request;
	else
		free(request);
	return 0;
}

/* A completion retires the unsignaled requests before its own. */
static int end_sends(struct outstanding *o, struct queue *qp, uint32_t before)
{
	uint32_t at = 0;
	int err = 0;

	while (before-- && !err) {
		if (request_at(&qp->sq, at)->signaled)
			at++;
		else
			err = end_request(o, qp, take_request(&qp->sq, at), false);
	}
	return err;
}

/* Returns 1; 0: its request is not known; or -ENOMEM. */
static int end_of(struct outstanding *o, const struct completion *completion)
{
	struct queue *qp = find_qp(o, completion);
	bool success = completion->wc.status == ABI_WC_SUCCESS, receive;
	struct request_list *list;
	struct request *request;
	int64_t at;
	int err = 0;

	if (!qp)
		return 0;
	receive = is_receive(o, qp, completion);
	list = receive ? find_receives(o, qp, completion) : &qp->sq;
	at = find_request(list, completion->wc.wr_id, success);
	if (at < 0)
		return 0;
	request = take_request(list, (uint32_t)at);
	request->completion = *completion;
	request->done = true;
	if (!receive)
		err = end_sends(o, qp, (uint32_t)at);
	return end_request(o, qp, request, receive) ?: err ?: 1;
}

static void drop_early(struct outstanding *o, uint32_t i)
{
	free(o->early[i]);
	memmove(&o->early[i], &o->early[i + 1], (o->nearly - i - 1) * sizeof(*o->early));
	o->nearly--;
}

/* A post has come: does a completion that came before it belong to it? */
static int match_early(struct outstanding *o, int64_t now)
{
	for (uint32_t i = 0; i < o->nearly;) {
		int ended = end_of(o, &o->early[i]->completion);

		if (ended < 0)
			return ended;
		if (ended || o->early[i]->completion.at.time < now - STALE_NS)
			drop_early(o, i);
		else
			i++;
	}
	return 0;
}

static int add_early(struct outstanding *o, const struct completion *completion)
{
	const struct event_wr none = { 0 };
	struct request *request = new_request(&completion->at, &none, sizeof(none));

	if (!request)
		return -ENOMEM;
	if (o->nearly == EARLY_MAX)
		drop_early(o, 0);
	request->hidden = request->done = true;
	request->completion = *completion;
	o->early[o->nearly++] = request;
	return 0;
}

int outstanding_poll(struct outstanding *o, const struct event_place *at,
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
		ended = end_of(o, &completion);
		if (!ended)
			ended = add_early(o, &completion);
	}
	return ended < 0 ? ended : 0;
}

/* Completion events */

static struct armed *need_armed(struct outstanding *o, uint32_t process, uint64_t cq)
{
	struct armed *armed = find_entry(&o->by_cq, handle_key(process, cq)), **place;

	if (armed)
		return armed;
	armed = calloc(1, sizeof(*armed));
	place = armed ? vec_push(o->armed, o->narmed) : NULL;
	if (!place || map_put(&o->by_cq, handle_key(process, cq), (uintptr_t)armed)) {
		o->narmed -= place != NULL;
		free(armed);
		return NULL;
	}
	*place = armed;
	armed->process = process;
	armed->fetched = INT64_MIN;
	return armed;
}

int outstanding_notify(struct outstanding *o, const struct event_place *at,
		       const struct event_notify *event)
{
	struct armed *armed;

	if (event->ret || event->head.flags & EVENT_INNER)
		return 0;
	armed = need_armed(o, at->process, event->cq);
	if (!armed)
		return -ENOMEM;
	armed->at = *at;
	armed->notify = *event;
	return 0;
}

void outstanding_fetched(struct outstanding *o, uint32_t process, uint64_t cq, int64_t time)
{
	struct armed *armed = find_entry(&o->by_cq, handle_key(process, cq));

	if (armed)
		armed->fetched = time;
}

/* Messages of @queue that are outstanding: how many of its stream were received, less these. */
static bool lacks_sends(const struct outstanding *o, const struct queue *queue)
{
	const struct stream *stream =
		find_entry(&o->by_pair, pair_key(queue->qp.number, queue->dest));
	uint32_t left;

	if (!stream || !stream->receives.count || !has_both_ends(o, stream))
		return false;
	left = stream->receives.count;
	for (uint32_t i = 0; i < queue->sq.count && left; i++)
		left -= request_at(&queue->sq, i)->message;
	return left;
}

/* Likewise of datagrams, which may go from one queue pair to many. */
static bool lacks_datagrams(const struct queue *queue, const struct stream *stream)
{
	uint32_t left = stream->receives.count;

	for (uint32_t i = 0; i < queue->sq.count && left; i++)
		left -= request_at(&queue->sq, i)->dest == stream->to;
	return left;
}

static struct queue *find_sender(const struct outstanding *o, const struct stream *stream)
{
	struct queue *queue = o->queues;

	while (queue && !(queue->is_qp && queue->qp.datagrams && queue->qp.number == stream->from))
		queue = queue->after;
	return queue;
}

bool outstanding_is_whole(const struct outstanding *o, int64_t time)
{
	for (uint32_t i = 0; i < o->nearly; i++)
		if (o->early[i]->completion.at.time > time - STALE_NS)
			return false;
	for (const struct queue *queue = o->queues; queue; queue = queue->after)
		if (queue->is_qp && !queue->qp.datagrams && lacks_sends(o, queue))
			return false;
	for (const struct stream *stream = o->streams; stream; stream = stream->after) {
		const struct queue *from =
			stream->datagrams && stream->receives.count ? find_sender(o, stream) : NULL;

		if (from && lacks_datagrams(from, stream))
			return false;
	}
	return true;
}

/* The list */

struct item_list {
	struct outstanding_item *items;
	size_t count;
	bool failed;
};

static struct outstanding_item *add_item(struct item_list *list, const struct event_place *at)
{
	struct outstanding_item *item = vec_push(list->items, list->count);

	if (item)
		item->at = *at;
	else
		list->failed = true;
	return item;
}

static void list_request(struct item_list *list, const struct request *request)
{
	const struct completion *completion = &request->completion;
	struct outstanding_item *item = request->hidden ? NULL : add_item(list, &request->at);

	if (item) {
		item->object = request->object;
		item->verb = request->verb;
		item->index = request->index;
		item->wr = &request->wr;
		item->bytes = request->bytes;
	}
	item = request->done ? add_item(list, &completion->at) : NULL;
	if (!item)
		return;
	item->object = completion->cq;
	item->index = completion->index;
	item->flags = completion->flags;
	item->wc = &completion->wc;
	item->extra = completion->flags & EVENT_EXTRA ? &completion->extra : NULL;
}

static void list_requests(struct item_list *list, const struct request_list *requests)
{
	for (uint32_t i = 0; i < requests->count; i++)
		list_request(list, request_at(requests, i));
}

static void list_stream(const struct outstanding *o, struct item_list *list, struct stream *stream,
			int64_t time)
{
	while (stream->datagrams && stream->sends.count &&
	       request_at(&stream->sends, 0)->at.time < time - STALE_NS)
		free(take_request(&stream->sends, 0));
	if (has_both_ends(o, stream)) {
		list_requests(list, &stream->sends);
		list_requests(list, &stream->receives);
	}
}

static int compare_items(const void *a, const void *b)
{
	const struct outstanding_item *x = a, *y = b;

	if (x->at.thread != y->at.thread)
		return x->at.thread < y->at.thread ? -1 : 1;
	if (x->at.n != y->at.n)
		return x->at.n < y->at.n ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

int outstanding_list(struct outstanding *o, int64_t time, struct outstanding_item **ret,
		     size_t *ret_count)
{
	struct item_list list = { 0 };

	for (struct queue *queue = o->queues; queue; queue = queue->after) {
		list_requests(&list, &queue->sq);
		list_requests(&list, &queue->rq);
		if (queue->failed)
			list_request(&list, queue->failed);
	}
	for (struct stream *stream = o->streams; stream; stream = stream->after)
		list_stream(o, &list, stream, time);
	for (uint32_t i = 0; i < o->nearly; i++)
		if (o->early[i]->completion.at.time >= time - STALE_NS)
			list_request(&list, o->early[i]);
	for (size_t i = 0; i < o->narmed; i++) {
		const struct armed *armed = o->armed[i];
		struct outstanding_item *item = armed->fetched < armed->at.time && armed->at.thread
							? add_item(&list, &armed->at)
							: NULL;

		if (item)
			item->notify = &armed->notify;
	}
	if (list.failed) {
		free(list.items);
		return -ENOMEM;
	}
	if (list.count)
		qsort(list.items, list.count, sizeof(*list.items), compare_items);
	*ret = list.items;
	*ret_count = list.count;
	return 0;
}
