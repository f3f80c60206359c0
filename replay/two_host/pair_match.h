#pragma once
/*
 * Matches the queue pairs of the two hosts.
 *
 * Both replays get the same result. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

#include "replay/two_host/pair_table.h"

/*
 * @ret_listener: for each life of @listener's table 1 + the index of the other end in @peer's, or
 * 0; @ret_peer the reverse. Both are large enough, and zeroed.
 */
void pair_match(const struct pair_table *listener, const struct pair_table *peer,
		uint32_t *ret_listener, uint32_t *ret_peer);

/* Why connected life @i of @mine has no other end in @its. */
const char *pair_match_why(const struct pair_table *mine, size_t i, const struct pair_table *its);

/* The datagram queue pair of number @number at @av (NULL: anywhere): 1 + its index, or 0. */
uint32_t pair_match_datagram(const struct pair_table *its, uint32_t number,
			     const struct ibv_ah_attr *av);

/* The port that has address @av, or NULL. */
const struct pair_port *pair_match_port(const struct pair_table *its, const struct ibv_ah_attr *av);
