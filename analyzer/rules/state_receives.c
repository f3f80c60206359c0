/*
 * STATE: sends whose receive is posted late or never, and the timers of the RNR NAKs that follow
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/no_response.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/starved.h"
#include "analyzer/model/unreceived.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"
#include "analyzer/rules/state_ends.h"

enum { MOST = STATE_END_TEXT, LEAST_EXCESS = 4 /* datagrams without a receive */ };

/* ns: the timer min_rnr_timer 0; how far from a multiple of it a completion may be polled */
enum { STALL_NS = 655360000, STALL_NEAR = 20000000, STALLS = 3 };

/* The receive queue of a queue pair; NULL: not known, or it is an SRQ. */
static const struct queue *own_receives(const struct life *qp)
{
	const struct queue *queue = qp ? qp->rq : NULL;

	return queue && !queue->doubt && queue->owner == qp ? queue : NULL;
}

static const char first_receive[] = "first receive"; /* a step */

/* STATE-006: the first receive of a queue pair, which sends have waited for. */
void state_006(struct check *check, const struct model_post *post)
{
	const struct queue *queue = post->queue, *sends;
	const struct queue_request *first = NULL;
	const struct peer *other;
	struct finding *finding;
	struct moment moment, here;
	char mine[MOST], theirs[MOST], when[32];
	int64_t slack;
	uint64_t n = 0;

	if (!queue || queue->send || queue->posted != post->taken || !post->taken ||
	    queue != own_receives(post->object))
		return;
	other = state_other_end(check, post->object);
	sends = other && other->life ? other->life->sq : NULL;
	if (!sends || sends->doubt)
		return;
	slack = peer_slack(model_peers(check->model), post->event->process, other->process);
	for (uint32_t i = 0; i < sends->count; i++) {
		const struct queue_request *request = queue_at(sends, i);

		if (request->done || !queue_takes_receive(request->opcode) ||
		    request->time + slack >= post->event->time)
			continue;
		first = first ? first : request;
		n++;
	}
	if (!first)
		return;
	moment = state_request_moment(other->life, first);
	here = moment_of(post->event);
	finding = check_add_finding(check, RULE_STATE_006, &moment, other->life, "wr");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%" PRIu64 " send%s of %s waited %s for the first receive of %s.", n,
		     n == 1 ? "" : "s", state_name_end(check, other->life, mine),
		     words_format_span(here.time - moment.time, when),
		     state_name_end(check, post->object, theirs));
	finding_step(finding, "sent", &moment);
	finding_step(finding, first_receive, &here);
}

/*
 * STATE-006: the first message to a queue pair that librdmacm connected without receives, and that
 * sent nothing that the peer could have waited for.
 */
void state_006_bare(struct check *check, const struct model_complete *complete)
{
	const struct queue *queue = complete->queue;
	const struct life *qp = complete->qp;
	struct moment posted, polled;
	struct finding *finding;
	char name[MOST], id[32], late[32];

	if (!queue || queue->send || queue->completed || !complete->request || !qp || !qp->qp ||
	    !qp->qp->bare || queue != own_receives(qp) || !qp->sq || qp->sq->posted ||
	    complete->event->poll->wc[complete->index].status)
		return;
	posted = queue_moment(queue, complete->request);
	polled = moment_of(complete->event);
	finding = check_add_hazard(check, RULE_STATE_006, &posted, qp, "wr");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "librdmacm connected %s at %s, and no receive had been posted to it: the "
		     "first was posted %s later. It has sent nothing itself: its peer sends first.",
		     state_name_end(check, qp, name), event_id_text(qp->qp->rtr.id, id),
		     words_format_span(posted.time - qp->qp->rtr.time, late));
	finding_text(&finding->breaks,
		     "the peer sends as soon as its connection is established: the message is "
		     "refused and sent again, or fails with IBV_WC_RNR_RETRY_EXC_ERR");
	finding_step(finding, "created", &qp->created);
	finding_step(finding, "connected", &qp->qp->rtr);
	finding_step(finding, first_receive, &posted);
	finding_step(finding, "first message", &polled);
}

/* Datagrams that all came although they might have been more than the receives. */
static void report_flood(struct check *check, const struct life *qp)
{
	const struct queue *receives = own_receives(qp);
	const struct queue_flood *flood = receives ? &receives->flood : NULL;
	struct finding *finding;
	char name[MOST], room[WORDS_COUNT];

	if (!flood || flood->excess < LEAST_EXCESS || qp->datagrams < flood->most)
		return;
	finding = check_add_hazard(check, RULE_STATE_006, &flood->at, qp, "wr");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%" PRIu64 " datagrams were sent to %s between two polls of it, while %s %s "
		     "posted.",
		     flood->most, state_name_end(check, qp, name),
		     words_format_count(flood->room, "receive", room),
		     flood->room == 1 ? "was" : "were");
	finding_text(&finding->breaks,
		     "they all arrive in that time: those that find no receive are dropped, and "
		     "neither end is notified");
	finding_step(finding, "created", &qp->created);
	finding_step(finding, "sent", &flood->at);
}

/*
 * STATE-006: an unreliable queue pair got more messages than it ever had receives. One more may
 * have been sent when the queue pair was about to end.
 */
void state_006_lost(struct check *check, const struct life *qp)
{
	bool is_ud = qp->qp && qp->qp->type == ABI_QPT_UD;
	struct unreceived lost;
	struct finding *finding;
	char name[MOST], receives[WORDS_COUNT], sent[WORDS_COUNT], span[32], late[96] = "";

	if (qp->kind != OBJECT_qp || check->findings->blind)
		return;
	if (!unreceived_find(check->model, qp, &lost) || (lost.lost < 2 && !lost.late)) {
		report_flood(check, qp);
		return;
	}
	finding = check_add_hazard(check, RULE_STATE_006, &qp->created, qp, "qp");
	if (!finding)
		return;
	if (lost.late)
		snprintf(late, sizeof(late), ", the first of those that were missing %s too late",
			 words_format_span(lost.late, span));
	finding_text(&finding->says,
		     "%s %s sent to %s, and completed with success. The queue pair had %s posted "
		     "in all%s: at least %" PRIu64 " found none and %s dropped.",
		     words_format_count(lost.sent, is_ud ? "datagram" : "message", sent),
		     lost.sent == 1 ? "was" : "were", state_name_end(check, qp, name),
		     words_format_count(lost.receives, "receive", receives), late, lost.lost,
		     lost.lost == 1 ? "was" : "were");
	finding_text(&finding->breaks,
		     "the program needs them, and does not resend those that were not answered");
	finding_step(finding, "created", &qp->created);
}

/* The finding of state_006() about the send posted at @posted; NULL if there is none. */
static struct finding *find_waiting(const struct findings *findings, struct event_id posted)
{
	for (size_t i = findings->n; i-- > 0;) {
		struct finding *finding = findings->all[i];

		if (finding->rule == RULE_STATE_006 && finding->event.thread == posted.thread &&
		    finding->event.n == posted.n && finding->nsteps == 2 &&
		    !strcmp(finding->steps[1].what, first_receive))
			return finding;
	}
	return NULL;
}

/* The send did not wait until its completion was polled: it failed before the first receive. */
static void correct_waiting(struct check *check, const struct model_complete *complete,
			    const struct life *other)
{
	struct moment posted = state_request_moment(complete->qp, complete->request);
	struct moment polled = moment_of(complete->event);
	struct finding *finding = find_waiting(check->findings, posted.id);
	char mine[MOST], theirs[MOST], late[32];

	if (!finding)
		return;
	finding_text(&finding->says,
		     "A send of %s failed with IBV_WC_RNR_RETRY_EXC_ERR: the first receive of %s "
		     "was posted %s after it.",
		     state_name_end(check, complete->qp, mine),
		     state_name_end(check, other, theirs),
		     words_format_span(finding->steps[1].moment.time - posted.time, late));
	finding_step(finding, "failed", &polled);
}

/* STATE-006: a send failed, and no receive had been posted before it, or none at all. */
void state_006_failed(struct check *check, const struct model_complete *complete)
{
	const struct wc *wc = &complete->event->poll->wc[complete->index];
	const struct peer *other;
	const struct queue *receives;
	char mine[MOST], theirs[MOST];
	struct finding *finding;
	struct moment moment, polled = moment_of(complete->event);

	if (wc->status != ABI_WC_RNR_RETRY_EXC_ERR || !complete->request || wc->candidates > 1)
		return;
	other = state_other_end(check, complete->qp);
	receives = other ? own_receives(other->life) : NULL;
	if (!receives ||
	    peer_slack(model_peers(check->model), complete->qp->process, other->process) >
		    complete->event->time - complete->request->time)
		return;
	if (receives->posted) {
		correct_waiting(check, complete, other->life);
		return;
	}
	moment = state_request_moment(complete->qp, complete->request);
	finding = check_add_finding(check, RULE_STATE_006, &moment, complete->qp, "wr");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "A send of %s failed with IBV_WC_RNR_RETRY_EXC_ERR: %s had never posted a "
		     "receive.",
		     state_name_end(check, complete->qp, mine),
		     state_name_end(check, other->life, theirs));
	finding_step(finding, "sent", &moment);
	finding_step(finding, "failed", &polled);
}

static void report_early_give_up(struct check *check, const struct model_complete *complete)
{
	struct moment moment = state_request_moment(complete->qp, complete->request);
	struct moment polled = moment_of(complete->event);
	struct finding *finding =
		check_add_finding(check, RULE_STATE_007, &moment, complete->qp, "wr");
	char name[MOST];

	if (!finding)
		return;
	finding_text(&finding->says,
		     "A send of %s found no receive and failed immediately, because rnr_retry is "
		     "0.",
		     state_name_end(check, complete->qp, name));
	finding_step(finding, "sent", &moment);
	finding_step(finding, "failed", &polled);
}

static bool is_stall(int64_t lasted)
{
	int64_t away = lasted % STALL_NS;

	return lasted > STALL_NS - STALL_NEAR &&
	       (away < STALL_NEAR || away > STALL_NS - STALL_NEAR);
}

/*
 * @request lasted a multiple of the timer. Was the timer the cause, and is it at least the third
 * such request? If a request that found a receive takes as long, without a stalled one before it,
 * the path is slow, and the timer is not the cause.
 */
static bool is_stalled(struct peer *peer, const struct queue_request *request, int64_t end)
{
	bool stalled = starved_explains(request, STALL_NS, end);

	if (stalled) {
		peer->stalled = end;
		peer->stalls++;
	} else if (request->time > peer->stalled) {
		peer->slow = true;
	}
	return stalled && !peer->slow && peer->stalls >= STALLS;
}

/* STATE-007 */
void state_007(struct check *check, const struct model_complete *complete)
{
	const struct wc *wc = &complete->event->poll->wc[complete->index];
	const struct queue_request *request = complete->request;
	const struct life *qp = complete->qp;
	const struct peer *other;
	struct finding *finding;
	struct moment moment;
	char mine[MOST], theirs[MOST], when[32];

	if (!request || !qp || !qp->qp || !(qp->qp->set & ABI_QP_RNR_RETRY) || wc->candidates > 1)
		return;
	if (wc->status == ABI_WC_RNR_RETRY_EXC_ERR && !qp->qp->rnr_retry) {
		report_early_give_up(check, complete);
		return;
	}
	if (wc->status || qp->qp->rnr_retry != 7 || !queue_takes_receive(request->opcode) ||
	    !is_stall(complete->event->time - request->time))
		return;
	other = state_other_end(check, qp);
	if (!other || !other->life || !other->life->qp || other->life->qp->min_rnr_timer ||
	    !(other->life->qp->set & ABI_QP_MIN_RNR_TIMER) ||
	    !is_stalled(qp->peer, request, complete->event->time))
		return;
	moment = state_request_moment(qp, request);
	finding = check_add_finding(check, RULE_STATE_007, &moment, qp, "wr");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%u sends of %s found no receive and took a multiple of 655.36 ms, this one "
		     "%s: min_rnr_timer of %s is 0, which means 655.36 ms, and rnr_retry 7 "
		     "retries forever.",
		     qp->peer->stalls, state_name_end(check, qp, mine),
		     words_format_span(complete->event->time - request->time, when),
		     state_name_end(check, other->life, theirs));
	finding_step(finding, "sent", &moment);
}

/* STATE-007: a long timer that no sender has waited for yet. */
void state_007_timer(struct check *check, const struct life *life)
{
	const struct qp *qp = life->qp;
	struct finding *finding;
	char name[MOST];

	if (life->kind != OBJECT_qp || !qp || qp->type != ABI_QPT_RC || qp->by_cm ||
	    !(qp->set & ABI_QP_MIN_RNR_TIMER) || qp->min_rnr_timer || !qp->rtr.id.thread ||
	    !life->rq || !life->rq->posted)
		return;
	finding = check_add_hazard(check, RULE_STATE_007, &qp->rtr, life, "attr->min_rnr_timer");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s, which receives, went to RTR with min_rnr_timer 0: 655.36 ms, the longest "
		     "time.",
		     object_name_text(life, name, sizeof(name)));
	finding_text(&finding->breaks,
		     "a message arrives before its receive is posted: the sender tries again only "
		     "after 0.66 s");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "changed state", &qp->rtr);
}
