#pragma once
/*
 * Groups of players that have objects in common, directly or through other players: queues, the two
 * ends of a connection, regions. Players of different groups have no order but that of the verbs
 * that concern all of them.
 *
 * Contexts and protection domains connect nobody: every thread uses them, and none changes them.
 *
 * Used by one thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct groups;

/* @nobjects: objects of the trace, plus one. Each player, from 1 on, is a group. 0 or -ENOMEM. */
int groups_new(uint32_t nobjects, uint32_t players, struct groups **ret_groups);

/* Accepts NULL. */
void groups_free(struct groups *groups);

/* @player uses @object; 0: none. It joins the group of the other players that have used it. */
void groups_use_object(struct groups *groups, uint32_t player, uint32_t object);

/* @player registers a region; a key that was another region's before connects them. */
void groups_use_region(struct groups *groups, uint32_t player, uint32_t process, uint32_t lkey,
		       uint32_t rkey);

/* @player uses a region of @process by a key; all players are connected if it is unknown. */
void groups_use_key(struct groups *groups, uint32_t player, uint32_t process, uint32_t key,
		    bool remote);

/* All players may have objects in common. */
void groups_join_all(struct groups *groups);

/* The number of groups; it only decreases. */
uint32_t groups_count(const struct groups *groups);

/* The group of a player: the number of one of its players. */
uint32_t groups_of(const struct groups *groups, uint32_t player);
