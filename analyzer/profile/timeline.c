/*
 * A run over time, in one pass of the events through the model
 *
 * 	first post                                   last completion
 * 	| bin 0 | bin 1 | bin 2 |          ...          | bin 511 |
 *
 * The length of the run is known only at its end: bins begin with about a microsecond, and double
 * their width whenever they do not reach far enough.
 */
#include "analyzer/profile/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/model.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/watcher.h"
#include "core/base/vec.h"
#include "core/store/read/reader.h"
#include "core/wire/log.h"

enum {
	WIDTH = 1024,     /* initial width of a bin */
	FIRST_OCTAVE = 7, /* latencies below 128 ns are in the first class */
};

struct timing {
	struct timeline *timeline;
	struct lanes *lanes; /* may be NULL */
	struct trace *trace;
	struct model *model;
	bool counts; /* does a profile count the event? */
	bool no_memory;
};

/* Bins */

static const struct timeline_depth unchanged = { .least = UINT32_MAX, .most = 0 };

static struct timeline_bin add_bins(const struct timeline_bin *a, const struct timeline_bin *b)
{
	return (struct timeline_bin){
		.requests = a->requests + b->requests,
		.bytes = a->bytes + b->bytes,
		.receives = a->receives + b->receives,
		.completions = a->completions + b->completions,
		.errors = a->errors + b->errors,
		.doorbells = a->doorbells + b->doorbells,
	};
}

static struct timeline_depth add_depths(const struct timeline_depth *a,
					const struct timeline_depth *b)
{
	return (struct timeline_depth){
		.least = a->least < b->least ? a->least : b->least,
		.most = a->most > b->most ? a->most : b->most,
	};
}

static void halve_depths(struct timeline_queue *queue)
{
	for (size_t i = 0; i < TIMELINE_BINS / 2; i++)
		queue->depth[i] = add_depths(&queue->depth[2 * i], &queue->depth[2 * i + 1]);
	for (size_t i = TIMELINE_BINS / 2; i < TIMELINE_BINS; i++)
		queue->depth[i] = unchanged;
}

static void halve_heat(struct timeline_heat *heat)
{
	for (size_t i = 0; i < TIMELINE_BINS / 2; i++)
		for (size_t c = 0; c < TIMELINE_CLASSES; c++)
			heat->n[i][c] = heat->n[2 * i][c] + heat->n[2 * i + 1][c];
	memset(heat->n[TIMELINE_BINS / 2], 0, sizeof(heat->n) / 2);
}

/* Join each two bins. */
static void halve_bins(struct timeline *timeline)
{
	for (size_t i = 0; i < TIMELINE_BINS / 2; i++)
		timeline->bins[i] = add_bins(&timeline->bins[2 * i], &timeline->bins[2 * i + 1]);
	memset(&timeline->bins[TIMELINE_BINS / 2], 0, sizeof(timeline->bins) / 2);
	for (size_t i = 0; i < timeline->nqueues; i++)
		halve_depths(&timeline->queues[i]);
	for (size_t i = 0; i < PROFILE_OPCODES; i++)
		if (timeline->heat[i])
			halve_heat(timeline->heat[i]);
	timeline->width *= 2;
	timeline->nbins = (timeline->nbins + 1) / 2;
}

size_t timeline_bin_of(struct timeline *timeline, int64_t time)
{
	uint64_t bin;

	if (timeline->begin < 0)
		timeline->begin = time < 0 ? 0 : time;
	if (time < timeline->begin) /* threads' clocks of a damaged trace */
		time = timeline->begin;
	while ((bin = (uint64_t)(time - timeline->begin) / (uint64_t)timeline->width) >=
	       TIMELINE_BINS)
		halve_bins(timeline);
	if (bin >= timeline->nbins)
		timeline->nbins = bin + 1;
	return bin;
}

unsigned int timeline_class_of(int64_t ns)
{
	uint64_t value = ns > 0 ? (uint64_t)ns : 0;
	unsigned int octave, class;

	if (value < 1u << FIRST_OCTAVE)
		return 0;
	octave = 63 - (unsigned int)__builtin_clzll(value);
	class = (octave - FIRST_OCTAVE) * 4 + (value >> (octave - 2) & 3);
	return class < TIMELINE_CLASSES ? class : TIMELINE_CLASSES - 1;
}

int64_t timeline_class_from(unsigned int class)
{
	unsigned int octave = FIRST_OCTAVE + class / 4;

	return class ? (int64_t)(4 + class % 4) << (octave - 2) : 0;
}

/* Queues */

static struct timeline_queue *find_queue(struct timing *t, const struct queue *queue)
{
	struct timeline *timeline = t->timeline;
	uint32_t object = queue && queue->owner ? queue->owner->id : 0;
	struct timeline_queue *added;

	if (!object)
		return NULL;
	for (size_t i = 0; i < timeline->nqueues; i++)
		if (timeline->queues[i].object == object && timeline->queues[i].send == queue->send)
			return &timeline->queues[i];
	timeline->more |= timeline->nqueues == TIMELINE_QUEUES;
	if (timeline->nqueues == TIMELINE_QUEUES)
		return NULL;
	added = vec_push(timeline->queues, timeline->nqueues);
	if (!added) {
		t->no_memory = true;
		return NULL;
	}
	*added = (struct timeline_queue){ .object = object, .send = queue->send };
	for (size_t i = 0; i < TIMELINE_BINS; i++)
		added->depth[i] = unchanged;
	return added;
}

static void note_depth(struct timeline_queue *to, const struct queue *queue, size_t bin,
		       uint32_t depth)
{
	struct timeline_depth now = { .least = depth, .most = depth };

	to->depth[bin] = add_depths(&to->depth[bin], &now);
	to->unsure |= queue->doubt;
	to->room = queue->limits.given ? queue->limits.given : queue->limits.asked;
}

/* Calls of the model */

/* The outstanding requests include the accepted ones. */
static void on_post(void *arg, const struct model_post *told)
{
	struct timing *t = arg;
	const struct post *post = told->event->post;
	size_t bin;
	struct timeline_bin *to;
	struct timeline_queue *queue;

	if (!t->counts || !told->taken)
		return;
	t->no_memory |= t->lanes && lanes_post(t->lanes, told);
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

/* The request that it retires is still outstanding. */
static void on_complete(void *arg, const struct model_complete *told)
{
	struct timing *t = arg;
	const struct wc *wc = &told->event->poll->wc[told->index];
	struct timeline_queue *queue;
	size_t bin;

	if (!t->counts)
		return;
	t->no_memory |= t->lanes && lanes_complete(t->lanes, t->model, told);
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

static void on_modify(void *arg, const struct model_modify *modify)
{
	struct timing *t = arg;

	if (t->lanes)
		lanes_modify(t->lanes, modify);
}

/* The pass */

static int process_event(struct timing *t, const struct trace_event *event)
{
	t->counts = !event->inner && !event->carried;
	if (event->kind != TRACE_EXIT)
		return model_event(t->model, event);
	return model_end(t->model, event->process, event->time, MODEL_UNKNOWN);
}

static int read_events(struct timing *t)
{
	const struct trace_event *event;
	struct reader *reader;
	int err = reader_open(t->trace, &reader);

	if (err < 0)
		return err;
	while (!err && (err = reader_next(reader, &event)) == 1) {
		err = process_event(t, event);
		if (!err && t->no_memory)
			err = log_err(-ENOMEM, "time line");
	}
	reader_close(reader);
	return err < 0 ? err : 0;
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < PROFILE_OPCODES; i++)
		free(timeline->heat[i]);
	free(timeline->queues);
	free(timeline);
}

int timeline_make(struct trace *trace, struct lanes *lanes, struct timeline **ret_timeline)
{
	struct timing t = { .trace = trace,
			    .lanes = lanes,
			    .timeline = calloc(1, sizeof(*t.timeline)) };
	struct model_watcher watcher = {
		.post = on_post, .complete = on_complete, .modify = on_modify, .arg = &t
	};
	int err;

	if (!t.timeline)
		return log_err(-ENOMEM, "time line");
	t.timeline->begin = -1;
	t.timeline->width = WIDTH;
	t.timeline->one_of = trace_one_of(trace);
	err = model_new(trace, &watcher, &t.model);
	if (!err)
		err = read_events(&t);
	model_free(t.model);
	if (lanes)
		lanes_end(lanes);
	if (err) {
		timeline_free(t.timeline);
		return err;
	}
	*ret_timeline = t.timeline;
	return 0;
}
