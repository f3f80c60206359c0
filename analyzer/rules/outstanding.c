/*
 * Requests that were outstanding when they should not have been
 *
 * Only for queues whose content is certain (analyzer/model/queue.h).
 *
 * Not here: what a destroyed queue pair leaves behind (unpolled.c).
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/model.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/same_wr_id.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"

/* LIFE-008: an AH is destroyed under outstanding requests. Later posts break other rules. */
void life_008(struct check *check, const struct model_destroy *destroy)
{
	struct queue_users named;
	struct finding *finding;
	struct moment posted;
	char name[64], id[32];

	if (destroy->object->kind != OBJECT_ah || !destroy->returned || destroy->failed)
		return;
	named = queues_find_users(check->model, destroy->object);
	if (!named.n || named.request->time > destroy->moment.time)
		return;
	finding = check_add_destroy(check, RULE_LIFE_008, destroy);
	if (!finding)
		return;
	posted = queue_moment(named.queue, named.request);
	object_name_text(named.queue->owner, name, sizeof(name));
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

static struct finding *add_twice(struct check *check, enum rule_id rule,
				 const struct model_queue_problem *queue_problem)
{
	const struct moment *moment = &queue_problem->moment;
	struct moment earlier = queue_moment(queue_problem->queue, queue_problem->earlier);
	struct finding *finding = findings_add(check->findings, rule,
					       findings_key(moment->verb, moment->stack, rule));

	if (!finding)
		return NULL;
	finding_at(finding, moment);
	finding_text(&finding->object, "%s", queue_problem->object->name);
	finding_step(finding, "created", &queue_problem->object->created);
	finding_step(finding, "outstanding since", &earlier);
	finding_step(finding, "posted again", moment);
	return finding;
}

/* Do both requests also use the same buffer? Then MKEY-007 reports them. */
static bool is_same_buffer(const struct model_queue_problem *queue_problem)
{
	const struct queue *queue = queue_problem->queue;
	const struct queue_request *last = queue_at(queue, queue->count - 1);

	return queue_fills(last) && queue_fills(queue_problem->earlier) &&
	       queue_sge(queue, last, 0)->addr == queue_sge(queue, queue_problem->earlier, 0)->addr;
}

/* COMPL-006. Programs that give many requests the same wr_id are never reported. */
void compl_006(struct check *check, const struct model_queue_problem *queue_problem)
{
	struct finding *finding;
	char name[64], id[32];

	if (queue_problem->kind != PROBLEM_WR_ID || is_same_buffer(queue_problem))
		return;
	finding = add_twice(check, RULE_COMPL_006, queue_problem);
	if (!finding)
		return;
	object_name_text(queue_problem->object, name, sizeof(name));
	finding_text(&finding->where, "%s(): wr[%u].wr_id",
		     verb_infos[queue_problem->moment.verb].name, queue_problem->index);
	finding_text(&finding->says,
		     "wr_id 0x%" PRIx64 " has been outstanding on %s since %s, and was used for "
		     "another request. The %" PRIu64 " requests completed on this queue before "
		     "had unique wr_ids while outstanding.",
		     queue_problem->number, name,
		     event_id_text(queue_id(queue_problem->earlier), id),
		     queue_problem->queue->completed);
}

static void report_twice(struct check *check, const struct life *life, const struct queue *queue)
{
	const struct same_wr_id *twice = same_wr_id_of(queue);
	struct finding *finding;
	char name[64], where[32], id[32], others[WORDS_COUNT];

	if (!twice)
		return;
	snprintf(where, sizeof(where), "wr[%u].wr_id", twice->index);
	finding = check_add_hazard(check, RULE_COMPL_006, &twice->later, life, where);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: wr_id 0x%" PRIx64 " was used for another request while that of %s was "
		     "outstanding, along with %s with other wr_ids. No other of its %" PRIu64
		     " signalled requests reused a wr_id.",
		     object_name_text(life, name, sizeof(name)), twice->wr_id,
		     event_id_text(twice->earlier.id, id),
		     words_format_count(twice->others, "request", others), queue->stats.signalled);
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

/* MKEY-007. Programs whose receives share one buffer are never reported. */
void mkey_007(struct check *check, const struct model_queue_problem *queue_problem)
{
	struct finding *finding;
	char name[64], id[32];

	if (queue_problem->kind != PROBLEM_BUFFER)
		return;
	finding = add_twice(check, RULE_MKEY_007, queue_problem);
	if (!finding)
		return;
	object_name_text(queue_problem->object, name, sizeof(name));
	finding_text(&finding->where, "%s(): wr[%u].sg_list[0].addr",
		     verb_infos[queue_problem->moment.verb].name, queue_problem->index);
	finding_text(&finding->says,
		     "The buffer at 0x%" PRIx64
		     " has been outstanding on %s since %s, wr_id 0x%" PRIx64 ", "
		     "and was posted again before this request completed. The %" PRIu64 " "
		     "requests completed on this queue before had distinct buffers while "
		     "outstanding.",
		     queue_problem->number, name,
		     event_id_text(queue_id(queue_problem->earlier), id),
		     queue_problem->earlier->wr_id, queue_problem->queue->completed);
}

/* The part that LIFE-005 and LIFE-006 have in common. */
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

/* LIFE-005. A poll by another thread may have begun before the destroy. */
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
	finding_text(
		&finding->says,
		"A completion of %s, wr_id 0x%" PRIx64 ", was polled %s after the queue pair had "
		"been destroyed.",
		object_name_text(qp, name, sizeof(name)), event->poll->wc[complete->index].wr_id,
		words_format_span(event->time - qp->destroyed.time, when));
	finding_step(finding, "created", &qp->created);
	finding_step(finding, "destroyed", &qp->destroyed);
	add_poll(finding, event);
}

/*
 * LIFE-006: reported if a completion of a destroyed queue pair is polled. The trace does not show
 * whether other completions were left.
 */
void life_006(struct check *check, const struct model_complete *complete)
{
	const struct trace_event *event = complete->event;
	const struct life *qp = complete->qp;
	const struct queue_destroyed *before;
	struct finding *finding;
	char name[64], id[32];

	if (!qp || complete->request || qp->state != LIFE_LIVE || !qp->sq ||
	    qp->sq->doubt & ~(unsigned int)QUEUE_STRAY)
		return;
	before = queues_find_left(check->model, qp);
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
		     object_name_text(qp, name, sizeof(name)), before->name,
		     event_id_text(before->destroyed.id, id), before->requests);
	finding_step(finding, "first created", &before->created);
	finding_step(finding, "destroyed", &before->destroyed);
	finding_step(finding, "created again", &qp->created);
	add_poll(finding, event);
}
