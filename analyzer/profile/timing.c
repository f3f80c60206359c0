/*
 * Fills the time line from the reports of the model
 */
#include "analyzer/profile/timing.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/queue.h"
#include "core/wire/log.h"

struct timing {
	struct timeline *timeline;
	struct lanes *lanes; /* may be NULL */
	struct model *model;
	bool counts; /* would a profile of the whole trace count the event? */
	bool no_memory;
};

static struct timeline_queue *find_queue(struct timing *t, const struct queue *queue)
{
	struct timeline_queue *found = NULL;

	if (queue && queue->owner && queue->owner->id &&
	    timeline_queue(t->timeline, queue->owner->id, queue->send, &found) < 0)
		t->no_memory = true;
	return found;
}

static void note_depth(struct timeline_queue *to, const struct queue *queue, size_t bin,
		       uint32_t depth)
{
	timeline_note_depth(to, bin, depth);
	to->unsure |= queue->doubt;
	to->room = queue->limits.given ? queue->limits.given : queue->limits.asked;
}

/* The outstanding requests include the accepted ones. */
void timing_note_post(struct timing *t, const struct model_post *told)
{
	const struct post *post = told->event->post;
	size_t bin;
	struct timeline_bin *to;
	struct timeline_queue *queue;

	if (!t->counts || !told->taken)
		return;
	t->no_memory |= t->lanes && lanes_note_post(t->lanes, told);
	bin = timeline_bin_of(t->timeline, told->event->time);
	to = &t->timeline->bins[bin];
	to->doorbells += post_is_send(post);
	*(post_is_send(post) ? &to->requests : &to->receives) += told->taken;
	for (uint32_t i = 0; i < told->taken && post_is_send(post); i++)
		to->bytes += wr_bytes(&post->wr[i]);
	queue = find_queue(t, told->queue);
	if (!queue)
		return;
	queue->requests += told->taken;
	note_depth(queue, told->queue, bin, told->queue->outstanding);
}

static unsigned int opcode_index(int opcode)
{
	return opcode < PROFILE_OTHER ? (unsigned int)opcode : PROFILE_OTHER;
}

static void note_latency(struct timing *t, const struct model_complete *told, size_t bin)
{
	const struct wc *wc = &told->event->poll->wc[told->index];
	struct timeline_heat **heat;

	if (!told->request || told->request->opcode < 0 || !wc->request.thread)
		return;
	heat = &t->timeline->heat[opcode_index(told->request->opcode)];
	if (!*heat && !(*heat = calloc(1, sizeof(**heat)))) {
		t->no_memory = true;
		return;
	}
	(*heat)->n[bin][timeline_class_of(told->event->time - wc->posted_at)]++;
}

/* The request that the completion retires is still outstanding. */
void timing_note_completion(struct timing *t, const struct model_complete *told)
{
	const struct wc *wc = &told->event->poll->wc[told->index];
	struct timeline_queue *queue;
	size_t bin;

	if (!t->counts)
		return;
	t->no_memory |= t->lanes && lanes_note_completion(t->lanes, t->model, told);
	bin = timeline_bin_of(t->timeline, told->event->time);
	t->timeline->bins[bin].completions++;
	t->timeline->bins[bin].errors += wc->status != ABI_WC_SUCCESS;
	if (wc->status == ABI_WC_SUCCESS && t->timeline->one_of <= 1)
		note_latency(t, told, bin);
	queue = find_queue(t, told->queue);
	if (queue)
		note_depth(queue, told->queue, bin,
			   told->queue->outstanding - (told->queue->outstanding > 0));
}

void timing_note_modify(struct timing *t, const struct model_modify *modify)
{
	if (t->lanes)
		lanes_note_modify(t->lanes, modify);
}

int timing_note_event(struct timing *t, const struct trace_event *event)
{
	t->counts = !event->inner && !event->carried;
	return t->no_memory ? log_err(-ENOMEM, "time line") : 0;
}

void timing_free(struct timing *t)
{
	if (!t)
		return;
	timeline_free(t->timeline);
	free(t);
}

int timing_new(struct trace *trace, struct model *model, struct lanes *lanes,
	       struct timing **ret_timing)
{
	struct timing *t = calloc(1, sizeof(*t));

	if (!t || !(t->timeline = timeline_new(trace_sampling_factor(trace)))) {
		free(t);
		return log_err(-ENOMEM, "time line");
	}
	t->model = model;
	t->lanes = lanes;
	*ret_timing = t;
	return 0;
}

struct timeline *timing_finish(struct timing *t)
{
	struct timeline *timeline = t->timeline;

	if (t->lanes)
		lanes_end(t->lanes);
	t->timeline = NULL;
	return timeline;
}
