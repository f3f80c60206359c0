/*
 * COMPL-002: what was outstanding, or had not been polled, when a queue pair was destroyed
 *
 * Each kind of what was left is a row of kinds[]: the test, the text and the consequence. If
 * requests were left in a queue that the program had put into ERR, nothing else is reported.
 *
 * Only for queues whose content is certain (analyzer/model/queue.h).
 */

#include <stdio.h>

#include "analyzer/model/key.h"
#include "analyzer/model/lost_buffers.h"
#include "analyzer/model/model.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/cq_event.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"

enum {
	LEAST_QPS = 3,    /* queue pairs: with fewer, the program may just have ended */
	LEAST_UNREAD = 3, /* messages */
	LEAST_LOST = 2,   /* receives of an SRQ: with fewer, the message may be a goodbye */
	UNREAD_NS = 500000000,
	SLEEP_NS = 20000000, /* longer than a message of the peer takes on a socket */
};

/* A destroyed queue pair, and its unpolled completions. */
struct leftover_completions {
	struct check *check;
	const struct life *qp;
	int64_t now;
	const struct moment *drain; /* when it was moved to ERR, if that matters; or NULL */
	struct moment hangup;       /* the rdma_disconnect() of the queue pair, if it matters */
	uint32_t sends, receives;   /* requests that were outstanding at that time */
	/* the last request whose completion should have been polled, or NULL */
	const struct queue_request *last;
	const struct life *cq; /* the CQ from which nothing was polled, or NULL */
};

/*
 * The requests left in a queue that the program moved to ERR and that was not polled since.
 * Unsignalled requests do not count: they may have been done before, and then have no completion.
 * Neither do requests of a CQ that is too small, which may have lost their completions (QUEUE-003).
 */
static uint32_t count_unpolled(const struct queue *queue)
{
	if (!queue || !queue->draining || queue->doubt || queue->completed != queue->drained_from ||
	    (queue->cq && queue->cq->overflowed))
		return 0;
	return queue->signalled;
}

/*
 * Was the call made by librdmacm? When an rsocket is closed, its queue pair is moved to ERR and
 * destroyed with its flushed requests; its buffers are freed as well.
 */
static bool is_called_by_cm(struct trace *trace, uint32_t stack)
{
	return trace_stack_has_cm(trace, stack, 4);
}

/* Did the program itself call rdma_destroy_qp(), while the connection was there? */
static bool is_own_destroy(struct trace *trace, const struct life *qp, const struct moment *moment)
{
	const struct life *id = life_cm_id(qp);
	struct frame frames[2];

	return id && !id->ended && !id->borrowed &&
	       trace_stack(trace, moment->stack, frames, 2) == 2 && frames[1].module &&
	       !strstr(frames[1].module, "/librdmacm.so");
}

/* The last of the signalled sends, if nothing polled since can have shown that it is done. */
static const struct queue_request *find_unpolled(const struct life *qp)
{
	const struct queue *sq = qp->sq;
	int64_t answered = qp->rq ? qp->rq->polled : 0;

	for (uint32_t i = sq->count; i-- > 0;) {
		const struct queue_request *request = queue_at(sq, i);

		if (!request->done && request->signalled)
			return request->time > answered ? request : NULL;
	}
	return NULL;
}

static bool is_in_rts(const struct life *qp)
{
	return qp->sq && !qp->sq->doubt && !qp->sq->draining && qp_state(qp) == ABI_QPS_RTS;
}

static bool has_drained(struct leftover_completions *left)
{
	const struct life *qp = left->qp;

	left->sends = count_unpolled(qp->sq);
	left->receives = qp->rq && qp->rq->owner == qp ? count_unpolled(qp->rq) : 0;
	if (!left->sends && !left->receives)
		return false;
	left->drain = &qp->sq->drain;
	return true;
}

static void describe_drained(const struct leftover_completions *left, struct finding *finding)
{
	char name[64], id[32];

	finding_text(&finding->says,
		     "%s was moved to ERR at %s and destroyed with %s and %s outstanding: none of "
		     "them was polled in between.",
		     object_name_text(left->qp, name, sizeof(name)),
		     event_id_text(left->drain->id, id), WORDS_N(left->sends, "signalled send"),
		     WORDS_N(left->receives, "receive"));
}

/* Has the peer polled the receive of @message, and so all that was sent before it? */
static bool has_arrived(struct check *check, const struct life *qp,
			const struct queue_request *message)
{
	const struct peer *other = peer_find_other(model_peers(check->model), qp->peer);
	const struct life *there = other ? other->life : NULL;

	return message->message && there && !there->unwatched && there->taken >= message->message;
}

static bool has_unpolled(struct leftover_completions *left)
{
	left->last = is_in_rts(left->qp) ? find_unpolled(left->qp) : NULL;
	return left->last && !has_arrived(left->check, left->qp, left->last);
}

/* Why no event reports the completions, if the program may have waited for an event. */
static void describe_silence(struct finding *finding, const struct queue *sq, int64_t waited)
{
	const struct life *cq = sq->cq ? sq->cq->owner : NULL;
	const struct cq_event *wake = cq ? cq->wake : NULL;
	char id[32];

	if (!wake || !wake->armed.id.thread || waited < UNREAD_NS)
		return;
	event_id_text(wake->armed.id, id);
	if (!wake->is_armed)
		finding_text(&finding->says,
			     "%s No event reports them: %s was armed at %s, and not again since "
			     "its event was retrieved.",
			     finding->says ?: "", cq->name, id);
	else if (wake->solicited)
		finding_text(&finding->says,
			     "%s No event reports them: %s was armed at %s for solicited events "
			     "only.",
			     finding->says ?: "", cq->name, id);
}

static const char *name_completions(const struct queue *sq)
{
	return sq->signalled == 1 ? "its completion was" : "their completions were";
}

static void describe_unpolled(const struct leftover_completions *left, struct finding *finding)
{
	const struct queue *sq = left->qp->sq;
	int64_t waited = left->now - left->last->time;
	char name[64], id[32], when[48], sends[WORDS_COUNT];

	finding_text(
		&finding->says,
		"%s was destroyed with %s outstanding, the last posted at %s, %s: %s not polled.",
		object_name_text(left->qp, name, sizeof(name)),
		words_format_count(sq->signalled, "signalled send", sends),
		event_id_text(queue_id(left->last), id), words_format_earlier(waited, 0, when),
		name_completions(sq));
	describe_silence(finding, sq, waited);
}

/* Had neither an error nor the other end ended the connection before? False if not known. */
static bool has_hung_up_first(struct check *check, const struct life *qp,
			      const struct moment *hangup)
{
	struct peers *peers = model_peers(check->model);
	const struct peer *other = peer_find_other(peers, qp->peer);
	struct moment theirs;
	int64_t slack;

	if (!other)
		return false;
	theirs = other->life ? life_find_disconnect(other->life) : other->hangup;
	slack = peer_slack(peers, qp->process, other->process);
	return slack != INT64_MAX && qp->qp->moved.time >= hangup->time &&
	       other->gone > hangup->time + slack &&
	       (!theirs.id.thread || theirs.time > hangup->time + slack);
}

/*
 * May the peer have told the program before @hangup, outside of the verbs, that it has @message?
 * Not if the message was the last one that it polled, after @hangup.
 */
static bool may_have_told(struct check *check, const struct life *qp,
			  const struct queue_request *message, const struct moment *hangup)
{
	struct peers *peers = model_peers(check->model);
	const struct peer *other = peer_find_other(peers, qp->peer);
	const struct life *there = other ? other->life : NULL;

	if (!there || !there->rq)
		return true;
	return has_arrived(check, qp, message) &&
	       (there->taken != message->message || there->taken != there->rq->completed ||
		there->rq->polled <= hangup->time + peer_slack(peers, qp->process, other->process));
}

/*
 * Was the last signalled send posted before the program ended the connection, and nothing polled
 * that shows that it was done? The identifiers of rsockets are librdmacm's own.
 */
static bool has_hung_up(struct leftover_completions *left)
{
	const struct life *qp = left->qp, *id = life_cm_id(qp);

	left->hangup = life_find_disconnect(qp);
	if (!left->hangup.id.thread || id->borrowed || !qp->sq || qp->sq->doubt ||
	    qp->sq->draining || qp_state(qp) != ABI_QPS_ERR || qp->qp->type != ABI_QPT_RC ||
	    qp->sq->polled > left->hangup.time ||
	    !has_hung_up_first(left->check, qp, &left->hangup))
		return false;
	left->last = find_unpolled(qp);
	return left->last && left->last->time < left->hangup.time &&
	       !may_have_told(left->check, qp, left->last, &left->hangup);
}

static void describe_hung_up(const struct leftover_completions *left, struct finding *finding)
{
	const struct queue *sq = left->qp->sq;
	char name[64], id[32], posted[32], when[48], sends[WORDS_COUNT];

	finding_text(&finding->says,
		     "%s was disconnected by rdma_disconnect() at %s with %s outstanding, the last "
		     "posted at %s, %s: %s not polled.",
		     object_name_text(left->qp, name, sizeof(name)),
		     event_id_text(left->hangup.id, id),
		     words_format_count(sq->signalled, "signalled send", sends),
		     event_id_text(queue_id(left->last), posted),
		     words_format_earlier(left->hangup.time - left->last->time, 0, when),
		     name_completions(sq));
}

/* The last request, if it is unsignalled, and no other request will have a completion. */
static const struct queue_request *find_unsignalled(const struct queue *sq)
{
	const struct queue_request *last = sq->count ? queue_at(sq, sq->count - 1) : NULL;

	return last && !last->done && !last->signalled && !sq->signalled ? last : NULL;
}

/*
 * Can the program not know that @last was done? A message of the peer may have shown it; so may the
 * peer outside of the verbs, soon after it has polled its last receive.
 */
static bool is_unknown(struct check *check, const struct life *qp, const struct queue_request *last,
		       int64_t now)
{
	const struct peer *other = peer_find_other(model_peers(check->model), qp->peer);
	struct peer_work work = queues_work_of(other);
	int64_t polled = other && other->life && other->life->rq ? other->life->rq->polled : now;

	if ((qp->rq && qp->rq->polled > last->time) || !work.known || work.last.time > last->time)
		return false;
	if (queue_takes_receive(last->opcode) && work.received < queues_peer_work(qp).to_receives)
		return true;
	return now - (polled > last->time ? polled : last->time) >= SLEEP_NS;
}

/* Was the last send not signalled, and can the program not know that it was done? */
static bool has_unsignalled(struct leftover_completions *left)
{
	const struct life *qp = left->qp;

	left->last = is_in_rts(qp) && qp->qp->type == ABI_QPT_RC ? find_unsignalled(qp->sq) : NULL;
	return left->last && is_unknown(left->check, qp, left->last, left->now);
}

static void describe_unsignalled(const struct leftover_completions *left, struct finding *finding)
{
	char name[64], id[32], when[48], sends[WORDS_COUNT];

	finding_text(&finding->says,
		     "%s was destroyed with %s outstanding, the last posted at %s, %s: "
		     "none was signalled, and no message of the peer followed.",
		     object_name_text(left->qp, name, sizeof(name)),
		     words_format_count(left->qp->sq->outstanding, "send", sends),
		     event_id_text(queue_id(left->last), id),
		     words_format_earlier(left->now - left->last->time, 0, when));
}

/*
 * The CQ of the receives of @qp, if no completion was ever polled from it, although one has been in
 * it for a long time; else NULL.
 */
static const struct life *find_unread_cq(const struct life *qp, int64_t now)
{
	const struct queue_cq *cq = qp->rq->cq;

	return cq && cq->owner && !cq->stats.wcs && now - qp->arrival >= UNREAD_NS ? cq->owner
										   : NULL;
}

/* Does @qp use an SRQ that lost receives in the same way before this queue pair was created? */
static bool takes_receives_along(const struct life *qp)
{
	return qp->rq->owner != qp && qp->rq->unread_gone && qp->rq->unread_gone < qp->created.time;
}

/*
 * Each message in the CQ has a receive of the SRQ, which other queue pairs need. A single one may
 * be the last message of a program.
 */
static bool has_receives_of_srq(struct leftover_completions *left)
{
	const struct life *qp = left->qp;

	if (!cq_event_has_unread(qp, left->now) || left->check->findings->blind || !qp->rq->owner ||
	    qp->rq->owner == qp)
		return false;
	return takes_receives_along(qp) ||
	       (!find_unread_cq(qp, left->now) && qp->arrived >= qp->taken + LEAST_LOST &&
		qp->arrived < qp->taken + LEAST_UNREAD);
}

static void describe_receives_of_srq(const struct leftover_completions *left,
				     struct finding *finding)
{
	const struct life *qp = left->qp;
	const uint64_t n = qp->arrived - qp->taken;
	char name[64], before[64] = "";

	if (takes_receives_along(qp))
		snprintf(before, sizeof(before), ", as with %s earlier",
			 WORDS_N(qp->rq->unread_users, "queue pair"));
	finding_text(&finding->says,
		     "%s was destroyed in %s while %s %s in its CQ, not polled: %s lost to "
		     "%s%s.",
		     object_name_text(qp, name, sizeof(name)), qp_state_name(qp_state(qp)),
		     WORDS_N(n, "message"), n == 1 ? "was" : "were",
		     n == 1 ? "its receive is" : "their receives are", qp->rq->owner->name, before);
}

/*
 * Messages that had arrived before the destroy, since the sends of the other end had completed. One
 * or two may be the last messages of a protocol, or credits.
 */
static bool has_unread_messages(struct leftover_completions *left)
{
	const struct life *qp = left->qp;

	if (!cq_event_has_unread(qp, left->now) || left->check->findings->blind ||
	    takes_receives_along(qp))
		return false;
	left->cq = find_unread_cq(qp, left->now);
	return left->cq || qp->arrived >= qp->taken + LEAST_UNREAD;
}

/* Why no event led the program to the messages, if its CQ has a channel and that is certain. */
static void describe_missing_event(const struct life *qp, struct finding *finding)
{
	const struct life *cq = qp->rq->cq ? qp->rq->cq->owner : NULL;
	const struct cq_event *wake = cq ? cq->wake : NULL;
	char id[32];

	if (!wake)
		return;
	if (!wake->armed.id.thread)
		finding_text(&finding->says,
			     "%s %s has a channel, but ibv_req_notify_cq() was never called: no "
			     "completion gives an event.",
			     finding->says, cq->name);
	else if (wake->filled && qp->arrival <= wake->polled.time)
		finding_text(&finding->says,
			     "%s The last poll of %s, at %s, had an array of %u and filled it: "
			     "the messages were behind these, and no event reports them.",
			     finding->says, cq->name, event_id_text(wake->polled.id, id),
			     wake->filled);
}

static void describe_unread(const struct leftover_completions *left, struct finding *finding)
{
	const struct life *qp = left->qp;
	char name[64], when[32];

	finding_text(&finding->says,
		     "%s was destroyed in %s while %s %s in its CQ: the peer's sends had "
		     "completed, the last %s earlier, and none of their receives was polled%s%s.",
		     object_name_text(qp, name, sizeof(name)), qp_state_name(qp_state(qp)),
		     WORDS_N(qp->arrived - qp->taken, "message"),
		     qp->arrived - qp->taken == 1 ? "was" : "were",
		     words_format_span(left->now - qp->arrival, when),
		     left->cq ? ", nor anything of " : "", left->cq ? left->cq->name : "");
	if (finding->says && qp->rq->owner && qp->rq->owner != qp)
		finding_text(&finding->says, "%s Their receives are lost to %s.", finding->says,
			     qp->rq->owner->name);
	if (finding->says)
		describe_missing_event(qp, finding);
}

/*
 * Does another queue pair receive from the same SRQ? Or did it serve a queue pair that was
 * destroyed before this one was created? Then the SRQ stays while queue pairs come and go.
 */
static bool is_srq_shared(const struct life *qp)
{
	const struct life *srq = qp->rq ? qp->rq->owner : NULL;
	const struct life_link *link = srq ? srq->children : NULL;

	if (srq && qp->rq->user_gone && qp->rq->user_gone < qp->created.time)
		return true;
	for (; link; link = link->next_child)
		if (link->child != qp && link->child->kind == OBJECT_qp &&
		    link->child->state == LIFE_LIVE && qp_state(link->child) != ABI_QPS_ERR)
			return true;
	return false;
}

/*
 * A message may have taken a receive of the SRQ whose completion has not come when the queue pair
 * is destroyed: after IBV_EVENT_QP_LAST_WQE_REACHED there is none. A program that destroys all
 * queue pairs of the SRQ needs no receive any more.
 */
static bool has_no_last_wqe(struct leftover_completions *left)
{
	const struct life *qp = left->qp;

	if (!qp->qp || !qp->qp->srq || !qp->sq || !qp->sq->draining || !qp->taken ||
	    qp->got.id.thread || qp_state(qp) != ABI_QPS_ERR || !is_srq_shared(qp))
		return false;
	left->drain = &qp->sq->drain;
	return true;
}

static void describe_no_last_wqe(const struct leftover_completions *left, struct finding *finding)
{
	char name[64], id[32];

	finding_text(&finding->says,
		     "%s has an SRQ, was moved to ERR at %s, and destroyed before "
		     "IBV_EVENT_QP_LAST_WQE_REACHED was retrieved.",
		     object_name_text(left->qp, name, sizeof(name)),
		     event_id_text(left->drain->id, id));
}

static const char poll_until_last_wqe[] =
	"Move the queue pair to ERR, wait for IBV_EVENT_QP_LAST_WQE_REACHED, and poll its CQ until "
	"it is empty, then destroy. Post the receives that were polled to the SRQ again.";

static const struct leftover_kind {
	bool (*has)(struct leftover_completions *left);
	void (*describe)(const struct leftover_completions *left, struct finding *finding);
	const char *breaks; /* NULL: it is an error, whenever it happens */
	const char *todo;   /* NULL: the advice of the rule */
} kinds[] = {
	{ has_drained, describe_drained, NULL, NULL },
	{ has_unpolled, describe_unpolled,
	  "the device is not done by then: the peer gets nothing, or only a part, and "
	  "no error",
	  NULL },
	{ has_hung_up, describe_hung_up,
	  "the device is not done by then: the request is flushed, and the peer gets nothing, or "
	  "only a part",
	  NULL },
	{ has_unsignalled, describe_unsignalled,
	  "the device has not executed these requests by then, however long the program waited: "
	  "only the completion of a signalled request proves it",
	  NULL },
	{ has_unread_messages, describe_unread,
	  "the program needs these messages: they are lost, and the peer, whose sends succeeded, "
	  "does not send them again",
	  NULL },
	{ has_receives_of_srq, describe_receives_of_srq,
	  "more clients come and go: each takes receives out of the SRQ, until none is left",
	  poll_until_last_wqe },
	{ has_no_last_wqe, describe_no_last_wqe,
	  "a message arrives at that time: its receive is taken out of the SRQ, and no completion "
	  "gives the buffer back",
	  poll_until_last_wqe },
};

static void report_leftover(const struct leftover_completions *left,
			    const struct leftover_kind *kind, const struct model_destroy *destroy)
{
	const struct life *qp = left->qp;
	struct finding *finding = (kind->breaks ? check_add_destroy_hazard : check_add_destroy)(
		left->check, RULE_COMPL_002, destroy);
	struct moment posted;

	if (!finding)
		return;
	kind->describe(left, finding);
	if (kind->breaks)
		finding_text(&finding->breaks, "%s", kind->breaks);
	finding->todo = kind->todo;
	finding_step(finding, "created", &qp->created);
	if (left->last) {
		posted = queue_moment(qp->sq, left->last);
		finding_step(finding, "posted", &posted);
	}
	if (left->drain)
		finding_step(finding, "put into ERR", left->drain);
	if (left->hangup.id.thread)
		finding_step(finding, "disconnected", &left->hangup);
	finding_step(finding, "destroyed", &destroy->moment);
}

/* COMPL-002 */
void compl_002(struct check *check, const struct model_destroy *destroy)
{
	const struct life *qp = destroy->object;

	if (qp->kind != OBJECT_qp || !destroy->returned || destroy->failed)
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct leftover_completions left = { .check = check,
						     .qp = qp,
						     .now = destroy->moment.time };
		const struct moment *wrong;

		if (!kinds[i].has(&left))
			continue;
		wrong = left.drain              ? left.drain
			: left.hangup.id.thread ? &left.hangup
						: &destroy->moment;
		if (!is_called_by_cm(check->trace, wrong->stack) ||
		    (wrong == &destroy->moment && is_own_destroy(check->trace, qp, wrong)))
			report_leftover(&left, &kinds[i], destroy);
		if (!kinds[i].breaks)
			return;
	}
}

/* COMPL-002: a queue pair goes from RTS to RESET, with sends whose end nothing has shown. */
void compl_002_reset(struct check *check, const struct model_modify *modify)
{
	const struct life *qp = modify->object;
	const struct queue_request *last;
	struct moment moment = moment_of(modify->event), posted;
	struct finding *finding;
	char name[64], id[32], when[32], sends[WORDS_COUNT];

	if (modify->from != ABI_QPS_RTS || modify->to != ABI_QPS_RESET ||
	    modify->event->call->failed || !qp->sq || qp->sq->doubt || qp->sq->draining)
		return;
	last = find_unpolled(qp);
	if (!last || is_called_by_cm(check->trace, moment.stack))
		return;
	finding = check_add_hazard(check, RULE_COMPL_002, &moment, qp, "attr.qp_state");
	if (!finding)
		return;
	posted = queue_moment(qp->sq, last);
	finding_text(&finding->says,
		     "%s went from RTS to RESET with %s outstanding, the last posted at %s, %s "
		     "earlier: %s not polled, and RESET removes them.",
		     object_name_text(qp, name, sizeof(name)),
		     words_format_count(qp->sq->signalled, "signalled send", sends),
		     event_id_text(posted.id, id),
		     words_format_span(moment.time - posted.time, when), name_completions(qp->sq));
	finding_text(&finding->breaks, "the device is not done by then: the peer gets "
				       "nothing, or only a part, and no error");
	finding_step(finding, "posted", &posted);
	finding_step(finding, "reset", &moment);
}

static void report_lost(struct check *check, const struct lost_pool *pool, const char *name)
{
	const struct moment *moment = &pool->destroyed;
	struct finding *finding;

	if (pool->queues < LEAST_QPS || !pool->buffers || !pool->others)
		return;
	finding = check_add_hazard(check, RULE_COMPL_002, moment, NULL, "qp");
	if (!finding)
		return;
	finding_text(&finding->object, "%s", name);
	finding_text(&finding->says,
		     "%u queue pairs, %s the first, were destroyed with receives outstanding, and "
		     "their completions were never polled: %s of %s %s not posted again, while "
		     "newer queue pairs posted %s.",
		     pool->queues, pool->first, WORDS_N(pool->buffers, "buffer"), name,
		     pool->buffers == 1 ? "was" : "were", WORDS_N(pool->others, "other"));
	finding_text(&finding->breaks,
		     "this continues: each queue pair takes buffers out of the pool, unless "
		     "the program returns them itself");
	finding_step(finding, "destroyed last", moment);
}

/* COMPL-002: the region of a pool is deregistered, or its process ends. */
void compl_002_pool(struct check *check, const struct model_destroy *destroy)
{
	const struct life *mr = destroy->object;
	const struct lost_pool *pool;

	if (mr->kind != OBJECT_mr || !destroy->returned || destroy->failed)
		return;
	pool = lost_buffers_find(check->model, mr->process, mr->number);
	if (pool)
		report_lost(check, pool, mr->name);
}

void compl_002_end(struct check *check, const struct model_exit *end)
{
	const struct lost_pool *pool = NULL;

	while ((pool = lost_buffers_next(check->model, end->process, pool))) {
		const struct key *key =
			keys_find_lkey(model_keys(check->model), end->process, 0, pool->lkey);
		const struct object *mr = key ? trace_object(check->trace, key->object) : NULL;

		report_lost(check, pool, mr && mr->name ? mr->name : "a region");
	}
}
