/*
 * Finds the errors of a trace, and the events that show them, so that faults.c can inject them
 */
#include "replay/data/faults_priv.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/vec.h"
#include "core/wire/log.h"
#include "replay/state/recorded_fault.h"
#include "replay/state/state.h"

/* The known state of a queue pair, up to a recorded time. */
struct suspect_qp {
	uint64_t flushed; /* the first poll that saw it flushed, without a cause; or 0 */
	bool failed;      /* by a request or the program, so that flushes have a cause */
};

/* The first pass over the trace. */
struct fault_study {
	struct replay *r;
	struct fault_plan *plan;
	struct suspect_qp *suspects; /* by object */
};

/* index << 32 | status << 8 | vendor_err */
static uint64_t pack_forced_status(const struct wc *wc)
{
	return (uint64_t)wc->request_index << 32 | (uint64_t)(wc->status & 0xff) << 8 |
	       (wc->vendor_err & 0xff);
}

static struct suspect_qp *find_suspect(const struct fault_study *s, uint32_t object)
{
	return &s->suspects[object < s->r->nreplicas ? object : 0];
}

static uint64_t pack_sudden(uint32_t qp, int64_t event_type)
{
	return (uint64_t)event_type << 32 | qp;
}

/* Note the first flush that has no recorded cause: the queue pair has failed before it. */
static int learn_flush(struct fault_study *s, const struct trace_event *event, uint32_t id)
{
	struct suspect_qp *qp = find_suspect(s, id);

	if (!id || qp->failed || qp->flushed)
		return 0;
	qp->flushed = event_key(event->id);
	return map_put(&s->plan->sudden, qp->flushed, pack_sudden(id, IBV_EVENT_QP_FATAL));
}

static int note_forced_error(struct fault_study *s, const struct trace_event *event, uint32_t index)
{
	const struct wc *wc = &event->poll->wc[index];
	struct fault_plan *plan = s->plan;
	struct shown_failure *shown = vec_push(plan->shown, plan->nshown);

	if (!shown)
		return -ENOMEM;
	*shown = (struct shown_failure){ event->id, event->poll->verb, index,
					 wc->qp,    wc->status,        wc->request };
	return map_put(&plan->forced, event_key(wc->request), pack_forced_status(wc))
		       ?: map_put(&plan->shown_of, event_key(wc->request), plan->nshown);
}

static int learn_completion(struct fault_study *s, const struct trace_event *event, uint32_t index)
{
	const struct wc *wc = &event->poll->wc[index];

	if (wc->status == IBV_WC_SUCCESS)
		return 0;
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		return learn_flush(s, event, wc->qp);
	find_suspect(s, wc->qp)->failed = true;
	s->plan->erred[wc->qp < s->r->nreplicas ? wc->qp : 0] = true;
	return wc->request.thread ? note_forced_error(s, event, index) : 0;
}

static int learn_poll(struct fault_study *s, const struct trace_event *event)
{
	int err = 0;

	for (uint32_t i = 0; i < event->poll->nwc && !err && !event->inner; i++)
		err = learn_completion(s, event, i);
	return err;
}

/* Learn an asynchronous event: it may report why a queue pair has failed. */
static int learn_async(struct fault_study *s, const struct trace_event *event)
{
	const struct call *call = event->call;
	const struct object *o;
	struct suspect_qp *qp;
	int64_t type, element;
	int err = args_parse(call->out);

	if (err || call->failed || !args_get(call->out, ARG(event.event_type), &type) ||
	    !args_get(call->out, ARG(event.element), &element))
		return err;
	if (type != IBV_EVENT_QP_FATAL && type != IBV_EVENT_QP_REQ_ERR &&
	    type != IBV_EVENT_QP_ACCESS_ERR)
		return 0;
	o = trace_object_at(s->r->trace, event->process, OBJECT_qp, (uint64_t)element, event->time);
	if (!o)
		return 0;
	qp = find_suspect(s, o->id);
	qp->failed = true;
	return qp->flushed ? map_put(&s->plan->sudden, qp->flushed, pack_sudden(o->id, type)) : 0;
}

static int learn_modify(struct fault_study *s, const struct call *call)
{
	struct suspect_qp *qp = find_suspect(s, call->object);
	int64_t state;
	int err = args_parse(call->args);

	if (err || call->failed || !args_get(call->args, ARG(attr.qp_state), &state))
		return err;
	if (state == IBV_QPS_ERR)
		qp->failed = true;
	if (state == IBV_QPS_RESET)
		*qp = (struct suspect_qp){ 0 };
	return 0;
}

static int learn_event(struct fault_study *s, const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_POLL:
		return learn_poll(s, event);
	case TRACE_CALL:
		return event->call->verb == VERB_modify_qp ? learn_modify(s, event->call) : 0;
	case TRACE_RETURN:
		return event->call->verb == VERB_get_async_event ? learn_async(s, event) : 0;
	default:
		return 0;
	}
}

static int study_events(struct fault_study *s)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(s->r->trace, NULL, &cursor);

	if (err < 0)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0) {
		err = learn_event(s, event);
		if (err < 0)
			break;
	}
	cursor_close(cursor);
	return err;
}

/* Read the whole trace only if it has failures, which is checked quickly. */
int faults_learn(struct replay *r, struct fault_plan *plan)
{
	struct fault_study s = { .r = r, .plan = plan };
	int err = recorded_faults_learn(r);

	if (!err)
		r->failing = r->recorded_faults;
	if (err || !trace_has_errors(r->trace))
		return err;
	s.suspects = calloc(r->nreplicas, sizeof(*s.suspects));
	plan->erred = calloc(r->nreplicas, sizeof(*plan->erred));
	err = s.suspects && plan->erred ? study_events(&s) : log_err(-ENOMEM, "prepare the replay");
	free(s.suspects);
	r->failing |= plan->forced.used || plan->sudden.used;
	return err;
}
