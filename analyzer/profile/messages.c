/*
 * Messages of which both ends are recorded
 *
 * 	post --------- on the way ---------> polled by one end ---- lay in the CQ ----> by the other
 *
 * The n-th message that a reliable queue pair sends is the n-th that its peer receives. When one
 * end has polled its completion, the message had arrived: so it was in flight at most until then,
 * and the completion that the other end polls later was in its CQ at least since then (less the
 * travel time of the acknowledgement). Recorded times give only these two bounds.
 *
 * If the order is in doubt (an error, a reset, posts that were not seen, clocks of two machines)
 * the queue pair is no longer followed.
 */
#include "analyzer/profile/messages.h"

#include <stdlib.h>

#include "analyzer/model/model.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"

enum { MOST = 1 << 16, FIRST = 64 }; /* messages not yet complete at both ends */

enum { NOT_YET = -1, NEVER = -2 };

struct message {
	uint64_t n; /* of the post's T:N */
	uint32_t thread, index;
	/* sent: when its completion was polled; NEVER: it has none */
	int64_t posted, sent, received;
};

/* The messages that a queue pair has sent, by number; rings of a power of two. */
struct sender {
	struct message *ring;
	uint64_t size, first, end;     /* it has the messages from first to end - 1 */
	uint64_t completing, arriving; /* next message to complete, to arrive */
	bool lost;
	struct sender *next; /* next in the list of all senders */
};

static struct sender *find_sender(struct profiler *p, uint32_t qp)
{
	uint64_t at;

	return qp && map_get(&p->senders, qp, &at) ? (struct sender *)(uintptr_t)at : NULL;
}

static struct sender *make_sender(struct profiler *p, uint32_t qp)
{
	struct sender *sender = find_sender(p, qp);

	if (sender || !qp)
		return sender;
	sender = calloc(1, sizeof(*sender));
	if (!sender || map_put(&p->senders, qp, (uintptr_t)sender)) {
		free(sender);
		profiler_fail(p);
		return NULL;
	}
	sender->next = p->all_senders;
	p->all_senders = sender;
	return sender;
}

static void give_up_sender(struct sender *sender)
{
	if (!sender)
		return;
	free(sender->ring);
	*sender = (struct sender){ .lost = true, .next = sender->next };
}

static struct message *message_at(const struct sender *sender, uint64_t number)
{
	return &sender->ring[number & (sender->size - 1)];
}

static bool grow_ring(struct sender *sender)
{
	uint64_t size = sender->size ? 2 * sender->size : FIRST;
	struct message *ring = size > MOST ? NULL : malloc(size * sizeof(*ring));

	if (!ring)
		return false;
	for (uint64_t i = sender->first; i < sender->end; i++)
		ring[i & (size - 1)] = *message_at(sender, i);
	free(sender->ring);
	sender->ring = ring;
	sender->size = size;
	return true;
}

static void push_message(struct sender *sender, const struct message *message)
{
	if (sender->end - sender->first == sender->size && !grow_ring(sender)) {
		give_up_sender(sender);
		return;
	}
	*message_at(sender, sender->end++) = *message;
}

void messages_note_post(struct profiler *p, const struct model_post *told)
{
	const struct trace_event *event = told->event;
	const struct life *qp = told->object;
	struct sender *sender;

	if (!told->queue || !told->queue->send || !qp || !qp->qp || qp->qp->type != ABI_QPT_RC)
		return;
	sender = find_sender(p, qp->id);
	for (uint32_t i = 0; i < told->taken; i++) {
		if (!queue_takes_receive(event->post->wr[i].opcode))
			continue;
		if (!sender && !(sender = make_sender(p, qp->id)))
			return;
		if (told->queue->doubt)
			give_up_sender(sender);
		if (sender->lost)
			return;
		push_message(sender, &(struct message){ .n = event->id.n,
							.thread = event->id.thread,
							.index = i,
							.posted = event->time,
							.sent = NOT_YET,
							.received = NOT_YET });
	}
}

static void count_message(struct profiler *p, const struct message *message)
{
	struct profile_messages *to = &p->profile->messages;
	int64_t sent = message->sent, received = message->received;

	histogram_add(&to->way, (sent >= 0 && sent < received ? sent : received) - message->posted);
	if (sent < 0)
		return;
	histogram_add(&to->lay_sent, sent > received ? sent - received : 0);
	histogram_add(&to->lay_received, received > sent ? received - sent : 0);
}

/* Remove messages of which both ends are known. */
static void count_complete_messages(struct profiler *p, struct sender *sender)
{
	while (sender->first < sender->completing && sender->first < sender->arriving) {
		if (p->counts)
			count_message(p, message_at(sender, sender->first));
		sender->first++;
	}
}

/* The completion of a send retires the unsignalled ones before it, which have none. */
static void complete_send(struct profiler *p, struct sender *sender,
			  const struct queue_request *request, int64_t time)
{
	while (sender->completing < sender->end) {
		struct message *message = message_at(sender, sender->completing++);

		message->sent = NEVER;
		if (message->n == request->n && message->index == request->index &&
		    message->thread == request->thread) {
			message->sent = time;
			count_complete_messages(p, sender);
			return;
		}
	}
	give_up_sender(sender);
}

static void complete_receive(struct profiler *p, struct sender *sender, int64_t time)
{
	if (sender->arriving == sender->end) {
		give_up_sender(sender);
		return;
	}
	message_at(sender, sender->arriving++)->received = time;
	count_complete_messages(p, sender);
}

static struct sender *sender_of_peer(struct profiler *p, const struct life *qp)
{
	struct peers *peers = model_peers(p->model);
	const struct peer *other = peer_find_other(peers, qp->peer);

	if (!other || peer_slack(peers, qp->process, other->process))
		return NULL;
	return find_sender(p, other->id);
}

void messages_note_completion(struct profiler *p, const struct model_complete *told)
{
	const struct wc *wc = &told->event->poll->wc[told->index];
	struct sender *own, *other;

	if (!p->senders.used || !told->qp || !told->qp->qp || told->qp->qp->type != ABI_QPT_RC)
		return;
	own = find_sender(p, told->qp->id);
	other = wc->opcode & ABI_WC_RECV || wc->status ? sender_of_peer(p, told->qp) : NULL;
	if (wc->status != ABI_WC_SUCCESS) {
		give_up_sender(own);
		give_up_sender(other);
	} else if (wc->opcode & ABI_WC_RECV) {
		if (other && (!told->queue || told->queue->doubt))
			give_up_sender(other);
		if (other && !other->lost)
			complete_receive(p, other, told->event->time);
	} else if (own && !own->lost && !told->request) {
		give_up_sender(own);
	} else if (own && !own->lost && queue_takes_receive(told->request->opcode)) {
		complete_send(p, own, told->request, told->event->time);
	}
}

void messages_note_modify(struct profiler *p, const struct model_modify *modify)
{
	struct life *qp = (struct life *)modify->object;

	if (modify->to != ABI_QPS_ERR && modify->to != ABI_QPS_RESET)
		return;
	give_up_sender(find_sender(p, qp->id));
	give_up_sender(sender_of_peer(p, qp));
}

void messages_note_retired(struct profiler *p, const struct life *object)
{
	struct sender *sender = object->kind == OBJECT_qp ? find_sender(p, object->id) : NULL;

	give_up_sender(sender);
	if (sender)
		map_remove(&p->senders, object->id);
}

void messages_fini(struct profiler *p)
{
	struct sender *sender;

	while ((sender = p->all_senders)) {
		p->all_senders = sender->next;
		free(sender->ring);
		free(sender);
	}
	map_fini(&p->senders);
}
