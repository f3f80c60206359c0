#pragma once
/*
 * The ports and the addresses that can be reached through them. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "shim/soft/fabric/link.h"

/*
 * May queue pairs with these partition keys communicate? The keys must name the same partition, and
 * at least one must be of a full member (InfiniBand specification, 10.9.3).
 */
static inline bool port_same_partition(uint16_t a, uint16_t b)
{
	return !((a ^ b) & 0x7fff) && (a | b) >> 15;
}

/* The partition key at @index in the table of port @num; 0: none. */
uint16_t port_pkey(uint32_t num, uint32_t index);

/* Port @num, from 1; NULL: there is no such port. */
const struct port *port_at(uint32_t num);

/* Is port @num a RoCE port? False if it does not exist. */
bool port_is_roce(uint32_t num);

/* Is @gid the GID of a port of this or of another process? */
bool port_has_gid(const union ibv_gid *gid);

/* Is @gid the GID of a port, or of a machine that the network can reach? */
bool port_knows_gid(const union ibv_gid *gid);

/* The GID at @index in the table of port @num; false: none. */
bool port_gid(uint32_t num, uint32_t index, struct port_gid *gid);
/* The index of @gid in the table of port @num, or -1. */
int port_find_gid(uint32_t num, const union ibv_gid *gid, enum ibv_gid_type type);

/* Is there a port at the destination @attr? */
bool port_reaches(const struct ibv_ah_attr *attr);

/* Publish the addresses of this process in the fabric, unless they are the defaults. */
void port_publish(void);

/*
 * Check an address vector. 0; EINVAL if no port of this process can send to such an address;
 * ENODATA if its source GID is an empty entry.
 */
int port_check(const struct ibv_ah_attr *attr);
