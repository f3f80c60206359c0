/*
 * Groups of players that have objects in common
 *
 * Union-find over the players. Of each object and each key, the player that used it first is
 * stored.
 */
#include "replay/schedule/groups.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/map.h"

struct groups {
	uint32_t nobjects, players, count;
	uint32_t *first; /* by object: the player that used it first; 0: none */
	struct map lkeys, rkeys;
	uint32_t parent[]; /* by player; of a group's representative: itself */
};

int groups_new(uint32_t nobjects, uint32_t players, struct groups **ret_groups)
{
	struct groups *g = calloc(1, sizeof(*g) + (players + 1ul) * sizeof(*g->parent));

	if (g)
		g->first = calloc(nobjects, sizeof(*g->first));
	if (!g || !g->first) {
		groups_free(g);
		return -ENOMEM;
	}
	g->nobjects = nobjects;
	g->players = g->count = players;
	for (uint32_t i = 0; i <= players; i++)
		g->parent[i] = i;
	*ret_groups = g;
	return 0;
}

void groups_free(struct groups *groups)
{
	if (!groups)
		return;
	map_fini(&groups->lkeys);
	map_fini(&groups->rkeys);
	free(groups->first);
	free(groups);
}

uint32_t groups_of(const struct groups *groups, uint32_t player)
{
	while (groups->parent[player] != player)
		player = groups->parent[player];
	return player;
}

uint32_t groups_count(const struct groups *groups)
{
	return groups->count;
}

static void join_players(struct groups *groups, uint32_t a, uint32_t b)
{
	a = groups_of(groups, a);
	b = groups_of(groups, b);
	if (a == b)
		return;
	groups->parent[a > b ? a : b] = a > b ? b : a;
	groups->count--;
}

void groups_join_all(struct groups *groups)
{
	for (uint32_t i = 2; i <= groups->players; i++)
		join_players(groups, 1, i);
}

void groups_use_object(struct groups *groups, uint32_t player, uint32_t object)
{
	uint32_t *first = object < groups->nobjects ? &groups->first[object] : NULL;

	if (!object || !first)
		return;
	if (!*first)
		*first = player;
	if (*first != player)
		join_players(groups, *first, player);
}

static uint64_t process_key(uint32_t process, uint32_t key)
{
	return (uint64_t)process << 32 | key;
}

static void use_new_key(struct groups *groups, struct map *keys, uint32_t player, uint64_t key)
{
	uint64_t first;

	if (map_get(keys, key, &first))
		join_players(groups, (uint32_t)first, player);
	else if (map_put(keys, key, player))
		groups_join_all(groups);
}

void groups_use_region(struct groups *groups, uint32_t player, uint32_t process, uint32_t lkey,
		       uint32_t rkey)
{
	use_new_key(groups, &groups->lkeys, player, process_key(process, lkey));
	use_new_key(groups, &groups->rkeys, player, process_key(process, rkey));
}

void groups_use_key(struct groups *groups, uint32_t player, uint32_t process, uint32_t key,
		    bool remote)
{
	uint64_t first;

	if (map_get(remote ? &groups->rkeys : &groups->lkeys, process_key(process, key), &first))
		join_players(groups, (uint32_t)first, player);
	else
		groups_join_all(groups);
}
