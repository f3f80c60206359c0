/*
 * Requests that were outstanding when they should not have been
 *
 * Only for queues whose content is certain (analyzer/model/queue.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/key.h"
#include "analyzer/model/lost.h"
#include "analyzer/model/model.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/twice.h"
#include "analyzer/model/wake.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/judge.h"

enum {
	LOSERS = 3, /* queue pairs: one or two may be those of the end */
	UNREAD = 3, /* messages */
	UNREAD_NS = 500000000,
	SLEEP_NS = 20000000, /* longer than the peer's word takes, on a socket */
};

/* LIFE-008: what was posted while another thread destroyed it is that thread's mistake. */
void life_008(struct check *check, const struct model_destroy *destroy)
{
	struct queue_named named;
	struct finding *finding;
	struct moment posted;
	char name[64], id[32];

	if (destroy->object->kind != OBJECT_ah || !destroy->returned || destroy->failed)
		return;
	named = queues_naming(check->model, destroy->object);
	if (!named.n || named.request->time > destroy->moment.time)
		return;
	finding = judge_destroy(check, RULE_LIFE_008, destroy);
	if (!finding)
		return;
	posted = queue_moment(named.queue, named.request);
	judge_name(named.queue->owner, name, sizeof(name));
	finding_text(&finding->says,
		     "%s was destroyed while %" PRIu64 " request%s that used it %s outstanding on "
		     "%s; the oldest, wr_id 0x%" PRIx64 ", was posted at %s.",
		     destroy->object->name, named.n, named.n == 1 ? "" : "s",
		     named.n == 1 ? "was" : "were", name, named.request->wr_id,
		     event_id_text(posted.id, id));
	finding_step(finding, "created", &destroy->object->created);
	finding_step(finding, "posted", &posted);
	finding_step(finding, "destroyed", &destroy->moment);
}

/*
 * A queue that the program put into ERR and that nobody has polled since. Unsignalled requests do
 * not count: they may have been done before, and then have no completion; nor do those of a CQ that
 * is too small, which may have lost their completions (QUEUE-003).
 */
static uint32_t left_in(const struct queue *queue)
{
	if (!queue || !queue->draining || queue->doubt || queue->completed != queue->drained_from ||
	    (queue->cq && queue->cq->strained))
		return 0;
	return queue->signalled;
}

/*
 * Was it called by librdmacm? When an rsocket is closed its queue pair is put into ERR and
 * destroyed with its flushed requests; its buffers are freed with it.
 */
static bool is_called_by_cm(struct trace *trace, uint32_t stack)
{
	struct frame frames[4]; /* the recorder's own may be the first */
	unsigned int n = trace_stack(trace, stack, frames, 4);

	for (unsigned int i = 0; i < n; i++)
		if (frames[i].module && strstr(frames[i].module, "/librdmacm.so"))
			return true;
	return false;
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

/* Why no event reports the completions, if the program may have waited for an event. */
static void describe_silence(struct finding *finding, const struct queue *sq, int64_t waited)
{
	const struct life *cq = sq->cq ? sq->cq->owner : NULL;
	const struct wake *wake = cq ? cq->wake : NULL;
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

/* The queue pair was destroyed in RTS. */
static void report_unpolled(struct check *check, const struct model_destroy *destroy)
{
	const struct life *qp = destroy->object;
	const struct queue_request *last;
	struct finding *finding;
	struct moment posted;
	char name[64], id[32], when[32], sends[WORDS_COUNT];

	if (!qp->sq || qp->sq->doubt || qp->sq->draining || qp_state(qp) != ABI_QPS_RTS)
		return;
	last = find_unpolled(qp);
	if (!last || is_called_by_cm(check->trace, destroy->moment.stack))
		return;
	finding = judge_destroy_hazard(check, RULE_COMPL_002, destroy);
	if (!finding)
		return;
	posted = queue_moment(qp->sq, last);
	finding_text(
		&finding->says,
		"%s was destroyed with %s outstanding, the last posted at %s, %s before: their "
		"completions were not polled.",
		judge_name(qp, name, sizeof(name)),
		words_count(qp->sq->signalled, "signalled send", sends),
		event_id_text(posted.id, id), judge_span(destroy->moment.time - posted.time, when));
	describe_silence(finding, qp->sq, destroy->moment.time - posted.time);
	finding_text(&finding->breaks,
		     "the device has not carried them out by then: the peer gets nothing, or only "
		     "a part, and no error");
	finding_step(finding, "created", &qp->created);
	finding_step(finding, "posted", &posted);
	finding_step(finding, "destroyed", &destroy->moment);
}

/* The last request, if it is unsignalled, and no other one will have a completion. */
static const struct queue_request *find_unsignalled(const struct queue *sq)
{
	const struct queue_request *last = sq->count ? queue_at(sq, sq->count - 1) : NULL;

	return last && !last->done && !last->signalled && !sq->signalled ? last : NULL;
}

/*
 * Can nothing have told the program that @last was done? A message of the peer may have; and so may
 * the peer, outside of the verbs, which takes little time once it has polled the last receive.
 */
static bool is_unknown(struct check *check, const struct life *qp, const struct queue_request *last,
		       int64_t now)
{
	const struct peer *other =
		qp->peer ? peer_other(model_peers(check->model), qp->peer) : NULL;
	struct peer_work work = queues_work_of(other);
	int64_t polled = other && other->life && other->life->rq ? other->life->rq->polled : now;

	if ((qp->rq && qp->rq->polled > last->time) || !work.known || work.last.time > last->time)
		return false;
	if (queue_takes_receive(last->opcode) && work.received < queues_work(qp).to_receives)
		return true;
	return now - (polled > last->time ? polled : last->time) >= SLEEP_NS;
}

/* The queue pair was destroyed in RTS, and none of its last sends was signalled. */
static void report_unsignalled(struct check *check, const struct model_destroy *destroy)
{
	const struct life *qp = destroy->object;
	const struct queue_request *last;
	struct finding *finding;
	struct moment posted;
	char name[64], id[32], when[32], sends[WORDS_COUNT];

	if (!qp->sq || qp->sq->doubt || qp->sq->draining || qp_state(qp) != ABI_QPS_RTS ||
	    qp->qp->type != ABI_QPT_RC)
		return;
	last = find_unsignalled(qp->sq);
	if (!last || !is_unknown(check, qp, last, destroy->moment.time) ||
	    is_called_by_cm(check->trace, destroy->moment.stack))
		return;
	finding = judge_destroy_hazard(check, RULE_COMPL_002, destroy);
	if (!finding)
		return;
	posted = queue_moment(qp->sq, last);
	finding_text(&finding->says,
		     "%s was destroyed with %s outstanding, the last posted at %s, %s before: "
		     "none was signalled, and no message of the peer followed.",
		     judge_name(qp, name, sizeof(name)),
		     words_count(qp->sq->outstanding, "send", sends), event_id_text(posted.id, id),
		     judge_span(destroy->moment.time - posted.time, when));
	finding_text(&finding->breaks,
		     "the device has not carried them out by then, however long the program "
		     "waited: only the completion of a signalled one shows that");
	finding_step(finding, "created", &qp->created);
	finding_step(finding, "posted", &posted);
	finding_step(finding, "destroyed", &destroy->moment);
}

/*
 * The CQ of its receives, if no completion of it was ever polled, though one has been there for a
 * long time; NULL.
 */
static const struct life *find_unread_cq(const struct life *qp, int64_t now)
{
	const struct queue_cq *cq = qp->rq->cq;

	return cq && cq->owner && !cq->stats.wcs && now - qp->arrival >= UNREAD_NS ? cq->owner
										   : NULL;
}

/*
 * Messages that had arrived before the destroy, since the sends of the other end had completed. One
 * or two may be the goodbye of a program, or credits.
 */
static void report_unread(struct check *check, const struct model_destroy *destroy)
{
	const struct life *qp = destroy->object, *cq;
	struct finding *finding;
	char name[64], when[32];

	if (qp->arrived <= qp->taken || qp->unwatched || qp->arrival > destroy->moment.time ||
	    !qp->rq || qp->rq->doubt || check->findings->blind || qp_state(qp) == ABI_QPS_ERR ||
	    is_called_by_cm(check->trace, destroy->moment.stack))
		return;
	cq = find_unread_cq(qp, destroy->moment.time);
	if (!cq && qp->arrived < qp->taken + UNREAD)
		return;
	finding = judge_destroy_hazard(check, RULE_COMPL_002, destroy);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s was destroyed in %s while %s %s in its CQ: the peer's sends had "
		     "completed, the last %s before, and none of their receives was polled%s%s.",
		     judge_name(qp, name, sizeof(name)), qp_state_name(qp_state(qp)),
		     WORDS_N(qp->arrived - qp->taken, "message"),
		     qp->arrived - qp->taken == 1 ? "was" : "were",
		     judge_span(destroy->moment.time - qp->arrival, when),
		     cq ? ", nor anything of " : "", cq ? cq->name : "");
	finding_text(&finding->breaks, "the program needs them: they are lost, and the peer, whose "
				       "sends succeeded, does not send them again");
	finding_step(finding, "created", &qp->created);
	finding_step(finding, "destroyed", &destroy->moment);
}

/* Does another queue pair receive from the same SRQ? */
static bool is_srq_shared(const struct life *qp)
{
	const struct life *srq = qp->rq ? qp->rq->owner : NULL;
	const struct life_link *link = srq ? srq->children : NULL;

	for (; link; link = link->next_child)
		if (link->child != qp && link->child->kind == OBJECT_qp &&
		    link->child->state == LIFE_LIVE && qp_state(link->child) != ABI_QPS_ERR)
			return true;
	return false;
}

/*
 * A message may have taken a receive of the SRQ whose completion has not come when the queue pair
 * is destroyed: after IBV_EVENT_QP_LAST_WQE_REACHED there is none. Who ends with all queue pairs of
 * the SRQ needs no receive any more.
 */
static void report_last(struct check *check, const struct model_destroy *destroy)
{
	const struct life *qp = destroy->object;
	struct finding *finding;
	char name[64], id[32];

	if (!qp->qp || !qp->qp->srq || !qp->sq || !qp->sq->draining || !qp->taken ||
	    qp->got.id.thread || qp_state(qp) != ABI_QPS_ERR || !is_srq_shared(qp) ||
	    is_called_by_cm(check->trace, qp->sq->drain.stack))
		return;
	finding = judge_destroy_hazard(check, RULE_COMPL_002, destroy);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s has an SRQ, was moved to ERR at %s, and destroyed before "
		     "IBV_EVENT_QP_LAST_WQE_REACHED was retrieved.",
		     judge_name(qp, name, sizeof(name)), event_id_text(qp->sq->drain.id, id));
	finding_text(&finding->breaks,
		     "a message arrives at that time: its receive is taken out of the SRQ, and no "
		     "completion gives the buffer back");
	finding_step(finding, "created", &qp->created);
	finding_step(finding, "put into ERR", &qp->sq->drain);
	finding_step(finding, "destroyed", &destroy->moment);
}

/* COMPL-002 */
void compl_002(struct check *check, const struct model_destroy *destroy)
{
	const struct life *qp = destroy->object;
	uint32_t sends = left_in(qp->sq), receives;
	struct finding *finding;
	char name[64], id[32];

	if (qp->kind != OBJECT_qp || !destroy->returned || destroy->failed)
		return;
	receives = qp->rq && qp->rq->owner == qp ? left_in(qp->rq) : 0;
	if (!sends && !receives) {
		report_unpolled(check, destroy);
		report_unsignalled(check, destroy);
		report_unread(check, destroy);
		report_last(check, destroy);
	}
	if ((!sends && !receives) || is_called_by_cm(check->trace, qp->sq->drain.stack))
		return;
	finding = judge_destroy(check, RULE_COMPL_002, destroy);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s was moved to ERR at %s and destroyed with %s and %s outstanding: none of "
		     "them was polled in between.",
		     judge_name(qp, name, sizeof(name)), event_id_text(qp->sq->drain.id, id),
		     WORDS_N(sends, "signalled send"), WORDS_N(receives, "receive"));
	finding_step(finding, "created", &qp->created);
	finding_step(finding, "put into ERR", &qp->sq->drain);
	finding_step(finding, "destroyed", &destroy->moment);
}

static void report_lost(struct check *check, const struct lost_pool *pool, const char *name)
{
	const struct moment *moment = &pool->destroyed;
	struct finding *finding;

	if (pool->queues < LOSERS || !pool->buffers || !pool->others)
		return;
	finding = judge_hazard(check, RULE_COMPL_002, moment, NULL, "qp");
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

/* COMPL-002: the pool is deregistered, or its process ends. */
void compl_002_pool(struct check *check, const struct model_destroy *destroy)
{
	const struct life *mr = destroy->object;
	const struct lost_pool *pool;

	if (mr->kind != OBJECT_mr || !destroy->returned || destroy->failed)
		return;
	pool = lost_of(check->model, mr->process, mr->number);
	if (pool)
		report_lost(check, pool, mr->name);
}

void compl_002_end(struct check *check, const struct model_exit *end)
{
	const struct lost_pool *pool = NULL;

	while ((pool = lost_next(check->model, end->process, pool))) {
		const struct key *key =
			keys_find_lkey(model_keys(check->model), end->process, 0, pool->lkey);
		const struct object *mr = key ? trace_object(check->trace, key->object) : NULL;

		report_lost(check, pool, mr && mr->name ? mr->name : "a region");
	}
}

static struct finding *add_twice(struct check *check, enum rule_id rule,
				 const struct model_strain *strain)
{
	const struct moment *moment = &strain->moment;
	struct moment earlier = queue_moment(strain->queue, strain->earlier);
	struct finding *finding = findings_add(check->findings, rule,
					       findings_key(moment->verb, moment->stack, rule));

	if (!finding)
		return NULL;
	finding_at(finding, moment);
	finding_text(&finding->object, "%s", strain->object->name);
	finding_step(finding, "created", &strain->object->created);
	finding_step(finding, "outstanding since", &earlier);
	finding_step(finding, "posted again", moment);
	return finding;
}

/* Do both requests name one buffer, too? Then MKEY-007 reports it. */
static bool is_same_buffer(const struct model_strain *strain)
{
	const struct queue *queue = strain->queue;
	const struct queue_request *last = queue_at(queue, queue->count - 1);

	return queue_fills(last) && queue_fills(strain->earlier) &&
	       queue_sge(queue, last, 0)->addr == queue_sge(queue, strain->earlier, 0)->addr;
}

/* COMPL-006. Programs that give many requests one number are never reported. */
void compl_006(struct check *check, const struct model_strain *strain)
{
	struct finding *finding;
	char name[64], id[32];

	if (strain->kind != STRAIN_WR_ID || is_same_buffer(strain))
		return;
	finding = add_twice(check, RULE_COMPL_006, strain);
	if (!finding)
		return;
	judge_name(strain->object, name, sizeof(name));
	finding_text(&finding->where, "%s(): wr[%u].wr_id", verb_infos[strain->moment.verb].name,
		     strain->index);
	finding_text(&finding->says,
		     "wr_id 0x%" PRIx64 " has been outstanding on %s since %s, and was used for "
		     "another request. The %" PRIu64 " requests completed on this queue before "
		     "had unique wr_ids while outstanding.",
		     strain->number, name, event_id_text(queue_id(strain->earlier), id),
		     strain->queue->completed);
}

static void report_twice(struct check *check, const struct life *life, const struct queue *queue)
{
	const struct twice *twice = twice_of(queue);
	struct finding *finding;
	char name[64], where[32], id[32], others[WORDS_COUNT];

	if (!twice)
		return;
	snprintf(where, sizeof(where), "wr[%u].wr_id", twice->index);
	finding = judge_hazard(check, RULE_COMPL_006, &twice->later, life, where);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: wr_id 0x%" PRIx64 " was used for another request while that of %s was "
		     "outstanding, along with %s with other wr_ids. No other of its %" PRIu64
		     " signalled requests reused a wr_id.",
		     judge_name(life, name, sizeof(name)), twice->wr_id,
		     event_id_text(twice->earlier.id, id),
		     words_count(twice->others, "request", others), queue->stats.signalled);
	finding_text(&finding->breaks,
		     "the program frees or reuses what the wr_id refers to at the first of the two "
		     "completions: the other request still uses it");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "outstanding since", &twice->earlier);
	finding_step(finding, "posted", &twice->later);
}

/* COMPL-006: once in the life of a queue that ends. */
void compl_006_once(struct check *check, const struct life *life)
{
	if (life->sq)
		report_twice(check, life, life->sq);
	if (life->rq && life->rq->owner == life)
		report_twice(check, life, life->rq);
}

/* MKEY-007. The same for programs whose receives share a buffer. */
void mkey_007(struct check *check, const struct model_strain *strain)
{
	struct finding *finding;
	char name[64], id[32];

	if (strain->kind != STRAIN_BUFFER)
		return;
	finding = add_twice(check, RULE_MKEY_007, strain);
	if (!finding)
		return;
	judge_name(strain->object, name, sizeof(name));
	finding_text(&finding->where, "%s(): wr[%u].sg_list[0].addr",
		     verb_infos[strain->moment.verb].name, strain->index);
	finding_text(&finding->says,
		     "The buffer at 0x%" PRIx64
		     " has been outstanding on %s since %s, wr_id 0x%" PRIx64 ", "
		     "and was posted again before this request completed. The %" PRIu64 " "
		     "requests completed on this queue before had distinct buffers while "
		     "outstanding.",
		     strain->number, name, event_id_text(queue_id(strain->earlier), id),
		     strain->earlier->wr_id, strain->queue->completed);
}

/* The common part of both rules for a completion. */
static struct finding *add_completion(struct check *check, enum rule_id rule,
				      const struct model_complete *complete)
{
	const struct trace_event *event = complete->event;
	struct moment moment = moment_of(event);
	struct finding *finding = findings_add(
		check->findings, rule,
		findings_key(event->process, complete->qp->created.stack, event->poll->verb));

	if (!finding)
		return NULL;
	finding_at(finding, &moment);
	finding_text(&finding->where, "%s(): wc[%u].qp_num", verb_infos[event->poll->verb].name,
		     complete->index);
	finding_text(&finding->object, "%s", complete->qp->name);
	return finding;
}

static void add_poll(struct finding *finding, const struct trace_event *event)
{
	struct moment moment = moment_of(event);

	finding_step(finding, "polled", &moment);
}

/* LIFE-005. A poll of another thread than the destroy's may have begun before it. */
void life_005(struct check *check, const struct model_complete *complete)
{
	const struct life *qp = complete->qp;
	const struct trace_event *event = complete->event;
	struct finding *finding;
	char name[64], when[32];

	if (!qp || qp->state != LIFE_GONE || qp->destroyed.id.thread != event->id.thread ||
	    qp->destroyed.time > event->time)
		return;
	finding = add_completion(check, RULE_LIFE_005, complete);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "A completion of %s, wr_id 0x%" PRIx64
		     ", was polled %s after the queue pair had "
		     "been destroyed.",
		     judge_name(qp, name, sizeof(name)), event->poll->wc[complete->index].wr_id,
		     judge_span(event->time - qp->destroyed.time, when));
	finding_step(finding, "created", &qp->created);
	finding_step(finding, "destroyed", &qp->destroyed);
	add_poll(finding, event);
}

/*
 * LIFE-006: reported if such a completion is polled. The trace does not show whether any was left.
 */
void life_006(struct check *check, const struct model_complete *complete)
{
	const struct trace_event *event = complete->event;
	const struct life *qp = complete->qp;
	const struct queue_left *before;
	struct finding *finding;
	char name[64], id[32];

	if (!qp || complete->request || qp->state != LIFE_LIVE || !qp->sq ||
	    qp->sq->doubt & ~(unsigned int)QUEUE_STRAY)
		return;
	before = queues_left(check->model, qp);
	if (!before)
		return;
	finding = add_completion(check, RULE_LIFE_006, complete);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "A completion with number 0x%x, wr_id 0x%" PRIx64
		     ", does not match a request of "
		     "%s: %s had this number before, and was destroyed at %s with %u signalled "
		     "requests not yet polled.",
		     qp->number, event->poll->wc[complete->index].wr_id,
		     judge_name(qp, name, sizeof(name)), before->name,
		     event_id_text(before->destroyed.id, id), before->requests);
	finding_step(finding, "first created", &before->created);
	finding_step(finding, "destroyed", &before->destroyed);
	finding_step(finding, "created again", &qp->created);
	add_poll(finding, event);
}
