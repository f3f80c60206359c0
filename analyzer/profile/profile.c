/*
 * A profile: its memory, its classes, and sums over them
 */
#include "analyzer/profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"

unsigned int profile_size_class(uint64_t bytes)
{
	unsigned int class = bytes ? 1 : 0;

	if (bytes > 1)
		class = 65 - (unsigned int)__builtin_clzll(bytes - 1);
	return class < PROFILE_SIZES ? class : PROFILE_SIZES - 1;
}

uint64_t profile_size_end(unsigned int class)
{
	if (class == PROFILE_SIZES - 1)
		return UINT64_MAX;
	return class ? 1ull << (class - 1) : 0;
}

const char *profile_opcode_name(unsigned int opcode)
{
	const char *name;

	if (opcode == PROFILE_RECEIVE)
		return "RECV";
	name = enum_name(enum_find("ibv_wr_opcode"), (int64_t)opcode);
	return opcode < PROFILE_OTHER && name ? name + strlen("IBV_WR_") : "OTHER";
}

void profile_latency(const struct profile *profile, unsigned int opcode, struct histogram *to)
{
	for (unsigned int o = 0; o < PROFILE_OPCODES; o++)
		for (unsigned int s = 0; s < PROFILE_SIZES; s++)
			if (profile->requests[o][s] && (o == opcode || opcode == PROFILE_OPCODES))
				histogram_merge(to, &profile->requests[o][s]->latency);
}

double profile_mean_depth(const struct profile_side *side)
{
	return side->known && !side->doubt && side->depth.ns > 0
		       ? side->depth.area / (double)side->depth.ns
		       : -1;
}

void profile_poll_gaps(const struct profile *profile, struct histogram *to)
{
	for (size_t i = 0; i < profile->nobjects; i++)
		if (profile->cqs[i])
			histogram_merge(to, &profile->cqs[i]->gap);
}

struct profile_starved profile_starved(const struct profile *profile)
{
	struct profile_starved sum = { 0 };

	for (size_t i = 0; i < profile->nobjects; i++) {
		const struct profile_queue *queue = profile->queues[i];

		if (!queue)
			continue;
		sum.messages += queue->starved.messages;
		sum.stalls += queue->starved.stalls;
		if (__builtin_add_overflow(sum.ns, queue->starved.ns, &sum.ns))
			sum.ns = INT64_MAX; /* in a damaged trace */
		if (queue->starved.longest > sum.longest)
			sum.longest = queue->starved.longest;
	}
	return sum;
}

static void free_requests(struct profile *profile)
{
	for (unsigned int o = 0; o < PROFILE_OPCODES; o++)
		for (unsigned int s = 0; s < PROFILE_SIZES; s++) {
			if (profile->requests[o][s])
				histogram_fini(&profile->requests[o][s]->latency);
			free(profile->requests[o][s]);
		}
}

static void free_histogram(struct histogram *histogram)
{
	if (histogram)
		histogram_fini(histogram);
	free(histogram);
}

static void free_objects(struct profile *profile)
{
	for (size_t i = 0; i < profile->nobjects; i++) {
		struct profile_queue *queue = profile->queues[i];

		if (queue) {
			free_histogram(queue->latency);
			free_histogram(queue->stalled);
		}
		free(queue);
		if (profile->cqs[i])
			histogram_fini(&profile->cqs[i]->gap);
		free(profile->cqs[i]);
	}
	free(profile->queues);
	free(profile->cqs);
}

static void fini_posts(struct profile_posts *posts)
{
	histogram_fini(&posts->gap);
	histogram_fini(&posts->list);
	histogram_fini(&posts->distance);
}

static void add_time(int64_t *sum, int64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum)) /* in a damaged trace */
		*sum = INT64_MAX;
}

void profile_add_place(struct profile_place *sum, const struct profile_place *place)
{
	sum->calls += place->calls;
	sum->errors += place->errors;
	add_time(&sum->ns, place->ns);
	sum->posting += place->posting;
	add_time(&sum->posting_ns, place->posting_ns);
	sum->bytes += place->bytes;
	sum->posts += place->posts;
	sum->requests += place->requests;
	sum->judged += place->judged;
	sum->signalled += place->signalled;
	sum->small += place->small;
	sum->small_inline += place->small_inline;
	sum->inlined += place->inlined;
	if (place->longest > sum->longest)
		sum->longest = place->longest;
	histogram_merge(&sum->gap, &place->gap);
}

/* If there is no memory for the map, the places remain separate. */
void profile_join_places(struct profile *profile)
{
	struct map places = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < profile->nplaces; i++) {
		struct profile_place *place = &profile->places[i];
		uint64_t key = map_hash(place->key) ^ ((uint64_t)place->verb + 1), at;

		place->process = 0;
		if (map_get(&places, key, &at)) {
			profile_add_place(&profile->places[at], place);
			histogram_fini(&place->gap);
			continue;
		}
		map_put(&places, key, n);
		profile->places[n++] = *place;
	}
	profile->nplaces = n;
	map_fini(&places);
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	for (int v = 0; v < VERB_COUNT; v++)
		free_histogram(profile->verbs[v].times);
	for (int code = 0; code < 32; code++) {
		free_histogram(profile->stalled[code]);
		free_histogram(profile->stalls[code]);
	}
	free_requests(profile);
	free_objects(profile);
	fini_posts(&profile->send);
	fini_posts(&profile->receive);
	histogram_fini(&profile->poll);
	histogram_fini(&profile->messages.way);
	histogram_fini(&profile->messages.lay_sent);
	histogram_fini(&profile->messages.lay_received);
	for (size_t i = 0; i < profile->nplaces; i++)
		histogram_fini(&profile->places[i].gap);
	free(profile->places);
	free(profile->processes);
	free(profile->threads);
	free(profile);
}
