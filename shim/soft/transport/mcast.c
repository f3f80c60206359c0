/*
 * Multicast groups
 *
 * The members of all groups are in the registry's file. Each change is made under the file's lock
 * and increments a counter; a sender caches the members of its groups until the counter has
 * changed.
 *
 * A group has a GID, and on InfiniBand also a LID: switches use the LID, adapters the GID, so a
 * message needs both.
 */
#include "shim/soft/transport/mcast.h"

#include <stdlib.h>

#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/transport/grh.h"

enum { LID_FIRST = 0xc000, LID_PERMISSIVE = 0xffff };

static bool is_of_group(const struct registry_member *member, const union ibv_gid *gid,
			uint32_t lid)
{
	return member->qpn && !memcmp(&member->gid, gid, sizeof(*gid)) &&
	       (member->lid == lid || lid == MCAST_ANY_LID);
}

static uint32_t count_members(const struct registry_members *members, const union ibv_gid *gid,
			      uint32_t lid)
{
	uint32_t i, count = 0;

	for (i = 0; i < REGISTRY_MEMBERS; i++)
		count += is_of_group(&members->at[i], gid, lid);
	return count;
}

static struct mcast_group *read_group(const union ibv_gid *gid, uint32_t lid)
{
	const struct registry_members *members = registry_lock_members();
	uint32_t i, count = count_members(members, gid, lid);
	struct mcast_group *group;

	group = malloc(sizeof(*group) + count * sizeof(group->qpn[0]));
	if (group) {
		group->gid = *gid;
		group->lid = lid;
		group->changes = members->changes;
		group->count = 0;
		for (i = 0; i < REGISTRY_MEMBERS && group->count < count; i++)
			if (is_of_group(&members->at[i], gid, lid))
				group->qpn[group->count++] = members->at[i].qpn;
	}
	registry_unlock_members();
	return group;
}

const struct mcast_group *mcast_find(struct mcast_groups *groups, const struct ibv_ah_attr *attr)
{
	uint32_t lid = port_is_roce(attr->port_num) ? MCAST_ANY_LID : attr->dlid;
	const union ibv_gid *gid = &attr->grh.dgid;
	struct mcast_group **at = &groups->at[(gid->raw[15] ^ lid) % 8];

	if (!*at || (*at)->changes != registry_member_changes() || (*at)->lid != lid ||
	    memcmp(&(*at)->gid, gid, sizeof(*gid))) {
		free(*at);
		*at = read_group(gid, lid);
	}
	return *at;
}

void mcast_forget(struct mcast_groups *groups)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		free(groups->at[i]);
	memset(groups, 0, sizeof(*groups));
}

static struct registry_member *find_member(struct registry_members *members, uint32_t qpn,
					   const union ibv_gid *gid, uint16_t lid)
{
	struct registry_member *member;
	uint32_t i;

	for (i = 0; i < REGISTRY_MEMBERS; i++) {
		member = &members->at[i];
		if (member->qpn == qpn && member->lid == lid &&
		    !memcmp(&member->gid, gid, sizeof(*gid)))
			return member;
	}
	return NULL;
}

static struct registry_member *find_free(struct registry_members *members)
{
	uint32_t i;

	for (i = 0; i < REGISTRY_MEMBERS; i++)
		if (!members->at[i].qpn)
			return &members->at[i];
	return NULL;
}

/* Add a member. 0; 1: @qpn is already a member of the group; or -ENOMEM. */
static int add_member(struct registry_members *members, uint32_t qpn, const union ibv_gid *gid,
		      uint16_t lid)
{
	struct registry_member *member;

	if (find_member(members, qpn, gid, lid))
		return 1;
	member = find_free(members);
	if (!member || count_members(members, gid, MCAST_ANY_LID) >=
			       (uint32_t)profile_limits()->max_mcast_qp_attach)
		return -ENOMEM;
	member->gid = *gid;
	member->lid = lid;
	member->node = node_self.node;
	/* the number makes the entry valid, in case this process dies in between */
	__atomic_store_n(&member->qpn, qpn, __ATOMIC_RELEASE);
	__atomic_add_fetch(&members->changes, 1, __ATOMIC_RELEASE);
	return 0;
}

static void clear_member(struct registry_members *members, struct registry_member *member)
{
	__atomic_store_n(&member->qpn, 0, __ATOMIC_RELEASE);
	__atomic_add_fetch(&members->changes, 1, __ATOMIC_RELEASE);
}

/* Is no LID needed, since the port is Ethernet? Before INIT the port is not known: check all. */
static bool on_ethernet(const struct soft_qp *qp)
{
	uint32_t num;

	if (qp->attr.port_num)
		return port_is_roce(qp->attr.port_num);
	for (num = 1; port_at(num); num++)
		if (port_is_roce(num))
			return true;
	return false;
}

static bool can_join(const struct soft_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return qp->ex.qp_base.qp_type == IBV_QPT_UD && grh_is_multicast(gid) &&
	       ((lid >= LID_FIRST && lid != LID_PERMISSIVE) || on_ethernet(qp));
}

int mcast_attach(struct soft_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	int err;

	if (!can_join(qp, gid, lid))
		return EINVAL;
	pthread_mutex_lock(&qp->modifying);
	err = add_member(registry_lock_members(), qp->shm->qpn, gid, lid);
	registry_unlock_members();
	if (!err)
		__atomic_add_fetch(&qp->groups, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&qp->modifying);
	return err < 0 ? -err : 0;
}

int mcast_detach(struct soft_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct registry_members *members;
	struct registry_member *member;

	if (!can_join(qp, gid, lid))
		return EINVAL;
	pthread_mutex_lock(&qp->modifying);
	members = registry_lock_members();
	member = find_member(members, qp->shm->qpn, gid, lid);
	if (member) {
		clear_member(members, member);
		__atomic_sub_fetch(&qp->groups, 1, __ATOMIC_RELEASE);
	}
	registry_unlock_members();
	pthread_mutex_unlock(&qp->modifying);
	return member ? 0 : EINVAL;
}

static const union ibv_gid raw_group;

int mcast_join_raw(struct soft_qp *qp)
{
	int err = add_member(registry_lock_members(), qp->shm->qpn, &raw_group, 0);

	registry_unlock_members();
	if (!err)
		__atomic_add_fetch(&qp->groups, 1, __ATOMIC_RELEASE);
	return err;
}

void mcast_leave_raw(struct soft_qp *qp)
{
	struct registry_members *members = registry_lock_members();
	struct registry_member *member = find_member(members, qp->shm->qpn, &raw_group, 0);

	if (member) {
		clear_member(members, member);
		__atomic_sub_fetch(&qp->groups, 1, __ATOMIC_RELEASE);
	}
	registry_unlock_members();
}

void mcast_leave(struct soft_qp *qp)
{
	struct registry_members *members;
	uint32_t i;

	if (!qp->groups)
		return;
	members = registry_lock_members();
	for (i = 0; i < REGISTRY_MEMBERS; i++)
		if (members->at[i].qpn == qp->shm->qpn)
			clear_member(members, &members->at[i]);
	registry_unlock_members();
	qp->groups = 0;
}
