#pragma once
/*
 * Is a port known by an address?
 *
 * A port has several kinds of addresses, and programs are told of some of them; so only an address
 * of the same kind tells that a port is another one.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum placed { PLACED_ELSEWHERE, PLACED_PERHAPS, PLACED_THERE };

/* A port is known by @lid, or by @gid where that is 0; does @av lead there? */
enum placed place_compare(uint16_t lid, const union ibv_gid *gid, const struct ibv_ah_attr *av);
