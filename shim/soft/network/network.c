/*
 * Queue pairs and the network
 *
 * A queue pair uses the network if no port of the fabric has its destination address; this is
 * decided when it enters RTR. Datagram queue pairs receive from the network and from the fabric;
 * the address handle of a request decides where it is sent. Several processes may have an XRC
 * receive queue pair: the process that moved it to RTR receives.
 */
#include "shim/soft/network/network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/uplink.h"
#include "shim/soft/fabric/xrc.h"
#include "shim/soft/network/datagrams.h"
#include "shim/soft/network/engine.h"
#include "shim/soft/network/groups.h"
#include "shim/soft/network/requester.h"
#include "shim/soft/network/responder.h"
#include "shim/soft/network/sockets.h"
#include "shim/soft/transport/datagram.h"
#include "shim/soft/transport/grh.h"
#include "shim/soft/transport/remote.h"
#include "shim/soft/transport/sq.h"

static bool leaves_fabric(const struct ibv_ah_attr *attr)
{
	const struct uplink *uplink = uplink_get();

	return uplink && attr->is_global && !grh_is_multicast(&attr->grh.dgid) &&
	       (uplink->all || !port_reaches(attr));
}

static void set_route(struct route *route, const struct ibv_ah_attr *attr)
{
	memset(route, 0, sizeof(*route));
	route->ends.src = uplink_get()->addr;
	memcpy(&route->ends.dst, &attr->grh.dgid, sizeof(route->ends.dst));
	route->ends.src_port = sockets_source_port();
	route->traffic_class = attr->grh.traffic_class;
}

static void free_network_qp(struct network_qp *n)
{
	free(n->req.first);
	free(n->req.packets);
	free(n);
}

static struct network_qp *make_network_qp(struct soft_qp *qp)
{
	struct network_qp *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->wire.run = requester_run;
	n->wire.is_busy = requester_is_busy;
	n->qp = qp;
	n->qpn = qp->shm->qpn;
	n->end = &n->self;
	n->req.first = calloc(qp->sq.mask + 1ul, sizeof(uint32_t));
	n->req.packets = calloc(qp->sq.mask + 1ul, sizeof(uint32_t));
	if (n->req.first && n->req.packets)
		return n;
	free_network_qp(n);
	return NULL;
}

static bool is_connected(const struct soft_qp *qp)
{
	return qp->shm->type == IBV_QPT_RC || qp->shm->type == IBV_QPT_UC ||
	       qp->shm->type == IBV_QPT_XRC_SEND || qp->shm->type == IBV_QPT_XRC_RECV;
}

/*
 * May the queue pair receive from the network? A datagram queue pair may; a connected one if its
 * path leads there.
 */
static bool takes_part(const struct soft_qp *qp, const struct ibv_qp_attr *attr)
{
	if (qp->shm->type == IBV_QPT_UD)
		return uplink_get();
	return is_connected(qp) && leaves_fabric(&attr->ah_attr);
}

int network_connect(struct soft_qp *qp, const struct ibv_qp_attr *attr)
{
	struct network_qp *n;
	bool taken;
	int err;

	if (!takes_part(qp, attr))
		return 0;
	if (is_connected(qp) && attr->path_mtu > uplink_get()->mtu)
		return EINVAL;
	err = engine_start();
	if (err < 0)
		return -err;
	if (qp->xrc) /* another process may have reset the queue pair */
		network_leave(qp);
	n = make_network_qp(qp);
	if (!n)
		return ENOMEM;
	if (is_connected(qp)) {
		n->mtu = 128u << attr->path_mtu;
		set_route(&n->route, &attr->ah_attr);
		responder_start(n, attr->rq_psn & PSN_MASK);
		taken = sq_lock(&qp->sq);
		qp->wire = &n->wire;
		if (taken)
			lock_drop(&qp->sq.lock);
	}
	engine_add(n);
	if (qp->xrc)
		xrc_set_taker(qp->xrc);
	return 0;
}

void network_start(struct soft_qp *qp, uint32_t psn)
{
	if (qp->wire)
		requester_start(network_qp_of(qp), psn);
}

void network_redirect(struct soft_qp *qp)
{
	if (!qp->wire)
		return;
	engine_lock();
	set_route(&network_qp_of(qp)->route, &qp->attr.ah_attr);
	engine_unlock();
}

void network_leave(struct soft_qp *qp)
{
	struct network_qp *n;
	bool taken;

	if (!uplink_get())
		return;
	n = engine_remove(qp);
	if (!n)
		return;
	taken = sq_lock(&qp->sq);
	qp->wire = NULL;
	if (taken)
		lock_drop(&qp->sq.lock);
	remote_forget(&n->self);
	free_network_qp(n);
}

/* Does the network have the group's kind of addresses? */
static bool is_multicast(const union ibv_gid *gid)
{
	const struct uplink *uplink = uplink_get();

	return uplink && !IN6_IS_ADDR_V4MAPPED(&uplink->addr) ==
				 !IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)gid->raw);
}

void network_route_ah(struct soft_ah *ah)
{
	ah->away = leaves_fabric(&ah->attr) && engine_start() == 0;
	ah->spreads = ah->multicast && is_multicast(&ah->attr.grh.dgid) && engine_start() == 0;
	if (ah->away || ah->spreads)
		set_route(&ah->route, &ah->attr);
}

void network_join(const union ibv_gid *gid)
{
	if (!is_multicast(gid) || engine_start() < 0)
		return;
	engine_lock();
	groups_join((const struct in6_addr *)gid->raw);
	engine_unlock();
}

void network_stop(void)
{
	engine_stop();
}

void network_forget(void)
{
	engine_forget();
}

__attribute__((constructor)) static void set_functions(void)
{
	datagram_send_away = datagrams_send;
}
