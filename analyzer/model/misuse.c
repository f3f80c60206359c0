/*
 * What `record --strict` has seen
 *
 * Misuse before a destroy is stored with the object: whether it was a mistake depends on the result
 * of the destroy. Other misuse is reported at once.
 */
#include "analyzer/model/misuse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/model_state.h"

static void note_open_batch(struct model *model, const struct trace_event *event,
			    struct misuse *note)
{
	const struct life *cq = model_find(model, event->process, OBJECT_cq, event->misuse->of);

	note->inside = moment_of(event);
	memcpy(note->cq, cq ? cq->name : "its CQ", cq ? sizeof(cq->name) : sizeof("its CQ"));
}

static int note_misuse(struct model *model, const struct trace_event *event, struct life *life)
{
	if (!life->misuse)
		life->misuse = calloc(1, sizeof(*life->misuse));
	if (!life->misuse)
		return -ENOMEM;
	if (event->misuse->what == MISUSE_DESTROY_INSIDE) {
		note_open_batch(model, event, life->misuse);
		return 0;
	}
	life->misuse->crowded.at = moment_of(event);
	life->misuse->crowded.other = event->misuse->other;
	life->misuse->crowded.other_verb = event->misuse->other_verb;
	return 0;
}

int misuse_note(struct model *model, const struct trace_event *event)
{
	const struct writer_note_misuse *seen = event->misuse;
	enum object_kind kind =
		seen->verb == VERB_COUNT ? OBJECT_cq : verb_infos[seen->verb].object;
	struct life *life = model_find(model, event->process, kind, seen->handle);
	struct model_misuse told = { .event = event, .object = life, .at = moment_of(event) };

	if (seen->what >= MISUSES || !life || life->inherited || life->state != LIFE_LIVE)
		return 0;
	if (seen->what == MISUSE_DESTROY_INSIDE || seen->what == MISUSE_DESTROY_OVERLAP)
		return note_misuse(model, event, life);
	model->watcher.misuse(model->watcher.arg, &told);
	return 0;
}

void misuse_forget(struct life *life)
{
	if (life->misuse)
		*life->misuse = (struct misuse){ 0 };
}
