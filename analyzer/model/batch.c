/*
 * Batches of completions of an extended CQ
 *
 * 	start_poll ... destroy_qp ... next_poll		the batch was open meanwhile
 * 	start_poll finds nothing ... next_poll		there was no batch
 *
 * An ibv_start_poll() that finds nothing is counted, but makes no event: the next event of the
 * thread for the CQ has the number of such calls.
 */
#include "analyzer/model/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/misuse.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"

static void begin_batch(struct batch *batch, const struct moment *start)
{
	batch->started = true;
	batch->start = *start;
	batch->gone = (struct moment){ .verb = VERB_COUNT };
}

/* ibv_next_poll() has found a completion. */
static void note_completion_found(struct model *model, const struct trace_event *event,
				  const struct life *cq)
{
	struct batch *batch = cq->batch;
	struct model_batch told = {
		.cq = cq, .batch = batch, .at = moment_of(event), .empty = event->poll->empty
	};
	bool lost_qp = batch->gone.id.thread && batch->gone.id.thread == event->id.thread;

	if (!batch->started || event->poll->empty || lost_qp)
		model->watcher.batch(model->watcher.arg, &told);
	batch->gone = (struct moment){ .verb = VERB_COUNT };
	batch->started = true; /* one finding per CQ is enough */
}

int batch_note_poll(struct model *model, const struct trace_event *event, struct life *cq)
{
	const struct poll *poll = event->poll;
	struct moment moment;

	if (!cq || cq->inherited || !poll->nwc || model->doubt)
		return 0;
	if (!cq->batch)
		cq->batch = calloc(1, sizeof(*cq->batch));
	if (!cq->batch)
		return -ENOMEM;
	moment = moment_of(event);
	if (poll->verb == VERB_start_poll)
		begin_batch(cq->batch, &moment);
	else
		note_completion_found(model, event, cq);
	return 0;
}

static void note_loss(struct model *model, const struct life *qp, uint64_t handle,
		      const struct moment *destroy)
{
	const struct life *cq = model_find(model, qp->process, OBJECT_cq, handle);
	struct batch *batch = cq ? cq->batch : NULL;

	if (!batch || batch->start.id.thread != destroy->id.thread)
		return;
	batch->gone = *destroy;
	batch->created = qp->created;
	memcpy(batch->name, qp->name, sizeof(batch->name));
}

void batch_note_lost_qp(struct model *model, const struct life *qp, const struct moment *destroy)
{
	bool reported = qp->misuse && qp->misuse->inside.id.thread; /* by the recorder */

	if (!qp->qp || qp->inherited || reported)
		return;
	note_loss(model, qp, qp->qp->send_cq, destroy);
	note_loss(model, qp, qp->qp->recv_cq, destroy);
}
