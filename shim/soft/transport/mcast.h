#pragma once
/*
 * Multicast: the queue pairs attached to each group.
 */
#include "shim/soft/transport/objects.h"

enum { MCAST_ANY_LID = 1 << 16 }; /* Ethernet groups have no LID */

struct mcast_group {
	union ibv_gid gid;
	uint32_t lid;     /* LID of the group, or MCAST_ANY_LID */
	uint32_t changes; /* change counter of all groups when the members were read */
	uint32_t count;
	uint32_t qpn[];
};

/* A sender's cache of groups. Not thread-safe. */
struct mcast_groups {
	struct mcast_group *at[8];
};

/*
 * The members of the group at @attr, in all processes; or NULL. Valid until the next call.
 */
const struct mcast_group *mcast_find(struct mcast_groups *groups, const struct ibv_ah_attr *attr);
void mcast_forget(struct mcast_groups *groups);

/* Detach a queue pair, which is about to be destroyed, from all groups. */
void mcast_leave(struct soft_qp *qp);

/*
 * Add the queue pair to the group of all that have flow rules, whose address is zero. 0 or -ENOMEM.
 */
int mcast_join_raw(struct soft_qp *qp);
void mcast_leave_raw(struct soft_qp *qp);

/* Let @qp receive messages to the group; end that. 0 or an errno. */
int mcast_attach(struct soft_qp *qp, const union ibv_gid *gid, uint16_t lid);
int mcast_detach(struct soft_qp *qp, const union ibv_gid *gid, uint16_t lid);
