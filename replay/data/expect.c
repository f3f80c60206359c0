/*
 * The completions of a recorded poll: those that can come in the replay are compared, one by one
 *
 * Not here: which replayed completion each is compared with (expect_one.c), and completions left at
 * the end (expect_end.c).
 */
#include <errno.h>

#include "replay/data/contents.h"
#include "replay/report/differ.h"
#include "replay/data/expect_priv.h"
#include "replay/data/polls.h"

/*
 * Is @wc a completion of ibv_post_srq_ops(), which has no queue pair? The opcode of a failed one is
 * not valid.
 */
static bool is_of_list(const struct wc *wc)
{
	return wc->status == IBV_WC_TM_ERR ||
	       (wc->status == IBV_WC_SUCCESS &&
		(wc->opcode == IBV_WC_TM_ADD || wc->opcode == IBV_WC_TM_DEL ||
		 wc->opcode == IBV_WC_TM_SYNC));
}

/* Why the completion cannot come in the replay, or NULL. */
static const char *why_not_expected(struct expected_wc *e)
{
	uint64_t from;

	if (is_of_list(e->wc))
		return "tag matching lists are not replayed";
	if (!e->replica || !e->replica->qp)
		return e->replica && e->replica->why ? e->replica->why
						     : "its queue pair is not in the trace";
	if (!e->cq || !e->cq->handle)
		return e->cq && e->cq->why ? e->cq->why
					   : "its completion queue was not created "
					     "in the replay";
	if (e->replica->qp->cut)
		return e->replica->qp->cut;
	if (e->r->no_posts)
		return e->r->no_posts;
	if (!expect_is_shared(e, SIDE_RECV) &&
	    map_get(&e->r->left_out, event_key(e->wc->request), &from) && e->wc->request.thread &&
	    e->wc->request_index + 1 >= from)
		return "its request was not posted in the replay";
	if (e->replica->qp->no_flow && expect_side(e) == SIDE_RECV &&
	    !arrivals_first(&e->qp->in[SIDE_RECV]))
		return "its flow rule does not exist in the replay";
	if (expect_sender_died(e, expect_side(e), false))
		return expect_cut_short;
	return NULL;
}

/* An entry stays listed until it is compared: later completions of its side wait for it. */
int expect_compare_late(struct replay *r, struct replica_qp *qp, enum side side,
			enum deferred_kind which)
{
	const struct deferred_completion *late;
	struct expected_wc e;
	int err = 0;

	while (!err && (late = expect_late(r, qp, side, &e)) &&
	       (which != DEFERRED_COME || arrivals_first(&qp->in[side]))) {
		e.last = which == DEFERRED_ALL;
		err = expect_compare_one(&e);
		if (e.again || qp->late[side] != late)
			break;
		expect_late_drop(r, qp, side);
	}
	return err;
}

/* Compare the deferred completions of the same side first. */
static int compare_deferred(struct expected_wc *e)
{
	enum side side = e->qp->late[SIDE_SEND] || e->qp->late[SIDE_RECV] ? expect_side(e) : SIDES;

	if (side == SIDES || !e->qp->late[side])
		return 0;
	return expect_compare_late(e->r, e->qp, side,
				   expect_is_starved(e, side) ? DEFERRED_COME : DEFERRED_FED);
}

/*
 * A device may leave completions of a destroyed queue pair in the CQ and reuse its number, so that
 * they seem to belong to the new queue pair, which has no request for them.
 */
static struct replica *find_destroyed_qp(struct replay *r, const struct wc *wc, uint32_t cq)
{
	const struct object *next = trace_object(r->trace, wc->qp);

	for (uint32_t i = r->nmade; next && i-- > 0;) {
		const struct object *o = trace_object(r->trace, r->made[i]);
		struct replica *replica = &r->replicas[r->made[i]];
		const struct arrival *a;

		if (!replica->qp || replica->handle || o->number != next->number ||
		    o->process != next->process)
			continue;
		for (enum side side = SIDE_SEND; side < SIDES; side++) {
			a = arrivals_first(&replica->qp->in[side]);
			if (a && a->unasked && a->cq == cq && a->request.wr_id == wc->wr_id)
				return replica;
		}
	}
	return replica_of(r, wc->qp);
}

static int expect_completion(struct replay *r, const struct trace_event *event, struct replica *cq,
			     uint32_t i)
{
	const struct wc *wc = &event->poll->wc[i];
	struct expected_wc e = { .r = r,
				 .event = event,
				 .wc = wc,
				 .index = i,
				 .cq = cq,
				 .replica = replica_of(r, wc->qp) };
	const char *why;

	if (!wc->request.thread && !r->lossy)
		e.replica = find_destroyed_qp(r, wc, event->poll->object);
	e.qp = e.replica ? e.replica->qp : NULL;
	why = why_not_expected(&e);
	if (!why)
		return compare_deferred(&e) ?: expect_compare_one(&e);
	if (!e.qp && !is_of_list(wc))
		return expect_note_unmatched(&e, UNMATCHED_QUEUE, why);
	if (e.qp)
		expect_note_spare(&e);
	outcome_note_skipped(r->outcome, event->id, event->poll->verb, wc->qp, why);
	return 0;
}

/* Replay a poll that failed in the recording. */
static void replay_failed(struct replay *r, const struct trace_event *event, struct replica *cq)
{
	int n = cq && cq->handle ? polls_take(r, cq, 1) : -EINVAL;

	if (n >= 0)
		differ_check_numbers(r->outcome, event->id, event->poll->verb, event->poll->object,
				     "ret", event->poll->ret, n);
}

static void note_poll(struct replica *cq, const struct trace_event *event)
{
	cq->empty += event->poll->empty;
	cq->given += event->poll->nwc;
	cq->polled = event->time;
	cq->poll = event->id;
}

/* Note a poll that returned more completions than the trace has. */
static int note_surplus_poll(struct replay *r, const struct trace_event *event, struct replica *cq)
{
	const struct wc none = { 0 };
	const struct expected_wc e = {
		.r = r, .event = event, .wc = &none, .index = event->poll->nwc, .cq = cq
	};

	return expect_note_unmatched(&e, UNMATCHED_LOST, "");
}

void expect_note(struct replay *r, const struct trace_event *event)
{
	struct replica *cq = replica_of(r, event->poll->object);

	if (cq)
		note_poll(cq, event);
	if (!event->inner)
		outcome_count(r->outcome, OUTCOME_POLLS, 1);
}

int expect_poll(struct replay *r, const struct trace_event *event, uint32_t from)
{
	struct replica *cq = replica_as(r, event->poll->object, OBJECT_cq);
	int err = 0;

	expect_note(r, event);
	if (event->inner)
		return 0;
	if (event->poll->ret < 0)
		replay_failed(r, event, cq);
	for (uint32_t i = from; i < event->poll->nwc && !err; i++)
		err = expect_completion(r, event, cq, i);
	if (event->poll->verb == VERB_poll_cq && event->poll->ret > (int)event->poll->nwc && !err)
		err = note_surplus_poll(r, event, cq);
	return err ? err : contents_read_error(r);
}
