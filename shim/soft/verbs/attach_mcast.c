/*
 * Attaching queue pairs to multicast groups
 *
 * Not here: the members of the groups (mcast.c).
 */
#include "shim/soft/transport/mcast.h"

#include "shim/soft/network/network.h"
#include "shim/soft/verbs/enter.h"

EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	int err = soft_enter(qp->context, "attach_mcast");

	if (!err)
		err = mcast_attach(to_qp(qp), gid, lid);
	if (!err)
		network_join(gid);
	return err;
}

EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	int err = soft_enter(qp->context, "detach_mcast");

	return err ? err : mcast_detach(to_qp(qp), gid, lid);
}
