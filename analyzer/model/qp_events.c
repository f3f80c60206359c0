/*
 * What the events of the stream do to queues
 */
#include "analyzer/model/qp_events.h"

#include <stdint.h>

#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"

void qp_call(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	enum object_kind kind = call->verb == VERB_modify_wq ? OBJECT_wq : OBJECT_qp;
	struct life *life;

	if ((call->verb != VERB_modify_qp && call->verb != VERB_modify_wq &&
	     call->verb != VERB_query_qp) ||
	    call->ours)
		return;
	life = model_find(model, event->process, kind, call->handle);
	if (!life || !life->qp)
		return;
	if (call->verb == VERB_query_qp && event->kind == TRACE_RETURN)
		qp_queried(life, event);
	else if (call->verb != VERB_query_qp && event->kind == TRACE_CALL)
		qp_modify_begins(life);
	else if (call->verb != VERB_query_qp)
		qp_modified(life, event);
}

void qp_completion(struct model *model, const struct trace_event *event, const struct wc *wc)
{
	const struct object *object =
		wc->qp && model->trace ? trace_object(model->trace, wc->qp) : NULL;
	struct moment moment = { .id = event->id,
				 .verb = event->poll->verb,
				 .process = event->process,
				 .time = event->time };
	struct life *life;

	if (!object || object->kind != OBJECT_qp)
		return;
	life = model_find(model, event->process, OBJECT_qp, object->handle);
	if (life && life->number == object->number)
		qp_failed(life, &moment, wc->status, wc->request.thread ? wc->posted_at : 0);
}

void qp_async(struct life *life, const struct trace_event *event, int64_t type)
{
	struct moment moment = { .id = event->id,
				 .verb = event->call->verb,
				 .process = event->process,
				 .stack = event->call->stack,
				 .time = event->call->begin };

	if (type == ABI_EVENT_QP_FATAL || type == ABI_EVENT_QP_REQ_ERR ||
	    type == ABI_EVENT_QP_ACCESS_ERR)
		qp_failed(life, &moment, 0, INT64_MAX);
}
