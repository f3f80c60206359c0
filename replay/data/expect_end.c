/*
 * Completions that are left over
 *
 * In the replay: completions that no recorded poll returned. In the recording: completions of a
 * queue pair, or from a sender, that the trace does not have, and completions missing in the trace.
 * At the end, replayed ones may explain recorded ones:
 *
 *	left in replay  recorded                        conclusion for the recording
 *	a completion    one of no queue pair, its wr_id the queue pair had another number
 *	a datagram      of an unknown sender, same length the sender was another one
 *	a completion    a poll that had more            it is missing in the trace
 *	a completion    polls in vain for long          it never came
 *
 * A program often ends without polling everything, so the rest is only counted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"
#include "replay/data/contents.h"
#include "replay/data/expect_priv.h"
#include "replay/data/polls.h"

enum { IN_VAIN = 1000 };

/*
 * ns: the shortest long wait, with more than IN_VAIN empty polls; the shortest and the longest time
 * of an empty poll
 */
#define HANGS_AFTER 1000000000ll
enum { POLL_NS = 10, SLOW_POLL_NS = 200 };

/* The recorded number of the queue pair that has number @here in the replay. */
static uint32_t recorded_number(struct replay *r, uint32_t here)
{
	const struct object *o = NULL;
	uint64_t id;

	if (map_get(&r->numbers, here, &id))
		o = trace_object(r->trace, (uint32_t)id);
	return o ? o->number : here;
}

static void report_unmatched(struct replay *r, const struct unmatched_wc *k, uint32_t qp,
			     const struct arrival *a)
{
	bool queue = k->kind == UNMATCHED_QUEUE, lost = k->kind == UNMATCHED_LOST;
	char field[64], there[96], here[96];

	snprintf(field, sizeof(field), "wc[%u]%s", k->index,
		 lost    ? ""
		 : queue ? ".qp_num"
			 : ".src_qp");
	snprintf(there, sizeof(there), "%u, which is not in the trace",
		 queue ? k->wc.qp_num : k->wc.src_qp);
	if (lost)
		snprintf(there, sizeof(there), "a completion that is not in the trace");
	if (lost)
		snprintf(here, sizeof(here), "%s",
			 a ? ibv_wc_status_str(a->wc.status) : "no other completion");
	else
		snprintf(here, sizeof(here), "%u (numbered as recorded)",
			 recorded_number(r, queue ? a->wc.qp_num : a->wc.src_qp));
	outcome_add_divergence(r->outcome,
			       &(struct divergence){ .event = k->event,
						     .verb = k->verb,
						     .field = field,
						     .recorded = there,
						     .replayed = here,
						     .about = a ? a->request.event : k->event,
						     .object = qp });
}

/* Are polls counted from the begin of the trace? A flight recorder also counts earlier ones. */
static bool are_polls_counted(const struct replay *r)
{
	return r->cut == INT64_MIN || trace_meta(r->trace, "carried");
}

static int count_polls(struct replay *r, uint32_t cq, struct lookup_polls *ret_polls)
{
	if (!are_polls_counted(r) || trace_nparts(r->trace) > 1)
		return -ENOENT;
	return lookup_polls(r->trace, cq, ret_polls);
}

static const struct process *process_of(struct replay *r, uint32_t object)
{
	const struct object *o = trace_object(r->trace, object);

	return o ? trace_process(r->trace, o->process) : NULL;
}

static bool was_killed(struct replay *r, uint32_t object)
{
	const struct process *process = process_of(r, object);

	return process && process->ending && !strcmp(process->ending, "killed");
}

/* The time of the last poll of @cq, ns. */
static int64_t end_of_polls(struct replay *r, uint32_t cq)
{
	const struct object *o = trace_object(r->trace, cq);
	const struct process *process = process_of(r, cq);

	if (o && o->destroyed_at != INT64_MAX)
		return o->destroyed_at;
	return process && process->end >= 0 ? process->end : r->last;
}

/* How many polls fit into the time from @from to @to. */
static uint64_t max_polls_between(int64_t from, int64_t to)
{
	return to > from ? (uint64_t)(to - from) / POLL_NS : 0;
}

/*
 * A lower bound of how many of @empty polls of @cq since time @from were after @time and could find
 * a completion of queue pair @qp; 0 if that is not a long wait. When a queue pair is destroyed, its
 * completions are removed. The end of a killed process is not known exactly: the polls themselves
 * took time.
 */
static uint64_t polls_empty(struct replay *r, uint32_t cq, uint32_t qp, uint64_t empty,
			    int64_t from, int64_t time)
{
	const struct object *o = trace_object(r->trace, cq), *of = trace_object(r->trace, qp);
	int64_t since = o && o->created_at > from ? o->created_at : from;
	int64_t end = end_of_polls(r, cq), until = of ? of->destroyed_at : INT64_MAX;
	uint64_t before = max_polls_between(since, time);
	uint64_t after = empty > before ? empty - before : 0;

	if (was_killed(r, cq))
		return until == INT64_MAX && after > HANGS_AFTER / SLOW_POLL_NS ? after : 0;
	before = max_polls_between(until, end);
	after = after > before ? after - before : 0;
	end = until < end ? until : end;
	return after > IN_VAIN && end - time > HANGS_AFTER ? after : 0;
}

/* The time of @event, or @time: the later one. */
static int64_t later_time(struct replay *r, struct event_id event, int64_t time)
{
	int64_t found;

	return event.thread && lookup_time(r->trace, event, &found) > 0 && found > time ? found
											: time;
}

/*
 * The latest time at which the completion had come in the recording: a thread of the replay may
 * post earlier than other threads reach that time.
 */
static int64_t arrival_time(struct replay *r, const struct arrival *a)
{
	return later_time(r, a->sender, later_time(r, a->request.event, a->time));
}

/* Was the recorded CQ polled in vain for long, after completion @a had come in the replay? */
static bool was_never_polled(struct replay *r, uint32_t qp, const struct arrival *a,
			     uint64_t *ret_empty)
{
	struct lookup_polls polled;

	if (a->wc.status != IBV_WC_SUCCESS || count_polls(r, a->cq, &polled) ||
	    polled.empty <= a->empty)
		return false;
	*ret_empty =
		polls_empty(r, a->cq, qp, polled.empty - a->empty, a->polled, arrival_time(r, a));
	return *ret_empty;
}

static void report_hang(struct replay *r, uint32_t qp, enum side side, const struct arrival *a,
			uint64_t empty)
{
	char there[96];

	snprintf(there, sizeof(there), "none, in %" PRIu64 " empty polls", empty);
	outcome_add_divergence(
		r->outcome,
		&(struct divergence){ .event = a->request.event,
				      .verb = side == SIDE_SEND ? VERB_post_send : VERB_post_recv,
				      .field = "completion",
				      .recorded = there,
				      .replayed = "IBV_WC_SUCCESS (0)",
				      .about = a->request.event,
				      .object = qp,
				      .class = DIVERGENCE_FAILED_RECORDED });
}

/* Do the polls in the trace return fewer completions than were counted during the recording? */
static bool lacks_completions(struct replay *r, uint32_t cq, struct lookup_polls *ret_polled)
{
	const struct replica *replica = replica_of(r, cq);

	return replica && replica->poll.thread && !r->lossy && !r->gaps &&
	       !count_polls(r, cq, ret_polled) && ret_polled->completions > replica->given;
}

static void report_surplus_wc(struct replay *r, uint32_t qp, const struct arrival *a,
			      uint64_t counted)
{
	struct replica *cq = replica_of(r, a->cq);
	char there[96];

	cq->given++;
	snprintf(there, sizeof(there),
		 "%" PRIu64 " completions of its queue, but the trace has %" PRIu64, counted,
		 cq->given - 1);
	outcome_add_divergence(r->outcome,
			       &(struct divergence){ .event = cq->poll,
						     .verb = VERB_poll_cq,
						     .field = "wc",
						     .recorded = there,
						     .replayed = ibv_wc_status_str(a->wc.status),
						     .about = a->request.event,
						     .object = qp });
}

/*
 * The trace ends while its programs continue (a part, a copy): their later completions are unknown.
 * An error is noted, since it may not have occurred in the recording.
 */
static bool may_program_continue(struct replay *r, const struct arrival *a)
{
	char text[32];

	if (!trace_meta(r->trace, "snapshot"))
		return false;
	outcome_note(r->outcome,
		     "the request of %s completed with %s in the replay; the trace ends before "
		     "the program polled it",
		     event_id_text(a->request.event, text), ibv_wc_status_str(a->wc.status));
	return true;
}

static void report_leftover(struct replay *r, uint32_t qp, enum side side, const struct arrival *a,
			    bool passed)
{
	struct unmatched_wc *k = expect_find_unmatched(r->strangers, qp, side, a);
	bool usual = a->wc.status == IBV_WC_SUCCESS || a->wc.status == IBV_WC_WR_FLUSH_ERR;
	struct lookup_polls polled;
	uint64_t empty;

	if (k) {
		report_unmatched(r, k, qp, a);
		k->found = true;
		r->strangers->unfound--;
	} else if (passed) {
		expect_report_extra(r, a->passed_by, a);
	} else if (was_never_polled(r, qp, a, &empty)) {
		report_hang(r, qp, side, a, empty);
	} else if (lacks_completions(r, a->cq, &polled)) {
		report_surplus_wc(r, qp, a, polled.completions);
	} else if (usual || a->unasked || may_program_continue(r, a)) {
		outcome_count(r->outcome, OUTCOME_UNPOLLED, 1);
	} else {
		expect_report_extra(r, a->request.event, a);
	}
}

static void report_leftovers(struct replay *r, uint32_t id, enum side side)
{
	struct replica_qp *qp = r->replicas[id].qp;
	struct arrivals *passed = &qp->passed[side], *in = &qp->in[side];
	const struct arrival *a;

	expect_compare_late(r, qp, side, DEFERRED_ALL);
	for (; (a = arrivals_first(passed)); arrivals_drop(passed))
		report_leftover(r, id, side, a, true);
	for (; (a = arrivals_first(in)); arrivals_drop(in))
		report_leftover(r, id, side, a, false);
}

/* Report a recorded completion of an unknown sender that matched no replayed one. */
static void report_unmatched_completion(struct replay *r, const struct unmatched_wc *k)
{
	if (k->found || k->kind == UNMATCHED_SYNTHESIZED)
		return;
	if (k->kind == UNMATCHED_LOST)
		report_unmatched(r, k, k->cq, NULL);
	else
		outcome_note_skipped(r->outcome, k->event, k->verb, k->qp, k->why);
}

/*
 * A program that waited for a request until its end, without success, would do so in the replay,
 * too.
 */
static void report_same_hang(struct replay *r, uint32_t id, enum side side, const void *handle)
{
	const struct replica *cq, *qp = replica_of(r, id);
	const struct request *request = requests_oldest(&qp->qp->out[side], side == SIDE_SEND);
	struct lookup_polls polled;
	uint64_t cq_id;
	char text[32];

	if (!request || (side == SIDE_RECV && !was_killed(r, id)) ||
	    !map_get(&r->handles, (uintptr_t)handle, &cq_id))
		return;
	cq = replica_of(r, (uint32_t)cq_id);
	if (count_polls(r, (uint32_t)cq_id, &polled) || polled.empty <= cq->empty)
		return;
	polled.empty -= cq->empty;
	if (!polls_empty(r, (uint32_t)cq_id, id, polled.empty, cq->polled, cq->polled))
		return;
	outcome_note(r->outcome,
		     "the %s of %s was outstanding at the end of the recording, after %" PRIu64 " "
		     "empty polls, and is outstanding in the replay too: the hang is reproduced",
		     side == SIDE_SEND ? "send" : "receive", event_id_text(request->event, text),
		     polled.empty);
}

void expect_leave(struct replay *r, uint32_t object)
{
	struct replica *replica = replica_of(r, object), *peer;

	if (!replica || !replica->handle)
		return;
	peer = replica->qp ? replica_of(r, replica->qp->peer) : NULL;
	if (peer && peer->qp) /* the peer's messages to this queue pair would fail from now on */
		expect_compare_late(r, peer->qp, SIDE_SEND, DEFERRED_ALL);
	r->leaving = true;
	if (replica->qp)
		polls_drain(r, replica);
	r->leaving = false;
	if (replica->qp && replica->handle && !replica->qp->cut && !r->no_posts) {
		const struct ibv_qp *qp = replica->handle;

		report_same_hang(r, object, SIDE_SEND, qp->send_cq);
		report_same_hang(r, object, SIDE_RECV, qp->recv_cq);
	}
	for (int side = 0; replica->qp && side < SIDES; side++)
		expect_compare_late(r, replica->qp, (enum side)side, DEFERRED_ALL);
}

void expect_end(struct replay *r)
{
	for (uint32_t i = 0; i < r->nreplicas; i++)
		for (int side = 0; r->replicas[i].qp && side < SIDES; side++)
			report_leftovers(r, i, (enum side)side);
	for (size_t i = 0; r->strangers && i < r->strangers->n; i++)
		report_unmatched_completion(r, &r->strangers->kept[i]);
	contents_end(r);
}
