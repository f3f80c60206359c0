/*
 * Groups errors that are the same in several queue pairs, places or processes
 */
#include "analyzer/report/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/fact.h"
#include "analyzer/facts/place.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

static struct group *find_group(struct groups *groups, uint64_t key, size_t i)
{
	struct group *group;
	uint64_t index;

	if (map_get(&groups->by_key, key, &index))
		return &groups->all[index - 1];
	group = vec_push(groups->all, groups->n);
	if (!group || map_put(&groups->by_key, key, groups->n) < 0) {
		groups->n -= group != NULL;
		groups->err = -ENOMEM;
		return NULL;
	}
	group->first = i;
	return group;
}

struct group *groups_add(struct groups *groups, uint64_t key, size_t i, uint32_t process,
			 uint64_t count)
{
	struct group *group = find_group(groups, key, i);
	uint64_t member = fact_key(key, process, 0), seen;

	if (!group)
		return NULL;
	group->count += count;
	if (map_get(&groups->seen, member, &seen))
		return group;
	group->nprocesses++;
	if (map_put(&groups->seen, member, 1) < 0)
		groups->err = -ENOMEM;
	return group;
}

/* @places: a cache of keys by stack, since many errors share a stack; NULL: no cache. */
static uint64_t find_place(struct trace *trace, struct map *places, uint32_t stack)
{
	uint64_t key;

	if (!stack || (places && map_get(places, stack, &key)))
		return stack ? key : 0;
	key = place_key(trace, stack);
	if (places)
		map_put(places, stack, key); /* if out of memory, it is computed again */
	return key;
}

static uint64_t error_key(struct trace *trace, struct map *places, const struct first_error *error)
{
	const struct first_request *request = &error->request;

	return fact_key((uint64_t)error->status << 32 | (uint32_t)request->opcode,
			find_place(trace, places, request->stack),
			find_place(trace, places, error->poll_stack) + request->is_recv);
}

uint64_t group_key_of_error(struct trace *trace, const struct first_error *error)
{
	return error_key(trace, NULL, error);
}

int groups_add_errors(struct trace *trace, const struct first_list *errors,
		      struct groups *ret_groups)
{
	struct map places = { 0 };

	memset(ret_groups, 0, sizeof(*ret_groups));
	for (size_t i = 0; i < errors->n && !ret_groups->err; i++) {
		const struct first_error *error = &errors->all[i];
		struct group *group = groups_add(ret_groups, error_key(trace, &places, error), i,
						 error->process, 1);

		if (group)
			group->flushes += error->flushes;
	}
	map_fini(&places);
	if (!ret_groups->err)
		return 0;
	groups_fini(ret_groups);
	return log_err(-ENOMEM, "report");
}

void groups_fini(struct groups *groups)
{
	free(groups->all);
	map_fini(&groups->by_key);
	map_fini(&groups->seen);
	memset(groups, 0, sizeof(*groups));
}
