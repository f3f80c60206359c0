/*
 * Errors of several queue pairs that have one cause
 */
#include "analyzer/report/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/place.h"
#include "analyzer/facts/fact.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

struct grouping {
	struct trace *trace;
	struct map groups; /* 1 + index by key */
	struct map places; /* keys by stack */
	struct map seen;   /* processes of groups */
	int err;
};

static uint64_t find_place(struct grouping *g, uint32_t stack)
{
	uint64_t key;

	if (!stack || map_get(&g->places, stack, &key))
		return stack ? key : 0;
	key = place_key(g->trace, stack);
	if (map_put(&g->places, stack, key) < 0)
		g->err = -ENOMEM;
	return key;
}

/* The group of @key, a new one if @i is the first of it; NULL without memory. */
static struct group *join_group(struct grouping *g, struct group **groups, size_t *ngroups,
				uint64_t key, size_t i)
{
	struct group *group;
	uint64_t index;

	if (map_get(&g->groups, key, &index))
		return &(*groups)[index - 1];
	group = vec_push(*groups, *ngroups);
	if (!group || map_put(&g->groups, key, *ngroups) < 0) {
		g->err = -ENOMEM;
		return NULL;
	}
	group->first = i;
	return group;
}

static void count_member(struct grouping *g, struct group *group, uint64_t key, uint32_t process)
{
	uint64_t seen;

	group->n++;
	key = fact_key(key, process, 0);
	if (map_get(&g->seen, key, &seen))
		return;
	group->nprocesses++;
	if (map_put(&g->seen, key, 1) < 0)
		g->err = -ENOMEM;
}

static uint64_t error_key(struct grouping *g, const struct first_error *error)
{
	const struct first_request *request = &error->request;
	uint64_t place = find_place(g, request->stack);

	return fact_key((uint64_t)error->status << 32 | (uint32_t)request->opcode, place,
			find_place(g, error->poll_stack) + request->is_recv);
}

uint64_t group_key_of_error(struct trace *trace, const struct first_error *error)
{
	struct grouping g = { .trace = trace };
	uint64_t key = error_key(&g, error);

	map_fini(&g.places);
	return key;
}

static void group_errors(struct grouping *g, const struct first_list *errors, struct groups *groups)
{
	for (size_t i = 0; i < errors->n && !g->err; i++) {
		const struct first_error *error = &errors->all[i];
		uint64_t key = error_key(g, error);
		struct group *group = join_group(g, &groups->errors, &groups->nerrors, key, i);

		if (!group)
			return;
		count_member(g, group, key, error->process);
		group->flushes += error->flushes;
	}
}

int groups_make(struct trace *trace, const struct first_list *errors, struct groups *ret_groups)
{
	struct grouping g = { .trace = trace };

	memset(ret_groups, 0, sizeof(*ret_groups));
	group_errors(&g, errors, ret_groups);
	map_fini(&g.groups);
	map_fini(&g.seen);
	map_fini(&g.places);
	if (!g.err)
		return 0;
	groups_fini(ret_groups);
	return log_err(g.err, "report");
}

void groups_fini(struct groups *groups)
{
	free(groups->errors);
	memset(groups, 0, sizeof(*groups));
}
