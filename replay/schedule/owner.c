/*
 * Finds queues that only one player uses
 */
#include "replay/schedule/owner.h"

#include <errno.h>
#include <stdlib.h>

struct owners {
	uint32_t nobjects;
	uint32_t of[];
};

static uint32_t join_owners(uint32_t a, uint32_t b)
{
	return a == b || !b ? a : !a ? b : OWNER_SHARED;
}

static void add_owner(struct owners *owners, uint32_t object, uint32_t player)
{
	if (object && object < owners->nobjects)
		owners->of[object] = join_owners(owners->of[object], player);
}

void owners_note(struct owners *owners, const struct trace_event *event, uint32_t player)
{
	if (event->kind == TRACE_POST)
		add_owner(owners, event->post->object, player);
	else if (event->kind == TRACE_POLL)
		add_owner(owners, event->poll->object, player);
}

static uint32_t find_owner(const struct owners *owners, uint32_t object)
{
	return object < owners->nobjects ? owners->of[object] : OWNER_NONE;
}

uint32_t owner_of(const struct owners *owners, const struct relations *relations, uint32_t object)
{
	const struct relation *of = relation_of(relations, object);

	return join_owners(
		find_owner(owners, object),
		join_owners(find_owner(owners, of->send_cq), find_owner(owners, of->recv_cq)));
}

int owners_new(uint32_t nobjects, struct owners **ret_owners)
{
	struct owners *owners = calloc(1, sizeof(*owners) + nobjects * sizeof(*owners->of));

	if (!owners)
		return -ENOMEM;
	owners->nobjects = nobjects;
	*ret_owners = owners;
	return 0;
}

void owners_free(struct owners *owners)
{
	free(owners);
}
