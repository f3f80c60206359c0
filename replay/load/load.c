/*
 * Traffic in memory
 */
#include "replay/load/load.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/vec.h"
#include "core/wire/log.h"

int load_find_kind(struct load *load, int opcode, uint32_t bytes, uint32_t *ret_kind)
{
	uint64_t key = (uint64_t)opcode << 32 | bytes, found;
	struct load_kind *kind;

	if (map_get(&load->kind_of, key, &found)) {
		*ret_kind = (uint32_t)found;
		return 0;
	}
	if (load->nkinds >= LOAD_KIND_MOST)
		return log_err(-E2BIG, "learn the traffic: more than %u sizes", LOAD_KIND_MOST);
	kind = vec_push(load->kinds, load->nkinds);
	if (!kind || map_put(&load->kind_of, key, load->nkinds - 1))
		return log_err(-ENOMEM, "learn the traffic");
	*kind = (struct load_kind){ opcode, bytes };
	*ret_kind = (uint32_t)load->nkinds - 1;
	return 0;
}

int load_add_request(struct load_track *track, uint64_t gap, uint32_t kind)
{
	struct load_request *request = vec_push(track->requests, track->n);

	if (!request)
		return -ENOMEM;
	request->gap = gap < LOAD_GAP_MOST ? gap : LOAD_GAP_MOST;
	request->kind = kind & (LOAD_KIND_MOST - 1);
	track->count = track->n;
	return 0;
}

struct load_class *load_add_class(struct load *load)
{
	struct load_class *class = vec_push(load->classes, load->nclasses);

	if (class)
		class->depth = class->signal = 1;
	return class;
}

void load_fini_class(struct load_class *class)
{
	for (size_t i = 0; i < class->ntracks; i++)
		free(class->tracks[i].requests);
	free(class->tracks);
	free(class->edges);
	*class = (struct load_class){ 0 };
}

void load_fini(struct load *load)
{
	for (size_t i = 0; i < load->nclasses; i++)
		load_fini_class(&load->classes[i]);
	free(load->classes);
	free(load->kinds);
	map_fini(&load->kind_of);
	*load = (struct load){ 0 };
}

/* The sum of the first @n gaps; the very first counts only where the track begins again. */
static double sum_gaps(const struct load_track *track, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)track->requests[i].gap;
	return sum;
}

double load_track_duration(const struct load_track *track)
{
	uint64_t laps = track->n ? track->count / track->n : 0;
	size_t rest = track->n ? (size_t)(track->count % track->n) : 0;
	double sum = laps ? (double)laps * sum_gaps(track, track->n) : 0;

	if (!track->count)
		return 0;
	return sum + sum_gaps(track, rest) - (double)track->requests[0].gap;
}

uint64_t load_track_count(const struct load *load, const struct load_track *track,
			  bool (*is)(int opcode))
{
	uint64_t laps = track->n ? track->count / track->n : 0, sum = 0;
	size_t rest = track->n ? (size_t)(track->count % track->n) : 0;

	for (size_t i = 0; i < track->n; i++)
		if (is(load->kinds[track->requests[i].kind].opcode))
			sum += laps + (i < rest);
	return sum;
}

static double sum_bytes(const struct load *load, const struct load_track *track)
{
	double sum = 0;

	for (size_t i = 0; i < track->n; i++)
		sum += load->kinds[track->requests[i].kind].bytes;
	return track->n ? sum * (double)track->count / (double)track->n : 0;
}

static void add_track(const struct load *load, const struct load_track *track, uint64_t senders,
		      struct load_totals *totals)
{
	int64_t end = track->start + (int64_t)load_track_duration(track);

	totals->requests += senders * track->count;
	totals->bytes += (double)senders * sum_bytes(load, track);
	totals->memory += track->n * sizeof(*track->requests);
	if (track->count && end > totals->end)
		totals->end = end;
}

struct load_totals load_totals(const struct load *load)
{
	struct load_totals totals = { 0 };

	for (size_t i = 0; i < load->nclasses; i++) {
		const struct load_class *class = &load->classes[i];

		totals.senders += class->nedges;
		for (size_t k = 0; k < class->ntracks; k++)
			add_track(load, &class->tracks[k],
				  class->nedges / class->ntracks +
					  (k < class->nedges % class->ntracks),
				  &totals);
	}
	return totals;
}
