/*
 * Events after which nothing arrived any more
 *
 * A program may tear its queue pair down before it polls what has arrived. The synthesized peer
 * must then send a message before the event that stopped the queue pair, not before its poll.
 *
 *	ibv_modify_qp() to ERR, RESET      messages that are polled afterwards
 *	ibv_destroy_qp()                   likewise
 *	a request that failed              likewise, from its post on
 *	ibv_dereg_mr() of their memory     likewise
 *	a failure caused by the peer       likewise; and the peer causes it before all events that
 *	                                   announced flushes, and before the post of the first
 *	                                   send that was flushed
 *
 * The failure may be polled after such messages, or before them from another completion queue. For
 * the first case the last RECENT messages of each queue pair are remembered.
 */
#include <errno.h>
#include <string.h>

#include "core/base/vec.h"
#include "replay/synth/synth_pass.h"

enum { RECENT = 256 };

/* Was receive @request posted after @event? The order is known only for events of one thread. */
static bool is_after(struct event_id request, struct event_id event)
{
	return request.thread == event.thread && request.n > event.n;
}

/* Note that nothing arrived after @at. */
static int stop_peer_at(struct pass *p, struct synth_plan *plan, struct synth_spot at)
{
	struct synth_life *life = &plan->life;
	int err = 0;

	if (life->stop.id.thread && life->stop.time <= at.time)
		return 0;
	life->stop = at;
	for (size_t i = 0; i < life->nrecent && !err; i++)
		if (life->recent[i].time >= at.time && !is_after(life->recent[i].request, at.id))
			err = synth_send_before(p, at.id, &life->recent[i], DUE_AWAITED);
	return err;
}

static void begin_life(struct synth_plan *plan)
{
	plan->life = (struct synth_life){ .recent = plan->life.recent, .room = plan->life.room };
}

/* ibv_modify_qp() */
static int learn_state(struct pass *p, struct synth_plan *plan, const struct trace_event *event)
{
	int64_t state;

	if (!plan || !args_get(event->call->args, ARG(attr.qp_state), &state))
		return 0;
	if (state != IBV_QPS_ERR && state != IBV_QPS_RESET) {
		if (plan->life.broken)
			begin_life(plan);
		return 0;
	}
	plan->life.broken = true;
	return stop_peer_at(p, plan, (struct synth_spot){ event->id, event->time });
}

void synth_stop_note_event(struct pass *p, const struct trace_event *event)
{
	if (event->id.thread < p->nseen)
		p->seen[event->id.thread].now = event->id.n;
}

static int note_region(struct pass *p, const struct trace_event *event)
{
	const struct object *mr = trace_object(p->r->trace, event->call->object);
	struct synth_spot *end;

	if (!mr)
		return 0;
	for (size_t i = 0; i < p->nseen; i++)
		p->seen[i].at_end = p->seen[i].now;
	end = vec_push(p->ends, p->nends);
	if (!end)
		return -ENOMEM;
	*end = (struct synth_spot){ event->id, event->time };
	return map_put(&p->gone, process_key(mr->process, mr->number), p->nends);
}

int synth_stop_note_call(struct pass *p, const struct trace_event *event)
{
	const struct call *call = event->call;
	const struct verb_info *v = &verb_infos[call->verb];
	struct synth_plan *plan =
		call->object < p->r->nreplicas ? p->far->plans[call->object] : NULL;

	if (call->failed || call->ours || call->depth)
		return 0;
	if (event->kind == TRACE_CALL)
		return call->verb == VERB_modify_qp ? learn_state(p, plan, event) : 0;
	if (v->effect == EFFECT_DESTROY && v->object == OBJECT_qp && plan)
		return stop_peer_at(p, plan, (struct synth_spot){ event->id, event->time });
	if (v->effect == EFFECT_DESTROY && v->object == OBJECT_mr)
		return note_region(p, event);
	if (v->effect == EFFECT_CREATE && v->object == OBJECT_mr && p->nends) {
		const struct object *mr = trace_object(p->r->trace, call->object);

		if (mr)
			map_remove(&p->gone, process_key(mr->process, mr->number));
	}
	return 0;
}

/* Was the receive posted before the last end of a region? */
static bool may_have_ended(const struct pass *p, struct event_id request)
{
	return p->gone.used && request.thread && request.thread < p->nseen &&
	       request.n <= p->seen[request.thread].at_end;
}

/* Send the message before each region of its receive ends that ended before the poll. */
static int put_before_ends(struct pass *p, const struct synth_plan *plan,
			   const struct synth_early *message, uint32_t index)
{
	const struct post *post;
	const struct wr *wr;
	uint64_t end;
	int err = 0;

	if (!may_have_ended(p, message->request) ||
	    cursor_post(p->cursor, message->request, &post) <= 0 || index >= post->nwr)
		return 0;
	wr = &post->wr[index];
	for (uint32_t i = 0; i < wr->nsge && !err; i++)
		if (map_get(&p->gone, process_key(plan->process, wr->sge[i].lkey), &end))
			err = synth_send_before(p, p->ends[end - 1].id, message, DUE_AWAITED);
	return err;
}

static int remember_message(struct synth_life *life, const struct synth_early *message)
{
	if (life->nrecent == RECENT) {
		life->nrecent -= RECENT / 2;
		memmove(life->recent, life->recent + RECENT / 2,
			life->nrecent * sizeof(*life->recent));
	}
	if (vec_reserve(life->recent, life->room, life->nrecent + 1))
		return -ENOMEM;
	life->recent[life->nrecent++] = *message;
	return 0;
}

int synth_stop_note_message(struct pass *p, struct synth_plan *plan,
			    const struct trace_event *event, uint32_t index)
{
	struct synth_early message = synth_due_message(p, event, index);
	struct synth_life *life = &plan->life;
	int err = 0;

	life->received = message.request;
	if (life->stop.id.thread && !is_after(message.request, life->stop.id))
		err = synth_send_before(p, life->stop.id, &message, DUE_AWAITED);
	err = err ?: put_before_ends(p, plan, &message, event->poll->wc[index].request_index);
	return err ?: remember_message(life, &message);
}

/* May the queue pair have failed before @at? */
static bool may_fail_at(const struct synth_life *life, struct synth_spot at)
{
	return at.id.thread && at.time >= life->alive && !is_after(life->received, at.id);
}

static int fail_peer_at(struct pass *p, struct synth_plan *plan, struct synth_spot at)
{
	const struct synth_life *life = &plan->life;

	if (life->stop.id.thread && life->stop.time <= at.time)
		return 0;
	return synth_fail_before(p, at.id, life->cause) ?: stop_peer_at(p, plan, at);
}

static int new_cause(struct pass *p, struct synth_plan *plan)
{
	struct synth_break *new = vec_push(p->far->breaks, p->far->nbreaks);

	if (!new)
		return -ENOMEM;
	new->qp = plan->object;
	plan->life.cause = (uint32_t)p->far->nbreaks;
	plan->life.broken = true;
	return 0;
}

int synth_stop_note_announced(struct pass *p, struct synth_plan *plan, struct synth_spot at)
{
	return new_cause(p, plan) ?: fail_peer_at(p, plan, at);
}

/*
 * A queue pair that had not failed and was not set to IBV_QPS_ERR was flushed: the other end sent a
 * request that was refused.
 */
static int learn_flush(struct pass *p, struct synth_plan *plan, const struct trace_event *event,
		       const struct synth_request *request)
{
	struct synth_life *life = &plan->life;
	struct synth_spot posted = { 0 };
	int err = life->broken ? 0 : new_cause(p, plan);

	if (err || !life->cause)
		return err;
	if (request)
		posted = (struct synth_spot){ request->post, request->time };
	if (may_fail_at(life, posted))
		err = fail_peer_at(p, plan, posted);
	if (!err && may_fail_at(life, p->announced))
		err = fail_peer_at(p, plan, p->announced);
	if (!err && may_fail_at(life, life->last))
		err = fail_peer_at(p, plan, life->last);
	return err ?: fail_peer_at(p, plan, (struct synth_spot){ event->id, event->time });
}

/* A message of the other end caused the failure of the receive that it consumed. */
static int learn_bad_message(struct pass *p, struct synth_plan *plan,
			     const struct trace_event *event, uint32_t index)
{
	struct synth_early message = synth_due_message(p, event, index);
	struct synth_life *life = &plan->life;
	int err = 0;

	if (life->cause)
		p->far->breaks[life->cause - 1].message = synth_due_number(p, &message);
	if (p->announced.id.thread)
		err = synth_send_before(p, p->announced.id, &message, DUE_ANNOUNCED);
	if (!err && life->last.id.thread)
		err = synth_send_before(p, life->last.id, &message, DUE_ANNOUNCED);
	life->broken = true;
	return err;
}

int synth_stop_note_failed(struct pass *p, struct synth_plan *plan, const struct trace_event *event,
			   uint32_t index, const struct synth_request *request)
{
	struct synth_life *life = &plan->life;

	if (event->poll->wc[index].status == IBV_WC_WR_FLUSH_ERR)
		return learn_flush(p, plan, event, request);
	if (!request)
		return learn_bad_message(p, plan, event, index);
	if (life->cause)
		p->far->breaks[life->cause - 1].needless = true;
	life->broken = true;
	return stop_peer_at(p, plan, (struct synth_spot){ request->post, request->time });
}
