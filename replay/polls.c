/*
 * Recorded completions, compared with those that come here
 *
 * A completion queue mixes completions of several queue pairs in an order that
 * depends on the network. So completions that come here are sorted by queue pair
 * and side, and each recorded one is compared with the next of its own:
 *
 *	here:  CQ -> poll -> qp1 send | qp1 recv | qp2 send | ...
 *	there: poll of n  ->  qp2 send? qp1 recv? ...
 *
 * Not here: which of their differences are tolerated (differ_wc.c).
 */
#include "replay/polls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/wire/log.h"
#include "replay/differ.h"
#include "replay/contents.h"
#include "replay/made.h"
#include "replay/pace.h"
#include "replay/state.h"

enum { BATCH = 32 };

#define OTHER_ORDER_NS 50000000 /* to wait for a completion while another of its queue is there */

static const char threads_order[] = "the order of what several threads posted or polled";
static const char senders_order[] = "the order of datagrams of several senders";

/* The queue pair of a completion. */
static struct replica_qp *queue_pair_of(struct replay *r, struct replica *owner,
					const struct ibv_wc *wc)
{
	struct replica *replica;
	uint64_t id;

	if (owner && owner->qp)
		return owner->qp;
	if (!map_get(&r->numbers, wc->qp_num, &id))
		return NULL;
	replica = replica_of(r, (uint32_t)id);
	return replica ? replica->qp : NULL;
}

/* The post of what the peer of @qp sent: connected queue pairs receive in order. */
static void find_sender(struct replay *r, const struct replica_qp *qp, struct arrival *arrival)
{
	struct replica *peer = replica_of(r, qp->peer);
	struct request sent;

	if (!peer || !peer->qp || !requests_next(&peer->qp->sent, &sent))
		return;
	arrival->sender = sent.event;
	arrival->sender_index = sent.index;
}

/* @tag: of the flow rule, or NULL where the CQ does not tell. */
static int sort_in(struct replay *r, const struct ibv_wc *wc, const uint32_t *tag)
{
	struct replica *owner = replica_of(r, (uint32_t)(wc->wr_id >> 33));
	unsigned int side = wc->wr_id >> 32 & 1;
	struct replica_qp *qp = queue_pair_of(r, owner, wc);
	struct requests *requests = !owner      ? NULL
				    : owner->qp ? &owner->qp->out[side]
						: owner->requests;
	const struct request *request =
		requests ? requests_get(requests, (uint32_t)wc->wr_id) : NULL;
	struct arrival arrival = { .wc = *wc, .tagged = tag, .flow_tag = tag ? *tag : 0 };

	if (request)
		arrival.request = *request;
	else
		arrival.request.wr_id = wc->wr_id;
	if (requests)
		requests_complete(requests, (uint32_t)wc->wr_id, side == SIDE_SEND);
	if (qp && side == SIDE_RECV && wc->status == IBV_WC_SUCCESS)
		find_sender(r, qp, &arrival);
	return qp ? arrivals_put(&qp->in[side], &arrival) : 0;
}

/* Sort in the completion on which the iterator stands. */
static int sort_in_current(struct replay *r, struct ibv_cq_ex *cq)
{
	struct ibv_wc wc = { .wr_id = cq->wr_id, .status = cq->status };
	uint32_t tag = 0;

	wc.qp_num = cq->read_qp_num(cq);
	if (cq->read_src_qp)
		wc.src_qp = cq->read_src_qp(cq);
	if (wc.status != IBV_WC_SUCCESS) {
		wc.vendor_err = cq->read_vendor_err(cq);
		return sort_in(r, &wc, NULL);
	}
	wc.opcode = cq->read_opcode(cq);
	wc.wc_flags = cq->read_wc_flags(cq);
	if (cq->read_byte_len)
		wc.byte_len = cq->read_byte_len(cq);
	if (cq->read_imm_data)
		wc.imm_data = cq->read_imm_data(cq);
	tag = cq->read_flow_tag(cq);
	return sort_in(r, &wc, &tag);
}

/* Poll by the iterator: the number of completions, or -errno. */
static int take_extended(struct replay *r, struct ibv_cq_ex *cq, int max)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int n = 0, kept = 0, err = ibv_start_poll(cq, &attr);

	if (err)
		return err == ENOENT ? 0 : -EIO;
	do {
		kept = sort_in_current(r, cq);
		n++;
	} while (!kept && n < max && !(err = ibv_next_poll(cq)));
	ibv_end_poll(cq);
	return kept ? kept : err && err != ENOENT ? -EIO : n;
}

/* Only the iterator tells flow tags. Without queue pair numbers ibv_poll_cq() must be used. */
static bool tells_tags(const struct replica *cq)
{
	const struct ibv_cq_ex *ex = cq->extended ? cq->handle : NULL;

	return ex && ex->read_flow_tag && ex->read_qp_num && ex->start_poll;
}

int polls_take(struct replay *r, struct replica *cq, int max)
{
	struct ibv_wc wcs[BATCH];
	int n, err;

	if (!cq->handle)
		return 0;
	if (tells_tags(cq)) {
		n = take_extended(r, cq->handle, max < BATCH ? max : BATCH);
		cq->fresh += n > 0 ? (unsigned int)n : 0;
		return n;
	}
	n = ibv_poll_cq(cq->handle, max < BATCH ? max : BATCH, wcs);
	for (int i = 0; i < n; i++) {
		err = sort_in(r, &wcs[i], NULL);
		if (err)
			return err;
	}
	if (n > 0)
		cq->fresh += (unsigned int)n;
	return n < 0 ? -EIO : n;
}

static struct replica *replica_at(struct replay *r, void *handle)
{
	uint64_t id;

	return handle && map_get(&r->handles, (uintptr_t)handle, &id) ? replica_of(r, (uint32_t)id)
								      : NULL;
}

void polls_drain(struct replay *r, struct replica *replica)
{
	struct ibv_qp *qp = replica->handle;
	struct replica *send = replica_at(r, qp->send_cq), *recv = replica_at(r, qp->recv_cq);

	while (send && polls_take(r, send, BATCH) > 0)
		;
	while (recv && polls_take(r, recv, BATCH) > 0)
		;
}

/* One recorded completion that is waited for. */
struct expected {
	struct replay *r;
	const struct trace_event *event;
	const struct wc *wc;
	uint32_t index;
	struct replica *cq, *replica; /* replica: of the queue pair */
	struct replica_qp *qp;
};

static bool same_event(struct event_id a, struct event_id b)
{
	return a.thread == b.thread && a.n == b.n;
}

static bool has_come(const struct expected *e, enum side side)
{
	const struct arrival *a = arrivals_first(&e->qp->in[side]);

	return a && same_event(a->request.event, e->wc->request);
}

/*
 * Only its request tells whether an error completion was a send. If the request is
 * not known, take the side on which something came or is under way.
 */
static enum side side_of_failed(const struct expected *e)
{
	const struct requests *sends = &e->qp->out[SIDE_SEND];

	if (e->wc->request.thread) {
		if (has_come(e, SIDE_SEND))
			return SIDE_SEND;
		if (has_come(e, SIDE_RECV))
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

static enum side side_of(const struct expected *e)
{
	if (e->wc->status != IBV_WC_SUCCESS)
		return side_of_failed(e);
	return e->wc->opcode & IBV_WC_RECV ? SIDE_RECV : SIDE_SEND;
}

/* Wait less for a queue pair from which completions have been missing. */
static int64_t wait_time(const struct expected *e)
{
	unsigned int shift = e->qp->missed < 10 ? e->qp->missed : 10;

	return e->r->options->timeout >> shift;
}

static const struct arrival *await_arrival(struct expected *e, enum side side)
{
	struct arrivals *in = &e->qp->in[side];
	const struct arrival *a = arrivals_first(in);
	int64_t deadline = 0;
	unsigned int turns = 0;

	while (!a) {
		int n = polls_take(e->r, e->cq, (int)(e->event->poll->nwc - e->index));

		a = arrivals_first(in);
		if (a || n < 0)
			break;
		if (n)
			continue;
		if (!deadline)
			deadline = pace_now() + wait_time(e);
		if (!pace_wait(&turns, deadline))
			break;
	}
	return a;
}

/* The queue pair that sent a datagram; 0 if it is not known. */
static uint32_t sender_object(const struct expected *e)
{
	if (e->qp->type != IBV_QPT_UD || e->wc->status != IBV_WC_SUCCESS)
		return 0;
	return peers_find(e->r->peers, 0, e->wc->src_qp, NULL, e->event->time);
}

/* After a message that is missing there, the others come for other requests. */
static bool is_connected(const struct replica_qp *qp)
{
	return qp->type != IBV_QPT_UD && qp->type != IBV_QPT_RAW_PACKET;
}

static enum divergence_class class_of_missing(const struct wc *wc)
{
	return wc->status == IBV_WC_SUCCESS ? DIVERGENCE_FAILED_HERE : DIVERGENCE_OTHER;
}

static void report_missing(struct expected *e)
{
	const struct wc *wc = e->wc;
	char field[64], status[96], there[160], here[64];

	value_text(enum_find("ibv_wc_status"), wc->status, status);
	snprintf(there, sizeof(there), "%s of wr_id %" PRIu64, status, wc->wr_id);
	snprintf(here, sizeof(here), "no completion in %.1f s", (double)wait_time(e) / 1e9);
	snprintf(field, sizeof(field), "wc[%u]", e->index);
	outcome_divergence(e->r->outcome, &(struct divergence){ .event = e->event->id,
								.verb = e->event->poll->verb,
								.field = field,
								.recorded = there,
								.replayed = here,
								.about = wc->request,
								.object = wc->qp,
								.peer = sender_object(e),
								.class = class_of_missing(wc),
								.breaks = is_connected(e->qp),
								.symptom = true });
	e->qp->missed++;
}

static void report_extra(struct replay *r, struct event_id event, const struct arrival *a)
{
	bool failed = a->wc.status != IBV_WC_SUCCESS;
	uint64_t qp = 0;
	char here[96];

	map_get(&r->numbers, a->wc.qp_num, &qp);

	value_text(enum_find("ibv_wc_status"), a->wc.status, here);
	outcome_divergence(
		r->outcome,
		&(struct divergence){ .event = event,
				      .verb = VERB_poll_cq,
				      .field = "wc",
				      .recorded = "no completion",
				      .replayed = here,
				      .about = a->request.event,
				      .object = (uint32_t)qp,
				      .class = failed ? DIVERGENCE_FAILED_HERE : DIVERGENCE_OTHER,
				      .breaks = failed,
				      .symptom = a->wc.status == IBV_WC_WR_FLUSH_ERR });
}

/*
 * < 0: @a completes a request from before the expected one's; > 0: from after
 * it; 0: the same, or unknown.
 */
static int compare_order(const struct expected *e, const struct arrival *a)
{
	struct event_id there = e->wc->request, here = a->request.event;

	if (!there.thread || there.thread != here.thread || a->request.wr_id == e->wc->wr_id)
		return 0;
	if (there.n != here.n)
		return here.n < there.n ? -1 : 1;
	return (a->request.index > e->wc->request_index) -
	       (a->request.index < e->wc->request_index);
}

static void compare_completion(struct expected *e, enum side side, const struct arrival *a)
{
	struct differ_wc d = { .event = e->event->id,
			       .index = e->index,
			       .there = e->wc,
			       .here = &a->wc,
			       .wr_id = a->request.wr_id,
			       .about = a->request.event,
			       .type = e->qp->type };
	const struct ibv_qp *qp = e->replica->handle;

	d.verb = e->event->poll->verb;
	d.object = e->wc->qp;
	d.peer = side == SIDE_RECV ? sender_object(e) : 0;
	d.tagged = a->tagged;
	d.flow_tag = a->flow_tag;
	d.length = a->request.length;
	d.sender = a->sender;
	d.ex = e->cq->extended ? e->cq->handle : NULL;
	if (side == SIDE_RECV && qp && qp->srq)
		d.other = "which request of a shared receive queue was taken";
	else if (side == SIDE_RECV && e->qp->swapped && e->wc->request.thread &&
		 !same_event(e->wc->request, a->request.event))
		d.other = senders_order;
	differ_completion(e->r->outcome, &d);
	outcome_count(e->r->outcome, OUTCOME_COMPLETIONS, 1);
	e->cq->asked++;
	if (e->cq->fresh)
		e->cq->fresh--;
	if (side == SIDE_RECV)
		contents_check(e->r, e->event, e->index, a);
}

/*
 * Threads that post to one queue, or poll from one, do not write their events in
 * the exact order of the queue. The completion is then the one of the same request,
 * wherever it is. NULL if it does not come.
 */
static const struct arrival *other_order(struct expected *e, enum side side,
					 const struct arrival *first)
{
	const struct arrival *a = NULL;
	unsigned int turns = 0;
	int64_t deadline;

	if (e->r->nthreads[e->event->process] < 2 || !e->wc->request.thread || has_come(e, side))
		return NULL;
	if (first->request.wr_id == e->wc->wr_id)
		return NULL;
	deadline = pace_now() + OTHER_ORDER_NS;
	do {
		a = arrivals_find(&e->qp->in[side], e->wc->request, e->wc->request_index);
		if (!a && polls_take(e->r, e->cq, BATCH) < 0)
			return NULL;
	} while (!a && pace_wait(&turns, deadline));
	return a;
}

static bool check_other_order(struct expected *e, enum side side, const struct arrival *first)
{
	const struct arrival *a = first ? other_order(e, side, first) : NULL;

	if (!a)
		return false;
	outcome_tolerated(e->r->outcome, threads_order);
	compare_completion(e, side, a);
	arrivals_remove(&e->qp->in[side], a);
	return true;
}

/* The number here of the sender of a datagram; 0 if it is not known. */
static uint32_t sender_of(const struct expected *e)
{
	const struct replica *sender = replica_of(e->r, sender_object(e));

	if (sender)
		return sender->number;
	return e->wc->status == IBV_WC_SUCCESS ? made_datagram(e->r, e->wc->qp, e->wc->src_qp) : 0;
}

static const struct arrival *await_sender(struct expected *e, uint32_t sender)
{
	const struct arrivals *in = &e->qp->in[SIDE_RECV];
	int64_t deadline = pace_now() + OTHER_ORDER_NS;
	unsigned int turns = 0;

	do {
		for (uint32_t at = in->head; at != in->tail; at++) {
			const struct arrival *a = &in->cells[at & (in->size - 1)];

			if (a->wc.src_qp == sender && a->wc.status == IBV_WC_SUCCESS)
				return a;
		}
		if (polls_take(e->r, e->cq, BATCH) < 0)
			return NULL;
	} while (pace_wait(&turns, deadline));
	return NULL;
}

/*
 * Which of several senders comes first depends on the network, so a datagram is
 * compared with the next one of its sender, and may have taken another request.
 */
static bool check_other_sender(struct expected *e, enum side side, const struct arrival *first)
{
	uint32_t sender = first && side == SIDE_RECV ? sender_of(e) : 0;
	const struct arrival *a = first;

	if (!sender || !first->wc.src_qp || (first->wc.src_qp == sender && !e->qp->swapped))
		return false;
	if (first->wc.src_qp != sender)
		a = await_sender(e, sender);
	if (!a)
		return false;
	e->qp->swapped = true;
	compare_completion(e, side, a);
	arrivals_remove(&e->qp->in[side], a);
	return true;
}

static const char cut_short[] = "its sender was killed while it posted";

/*
 * A process that is killed within a post leaves the message, but no event. On a
 * reliable connection we know what is under way, so we need not wait for more.
 */
static bool died_sending(const struct expected *e, bool waited)
{
	const struct replica *peer = replica_of(e->r, e->qp->peer);
	const struct object *object = peer ? trace_object(e->r->trace, e->qp->peer) : NULL;
	const struct process *process = object ? trace_process(e->r->trace, object->process) : NULL;

	if (!process || !process->ending || strcmp(process->ending, "killed") || !peer->qp)
		return false;
	if (e->wc->status != IBV_WC_SUCCESS || side_of(e) != SIDE_RECV)
		return false;
	return waited || (peer->qp->type == IBV_QPT_RC && !requests_count(&peer->qp->sent) &&
			  !arrivals_first(&e->qp->in[SIDE_RECV]));
}

static void check_expected(struct expected *e)
{
	enum side side = side_of(e);
	const struct arrival *a = await_arrival(e, side);

	if (check_other_sender(e, side, a) || check_other_order(e, side, a))
		return;
	while (a && compare_order(e, a) < 0) {
		report_extra(e->r, e->event->id, a);
		arrivals_drop(&e->qp->in[side]);
		a = await_arrival(e, side);
	}
	if (!a && e->wc->status != IBV_WC_SUCCESS && side_of(e) != side) {
		side = side_of(e);
		a = arrivals_first(&e->qp->in[side]);
	}
	if (!a && died_sending(e, true)) {
		outcome_skipped(e->r->outcome, e->event->id, e->event->poll->verb, e->wc->qp,
				cut_short);
		return;
	}
	if (!a || compare_order(e, a) > 0) {
		report_missing(e);
		return;
	}
	compare_completion(e, side, a);
	arrivals_drop(&e->qp->in[side]);
}

/* Why the completion cannot come here, or NULL. */
static const char *why_not(struct expected *e)
{
	uint64_t from;

	if (!e->replica || !e->replica->qp)
		return e->replica && e->replica->why ? e->replica->why
						     : "the trace does not know its queue pair";
	if (!e->cq || !e->cq->handle)
		return e->cq && e->cq->why ? e->cq->why : "its completion queue was not made here";
	if (e->replica->qp->cut)
		return e->replica->qp->cut;
	if (e->r->no_posts)
		return e->r->no_posts;
	if (map_get(&e->r->left_out, event_key(e->wc->request), &from) && e->wc->request.thread &&
	    e->wc->request_index + 1 >= from)
		return "its request was not posted here";
	if (e->replica->qp->no_flow && side_of(e) == SIDE_RECV &&
	    !arrivals_first(&e->qp->in[SIDE_RECV]))
		return "the flow rule that it came by is not here";
	if (died_sending(e, false))
		return cut_short;
	return NULL;
}

static void expect_completion(struct replay *r, const struct trace_event *event, struct replica *cq,
			      uint32_t i)
{
	const struct wc *wc = &event->poll->wc[i];
	struct expected e = { .r = r,
			      .event = event,
			      .wc = wc,
			      .index = i,
			      .cq = cq,
			      .replica = replica_of(r, wc->qp) };
	const char *why;

	e.qp = e.replica ? e.replica->qp : NULL;
	why = why_not(&e);
	if (why)
		outcome_skipped(r->outcome, event->id, event->poll->verb, wc->qp, why);
	else
		check_expected(&e);
}

/* Replay a poll that failed there. */
static void replay_failed(struct replay *r, const struct trace_event *event, struct replica *cq)
{
	int n = cq && cq->handle ? polls_take(r, cq, 1) : -EINVAL;

	if (n >= 0)
		differ_numbers(r->outcome, event->id, event->poll->verb, event->poll->object, "ret",
			       event->poll->ret, n);
}

int polls_replay(struct replay *r, const struct trace_event *event)
{
	struct replica *cq = replica_of(r, event->poll->object);

	if (event->inner)
		return 0;
	outcome_count(r->outcome, OUTCOME_POLLS, 1);
	if (event->poll->ret < 0)
		replay_failed(r, event, cq);
	for (uint32_t i = 0; i < event->poll->nwc; i++)
		expect_completion(r, event, cq, i);
	return contents_error(r);
}

static void count_leftovers(struct replay *r, struct replica_qp *qp, enum side side)
{
	const struct arrival *a;

	for (; (a = arrivals_first(&qp->in[side])); arrivals_drop(&qp->in[side])) {
		if (a->wc.status == IBV_WC_SUCCESS || a->wc.status == IBV_WC_WR_FLUSH_ERR)
			outcome_count(r->outcome, OUTCOME_UNPOLLED, 1);
		else
			report_extra(r, a->request.event, a);
	}
}

void polls_end(struct replay *r)
{
	for (uint32_t i = 0; i < r->nreplicas; i++)
		for (int side = 0; r->replicas[i].qp && side < SIDES; side++)
			count_leftovers(r, r->replicas[i].qp, (enum side)side);
}
