#pragma once
/*
 * Multicast groups of an id. Callers hold the connection manager's lock.
 */
#include "shim/soft/cm/cm_id.h"

int cm_mcast_join(struct cm_id *id, const struct cm_addr *addr, uint64_t uid, uint32_t *ret_handle);

/* Returns how many events of the group the program has retrieved; or -errno. */
int cm_mcast_leave(struct cm_channel *channel, uint32_t handle);

void cm_mcast_free_all(struct cm_id *id);
