#pragma once
/*
 * The header in front of a datagram with a global address.
 */
#include <netinet/ip.h>

#include "shim/soft/transport/objects.h"

/* The queue pair number that addresses a multicast group. */
enum { GRH_MULTICAST_QPN = 0xffffff };

/* Is @gid a multicast address? IPv4 addresses are mapped: ::ffff:224.0.0.0/100. */
bool grh_is_multicast(const union ibv_gid *gid);

/* Prepare the header of all messages from the GID @sgid of @type to @ah. */
void grh_prepare(struct soft_ah *ah, const union ibv_gid *sgid, enum ibv_gid_type type);

/*
 * Write the header, prepared in @ah, for @length bytes of payload, with or without immediate data.
 */
void grh_fill(const struct soft_ah *ah, uint32_t length, bool imm, struct ibv_grh *grh);

/* Copy the IPv4 header at the end of @grh to @ip. False: @grh has no IPv4 header. */
bool grh_find_ipv4(const struct ibv_grh *grh, struct iphdr *ip);

union ibv_gid grh_gid_of_ipv4(uint32_t ipv4);
