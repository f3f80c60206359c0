/*
 * Selects the replayed completion that a recorded one is compared with
 *
 * Usually the next completion of its queue pair and side. The exceptions have no single order:
 *
 *	datagrams             the next one of the same sender
 *	several threads       that of the same request, whenever it came: those passed over may be
 *	                      needed later
 *	a shared queue        the next of the connection, whichever request it consumed
 *
 * Not here: which differences are tolerated (differ_wc.c), whether it can come at all
 * (expect.c), and completions left at the end (expect_end.c).
 */
#include <stdio.h>
#include <string.h>

#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"
#include "replay/data/contents.h"
#include "replay/data/expect_priv.h"
#include "replay/data/polls.h"
#include "replay/synth/synth.h"
#include "replay/two_host/pair.h"
#include "replay/report/differ.h"
#include "replay/report/pace.h"

#define RACE_NS 50000000 /* how long to wait for a completion that is not the next one */

static const char died_before[] = "a message to a receiver that was killed before it received it";
static const char shared_order[] = "the choice of a receive from a shared receive queue";
static const char threads_order[] = "the order of posts and polls of several threads";
static const char senders_order[] = "the order of datagrams of several senders";

static bool is_of_request(const struct expected_wc *e, const struct arrival *a)
{
	return is_same_event(a->request.event, e->wc->request) &&
	       a->request.index == e->wc->request_index;
}

static bool has_arrived_next(const struct expected_wc *e, enum side side)
{
	const struct arrival *a = arrivals_first(&e->qp->in[side]);

	return a && is_same_event(a->request.event, e->wc->request);
}

/*
 * The side of an error completion: only its request shows it. If the request is not known, the side
 * on which a completion has come or is outstanding.
 */
static enum side side_of_failed(const struct expected_wc *e)
{
	const struct requests *sends = &e->qp->out[SIDE_SEND];

	if (e->wc->request.thread) {
		if (has_arrived_next(e, SIDE_SEND))
			return SIDE_SEND;
		if (has_arrived_next(e, SIDE_RECV))
			return SIDE_RECV;
		return requests_has(sends, e->wc->request, e->wc->request_index) ? SIDE_SEND
										 : SIDE_RECV;
	}
	if (arrivals_first(&e->qp->in[SIDE_SEND]))
		return SIDE_SEND;
	if (arrivals_first(&e->qp->in[SIDE_RECV]))
		return SIDE_RECV;
	return requests_count(sends) ? SIDE_SEND : SIDE_RECV;
}

enum side expect_side(const struct expected_wc *e)
{
	if (e->wc->status != IBV_WC_SUCCESS)
		return side_of_failed(e);
	return e->wc->opcode & IBV_WC_RECV ? SIDE_RECV : SIDE_SEND;
}

/*
 * The order of completions of one side of a queue pair: own requests in the order of their posts,
 * datagrams in the order of each sender, and messages that consumed a request of a shared receive
 * queue in the order of the connection.
 */
enum order { ORDER_POSTED, ORDER_SENDER, ORDER_ARRIVED };

bool expect_is_shared(const struct expected_wc *e, enum side side)
{
	return side == SIDE_RECV && e->qp->shared;
}

static enum order order_of(const struct expected_wc *e, enum side side)
{
	if (side == SIDE_RECV && e->qp->type == IBV_QPT_UD && e->wc->src_qp &&
	    e->wc->status == IBV_WC_SUCCESS)
		return ORDER_SENDER;
	return expect_is_shared(e, side) ? ORDER_ARRIVED : ORDER_POSTED;
}

/* The replayed completion that is waited for. */
struct wanted_wc {
	enum { NEXT, OF_REQUEST, OF_SENDER, ALIKE } what;
	enum side side;
	uint32_t sender; /* its QP number in the replay; 0: any */
};

/* Do all fields that distinguish messages agree? */
static bool is_alike(const struct wc *there, const struct ibv_wc *here)
{
	const uint32_t flags = IBV_WC_WITH_IMM | IBV_WC_WITH_INV;

	if (there->status != (int)here->status || there->status != IBV_WC_SUCCESS)
		return there->status == (int)here->status;
	if (there->opcode != (int)here->opcode || (there->wc_flags ^ here->wc_flags) & flags)
		return false;
	return (!(here->opcode & IBV_WC_RECV) || there->byte_len == here->byte_len) &&
	       (!(here->wc_flags & IBV_WC_WITH_IMM) || there->imm == be32toh(here->imm_data));
}

static const struct arrival *find_alike(const struct arrivals *in, const struct wc *wc,
					uint32_t sender)
{
	for (uint32_t at = in->head; at != in->tail; at++) {
		const struct arrival *a = &in->cells[at & (in->size - 1)];

		if (is_alike(wc, &a->wc) && (!sender || a->wc.src_qp == sender))
			return a;
	}
	return NULL;
}

static const struct arrival *find_from_sender(const struct arrivals *in, uint32_t sender)
{
	for (uint32_t at = in->head; at != in->tail; at++) {
		const struct arrival *a = &in->cells[at & (in->size - 1)];

		if (a->wc.src_qp == sender && a->wc.status == IBV_WC_SUCCESS)
			return a;
	}
	return NULL;
}

/* Receives of XRC and of several work queues complete in more than one completion queue. */
static const struct arrival *find_queue_arrival(const struct expected_wc *e,
						const struct arrivals *in)
{
	uint32_t cq = (uint32_t)(e->cq - e->r->replicas);

	for (uint32_t at = in->head; at != in->tail; at++) {
		const struct arrival *a = &in->cells[at & (in->size - 1)];

		if (a->cq == cq)
			return a;
	}
	return NULL;
}

static const struct arrival *find_wanted(const struct expected_wc *e,
					 const struct wanted_wc *wanted)
{
	const struct arrivals *in = &e->qp->in[wanted->side];

	switch (wanted->what) {
	case OF_REQUEST:
		return arrivals_find(in, e->wc->request, e->wc->request_index);
	case OF_SENDER:
		return find_from_sender(in, wanted->sender);
	case ALIKE:
		return find_alike(in, e->wc, wanted->sender);
	default:
		return find_queue_arrival(e, in);
	}
}

/* May a request still complete to which the completion fits? Only a private queue shows that. */
static bool may_still_complete(const struct expected_wc *e, const struct wanted_wc *wanted)
{
	if (!e->wc->request.thread || order_of(e, wanted->side) != ORDER_POSTED)
		return true;
	return requests_await(&e->qp->out[wanted->side], e->wc->request, e->wc->request_index,
			      e->wc->wr_id,
			      wanted->side == SIDE_SEND && e->wc->status == IBV_WC_SUCCESS);
}

/* Wait for the wanted completion. Invalidates pointers to arrivals. */
static const struct arrival *await_arrival(struct expected_wc *e, const struct wanted_wc *wanted)
{
	const struct arrival *a;
	int64_t start = 0;
	unsigned int turns = 0;

	while (!(a = find_wanted(e, wanted))) {
		int n = polls_take(e->r, e->cq, (int)(e->event->poll->nwc - e->index));

		if (n > 0)
			continue;
		if (n < 0 || !e->cq->handle)
			break;
		if (turns % 64 == 0 && !pace_is_behind() && !may_still_complete(e, wanted))
			break;
		e->starved =
			turns % 64 == 0 && !pace_is_behind() && expect_is_starved(e, wanted->side);
		if (e->starved)
			break;
		if (!start)
			start = pace_now();
		/* a divergence of another thread may meanwhile explain why it does not come */
		if (!pace_wait(&turns,
			       start + (wanted->what == ALIKE ? RACE_NS : expect_wait_time(e))))
			break;
	}
	return a ? a : find_wanted(e, wanted);
}

/*
 * Why the replayed completion may belong to another request than recorded, or NULL. The recorded
 * request must be known: a wr_id that no request had is a difference.
 */
static const char *find_reorder_reason(const struct expected_wc *e, enum side side,
				       const struct arrival *a)
{
	if (is_of_request(e, a) || (!e->wc->request.thread && !e->r->lossy))
		return NULL;
	if (expect_is_shared(e, side))
		return shared_order;
	return order_of(e, side) == ORDER_SENDER && e->qp->swapped ? senders_order : NULL;
}

/* ibv_poll_cq() returns all fields, also from an extended queue (UCX polls it so). */
static const struct ibv_cq_ex *find_partial_cq(const struct expected_wc *e)
{
	bool all = e->event->poll->verb == VERB_poll_cq && !polls_by_iterator(e->cq);

	return e->cq->extended && !all ? e->cq->handle : NULL;
}

static void compare_completion(struct expected_wc *e, enum side side, const struct arrival *a)
{
	struct differ_wc d = { .event = e->event->id,
			       .index = e->index,
			       .there = e->wc,
			       .here = &a->wc,
			       .wr_id = a->request.wr_id,
			       .about = a->request.event,
			       .type = e->qp->type };

	d.verb = e->event->poll->verb;
	d.object = e->wc->qp;
	d.peer = side == SIDE_RECV ? expect_sender(e) : 0;
	d.tagged = a->tagged;
	d.flow_tag = a->flow_tag;
	d.length = a->request.length;
	d.sender = a->sender;
	d.ex = find_partial_cq(e);
	d.other = find_reorder_reason(e, side, a);
	if (e->wc->status != IBV_WC_SUCCESS && expect_died_before(e, side, a->wc.status))
		outcome_note_tolerated(e->r->outcome, died_before);
	else
		differ_check_completion(e->r->outcome, &d);
	outcome_count(e->r->outcome, OUTCOME_COMPLETIONS, 1);
	e->cq->asked++;
	if (e->cq->fresh)
		e->cq->fresh--;
	contents_check(e->r, e->event, e->index, e->wc, a,
		       d.other || e->qp->in[side].tail - e->qp->in[side].head > 1);
}

/*
 * Compare a completion that was passed over: threads that post to one queue, or poll one, do not
 * write their events in the exact order of the queue, but a single thread does.
 */
static bool compare_passed(struct expected_wc *e, enum side side)
{
	struct arrivals *passed = &e->qp->passed[side];
	const struct arrival *a =
		arrivals_first(passed) ? arrivals_find(passed, e->wc->request, e->wc->request_index)
				       : NULL;
	char there[64], text[32];

	if (!a)
		return false;
	if (a->passed_by.thread != e->event->id.thread ||
	    a->passed_for != a->request.event.thread) {
		outcome_note_tolerated(e->r->outcome, threads_order);
	} else {
		snprintf(there, sizeof(there), "after %s", event_id_text(a->passed_by, text));
		expect_report_order(e, a, there);
	}
	compare_completion(e, side, a);
	arrivals_remove(passed, a);
	return true;
}

/* Pass over the completions before @until. */
static int move_to_passed(struct expected_wc *e, enum side side, const struct arrival *until)
{
	struct arrivals *in = &e->qp->in[side];
	struct arrival a;
	int err = 0;

	while (!err && arrivals_first(in) != until) {
		a = *arrivals_first(in);
		a.passed_by = e->event->id;
		a.passed_for = e->wc->request.thread;
		err = arrivals_put(&e->qp->passed[side], &a);
		arrivals_drop(in);
	}
	return err;
}

/* Another request of the private queue than the expected one completes next in the replay. */
static int check_posted(struct expected_wc *e, enum side side)
{
	const struct wanted_wc wanted = { .what = OF_REQUEST, .side = side };
	const struct arrival *a;
	int err;

	a = await_arrival(e, &wanted);
	if (!a) {
		expect_report_missing(e, may_still_complete(e, &wanted));
		return 0;
	}
	err = move_to_passed(e, side, a);
	compare_completion(e, side, a);
	arrivals_remove(&e->qp->in[side], a);
	return err;
}

/* Did several threads poll the CQ in the recording? */
static bool is_polled_by_several(const struct expected_wc *e)
{
	struct lookup_polls polls;

	if (trace_nparts(e->r->trace) > 1 || e->r->nthreads[e->event->process] < 2)
		return false;
	if (e->cq->polled_by_others)
		return true;
	if (!e->cq->pollers) {
		uint32_t cq = (uint32_t)(e->cq - e->r->replicas);
		bool known = !lookup_polls(e->r->trace, cq, &polls);

		/* without counts the recording was cut off, maybe before another thread polled */
		e->cq->pollers = !known ? 1 : polls.threads ?: 2;
	}
	return e->cq->pollers > 1;
}

/*
 * The polls of several threads may be written in another order than they were done. If the request
 * does not identify the completion, its other fields do: take the first one with equal fields, at
 * any position.
 */
static bool compare_any_order(struct expected_wc *e, enum side side, uint32_t sender)
{
	const struct wanted_wc wanted = { .what = ALIKE, .side = side, .sender = sender };
	bool asked = e->settled && !e->last; /* it will be compared again */
	const struct arrival *a = asked ? find_wanted(e, &wanted) : await_arrival(e, &wanted);

	e->starved = false;
	if (!a)
		return false;
	outcome_note_tolerated(e->r->outcome, threads_order);
	compare_completion(e, side, a);
	arrivals_remove(&e->qp->in[side], a);
	return true;
}

/*
 * Which of several senders comes first depends on the network, so a datagram is compared with the
 * next one of its sender, and may have consumed another request.
 */
static int check_datagram(struct expected_wc *e)
{
	struct wanted_wc wanted = { .what = OF_SENDER, .side = SIDE_RECV };
	uint32_t far = pair_find_source(e->r, e->wc), inside = expect_sender(e);
	const struct replica *sender;
	const struct arrival *a;
	int err = 0;

	if (!far && (!inside || inside == e->wc->qp)) /* two hosts may have the same numbers */
		far = synth_datagram_qpn(e->r, e->wc->qp, e->wc->src_qp);
	sender = far ? NULL : replica_of(e->r, inside);
	wanted.sender = sender ? sender->number : far;
	if (!sender)
		err = expect_note_unmatched(
			e, wanted.sender ? UNMATCHED_SYNTHESIZED : UNMATCHED_SENDER,
			"its sender is not in the trace");
	if (!wanted.sender || err)
		return err;
	a = await_arrival(e, &wanted);
	if (!a) {
		expect_report_missing(e, true);
		return 0;
	}
	if (a != arrivals_first(&e->qp->in[SIDE_RECV]))
		e->qp->swapped = true;
	if (!is_alike(e->wc, &a->wc)) {
		if (is_polled_by_several(e) && compare_any_order(e, SIDE_RECV, wanted.sender))
			return 0;
		a = find_wanted(e, &wanted);
	}
	compare_completion(e, SIDE_RECV, a);
	arrivals_remove(&e->qp->in[SIDE_RECV], a);
	return 0;
}

const char expect_cut_short[] = "its sender was killed while it posted";

/* Wait for the next completion on the side; a failed one may turn out to be of the other side. */
static const struct arrival *await_next_arrival(struct expected_wc *e, enum side *side)
{
	const struct wanted_wc wanted = { .what = NEXT, .side = *side };
	const struct arrival *a = await_arrival(e, &wanted);

	if (a || e->wc->status == IBV_WC_SUCCESS)
		return a;
	*side = expect_side(e);
	return find_queue_arrival(e, &e->qp->in[*side]);
}

/*
 * Is @a the expected completion? If wr_ids repeat, the request of the recorded completion is only
 * counted, so the next one with that wr_id is acceptable.
 */
static bool is_acceptable_arrival(const struct expected_wc *e, enum order order,
				  const struct arrival *a)
{
	return is_of_request(e, a) || order != ORDER_POSTED || !e->wc->request.thread ||
	       a->request.wr_id == e->wc->wr_id;
}

/*
 * Another message has come, which a later event may expect: a thread may have been stopped between
 * the recorded time of its poll and the poll itself. If no event expects it by the end, the trace
 * lacks the poll that returned it, because the program was killed.
 */
static bool may_be_expected_later(struct expected_wc *e, enum side side)
{
	e->again = !e->last;
	if (!e->last)
		return true;
	if (!expect_has_surplus(e, side))
		return false;
	outcome_note_tolerated(e->r->outcome, threads_order);
	return true;
}

int expect_compare_one(struct expected_wc *e)
{
	enum side side = expect_side(e);
	enum order order = order_of(e, side);
	const struct arrival *a;

	if (order == ORDER_SENDER)
		return check_datagram(e);
	if (compare_passed(e, side))
		return 0;
	if (e->qp->late[side] && !e->settled) /* keep the side's order */
		return expect_defer(e, side);
	a = await_next_arrival(e, &side);
	if (!a && e->starved && e->last) { /* another queue pair has consumed the last request */
		outcome_note_tolerated(e->r->outcome, shared_order);
		return 0;
	}
	e->again = !a && e->starved && e->settled;
	if (!a && e->starved)
		return e->settled ? 0 : expect_defer(e, side);
	if (!a && expect_sender_died(e, side, true)) {
		outcome_note_skipped(e->r->outcome, e->event->id, e->event->poll->verb, e->wc->qp,
				     expect_cut_short);
		return 0;
	}
	if (!a) {
		expect_report_missing(e,
				      may_still_complete(e, &(struct wanted_wc){ .side = side }));
		return 0;
	}
	if (!is_acceptable_arrival(e, order, a))
		return check_posted(e, side);
	if (!is_alike(e->wc, &a->wc) && !(order == ORDER_POSTED && is_of_request(e, a))) {
		bool several = is_polled_by_several(e);

		if (several && compare_any_order(e, side, 0))
			return 0;
		if (several && expect_is_shared(e, side) && may_be_expected_later(e, side))
			return e->settled ? 0 : expect_defer(e, side);
		a = find_queue_arrival(e, &e->qp->in[side]);
	}
	compare_completion(e, side, a);
	arrivals_remove(&e->qp->in[side], a);
	return 0;
}
