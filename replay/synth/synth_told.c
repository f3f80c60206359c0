/*
 * Events that announce messages before their completions
 *
 * 	ibv_get_cq_event()       the messages of the first poll behind it
 * 	IBV_EVENT_COMM_EST       the first message of that queue pair
 * 	IBV_EVENT_SRQ_LIMIT_...  the next messages of that SRQ, until the event comes here
 * 	IBV_EVENT_QP_..._ERR     a request of the other end that was refused
 *
 * The synthesized peer sends these messages before the event, and not again at the poll.
 */
#include <errno.h>

#include "core/base/vec.h"
#include "replay/synth/synth_pass.h"

enum { LIMIT_MESSAGES = 256 }; /* examined after the event of an SRQ's limit */

/* Message @index of @event, which an earlier event announced. */
static struct synth_early *new_early(struct pass *p, const struct trace_event *event,
				     uint32_t index)
{
	const struct wc *wc = &event->poll->wc[index];
	struct synth_early *early = vec_push(p->far->early, p->far->nearly);
	if (early && map_put(&p->far->early_of, event_part_key(event->id, index), p->far->nearly))
		return NULL;
	if (early)
		*early = (struct synth_early){ .poll = event->id,
					       .index = index,
					       .qp = wc->qp,
					       .cq = event->poll->object,
					       .length = wc->byte_len,
					       .imm = wc->imm,
					       .src_qp = wc->src_qp,
					       .flags = (uint16_t)wc->wc_flags,
					       .write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM };
	return early;
}

/* Put it before the other messages that @told announced. */
static int put_early(struct pass *p, const struct trace_event *event, uint32_t index,
		     const struct told *told)
{
	struct synth_early *early = new_early(p, event, index);
	uint64_t next = 0;

	if (!early)
		return -ENOMEM;
	map_get(&p->far->early_at, event_key(told->id), &next);
	early->next = (uint32_t)next;
	early->solicited = told->solicited;
	return map_put(&p->far->early_at, event_key(told->id), p->far->nearly);
}

/* Append it to the others of the SRQ's limit. */
static int add_early(struct pass *p, const struct trace_event *event, uint32_t index,
		     struct told *srq)
{
	struct synth_early *early = new_early(p, event, index);

	if (!early)
		return -ENOMEM;
	early->limit = true;
	srq->left--;
	if (srq->last)
		p->far->early[srq->last - 1].next = (uint32_t)p->far->nearly;
	else if (map_put(&p->far->early_at, event_key(srq->id), p->far->nearly))
		return -ENOMEM;
	srq->last = (uint32_t)p->far->nearly;
	return 0;
}

static bool is_message(const struct pass *p, const struct wc *wc)
{
	return wc->status == IBV_WC_SUCCESS && wc->opcode & IBV_WC_RECV &&
	       synth_plan_now(p, wc->qp);
}

/* The SRQ of a message whose limit event came before, or NULL. */
static struct told *find_limit(const struct pass *p, const struct wc *wc)
{
	const struct synth_plan *plan = synth_plan_now(p, wc->qp);
	struct told *srq = plan && plan->srq ? &p->told[plan->srq] : NULL;

	return srq && srq->left ? srq : NULL;
}

/*
 * Find the messages that an event announced: those of the first poll after it. From the last to the
 * first, since each is put before the others.
 */
static int learn_told_queue(struct pass *p, const struct trace_event *event, struct told *cq)
{
	const struct poll *poll = event->poll;
	int err = 0;

	for (uint32_t i = poll->nwc; i-- > 0 && !err;) {
		const struct wc *wc = &poll->wc[i];
		struct told *told = cq && cq->id.thread ? cq : NULL;

		if (!is_message(p, wc) || find_limit(p, wc))
			continue;
		if (!told && p->told[wc->qp].id.thread)
			told = &p->told[wc->qp];
		if (told)
			err = put_early(p, event, i, told);
	}
	if (cq && poll->nwc)
		cq->id.thread = 0;
	return err;
}

int synth_learn_announced(struct pass *p, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	struct told *cq = poll->object < p->r->nreplicas ? &p->told[poll->object] : NULL;
	int err = learn_told_queue(p, event, cq);

	for (uint32_t i = 0; i < poll->nwc && !err; i++) {
		const struct wc *wc = &poll->wc[i];
		struct told *srq = find_limit(p, wc);

		if (!is_message(p, wc))
			continue;
		p->told[wc->qp].id.thread = 0;
		if (srq)
			err = add_early(p, event, i, srq);
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
	if (o && !p->told[o->id].id.thread)
		p->told[o->id].id = event->id;
}

static void note_limit(struct pass *p, const struct trace_event *event, const struct object *srq)
{
	if (srq)
		p->told[srq->id] = (struct told){ .id = event->id, .left = LIMIT_MESSAGES };
}

/* The queue pair failed because of the other end, unless it had failed before. */
static int note_break(struct pass *p, const struct trace_event *event, const struct object *qp,
		      enum ibv_event_type type)
{
	struct synth_plan *plan = qp ? synth_plan_now(p, qp->id) : NULL;

	if (!plan || plan->type == IBV_QPT_UD)
		return 0;
	plan->breaks = type;
	if (plan->broken)
		return 0;
	plan->broken = true;
	return map_put(&p->far->broken_at, event_key(event->id), qp->id);
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
	else if (type == IBV_EVENT_QP_ACCESS_ERR || type == IBV_EVENT_QP_REQ_ERR)
		return note_break(p, event, find_element(p, event, OBJECT_qp, element), type);
	return 0;
}
