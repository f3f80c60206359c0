/*
 * The completion vectors that a process uses
 */
#include "analyzer/model/vectors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/device.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/queue.h"

static struct vectors *find_vectors(const struct model *model, const struct life *cq)
{
	for (struct vectors *v = model->vectors; v; v = v->next)
		if (v->process == cq->process && v->context == cq->context)
			return v;
	return NULL;
}

static struct vectors *make_vectors(struct model *model, const struct life *cq, int64_t vector)
{
	const struct life *context =
		lives_find(&model->lives, cq->process, OBJECT_context, cq->context);
	struct vectors *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->process = cq->process;
	v->context = cq->context;
	v->available = context && context->device ? context->device->comp_vectors : 0;
	v->vector = vector;
	v->next = model->vectors;
	model->vectors = v;
	return v;
}

int vectors_note_event(struct model *model, struct life *cq, uint32_t thread)
{
	struct queue_cq_stats *stats = cq->cq ? &cq->cq->stats : NULL;
	struct vectors *v;

	if (!stats || cq->inherited || !cq->context)
		return 0;
	if (!stats->events++)
		stats->waiter = thread;
	if (stats->events != VECTORS_EVENTS)
		return 0;
	v = find_vectors(model, cq) ?: make_vectors(model, cq, stats->vector);
	if (!v)
		return -ENOMEM;
	v->cqs++;
	v->threads += stats->waiter != v->thread;
	v->thread = stats->waiter;
	v->several |= stats->vector < 0 || stats->vector != v->vector;
	v->created = cq->created;
	memcpy(v->last, cq->name, sizeof(v->last));
	return 0;
}

const struct vectors *vectors_next(const struct model *model, uint32_t process,
				   const struct vectors *vectors)
{
	const struct vectors *v = vectors ? vectors->next : model->vectors;

	while (v && v->process != process)
		v = v->next;
	return v;
}

void vectors_forget(struct model *model, uint32_t process)
{
	for (struct vectors **at = &model->vectors, *v = *at; v; v = *at) {
		if (process && v->process != process) {
			at = &v->next;
			continue;
		}
		*at = v->next;
		free(v);
	}
}
