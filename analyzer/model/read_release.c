/*
 * Messages at which the peer deregisters memory that may still be read from it
 */
#include "analyzer/model/read_release.h"

#include <stdlib.h>

#include "analyzer/model/model_state.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/queue.h"

enum {
	EARLIER_REQUESTS = 16, /* requests before a message, from the latest */
	NEXT_EVENTS = 4,       /* events of the thread from the poll to the deregistration */
};

/* The last READ before request @at of @sends that is outstanding; NULL: none. */
static const struct queue_request *find_read(const struct queue *sends, uint32_t at)
{
	for (uint32_t i = at; i > 0 && at - i < EARLIER_REQUESTS; i--) {
		const struct queue_request *request = queue_at(sends, i - 1);

		if (request->opcode == ABI_WR_RDMA_READ && !request->done)
			return request;
	}
	return NULL;
}

static void note_send(struct queue *sends, uint32_t at)
{
	const struct queue_request *send = queue_at(sends, at), *read;

	if (!send->message || send->flags & ABI_SEND_FENCE)
		return;
	read = find_read(sends, at);
	if (!read)
		return;
	if (!sends->release && !(sends->release = calloc(1, sizeof(*sends->release))))
		return; /* if out of memory, one hazard is missing */
	sends->release->message = send->message;
	sends->release->rkey = read->rkey;
	sends->release->read = queue_moment(sends, read);
	sends->release->send = queue_moment(sends, send);
}

void read_release_note_post(struct queue *sends, uint32_t taken)
{
	for (uint32_t i = taken; sends->reads && i > 0; i--)
		note_send(sends, sends->count - i);
}

void read_release_note_message(struct model *model, const struct trace_event *event,
			       const struct life *qp)
{
	struct read_release_polled *polled = model->release;
	const struct peer *other = peer_find_other(&model->peers, qp->peer);
	const struct queue *sends = other && other->life ? other->life->sq : NULL;
	const struct read_release *release = sends ? sends->release : NULL;

	if (polled && polled->process == event->process)
		polled->process = 0;
	if (!release || release->message != qp->taken || qp->unwatched ||
	    other->process == event->process)
		return;
	if (!polled && !(polled = model->release = calloc(1, sizeof(*polled))))
		return;
	*polled = (struct read_release_polled){ .process = event->process,
						.thread = event->id.thread,
						.n = event->id.n,
						.sender = other->id,
						.rkey = release->rkey,
						.context = qp->context,
						.read = release->read,
						.send = release->send };
}

void read_release_note_dereg(struct model *model, const struct trace_event *event,
			     const struct key *key)
{
	const struct read_release_polled *polled = model->release;
	struct read_release *release;
	const struct queue *sends;
	uint64_t life;

	if (!polled || polled->process != event->process || polled->thread != event->id.thread ||
	    event->id.n - polled->n > NEXT_EVENTS || polled->rkey != key->rkey ||
	    polled->context != key->context || !map_get(&model->by_id, polled->sender, &life))
		return;
	sends = ((const struct life *)(uintptr_t)life)->sq; /* NULL: it was destroyed */
	release = sends ? sends->release : NULL;
	if (!release || release->n++)
		return;
	release->first_read = polled->read;
	release->first_send = polled->send;
	release->freed = moment_of(event);
	release->region = key->object;
}
