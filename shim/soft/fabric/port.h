#pragma once
/*
 * The ports and who can be reached through them. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "shim/soft/fabric/link.h"

/*
 * May queue pairs with these partition keys talk? They must name the same partition, and one of
 * them must be a full member of it (10.9.3).
 */
static inline bool port_same_partition(uint16_t a, uint16_t b)
{
	return !((a ^ b) & 0x7fff) && (a | b) >> 15;
}

/* The partition key at @index of the table of port @num, or 0: none. */
uint16_t port_pkey(uint32_t num, uint32_t index);

/* Ports count from 1; NULL if there is none of this number. */
const struct port *port_at(uint32_t num);

/* False for a port that is not there, too. */
bool port_is_roce(uint32_t num);

/* Is it the GID of one of our ports, or of any process? */
bool port_has_gid(const union ibv_gid *gid);

/* The GID at @index of its table; false: none. */
bool port_gid(uint32_t num, uint32_t index, struct port_gid *gid);
/* Where in the table, or -1. */
int port_find_gid(uint32_t num, const union ibv_gid *gid, enum ibv_gid_type type);

/* Does anybody answer at this address? */
bool port_reaches(const struct ibv_ah_attr *attr);

/* Publish our addresses in the fabric, unless they are the default ones. */
void port_publish(void);

/* 0; EINVAL if no port of ours sends to such an address, ENODATA if its source is an empty GID. */
int port_check(const struct ibv_ah_attr *attr);
