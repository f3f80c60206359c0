/*
 * A run over time
 *
 * 	first post                                   last completion
 * 	| bin 0 | bin 1 | bin 2 |          ...          | bin 511 |
 *
 * The length of the run is known only at its end: bins begin with about a microsecond, and double
 * their width whenever they do not reach far enough.
 *
 * Not here: what is counted (timing.c).
 */
#include "analyzer/profile/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"

enum {
	WIDTH = 1024,     /* initial width of a bin */
	FIRST_OCTAVE = 7, /* latencies below 128 ns are in the first class */
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

/* Merge bins in pairs. */
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

struct timeline *timeline_new(uint32_t one_of)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return NULL;
	timeline->begin = -1;
	timeline->width = WIDTH;
	timeline->one_of = one_of;
	return timeline;
}

int timeline_queue(struct timeline *timeline, uint32_t object, bool send,
		   struct timeline_queue **ret_queue)
{
	struct timeline_queue *added;

	for (size_t i = 0; i < timeline->nqueues; i++)
		if (timeline->queues[i].object == object && timeline->queues[i].send == send) {
			*ret_queue = &timeline->queues[i];
			return 1;
		}
	timeline->more |= timeline->nqueues == TIMELINE_QUEUES;
	if (timeline->nqueues == TIMELINE_QUEUES)
		return 0;
	added = vec_push(timeline->queues, timeline->nqueues);
	if (!added)
		return -ENOMEM;
	*added = (struct timeline_queue){ .object = object, .send = send };
	for (size_t i = 0; i < TIMELINE_BINS; i++)
		added->depth[i] = unchanged;
	*ret_queue = added;
	return 1;
}

void timeline_note_depth(struct timeline_queue *queue, size_t bin, uint32_t depth)
{
	struct timeline_depth now = { .least = depth, .most = depth };

	queue->depth[bin] = add_depths(&queue->depth[bin], &now);
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
