/*
 * The places in the code that call verbs
 *
 *	stack, verb --> cached, by_stack --> key of the place, verb --> by_key --> place
 *
 * A program posts from few places: nearly all are found in the cache.
 */
#include "analyzer/profile/place_table.h"

#include "analyzer/facts/place.h"
#include "core/base/vec.h"

static uint64_t join_key(uint64_t key, enum verb verb, uint32_t process)
{
	return map_hash(key + map_hash(process)) ^ ((uint64_t)verb + 1);
}

static size_t add_place(struct profiler *p, enum verb verb, uint32_t stack, uint32_t process)
{
	struct profile *profile = p->profile;
	struct profile_place *place = vec_push(profile->places, profile->nplaces);
	uint64_t key = place_key(p->trace, stack);

	if (!place || map_put(&p->by_key, join_key(key, verb, process), profile->nplaces)) {
		profiler_fail(p);
		return SIZE_MAX;
	}
	place->key = key;
	place->stack = stack;
	place->process = process;
	place->verb = verb;
	return profile->nplaces - 1;
}

static size_t find_place(struct profiler *p, enum verb verb, uint32_t stack, uint32_t process)
{
	uint64_t its = process ? map_hash(process) : 0, found;
	uint64_t called = ((uint64_t)stack << 32 | verb) ^ its;
	size_t place;

	if (map_get(&p->by_stack, called, &found))
		return found - 1;
	place = map_get(&p->by_key, join_key(place_key(p->trace, stack), verb, process), &found)
			? (size_t)found - 1
			: add_place(p, verb, stack, process);
	if (place != SIZE_MAX && map_put(&p->by_stack, called, place + 1)) {
		profiler_fail(p);
		return SIZE_MAX;
	}
	return place;
}

size_t place_index(struct profiler *p, enum verb verb, uint32_t stack, uint32_t process)
{
	typeof(p->cached[0]) *cached = &p->cached[(stack ^ verb * 7) % PLACE_CACHE];

	if (!p->select->by_process)
		process = 0;
	if (cached->place && cached->stack == stack && cached->verb == verb &&
	    cached->process == process)
		return cached->place - 1;
	cached->stack = stack;
	cached->process = process;
	cached->verb = verb;
	cached->place = find_place(p, verb, stack, process) + 1;
	return cached->place - 1;
}

void place_table_fini(struct profiler *p)
{
	map_fini(&p->by_stack);
	map_fini(&p->by_key);
}
