#pragma once
/*
 * Address handles: where a datagram goes, and the header that says so.
 */
#include "shim/soft/transport/soft.h"

/* The queue pair number that names all of a multicast group. */
enum { AH_MULTICAST_QPN = 0xffffff };

static inline struct soft_ah *to_ah(struct ibv_ah *ah)
{
	return container(ah, struct soft_ah, ah);
}

/* A request that could not be sent at once keeps its handle. */
void ah_get(struct soft_ah *ah);
void ah_put(struct soft_ah *ah);

/* Is it an address of many? IPv4 counts as in ::ffff:224.0.0.0/100. */
bool ah_gid_is_multicast(const union ibv_gid *gid);

/*
 * The header in front of @length bytes of payload, with or without immediate
 * data, as @ah has it.
 */
void ah_fill_grh(const struct soft_ah *ah, uint32_t length, bool imm,
		 struct ibv_grh *grh);
