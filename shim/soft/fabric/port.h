#pragma once
/*
 * The ports and the addresses that can be reached through them. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "shim/soft/fabric/link.h"

/*
 * May queue pairs with these partition keys communicate? They must name the same partition, and one
 * of them must be a full member of it (10.9.3).
 */
static inline bool port_same_partition(uint16_t a, uint16_t b)
{
	return !((a ^ b) & 0x7fff) && (a | b) >> 15;
}

/* The partition key at @index of the table of port @num, or 0: none. */
uint16_t port_pkey(uint32_t num, uint32_t index);

/* Ports count from 1; NULL if there is none of this number. */
const struct port *port_at(uint32_t num);

/* False also for a port that does not exist. */
bool port_is_roce(uint32_t num);

/* Is it the GID of a port of this or any other process? */
bool port_has_gid(const union ibv_gid *gid);

/* Is it the GID of a port, or of a machine that can be reached by the wire? */
bool port_knows_gid(const union ibv_gid *gid);

/* The GID at @index of its table; false: none. */
bool port_gid(uint32_t num, uint32_t index, struct port_gid *gid);
/* The index of @gid in the table, or -1. */
int port_find_gid(uint32_t num, const union ibv_gid *gid, enum ibv_gid_type type);

/* Can any port be reached at this address? */
bool port_reaches(const struct ibv_ah_attr *attr);

/* Publish the addresses of this process in the fabric, unless they are the default ones. */
void port_publish(void);

/*
 * 0; EINVAL if no port of this process can send to such an address, ENODATA if its source is an
 * empty GID.
 */
int port_check(const struct ibv_ah_attr *attr);
