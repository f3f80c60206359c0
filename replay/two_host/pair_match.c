/*
 * Match the queue pairs of one host with those of the other
 *
 * Two hosts that were booted alike have the same QP numbers, and numbers are reused. So each queue
 * pair must have been connected to the other's number, at an address not known to be another
 * port's, and expect the PSN that the other one begins with. The best match is taken first; equal
 * ones are taken in their order.
 */
#include "replay/two_host/pair_match.h"

#include <stdbool.h>

#include "replay/state/recorded.h"

enum {
	BEST = 6
}; /* the score of a match: two for each matching address, one for each matching PSN */

static enum placed find_place(const struct pair_table *table, uint32_t port,
			      const struct ibv_ah_attr *av)
{
	const struct pair_port *p = &table->ports[port];
	struct place place = recorded_place(av);
	enum placed found = PLACED_PERHAPS, one;

	for (size_t i = 0; i < p->nknown && place_is_known(&place); i++) {
		one = place_compare(&p->known[i], &place);
		if (one == PLACED_AT_PORT)
			return one;
		if (one == PLACED_ELSEWHERE)
			found = one;
	}
	return found;
}

/* 1: @to expects the PSN that @from begins with; 0: unknown; -1: it does not. */
static int compare_psn(const struct pair_life *from, const struct pair_life *to)
{
	if (!from->has_sq_psn || !to->has_rq_psn)
		return 0;
	return (from->sq_psn & 0xffffff) == (to->rq_psn & 0xffffff) ? 1 : -1;
}

static bool is_connected_type(uint32_t type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_UC;
}

/* How well they match; -1: they do not. */
static int check_pair(const struct pair_table *one, const struct pair_life *a,
		      const struct pair_table *other, const struct pair_life *b)
{
	enum placed there, back;
	int psn = compare_psn(a, b) + compare_psn(b, a);

	if (!a->connected || !b->connected || a->type != b->type || !is_connected_type(a->type) ||
	    a->dest != b->number || b->dest != a->number)
		return -1;
	there = find_place(other, b->port, &a->av);
	back = find_place(one, a->port, &b->av);
	if (there == PLACED_ELSEWHERE || back == PLACED_ELSEWHERE)
		return -1;
	/* librdmacm may have set another address later */
	if (psn < 0 || (!psn && compare_psn(a, b) && there + back < 2 * PLACED_AT_PORT))
		return -1;
	return 2 * (there == PLACED_AT_PORT) + 2 * (back == PLACED_AT_PORT) + psn;
}

static void take_pairs(const struct pair_table *listener, const struct pair_table *peer,
		       int schedule, uint32_t *ret_listener, uint32_t *ret_peer)
{
	for (size_t i = 0; i < listener->nlives; i++)
		for (size_t k = 0; k < peer->nlives && !ret_listener[i]; k++) {
			if (ret_peer[k] || check_pair(listener, &listener->lives[i], peer,
						      &peer->lives[k]) != schedule)
				continue;
			ret_listener[i] = (uint32_t)k + 1;
			ret_peer[k] = (uint32_t)i + 1;
		}
}

void pair_match(const struct pair_table *listener, const struct pair_table *peer,
		uint32_t *ret_listener, uint32_t *ret_peer)
{
	for (int schedule = BEST; schedule >= 0; schedule--)
		take_pairs(listener, peer, schedule, ret_listener, ret_peer);
}

const char *pair_match_why(const struct pair_table *mine, size_t i, const struct pair_table *its)
{
	const struct pair_life *life = &mine->lives[i];
	const char *why = "no queue pair of the other host has this number";

	if (!is_connected_type(life->type))
		return "queue pairs of its type are not connected between hosts";
	for (size_t k = 0; k < its->nlives; k++) {
		const struct pair_life *other = &its->lives[k];

		if (other->number != life->dest)
			continue;
		if (find_place(its, other->port, &life->av) == PLACED_ELSEWHERE ||
		    find_place(mine, life->port, &other->av) == PLACED_ELSEWHERE)
			why = "the queue pair of the other host with this number has another "
			      "address";
		else if (!other->connected || other->dest != life->number)
			why = "the queue pair of the other host with this number was connected "
			      "elsewhere";
		else if (check_pair(mine, life, its, other) < 0)
			why = "the queue pair of the other host with this number started with "
			      "another PSN";
		else
			return "the queue pair of the other host with this number is connected to "
			       "another queue pair";
	}
	return why;
}

uint32_t pair_match_datagram(const struct pair_table *its, uint32_t number,
			     const struct ibv_ah_attr *av)
{
	uint32_t found = 0;

	for (size_t i = 0; i < its->nlives; i++) {
		const struct pair_life *life = &its->lives[i];
		enum placed placed;

		if (life->type != IBV_QPT_UD || life->number != number)
			continue;
		placed = find_place(its, life->port, av);
		if (placed == PLACED_AT_PORT)
			return (uint32_t)i + 1;
		if (placed == PLACED_PERHAPS && !found)
			found = (uint32_t)i + 1;
	}
	return found;
}

const struct pair_port *pair_match_port(const struct pair_table *its, const struct ibv_ah_attr *av)
{
	for (uint32_t i = 0; i < its->nports; i++)
		if (find_place(its, i, av) == PLACED_AT_PORT)
			return &its->ports[i];
	return NULL;
}
