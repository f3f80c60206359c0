/*
 * Events that announce messages before their completions
 *
 *	ibv_get_cq_event()       the messages of the first poll behind it, of queue pairs that
 *	                         were connected before it: events may have been left unread
 *	IBV_EVENT_COMM_EST       the first message of that queue pair
 *	IBV_EVENT_SRQ_LIMIT_...  the next messages of that SRQ, until the event comes in the replay
 *	IBV_EVENT_QP_..._ERR     a request of the other end that was refused
 *
 *	IBV_EVENT_QP_LAST_WQE_...  likewise, if flushes follow
 *
 * The synthesized peer sends these messages before the event, and not again at the poll.
 */
#include <errno.h>

#include "core/base/vec.h"
#include "replay/synth/synth_pass.h"

enum { LIMIT_MESSAGES = 256 }; /* examined after the event of an SRQ's limit */

/* The first announcing event since queue pair @object was connected; thread 0: none. */
static struct event_id find_announcement(const struct pass *p,
					 const struct announced_events *announcements,
					 uint32_t object)
{
	const struct synth_plan *plan = synth_plan_now(p, object);
	int64_t connected = plan && plan->type != IBV_QPT_UD && plan->at
				    ? plan->links[plan->at - 1].time
				    : INT64_MIN;

	if (announcements->time >= connected)
		return announcements->id;
	for (unsigned int i = 0; i < announcements->nlater; i++)
		if (announcements->later[i].time >= connected)
			return announcements->later[i].id;
	return (struct event_id){ 0 };
}

static int put_early_message(struct pass *p, const struct trace_event *event, uint32_t index,
			     const struct announced_events *announcements)
{
	struct synth_early message = synth_due_message(p, event, index);
	struct event_id at = find_announcement(p, announcements, message.qp);

	message.solicited = announcements->solicited;
	return at.thread ? synth_send_before(p, at, &message, DUE_ANNOUNCED) : 0;
}

/* Note a message that may have caused the SRQ's limit event. */
static int put_limit(struct pass *p, const struct trace_event *event, uint32_t index,
		     struct announced_events *srq)
{
	const struct synth_early message = synth_due_message(p, event, index);

	srq->left--;
	return synth_send_before(p, srq->id, &message, DUE_LIMIT);
}

static bool is_message(const struct pass *p, const struct wc *wc)
{
	return wc->status == IBV_WC_SUCCESS && wc->opcode & IBV_WC_RECV &&
	       synth_plan_now(p, wc->qp);
}

/* The SRQ of the message, if the limit event of that SRQ came before the message; or NULL. */
static struct announced_events *find_limited_srq(const struct pass *p, const struct wc *wc)
{
	const struct synth_plan *plan = synth_plan_now(p, wc->qp);
	struct announced_events *srq = plan && plan->srq ? &p->announcements[plan->srq] : NULL;

	return srq && srq->left ? srq : NULL;
}

/* Find the messages that an event announced: those of the first poll after it. */
static int learn_announced_queue(struct pass *p, const struct trace_event *event,
				 struct announced_events *cq)
{
	const struct poll *poll = event->poll;
	int err = 0;

	for (uint32_t i = 0; i < poll->nwc && !err; i++) {
		const struct wc *wc = &poll->wc[i];
		const struct announced_events *announcements = cq && cq->id.thread ? cq : NULL;

		if (!is_message(p, wc) || find_limited_srq(p, wc))
			continue;
		if (!announcements && p->announcements[wc->qp].id.thread)
			announcements = &p->announcements[wc->qp];
		if (announcements)
			err = put_early_message(p, event, i, announcements);
	}
	if (cq && poll->nwc)
		cq->id.thread = 0;
	return err;
}

int synth_learn_announced(struct pass *p, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	struct announced_events *cq =
		poll->object < p->r->nreplicas ? &p->announcements[poll->object] : NULL;
	int err;

	p->npolls++;
	p->announced = cq ? (struct synth_spot){ cq->id, cq->time } : (struct synth_spot){ 0 };
	err = learn_announced_queue(p, event, cq);
	for (uint32_t i = 0; i < poll->nwc && !err; i++) {
		const struct wc *wc = &poll->wc[i];
		struct announced_events *srq = find_limited_srq(p, wc);

		if (!is_message(p, wc))
			continue;
		p->announcements[wc->qp].id.thread = 0;
		if (srq)
			err = put_limit(p, event, i, srq);
	}
	return err;
}

static const struct object *find_element(const struct pass *p, const struct trace_event *event,
					 enum object_kind kind, enum arg arg)
{
	return trace_object_at(p->r->trace, event->process, kind,
			       (uint64_t)args_number(event->call->out, arg), event->time);
}

static void note_announced(struct pass *p, const struct trace_event *event, const struct object *o)
{
	struct announced_events *announcements = o ? &p->announcements[o->id] : NULL;

	if (announcements && announcements->id.thread) {
		announcements->nlater -= announcements->nlater == LATER_ANNOUNCEMENTS;
		announcements->later[announcements->nlater++] =
			(struct synth_spot){ event->id, event->time };
	} else if (announcements) {
		announcements->id = event->id;
		announcements->time = event->time;
		announcements->nlater = 0;
	}
}

static void note_limit(struct pass *p, const struct trace_event *event, const struct object *srq)
{
	if (srq)
		p->announcements[srq->id] =
			(struct announced_events){ .id = event->id, .left = LIMIT_MESSAGES };
}

/* Note that the other end made the queue pair fail, unless it had failed before. */
static int note_break(struct pass *p, const struct trace_event *event, const struct object *qp,
		      enum ibv_event_type type)
{
	struct synth_plan *plan = qp ? synth_plan_now(p, qp->id) : NULL;

	if (!plan || plan->type == IBV_QPT_UD)
		return 0;
	plan->breaks = type;
	if (plan->life.broken)
		return 0;
	return synth_stop_note_announced(p, plan, (struct synth_spot){ event->id, event->time });
}

/* Note an event IBV_EVENT_QP_LAST_WQE_REACHED: the queue pair had failed before it. */
static void note_last_wqe(struct pass *p, const struct trace_event *event, const struct object *qp)
{
	struct synth_plan *plan = qp ? synth_plan_now(p, qp->id) : NULL;

	if (plan && !plan->life.broken)
		plan->life.last = (struct synth_spot){ event->id, event->time };
}

int synth_learn_return(struct pass *p, const struct trace_event *event)
{
	const struct call *call = event->call;
	const enum arg element = ARG(event.element);
	enum ibv_event_type type;

	if (call->failed)
		return 0;
	if (call->verb == VERB_get_cq_event)
		note_announced(p, event, find_element(p, event, OBJECT_cq, ARG(cq)));
	if (call->verb != VERB_get_async_event)
		return 0;
	type = (enum ibv_event_type)args_number(call->out, ARG(event.event_type));
	if (type == IBV_EVENT_COMM_EST)
		note_announced(p, event, find_element(p, event, OBJECT_qp, element));
	else if (type == IBV_EVENT_SRQ_LIMIT_REACHED)
		note_limit(p, event, find_element(p, event, OBJECT_srq, element));
	else if (type == IBV_EVENT_QP_LAST_WQE_REACHED)
		note_last_wqe(p, event, find_element(p, event, OBJECT_qp, element));
	else if (type == IBV_EVENT_QP_ACCESS_ERR || type == IBV_EVENT_QP_REQ_ERR)
		return note_break(p, event, find_element(p, event, OBJECT_qp, element), type);
	return 0;
}
