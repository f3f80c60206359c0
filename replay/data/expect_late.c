/*
 * Recorded completions that come later in the replay
 *
 * A message waits at a shared receive queue that has no request. Which queue pair gets the next one
 * depends on timing, so the recorded receiver may have to wait for a request that a later event
 * posts. The replay then continues, and compares when the completion has come. Completions of one
 * side of a queue pair stay in order.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/data/expect_priv.h"
#include "replay/data/polls.h"
#include "replay/state/sent.h"

struct deferred_completion {
	struct deferred_completion *next;
	struct trace_event event; /* the event of its poll; the poll is the next member */
	struct poll poll;
	struct wc wc;
	uint32_t index;
	struct replica *cq, *replica;
};

static struct replica *find_replica(struct replay *r, const void *handle)
{
	uint64_t id;

	return handle && map_get(&r->handles, (uintptr_t)handle, &id) ? replica_of(r, (uint32_t)id)
								      : NULL;
}

void expect_note_spare(const struct expected_wc *e)
{
	const struct ibv_qp *qp = e->replica->handle;
	struct replica *srq = qp ? find_replica(e->r, qp->srq) : NULL;

	if (!srq || !srq->requests || e->wc->status != IBV_WC_SUCCESS ||
	    e->wc->wc_flags & (IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID) || /* a tagged buffer's */
	    !(e->wc->opcode & IBV_WC_RECV))
		return;
	srq->spare++;
	srq->spare_of = e->wc->qp;
}

bool expect_is_starved(const struct expected_wc *e, enum side side)
{
	struct replica *taker = side == SIDE_SEND ? replica_of(e->r, e->qp->peer) : e->replica;
	const struct ibv_qp *qp = taker ? taker->handle : NULL;
	const struct replica *srq = qp ? find_replica(e->r, qp->srq) : NULL;

	if (e->wc->status != IBV_WC_SUCCESS || !srq || !srq->requests)
		return false;
	polls_drain(e->r, taker); /* a completion that has come has consumed its request */
	return !requests_oldest(srq->requests, false);
}

int expect_defer(const struct expected_wc *e, enum side side)
{
	struct deferred_completion *late = malloc(sizeof(*late)), **at = &e->qp->late[side];

	if (!late)
		return -ENOMEM;
	*late = (struct deferred_completion){ .event = *e->event,
					      .poll = *e->event->poll,
					      .wc = *e->wc,
					      .index = e->index,
					      .cq = e->cq,
					      .replica = e->replica };
	late->event.poll = &late->poll;
	late->poll.wc = NULL;
	while (*at)
		at = &(*at)->next;
	*at = late;
	e->r->nlate++;
	return 0;
}

const struct deferred_completion *expect_late(struct replay *r, struct replica_qp *qp,
					      enum side side, struct expected_wc *ret_e)
{
	const struct deferred_completion *late = qp->late[side];

	if (late)
		*ret_e = (struct expected_wc){ .r = r,
					       .event = &late->event,
					       .wc = &late->wc,
					       .index = late->index,
					       .cq = late->cq,
					       .replica = late->replica,
					       .qp = qp,
					       .settled = true };
	return late;
}

bool expect_has_surplus(const struct expected_wc *e, enum side side)
{
	const struct arrivals *in = &e->qp->in[side];
	const struct replica *peer = replica_of(e->r, e->qp->peer);
	size_t messages = in->tail - in->head, late = 0;

	for (const struct deferred_completion *at = e->qp->late[side]; at; at = at->next)
		late++;
	sent_remove_counted(e->r, e->qp);
	if (peer && peer->qp)
		messages += requests_count(&peer->qp->sent);
	return messages > late;
}

void expect_late_drop(struct replay *r, struct replica_qp *qp, enum side side)
{
	struct deferred_completion *late = qp->late[side];

	qp->late[side] = late->next;
	r->nlate--;
	free(late);
}

void expect_forget_late(struct replica_qp *qp)
{
	for (int side = 0; side < SIDES; side++)
		while (qp->late[side]) {
			struct deferred_completion *late = qp->late[side];

			qp->late[side] = late->next;
			free(late);
		}
}
