/*
 * Forgetting queue pairs that were destroyed
 *
 * A service whose clients come and go has any number of queue pairs over time. Each may leave
 * messages that only one end has completed (streams), an end of them, and early completions. They
 * are forgotten at each cut.
 *
 * Not here: requests of queues and armed CQs, which are freed with their objects (outstanding.c).
 */
#include "core/store/write/outstanding_priv.h"

/* The ends of streams that may be needed: of queue pairs that exist. 0 or -ENOMEM. */
static int list_living_ends(const struct outstanding *o, struct map *living)
{
	int err = 0;

	for (const struct queue *queue = o->queues; queue && !err; queue = queue->after)
		if (queue->is_qp && (queue->qp.datagrams || queue->dest))
			err = map_put(living,
				      outstanding_pair_key(queue->qp.number,
							   queue->qp.datagrams ? 0 : queue->dest),
				      1);
	return err;
}

/*
 * Is the stream over? Without its receiver, no message is completed at the other end any more.
 * Without its sender there are no more messages. Some of the last events may be read late.
 */
static bool is_over(const struct stream *stream, const struct map *living, int64_t time)
{
	if (stream->last >= time)
		return false;
	return !outstanding_has_end(living, stream_receiver(stream)) ||
	       (!stream->sends.count && !outstanding_has_end(living, stream_sender(stream)));
}

static int copy_end(struct map *to, const struct map *from, uint64_t end)
{
	return outstanding_has_end(from, end) ? map_put(to, end, 1) : 0;
}

static int copy_ends(struct map *to, const struct outstanding *o, const struct stream *stream)
{
	return copy_end(to, &o->ends, stream_sender(stream))
		       ?: copy_end(to, &o->ends, stream_receiver(stream));
}

/* @ends becomes what is needed of o->ends: ends of the streams that are left, too. */
static int forget_streams(struct outstanding *o, struct map *ends, int64_t time)
{
	struct stream *after;
	int err = list_living_ends(o, ends);

	for (struct stream *stream = o->streams; stream && !err; stream = after) {
		after = stream->after;
		if (is_over(stream, ends, time))
			stream_free(o, stream);
	}
	for (const struct stream *stream = o->streams; stream && !err; stream = stream->after)
		err = copy_ends(ends, o, stream);
	return err;
}

void outstanding_forget(struct outstanding *o, int64_t time)
{
	struct map ends = { 0 };

	early_forget(o, time - STALE_NS);
	if (forget_streams(o, &ends, time - STALE_NS)) {
		map_fini(&ends);
		return;
	}
	map_fini(&o->ends);
	o->ends = ends;
}
