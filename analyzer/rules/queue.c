/*
 * QUEUE: the capacity of queues
 *
 * The model has found the events (analyzer/model/overflow.c), and that the counts of the queue are
 * certain. This file has the rules that the events break, and the sentences.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/control.h"
#include "analyzer/model/cq_event.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"

enum {
	LEAST_FILLS =
		8, /* how often the queue must have been filled: by then all buffers were used */
	LEAST_LEVEL = 16, /* receives: with fewer, some are always about to be posted */
	FALL_FACTOR = 8,  /* of the level: fewer may be the messages at the end of the work */
};

static struct finding *add_queue_problem(struct check *check, enum rule_id rule,
					 const struct model_queue_problem *queue_problem)
{
	const struct moment *moment = &queue_problem->moment;
	struct finding *finding = findings_add(
		check->findings, rule,
		findings_key(moment->verb, moment->stack, moment->stack ? 0 : queue_problem->kind));

	if (!finding)
		return NULL;
	finding_at(finding, moment);
	finding_text(&finding->where, "%s(): wr[%u]", verb_infos[moment->verb].name,
		     queue_problem->index);
	finding_text(&finding->object, "%s", queue_problem->object->name);
	finding_step(finding, "created", &queue_problem->object->created);
	return finding;
}

/* Add the steps of the oldest outstanding request and of the post. */
static void add_steps(struct finding *finding, const struct model_queue_problem *queue_problem)
{
	const struct queue_request *oldest = queue_oldest(queue_problem->queue);
	struct moment moment;

	if (oldest) {
		moment = queue_moment(queue_problem->queue, oldest);
		finding_step(finding, "oldest outstanding", &moment);
	}
	finding_step(finding, "posted", &queue_problem->moment);
}

static const char *error_name(int error, char text[32])
{
	if (error == ENOMEM)
		return "ENOMEM";
	if (error == EINVAL)
		return "EINVAL";
	snprintf(text, 32, "errno %d", error);
	return text;
}

/* "wr[1], wr_id 0x9"; of a list that was refused as a whole, "wr[0..2], wr_id 0x9 first" */
static const char *name_refused(const struct queue_refusal *refusal, char text[64])
{
	if (refusal->together > 1)
		snprintf(text, 64, "wr[0..%u], wr_id 0x%" PRIx64 " first", refusal->together - 1,
			 refusal->bad.wr_id);
	else
		snprintf(text, 64, "wr[%u], wr_id 0x%" PRIx64, refusal->taken, refusal->bad.wr_id);
	return text;
}

static const char poll_each_cq[] =
	"Poll the CQ that ibv_get_cq_event() returns until it is empty, and arm that CQ again. "
	"Post a refused request again after a completion.";

/* The completions that would make room were in the CQ, and the program had their event. */
static void describe_unpolled(struct finding *finding,
			      const struct model_queue_problem *queue_problem)
{
	const struct queue_cq *cq = queue_problem->queue->cq;
	const struct cq_event *wake = cq && cq->owner ? cq->owner->wake : NULL;
	int64_t time = queue_problem->moment.time;
	char id[32], when[32];

	if (!wake || !wake->due.id.thread || wake->due.time > time)
		return;
	finding_text(&finding->says,
		     "%s Completions were in %s: its event was retrieved at %s, %s earlier, and it "
		     "was not polled since.",
		     finding->says ?: "", cq->owner->name, event_id_text(wake->due.id, id),
		     words_format_span(time - wake->due.time, when));
	finding_step(finding, "event retrieved", &wake->due);
	finding->todo = poll_each_cq;
}

/*
 * Report a full queue that refused a request that the program never posted again; or that accepted
 * one request too many.
 */
static void report_overflow(struct check *check, enum rule_id rule,
			    const struct model_queue_problem *queue_problem)
{
	const struct queue_refusal *refusal = queue_problem->refusal;
	struct finding *finding = add_queue_problem(check, rule, queue_problem);
	char name[64], refused[64];

	if (!finding)
		return;
	object_name_text(queue_problem->object, name, sizeof(name));
	if (queue_problem->kind == PROBLEM_BEYOND)
		finding_text(&finding->says,
			     "%s has %s in its %s queue, but %" PRIu64 " requests were outstanding "
			     "after this post, which the device accepted.",
			     name, WORDS_N(queue_problem->limit, "slot"),
			     queue_problem->queue->send ? "send" : "receive",
			     queue_problem->number);
	else if (queue_problem->queue->send)
		finding_text(&finding->says,
			     "%s: %u of %u outstanding, %u of them signalled. %s, was refused with "
			     "ENOMEM and never posted again.",
			     name, refusal->outstanding, refusal->limit, refusal->signalled,
			     name_refused(refusal, refused));
	else
		finding_text(&finding->says,
			     "%s: %u of %u receives outstanding. %s, was refused with ENOMEM and "
			     "never posted again.",
			     name, refusal->outstanding, refusal->limit,
			     name_refused(refusal, refused));
	if (queue_problem->kind == PROBLEM_GIVEN_UP)
		describe_unpolled(finding, queue_problem);
	add_steps(finding, queue_problem);
}

/*
 * Was the program stopped by a full queue? Not if it polled afterwards, or had handled such a
 * failure before: then it can wait, and chose not to.
 */
static bool is_overflow(const struct model_queue_problem *queue_problem, bool send)
{
	const struct queue_refusal *refusal = queue_problem->refusal;

	if (queue_problem->queue->send != send)
		return false;
	if (queue_problem->kind == PROBLEM_BEYOND)
		return true;
	return queue_problem->kind == PROBLEM_GIVEN_UP && refusal->full && !refusal->later &&
	       !refusal->recovered && queue_problem->queue->completed == refusal->completed;
}

/* A program may drop datagrams on purpose. */
static bool may_drop_requests(const struct model_queue_problem *queue_problem)
{
	const struct qp *qp = queue_problem->object->qp;

	return queue_problem->queue->send && (!qp || qp->type == ABI_QPT_UD);
}

/*
 * Were several requests in a row refused without the program noticing? The queue had free entries
 * afterwards, but the program posted none of these requests again. A program that fills a queue
 * until a post is refused has one refusal, or posts the refused requests later: by then it has used
 * all of its buffers.
 */
static bool is_unnoticed(const struct model_queue_problem *queue_problem, bool send)
{
	const struct queue_refusal *refusal = queue_problem->refusal;

	return queue_problem->kind == PROBLEM_GIVEN_UP && queue_problem->queue->send == send &&
	       refusal->nmore && !refusal->returned && !refusal->recovered &&
	       !queue_problem->queue->doubt &&
	       queue_problem->queue->completed > refusal->completed &&
	       (!refusal->later || refusal->later > LEAST_FILLS * (uint64_t)refusal->limit) &&
	       !may_drop_requests(queue_problem);
}

static void report_unnoticed(struct check *check, enum rule_id rule,
			     const struct model_queue_problem *queue_problem)
{
	const struct queue_refusal *refusal = queue_problem->refusal;
	bool send = queue_problem->queue->send, lists = refusal->together > 1;
	const char *what = lists ? "list" : send ? "send" : "receive";
	char name[64], where[32], requests[WORDS_COUNT];
	struct finding *finding;

	snprintf(where, sizeof(where), "wr[%u]", queue_problem->index);
	finding =
		check_add_hazard(check, rule, &queue_problem->moment, queue_problem->object, where);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: %u of %u were outstanding, and %s in a row were refused with ENOMEM, the "
		     "first wr_id 0x%" PRIx64 ". None was posted again, although %" PRIu64 " have "
		     "completed since.",
		     object_name_text(queue_problem->object, name, sizeof(name)),
		     refusal->outstanding, refusal->limit,
		     words_format_count(refusal->nmore + 1, what, requests), refusal->bad.wr_id,
		     queue_problem->queue->completed - refusal->completed);
	finding_text(&finding->breaks, "%s",
		     send ? "the program or its peer counts on them: they were never sent"
			  : "as many messages arrive as the program believes it has receives for");
	finding_step(finding, "created", &queue_problem->object->created);
	finding_step(finding, "refused", &queue_problem->moment);
}

void queue_001(struct check *check, const struct model_queue_problem *queue_problem)
{
	if (is_overflow(queue_problem, true))
		report_overflow(check, RULE_QUEUE_001, queue_problem);
}

void queue_002(struct check *check, const struct model_queue_problem *queue_problem)
{
	if (is_overflow(queue_problem, false))
		report_overflow(check, RULE_QUEUE_002, queue_problem);
	else if (is_unnoticed(queue_problem, false))
		report_unnoticed(check, RULE_QUEUE_002, queue_problem);
}

/* Report a resized CQ: the size that the device granted is not in the trace. */
static void report_resized(struct check *check, const struct model_queue_problem *queue_problem)
{
	const struct queue_cq *cq = queue_problem->queue->cq;
	struct finding *finding =
		check_add_hazard(check, RULE_QUEUE_003, &cq->resized, cq->owner, "cqe");

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s was resized to %s, and later %" PRIu64
		     " requests of %s that complete in it were outstanding.",
		     cq->owner->name, WORDS_N(cq->asked, "entry"), cq->signalled,
		     WORDS_N(cq->queues, "queue"));
	finding_text(&finding->breaks,
		     "the device provides only that many entries: completions are lost");
	finding_step(finding, "CQ created", &cq->owner->created);
	finding_step(finding, "resized", &cq->resized);
	finding_step(finding, "posted", &queue_problem->moment);
}

/* Report a CQ that was large enough only so far. */
static void report_small_cq(struct check *check, const struct model_queue_problem *queue_problem)
{
	const struct queue_cq *cq = queue_problem->queue->cq;
	struct finding *finding =
		check_add_hazard(check, RULE_QUEUE_003, &queue_problem->moment, cq->owner, "cqe");
	char more[WORDS_COUNT];

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s has %s; up to %" PRIu64 " requests that complete in it were outstanding, "
		     "and the queues in use can hold %" PRIu64 ".",
		     cq->owner->name, WORDS_N(cq->given, "entry"), cq->high_signalled,
		     queue_problem->number);
	finding_text(&finding->breaks,
		     "%s %s outstanding, and it is polled late or a queue pair fails: completions "
		     "are lost, and the CQ fails",
		     words_format_count(cq->given + 1 - cq->high_signalled, "more request", more),
		     cq->given == cq->high_signalled ? "is" : "are");
	finding_step(finding, "created", &queue_problem->moment);
}

/* Report a CQ that overruns only if the requests that are not signalled are flushed. */
static void report_flushed_cq(struct check *check, const struct model_queue_problem *queue_problem)
{
	const struct queue_cq *cq = queue_problem->queue->cq;
	struct finding *finding =
		check_add_hazard(check, RULE_QUEUE_003, &queue_problem->moment, cq->owner, "cqe");

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s has %s; up to %" PRIu64 " requests that can complete in it were "
		     "outstanding, but at most %" PRIu64 " of them were signalled.",
		     cq->owner->name, WORDS_N(cq->given, "entry"), queue_problem->number,
		     cq->high_signalled);
	finding_text(&finding->breaks,
		     "a queue pair fails: its unsignalled requests are flushed and complete, too, "
		     "and if they are more than the CQ has entries for, it overruns and fails");
	finding_step(finding, "created", &queue_problem->moment);
}

void queue_003(struct check *check, const struct model_queue_problem *queue_problem)
{
	const struct queue_cq *cq = queue_problem->queue->cq;
	struct finding *finding;

	if (queue_problem->kind == PROBLEM_NARROW_CQ)
		report_small_cq(check, queue_problem);
	if (queue_problem->kind == PROBLEM_FLUSHED_CQ)
		report_flushed_cq(check, queue_problem);
	if (queue_problem->kind != PROBLEM_CQ)
		return;
	if (!cq->given) {
		report_resized(check, queue_problem);
		return;
	}
	finding = add_queue_problem(check, RULE_QUEUE_003, queue_problem);
	if (!finding)
		return;
	finding_text(&finding->object, "%s", cq->owner->name);
	finding_text(&finding->says,
		     "%s has %s, and with this post %" PRIu64
		     " requests of %s that complete in it were outstanding.",
		     cq->owner->name, WORDS_N(cq->given, "entry"), cq->signalled,
		     WORDS_N(cq->queues, "queue"));
	finding_step(finding, "CQ created", &cq->owner->created);
	finding_step(finding, "posted", &queue_problem->moment);
}

/* The device reports that a CQ has overrun. */
void queue_003_event(struct check *check, const struct trace_event *event)
{
	const struct call *call = event->call;
	const struct life *life;
	struct finding *finding;
	int64_t type;

	if (call->verb != VERB_get_async_event || call->failed || !call->out ||
	    !args_get(call->out, ARG(event.event_type), &type) || type != ABI_EVENT_CQ_ERR)
		return;
	life = control_find_element(check->model, event);
	if (!life || !life->cq)
		return;
	finding = findings_add(check->findings, RULE_QUEUE_003,
			       findings_key(event->process, life->created.stack, 1));
	if (!finding)
		return;
	finding->event = event->id;
	finding->time = event->time;
	finding->process = event->process;
	finding->thread = event->id.thread;
	finding_text(&finding->where, "ibv_get_async_event(): event");
	finding_text(&finding->object, "%s", life->name);
	finding_text(&finding->says,
		     "%s failed: IBV_EVENT_CQ_ERR. It has %s, and %s%s of %s %s outstanding that "
		     "complete in it.",
		     life->name, WORDS_N(life->cq->given, "entry"),
		     life->cq->high == 1 ? "" : "up to ", WORDS_N(life->cq->high, "request"),
		     WORDS_N(life->cq->queues, "queue"), life->cq->high == 1 ? "was" : "were");
	finding_step(finding, "created", &life->created);
}

/* Report a queue full of unsignalled requests: the program ended before it posted one more. */
static void report_unsignalled(struct check *check, const struct model_queue_problem *queue_problem)
{
	const struct queue *queue = queue_problem->queue;
	uint64_t room = queue_problem->limit - queue->outstanding;
	struct finding *finding = check_add_hazard(check, RULE_QUEUE_004, &queue_problem->moment,
						   queue_problem->object, "wr.send_flags");
	char name[64], more[WORDS_COUNT];

	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: the last %s %s unsignalled, and its send queue holds %" PRIu64 ".",
		     object_name_text(queue_problem->object, name, sizeof(name)),
		     WORDS_N(queue->run, "request"), queue->run == 1 ? "was" : "were",
		     queue_problem->limit);
	finding_text(&finding->breaks,
		     "it posts %s more: no completion will ever free a slot, and the post fails "
		     "with ENOMEM",
		     words_format_count(room + 1, "request", more));
	finding_step(finding, "created", &queue_problem->object->created);
	add_steps(finding, queue_problem);
}

void queue_004(struct check *check, const struct model_queue_problem *queue_problem)
{
	const struct queue *queue = queue_problem->queue;
	struct finding *finding;
	char name[64];

	if (queue_problem->kind == PROBLEM_FULL)
		report_unsignalled(check, queue_problem);
	if (queue_problem->kind != PROBLEM_STUCK)
		return;
	finding = add_queue_problem(check, RULE_QUEUE_004, queue_problem);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: %u of %" PRIu64 " outstanding, 0 of them signalled. No completion will "
		     "ever free a place in its send queue.",
		     object_name_text(queue_problem->object, name, sizeof(name)),
		     queue->outstanding, queue_problem->limit);
	add_steps(finding, queue_problem);
}

/* The program may poll for these, if it ignores the result of the post. */
static void describe_unposted(struct finding *finding,
			      const struct model_queue_problem *queue_problem)
{
	if (!queue_problem->unposted)
		return;
	finding_text(&finding->says, "%s The post ended there: %s after it %s not posted either.",
		     finding->says, WORDS_N(queue_problem->unposted, "request"),
		     queue_problem->unposted == 1 ? "was" : "were");
}

void queue_005(struct check *check, const struct model_queue_problem *queue_problem)
{
	const struct queue_limits *limits = &queue_problem->queue->limits;
	bool elements = queue_problem->kind == PROBLEM_SGE, send = queue_problem->queue->send;
	struct finding *finding;
	char name[64];

	if (!elements && queue_problem->kind != PROBLEM_INLINE)
		return;
	finding = add_queue_problem(check, RULE_QUEUE_005, queue_problem);
	if (!finding)
		return;
	object_name_text(queue_problem->object, name, sizeof(name));
	if (elements)
		finding_text(&finding->says,
			     "wr[%u] has %" PRIu64 " SGEs; %s supports %u, and %u were requested "
			     "(%s).",
			     queue_problem->index, queue_problem->number, name, limits->sge_given,
			     limits->sge_asked, send ? "cap.max_send_sge" : "cap.max_recv_sge");
	else
		finding_text(&finding->says,
			     "wr[%u] has %" PRIu64 " inline bytes; %s supports %u, and %u were "
			     "requested (cap.max_inline_data).",
			     queue_problem->index, queue_problem->number, name,
			     limits->inline_given, limits->inline_asked);
	describe_unposted(finding, queue_problem);
	finding_step(finding, "posted", &queue_problem->moment);
}

enum { EMPTY = 4 };

/* QUEUE-005: a queue pair sends only messages without bytes, to receives with room for some. */
void queue_005_empty(struct check *check, const struct life *life)
{
	const struct queue_empty *empty = life->sq ? &life->sq->empty : NULL;
	char name[64], id[32], bytes[32];
	struct finding *finding;

	if (!empty || empty->never || empty->n < EMPTY || life->sq->doubt)
		return;
	finding = check_add_hazard(check, RULE_QUEUE_005, &empty->first, life, "wr[0].num_sge");
	if (!finding)
		return;
	finding->todo = "Set num_sge and the length of the SGE, or call ibv_wr_set_sge() or "
			"ibv_wr_set_inline_data() after ibv_wr_send().";
	finding_text(&finding->says,
		     "All %" PRIu64 " requests of %s, from %s on, are IBV_WR_SENDs without SGEs, "
		     "or with SGEs of length 0, and the peer's receives have %s: num_sge is 0, or "
		     "no ibv_wr_set_sge() followed ibv_wr_send().",
		     empty->n, object_name_text(life, name, sizeof(name)),
		     event_id_text(empty->first.id, id), words_format_bytes(empty->room, bytes));
	finding_text(&finding->breaks,
		     "the messages are to have contents: no byte of them is sent, and the receiver "
		     "finds what its buffer had before (byte_len is 0)");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "posted", &empty->first);
}

/* QUEUE-005: the value that is to be added is in swap, which a fetch-and-add does not use. */
void queue_005_addend(struct check *check, const struct life *life)
{
	const struct queue_addend *addend = life->sq ? &life->sq->addend : NULL;
	char name[64], id[32], where[64];
	struct finding *finding;

	if (!addend || addend->never || !addend->n || life->sq->doubt)
		return;
	snprintf(where, sizeof(where), "wr[%u].wr.atomic.swap", addend->index);
	finding = check_add_hazard(check, RULE_QUEUE_005, &addend->first, life, where);
	if (!finding)
		return;
	finding->todo = "Put the value to add into wr.atomic.compare_add: wr.atomic.swap is used "
			"by IBV_WR_ATOMIC_CMP_AND_SWP only.";
	finding_text(&finding->says,
		     "All atomics of %s (%" PRIu64 "), from %s on, are "
		     "IBV_WR_ATOMIC_FETCH_AND_ADDs with compare_add 0, so they add 0. Their swap, "
		     "which is not used, is not 0: that of the first is %" PRId64 ".",
		     object_name_text(life, name, sizeof(name)), addend->n,
		     event_id_text(addend->first.id, id), (int64_t)addend->swap);
	finding_text(&finding->breaks,
		     "the value in swap is to be added: the peer's memory does not change");
	finding_step(finding, "created", &life->created);
	finding_step(finding, "posted", &addend->first);
}

static bool is_dropped(const struct model_queue_problem *queue_problem)
{
	const struct queue_refusal *refusal = queue_problem->refusal;

	return queue_problem->kind == PROBLEM_GIVEN_UP && queue_problem->queue->send &&
	       refusal->later && refusal->ignored && !queue_problem->queue->doubt &&
	       !may_drop_requests(queue_problem);
}

void queue_006(struct check *check, const struct model_queue_problem *queue_problem)
{
	const struct queue_refusal *refusal = queue_problem->refusal;
	char name[64], id[32], again[32], error[32], refused[64];
	struct finding *finding;

	if (queue_problem->kind != PROBLEM_REPEATED && !is_dropped(queue_problem)) {
		if (is_unnoticed(queue_problem, true))
			report_unnoticed(check, RULE_QUEUE_006, queue_problem);
		return;
	}
	finding = add_queue_problem(check, RULE_QUEUE_006, queue_problem);
	if (!finding)
		return;
	object_name_text(queue_problem->object, name, sizeof(name));
	event_id_text(refusal->at.id, id);
	if (queue_problem->kind == PROBLEM_REPEATED)
		finding_text(&finding->says,
			     "%s: wr_id 0x%" PRIx64 "..0x%" PRIx64 " were accepted at %s and "
			     "posted again at %s. Only wr[%u], wr_id 0x%" PRIx64 ", and later "
			     "requests had been refused, with %s.",
			     name, refusal->first.wr_id, refusal->last.wr_id, id,
			     event_id_text(queue_problem->moment.id, again), refusal->taken,
			     refusal->bad.wr_id, error_name(refusal->error, error));
	else
		finding_text(&finding->says,
			     "%s refused %s, with %s. It was never posted again, and %s %s.", name,
			     name_refused(refusal, refused), error_name(refusal->error, error),
			     WORDS_N(refusal->later, "other request"),
			     refusal->later == 1 ? "was" : "were");
	if (queue_problem->kind == PROBLEM_REPEATED)
		finding_step(finding, "accepted in part", &refusal->at);
	finding_step(finding, queue_problem->kind == PROBLEM_REPEATED ? "posted again" : "posted",
		     &queue_problem->moment);
}

/* A datagram was sent that does not fit into the receives of its receiver. */
static void report_short_receive(struct check *check,
				 const struct model_queue_problem *queue_problem)
{
	char name[64], sender[128], where[64];
	struct finding *finding;

	snprintf(where, sizeof(where), "wr[%u].sg_list", queue_problem->index);
	finding = check_add_hazard(check, RULE_QUEUE_007, &queue_problem->moment,
				   queue_problem->object, where);
	if (!finding)
		return;
	words_name_process(check->trace, queue_problem->other->process, sender, sizeof(sender));
	finding_text(&finding->says,
		     "The receives of %s, which is of type UD, have up to %s, and a datagram of "
		     "%" PRIu64 " that %s of %s sent needs %" PRIu64 ", 40 of them for "
		     "the GRH.",
		     object_name_text(queue_problem->object, name, sizeof(name)),
		     WORDS_N(queue_problem->limit, "byte"), queue_problem->number,
		     queue_problem->other->name, sender, queue_problem->number + 40);
	finding_text(&finding->breaks,
		     "the datagram comes: it is dropped, or its receive fails with "
		     "IBV_WC_LOC_LEN_ERR, and the sender gets no error");
	finding_step(finding, "created", &queue_problem->object->created);
	finding_step(finding, "posted", &queue_problem->moment);
}

void queue_007(struct check *check, const struct model_queue_problem *queue_problem)
{
	bool room = queue_problem->kind == PROBLEM_GRH_ROOM;
	struct finding *finding;
	char name[64], where[64];

	if (queue_problem->kind == PROBLEM_GRH_SHORT)
		report_short_receive(check, queue_problem);
	if (!room && queue_problem->kind != PROBLEM_GRH_SENT)
		return;
	snprintf(where, sizeof(where), "wr[%u].sg_list", queue_problem->index);
	finding = check_add_hazard(check, RULE_QUEUE_007, &queue_problem->moment,
				   queue_problem->object, where);
	if (!finding)
		return;
	object_name_text(queue_problem->object, name, sizeof(name));
	if (room)
		finding_text(
			&finding->says,
			"A receive on %s, which is of type UD, has %s, and the first 40 are for "
			"the GRH.",
			name, WORDS_N(queue_problem->number, "byte"));
	else
		finding_text(&finding->says,
			     "%s, which is of type UD, sends from 0x%" PRIx64
			     ", where the buffer of a "
			     "received datagram begins: its first 40 bytes are for the GRH.",
			     name, queue_problem->number);
	finding_text(&finding->breaks, "%s",
		     room ? "a message with data comes: it fails with IBV_WC_LOC_LEN_ERR"
			  : "the receiver uses these bytes: the message itself begins 40 bytes "
			    "later");
	finding_step(finding, "created", &queue_problem->object->created);
	finding_step(finding, "posted", &queue_problem->moment);
}

/* QUEUE-008 */
void queue_008(struct check *check, const struct life *life)
{
	const struct queue *queue = life->rq;
	const struct queue_level *level = queue ? &queue->level : NULL;
	struct finding *finding;
	char name[64], id[32], span[32];

	if (!level || queue->owner != life || queue->doubt || level->top < LEAST_LEVEL ||
	    level->falls < FALL_FACTOR || level->rises || level->peak > level->top / 2)
		return;
	finding = check_add_life_hazard(check, RULE_QUEUE_008, life,
					life->kind == OBJECT_srq ? "ibv_post_srq_recv()"
								 : "ibv_post_recv()");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "The posted receives of %s fell from %" PRIu32 " to %" PRIu32 " within %s, "
		     "in %" PRIu64 " steps, and never rose: all were posted until %s, and %" PRIu32
		     " completed ones were not posted again.",
		     object_name_text(life, name, sizeof(name)), level->top, level->peak,
		     words_format_span(queue->stats.last_time - level->full.time, span),
		     level->falls, event_id_text(level->full.id, id), level->top - level->peak);
	finding_text(&finding->breaks,
		     "the connection stays open: after as many more messages the queue is empty, "
		     "and the sender waits or fails with IBV_WC_RNR_RETRY_EXC_ERR");
	finding_step(finding, "last full", &level->full);
	finding_set_last_post(finding, queue, life->process);
}
