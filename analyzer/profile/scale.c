/*
 * Estimates of all from a sample of one in N
 *
 * A sampled trace has one of N posts, and one of N polls and completions, each with all of its
 * requests; but all empty polls, errors and control verbs.
 */
#include "analyzer/profile/scale.h"

#define TIMES(n, member) ((member) *= (n))

/* Scale the successful completions only: all errors were recorded. */
static uint64_t scale_completions(uint64_t n, uint64_t completions, uint64_t errors)
{
	return (completions - errors) * n + errors;
}

static void scale_posts(uint64_t n, struct profile_posts *posts)
{
	TIMES(n, posts->posts);
	TIMES(n, posts->refused);
	TIMES(n, posts->requests);
	TIMES(n, posts->bytes);
	TIMES(n, posts->judged);
	TIMES(n, posts->signalled);
	TIMES(n, posts->small);
	TIMES(n, posts->small_inline);
	TIMES(n, posts->inlined);
	histogram_fini(&posts->gap);
	histogram_fini(&posts->distance);
}

static void scale_side(uint64_t n, struct profile_side *side)
{
	TIMES(n, side->posts);
	TIMES(n, side->requests);
	TIMES(n, side->refused);
	TIMES(n, side->completions);
	TIMES(n, side->bytes);
	TIMES(n, side->judged);
	TIMES(n, side->signalled);
	TIMES(n, side->small);
	TIMES(n, side->small_inline);
}

static void scale_objects(uint64_t n, struct profile *profile)
{
	for (size_t i = 0; i < profile->nobjects; i++) {
		if (profile->queues[i]) {
			scale_side(n, &profile->queues[i]->send);
			scale_side(n, &profile->queues[i]->receive);
			TIMES(n, profile->queues[i]->sent);
			TIMES(n, profile->queues[i]->received);
		}
		if (profile->cqs[i]) {
			TIMES(n, profile->cqs[i]->polls);
			TIMES(n, profile->cqs[i]->completions);
			histogram_fini(&profile->cqs[i]->gap);
		}
	}
}

static void scale_requests(uint64_t n, struct profile_requests *row)
{
	TIMES(n, row->posted);
	TIMES(n, row->completed);
	TIMES(n, row->bytes);
	TIMES(n, row->inlined);
}

static void scale_place(uint64_t n, struct profile_place *place)
{
	if (!place->requests && verb_infos[place->verb].plane != PLANE_DATA)
		return;
	TIMES(n, place->calls);
	TIMES(n, place->errors);
	TIMES(n, place->bytes);
	TIMES(n, place->posts);
	TIMES(n, place->requests);
	TIMES(n, place->judged);
	TIMES(n, place->signalled);
	TIMES(n, place->small);
	TIMES(n, place->small_inline);
	TIMES(n, place->inlined);
	histogram_fini(&place->gap);
}

static void scale_programs(uint64_t n, struct profile *profile)
{
	for (size_t i = 0; i < profile->nprocesses; i++) {
		struct profile_process *process = &profile->processes[i];

		TIMES(n, process->posts);
		TIMES(n, process->requests);
		TIMES(n, process->polls);
		TIMES(n, process->sent);
		TIMES(n, process->received);
		process->completions = scale_completions(n, process->completions, process->errors);
	}
	for (size_t i = 0; i < profile->nthreads; i++) {
		TIMES(n, profile->threads[i].posts);
		TIMES(n, profile->threads[i].requests);
		TIMES(n, profile->threads[i].polls);
		TIMES(n, profile->threads[i].completions);
	}
}

void scale_profile(struct profile *profile)
{
	uint64_t n = profile->one_of;

	if (n < 2)
		return;
	scale_posts(n, &profile->send);
	scale_posts(n, &profile->receive);
	for (unsigned int o = 0; o < PROFILE_OPCODES; o++)
		for (unsigned int s = 0; s < PROFILE_SIZES; s++)
			if (profile->requests[o][s])
				scale_requests(n, profile->requests[o][s]);
	for (size_t i = 0; i < profile->nplaces; i++)
		scale_place(n, &profile->places[i]);
	scale_objects(n, profile);
	scale_programs(n, profile);
	profile->completions = scale_completions(n, profile->completions, profile->errors);
	TIMES(n, profile->polls);
	TIMES(n, profile->unmatched);
	TIMES(n, profile->lengthless);
	TIMES(n, profile->sent);
	TIMES(n, profile->received);
}
