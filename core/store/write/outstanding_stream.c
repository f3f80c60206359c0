/*
 * Messages that have completed at one end, but not at the other
 *
 * A stream has the two-sided messages from one queue pair number to another. Both ends complete
 * them in the same order, so only the messages of the end that is ahead are stored. Datagrams may
 * get lost: a datagram that is not received within a second counts as lost.
 *
 * Not here: requests without a completion (outstanding.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "core/store/write/outstanding_priv.h"

enum {
	STREAM_MAX = 1 << 16,
	/* after this many messages, the events of a recorded peer must have been read */
	FOREIGN_MAX = 1 << 14,
	MULTICAST_QPN = 0xffffff,
};

int request_list_push(struct request_list *list, struct request *request)
{
	if (list->count == list->size) {
		uint32_t size = list->size ? list->size * 2 : 16;
		struct request **ring = malloc(size * sizeof(*ring));

		if (!ring)
			return -ENOMEM;
		for (uint32_t i = 0; i < list->count; i++)
			ring[i] = request_list_at(list, i);
		free(list->ring);
		list->ring = ring;
		list->first = 0;
		list->size = size;
	}
	list->ring[(list->first + list->count++) & (list->size - 1)] = request;
	return 0;
}

struct request *request_list_take(struct request_list *list, uint32_t at)
{
	struct request *taken = request_list_at(list, at);

	for (uint32_t i = at; i > 0; i--)
		list->ring[(list->first + i) & (list->size - 1)] = request_list_at(list, i - 1);
	list->first = (list->first + 1) & (list->size - 1);
	list->count--;
	return taken;
}

void request_list_clear(struct request_list *list)
{
	while (list->count)
		free(request_list_take(list, 0));
	free(list->ring);
	*list = (struct request_list){ 0 };
}

void stream_free(struct outstanding *o, struct stream *stream)
{
	map_remove(&o->by_pair, outstanding_pair_key(stream->from, stream->to));
	*stream->link = stream->after;
	if (stream->after)
		stream->after->link = stream->link;
	request_list_clear(&stream->sends);
	request_list_clear(&stream->receives);
	free(stream);
}

/* When the oldest message of the list completed, ns. */
static int64_t time_of_first(const struct request_list *list)
{
	const struct request *first = request_list_at(list, 0);

	return first->done ? first->completion.at.time : first->at.time;
}

static void drop_older_requests(struct request_list *list, int64_t time)
{
	while (list->count && time_of_first(list) < time)
		free(request_list_take(list, 0));
}

void stream_forget(struct outstanding *o, uint32_t number, int64_t time)
{
	for (struct stream *stream = o->streams; stream; stream = stream->after) {
		if (stream->from != number && stream->to != number)
			continue;
		drop_older_requests(&stream->sends, time);
		drop_older_requests(&stream->receives, time);
		stream->unseen = false;
		if (stream->dropped_at < time)
			stream->dropped = 0;
	}
}

/* Find or create a stream; NULL if out of memory. */
static struct stream *get_stream(struct outstanding *o, uint32_t from, uint32_t to, bool datagrams)
{
	struct stream *stream = outstanding_entry(&o->by_pair, outstanding_pair_key(from, to));

	if (stream)
		return stream;
	stream = calloc(1, sizeof(*stream));
	if (!stream || map_put(&o->by_pair, outstanding_pair_key(from, to), (uintptr_t)stream)) {
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

bool stream_has_both_ends(const struct outstanding *o, const struct stream *stream)
{
	return outstanding_has_end(&o->ends, stream_sender(stream)) &&
	       outstanding_has_end(&o->ends, stream_receiver(stream));
}

/*
 * Has the list grown for so long that the events of a recorded peer must have been read meanwhile?
 */
static bool is_long(const struct request_list *list, int64_t now)
{
	return list->count >= FOREIGN_MAX || (list->count && now - STALE_NS > time_of_first(list));
}

/* Count @messages messages, the last at @now, as complete at one end without storing them. */
static void count_dropped(struct stream *stream, bool receive, uint32_t messages, int64_t now)
{
	stream->dropped += messages;
	stream->dropped_receives = receive;
	stream->dropped_at = now;
}

void stream_mark_unseen(struct stream *stream)
{
	stream->unseen = true;
	request_list_clear(&stream->sends);
	request_list_clear(&stream->receives);
}

/* Drop the oldest message, since there are too many; it is only counted. */
static void drop_oldest_message(struct stream *stream, bool receive, int64_t now)
{
	free(request_list_take(receive ? &stream->receives : &stream->sends, 0));
	count_dropped(stream, receive, 1, now);
}

/*
 * @request is complete at one end: store it until it is complete at the other end, too. Takes
 * ownership of @request.
 */
static int note_message(struct outstanding *o, struct stream *stream, struct request *request,
			bool receive)
{
	struct request_list *ours = receive ? &stream->receives : &stream->sends;
	struct request_list *others = receive ? &stream->sends : &stream->receives;
	int64_t now = request->done ? request->completion.at.time : request->at.time;
	int err = 0;

	if (stream->last < now)
		stream->last = now;
	if (stream->dropped && stream->dropped_receives != receive) {
		stream->dropped--;
	} else if (others->count) {
		free(request_list_take(others, 0));
	} else if ((stream->dropped || is_long(ours, now)) && !stream_has_both_ends(o, stream)) {
		count_dropped(stream, receive, ours->count + 1, now);
		request_list_clear(ours);
	} else {
		err = request_list_push(ours, request);
		if (ours->count > STREAM_MAX)
			drop_oldest_message(stream, receive, now);
		if (!err)
			return 0;
	}
	free(request);
	return err;
}

int stream_note_completion(struct outstanding *o, const struct queue *qp, struct request *request,
			   bool receive)
{
	bool datagrams = qp->qp.datagrams;
	uint32_t other = !datagrams ? qp->dest
			 : receive  ? request->completion.wc.src_qp
				    : request->dest;
	struct stream *stream = NULL;
	int err = 0;

	if (request->message && other && other != MULTICAST_QPN) {
		stream = receive ? get_stream(o, other, qp->qp.number, datagrams)
				 : get_stream(o, qp->qp.number, other, datagrams);
		err = stream ? 0 : -ENOMEM;
	}
	if (stream && !stream->unseen)
		err = note_message(o, stream, request, receive);
	else
		free(request);
	return err;
}

/*
 * Were more messages of @queue received than its recorded sends explain, even with all outstanding
 * ones?
 */
static bool lacks_sends(const struct outstanding *o, const struct queue *queue)
{
	const struct stream *stream =
		outstanding_entry(&o->by_pair, outstanding_pair_key(queue->qp.number, queue->dest));
	uint32_t left;

	if (!stream || !stream->receives.count || !stream_has_both_ends(o, stream))
		return false;
	left = stream->receives.count;
	for (uint32_t i = 0; i < queue->sq.count && left; i++)
		left -= request_list_at(&queue->sq, i)->message;
	return left;
}

/* The same for datagrams, which one queue pair may send to many. */
static bool lacks_datagrams(const struct queue *queue, const struct stream *stream)
{
	uint32_t left = stream->receives.count;

	for (uint32_t i = 0; i < queue->sq.count && left; i++)
		left -= request_list_at(&queue->sq, i)->dest == stream->to;
	return left;
}

static struct queue *find_sender(const struct outstanding *o, const struct stream *stream)
{
	struct queue *queue = o->queues;

	while (queue && !(queue->is_qp && queue->qp.number == stream->from &&
			  (queue->qp.datagrams || queue->dest == stream->to)))
		queue = queue->after;
	return queue;
}

bool stream_has_receiver(const struct outstanding *o, const struct stream *stream)
{
	const struct queue *queue = o->queues;

	while (queue && !(queue->is_qp && queue->qp.number == stream->to &&
			  (queue->qp.datagrams || queue->dest == stream->from)))
		queue = queue->after;
	return queue;
}

bool stream_is_all_posted(const struct outstanding *o)
{
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

bool stream_is_unseen(const struct outstanding *o, const struct stream *stream, int64_t time)
{
	const struct queue *from;

	if (stream->datagrams || !stream->receives.count ||
	    request_list_at(&stream->receives, 0)->completion.at.time > time - STALE_NS)
		return false;
	from = find_sender(o, stream);
	return from && lacks_sends(o, from);
}
