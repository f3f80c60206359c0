/*
 * The completions that a process took from itself
 *
 * A destroy drops the requests that are outstanding, and the messages in the CQ that were not
 * polled: a process that polls on waits for them in vain.
 */
#include "analyzer/facts/waits_priv.h"
#include "analyzer/model/model.h"
#include "analyzer/model/words.h"
#include "core/base/vec.h"

void waits_note_dropped(struct waits *waits, struct model *model, const struct trace_event *event)
{
	const struct life *qp = model_life(model, event->process, OBJECT_qp, event->call->handle);
	struct wait_destroyed *destroyed;
	uint64_t sends, messages;

	if (!qp || qp->inherited || !qp->qp || !qp->sq || qp->sq->doubt)
		return;
	sends = qp->sq->signalled;
	messages = !qp->unwatched && qp->arrived > qp->taken ? qp->arrived - qp->taken : 0;
	destroyed = sends || messages ? vec_at(waits->destroyed, waits->ndestroyed, event->process)
				      : NULL;
	if (!destroyed)
		return;
	*destroyed = (struct wait_destroyed){
		.qp = qp->id, .sends = sends, .messages = messages, .at = moment_of(event)
	};
	destroyed->cq = messages                          ? queues_receive_cq(qp).id
			: qp->sq->cq && qp->sq->cq->owner ? qp->sq->cq->owner->id
							  : 0;
}

void waits_describe_dropped(struct text *t, const struct waits *waits,
			    const struct activity_note *note)
{
	const struct wait_destroyed *destroyed =
		note->process < waits->ndestroyed ? &waits->destroyed[note->process] : NULL;
	const struct object *qp = destroyed ? trace_object(waits->trace, destroyed->qp) : NULL;
	char id[32];

	if (!qp || !qp->name || !qp->destroyed.thread || destroyed->at.time < note->quiet ||
	    note->time - destroyed->at.time < PATIENCE_NS ||
	    activity_count_empty(waits->activity, note, destroyed->cq) < WAIT_POLLS)
		return;
	text_addf(t, "%s%s was destroyed by %s with ", t->used ? "; " : "", qp->name,
		  event_id_text(destroyed->at.id, id));
	if (destroyed->messages)
		text_addf(t, "%s in its CQ, not polled", WORDS_N(destroyed->messages, "message"));
	else
		text_addf(t, "%s outstanding", WORDS_N(destroyed->sends, "signalled send"));
	text_addf(t, ": a destroy drops %s",
		  destroyed->sends + destroyed->messages == 1 ? "its completion"
							      : "their completions");
}
