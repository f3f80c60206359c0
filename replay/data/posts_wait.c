/*
 * Posts to a full queue
 *
 * Completions are polled, and the rest is posted, while an outstanding request of the queue can
 * still complete. If the queue is shorter than the recorded one, requests keep waiting while the
 * replay continues.
 */
#include <errno.h>

#include "replay/data/held_requests.h"
#include "replay/report/pace.h"
#include "replay/data/polls.h"
#include "replay/data/posting.h"
#include "replay/state/sent.h"

#define TRIES_NS 50000000 /* longest wait for completions that may never come */

static const char shared[] = "the choice of a receive from a shared receive queue";
static const char shorter[] = "a queue shorter than the recorded one: its requests waited for "
			      "space";

/* May a message still arrive? The peer has sent one, or the peer is not known. */
static bool may_receive(const struct post_in_progress *p)
{
	const struct replica_qp *qp = p->replica->qp;
	const struct replica *peer = qp ? replica_of(p->r, qp->peer) : NULL;

	return !peer || !peer->qp || requests_count(&peer->qp->out[SIDE_SEND]);
}

/* Was a message sent for which the peer has no receive request? A later event must post one. */
static bool lacks_receive(const struct post_in_progress *p)
{
	const struct replica_qp *qp = p->replica->qp;
	const struct replica *peer = replica_of(p->r, qp->peer);

	sent_remove_counted_of(p->r, qp);
	return qp->type == IBV_QPT_RC && peer && peer->qp && peer->handle &&
	       !((struct ibv_qp *)peer->handle)->srq &&
	       !requests_count(&peer->qp->out[SIDE_RECV]) && requests_count(&qp->sent);
}

/* Can an outstanding request still complete and free an entry? */
static bool may_complete(const struct post_in_progress *p)
{
	const struct requests *requests = p->requests;
	uint32_t end = requests->tail - held_count_requests(requests);

	if (p->side == SIDE_RECV)
		return may_receive(p);
	for (uint32_t at = requests->head; at != end; at++)
		if (requests->cells[at & (requests->size - 1)].signaled)
			return !lacks_receive(p);
	return false;
}

/* Wait for a free entry as long as a request may still complete. */
static void await_room(struct post_in_progress *p)
{
	int64_t most = p->r->options->timeout, deadline;
	unsigned int turns = 0;

	if (p->side == SIDE_RECV && most > TRIES_NS)
		most = TRIES_NS;
	deadline = pace_now() + (p->requests->stuck ? 0 : most);
	while (p->requests->held) {
		if (polls_make_room(p->r)) {
			p->requests->stuck = false;
			continue;
		}
		if (!may_complete(p))
			break;
		if (p->requests->stuck || !pace_wait(&turns, deadline)) {
			p->requests->stuck = true;
			break;
		}
	}
}

static void note_limit(const struct post_in_progress *p)
{
	const struct requests *requests = p->requests;

	outcome_note(p->r->outcome,
		     "%s is %u in the replay, recorded %u: requests beyond it wait for space",
		     !p->replica->qp        ? "max_wr"
		     : p->side == SIDE_SEND ? "max_send_wr"
					    : "max_recv_wr",
		     requests->length, requests->length_there);
}

int64_t posts_wait(struct post_in_progress *p, uint32_t from)
{
	uint32_t n = p->post->nwr - from;

	if (held_add_requests(p, from))
		return -ENOMEM;
	polls_make_room(p->r);
	if (!p->requests->held)
		return p->post->nwr;
	if (held_queue_is_shorter(p->requests)) {
		note_limit(p);
		for (uint32_t i = 0; i < n; i++)
			outcome_note_tolerated(p->r->outcome, shorter);
		return p->post->nwr;
	}
	if (p->r->nlate) { /* the completion that would free an entry waits for a shared queue */
		outcome_note_tolerated(p->r->outcome, shared);
		return p->post->nwr;
	}
	await_room(p);
	return p->post->nwr - held_withdraw(p->requests, n);
}
