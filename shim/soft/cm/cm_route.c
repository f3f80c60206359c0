/*
 * Addresses: bind, resolve, listen
 *
 * Results that usually come from the network are known at once, since all addresses are on this
 * machine; nevertheless they are returned as events.
 */
#include "shim/soft/cm/cm_route.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "shim/soft/cm/cm_away.h"
#include "shim/soft/cm/cm_event.h"
#include "shim/soft/fabric/uplink.h"

enum { MAX_BACKLOG = 1024, MAX_ACK_TIMEOUT = 31 };

static bool is_single_family(const struct cm_id *id)
{
	return id->afonly_set ? id->afonly : id->src.family == AF_INET;
}

/*
 * May an identifier with this address use the device? A port with a network has only the network's
 * address. As in the kernel, an identifier may have a loopback address, but then has no device;
 * other addresses of this machine are not available.
 */
static bool has_device(const struct cm_addr *addr)
{
	const struct uplink *uplink = uplink_get();
	uint8_t gid[16] = { 0 };

	cm_addr_to_gid(addr, gid);
	return !uplink || !memcmp(gid, &uplink->addr, sizeof(gid));
}

int cm_route_bind(struct cm_id *id, const struct cm_addr *addr)
{
	struct cm_addr before = id->src;
	int err;

	if (id->state != CM_IDLE)
		return -EINVAL;
	if (!cm_addr_is_any(addr) && !cm_addr_is_local(addr))
		return -EADDRNOTAVAIL;
	if (!cm_addr_is_any(addr) && !cm_addr_is_loopback(addr) && !has_device(addr))
		return -ENODEV;
	id->src = *addr;
	id->afonly = is_single_family(id);
	err = cm_id_bind_port(id);
	if (err < 0) {
		id->src = before;
		return err;
	}
	id->device = !cm_addr_is_any(addr) && has_device(addr);
	id->state = CM_BOUND;
	return 0;
}

static int bind_source(struct cm_id *id, const struct cm_addr *src, int family)
{
	struct cm_addr any = { .family = family };

	return cm_route_bind(id, src->family ? src : &any);
}

static void make_loopback(struct cm_addr *addr)
{
	static const uint8_t ip4[16] = { 127, 0, 0, 1 };

	memcpy(addr->ip, addr->family == AF_INET ? ip4 : in6addr_loopback.s6_addr,
	       sizeof(addr->ip));
}

/* Find a destination on another machine by the network. */
static int resolve_on_wire(struct cm_id *id)
{
	struct cm_name peer = { .node = CM_REMOTE };
	int err;

	cm_addr_to_gid(&id->dst, peer.away);
	if (!uplink_reaches((const union ibv_gid *)peer.away))
		return -EHOSTUNREACH;
	err = cm_away_start();
	if (err < 0)
		return err;
	id->peer = peer;
	if (cm_addr_is_any(&id->src))
		cm_addr_set_ip(&id->src, uplink_get()->addr.s6_addr);
	return 0;
}

/* Set the destination @dst. Members of a multicast group may be on any interface. */
static int resolve_destination(struct cm_id *id, const struct cm_addr *dst)
{
	id->dst = *dst;
	if (cm_addr_is_any(dst))
		make_loopback(&id->dst);
	if (cm_addr_is_multicast(dst)) {
		if (!cm_addr_is_any(&id->src))
			return 0;
		if (uplink_get())
			cm_addr_set_ip(&id->src, uplink_get()->addr.s6_addr);
		else
			make_loopback(&id->src);
		return 0;
	}
	if (!cm_addr_is_local(&id->dst))
		return resolve_on_wire(id);
	if (cm_addr_is_any(&id->src))
		cm_addr_set_source(&id->src, &id->dst);
	return 0;
}

int cm_route_resolve_addr(struct cm_id *id, const struct cm_addr *src, const struct cm_addr *dst)
{
	int err;

	if (id->state == CM_IDLE) {
		err = bind_source(id, src, dst->family);
		if (err < 0)
			return err;
	}
	if (id->state != CM_BOUND || id->src.family != dst->family)
		return -EINVAL;
	err = resolve_destination(id, dst);
	if (err < 0) {
		cm_id_event(id, CM_EVENT_ADDR_ERROR, err);
		return 0;
	}
	id->device = true;
	id->state = CM_ADDR_RESOLVED;
	cm_id_event(id, CM_EVENT_ADDR_RESOLVED, 0);
	return 0;
}

int cm_route_resolve_route(struct cm_id *id)
{
	if (id->state != CM_ADDR_RESOLVED)
		return -EINVAL;
	id->state = CM_ROUTE_RESOLVED;
	cm_id_event(id, CM_EVENT_ROUTE_RESOLVED, 0);
	return 0;
}

int cm_route_listen(struct cm_id *id, uint32_t backlog)
{
	struct cm_addr any = { .family = AF_INET };
	struct cm_name name = cm_id_name(id);
	int err;

	if (id->state == CM_IDLE) {
		err = cm_route_bind(id, &any);
		if (err < 0)
			return err;
	}
	if (id->state != CM_BOUND)
		return -EINVAL;
	if (!backlog || backlog > MAX_BACKLOG)
		backlog = MAX_BACKLOG;
	err = cm_port_listen(id->port, &name, backlog);
	if (err < 0)
		return err;
	id->state = CM_LISTENING;
	if (uplink_get())
		cm_away_start(); /* if this fails, peers on this machine can still connect */
	return 0;
}

static int share_port(struct cm_id *id)
{
	struct cm_name name = cm_id_name(id);

	if (id->has_port)
		cm_port_share(id->port, &name, id->reuse, id->afonly);
	return 0;
}

static int set_id_option(struct cm_id *id, uint32_t name, const void *value, uint32_t len)
{
	uint32_t number = 0;
	bool byte = name == RDMA_OPTION_ID_TOS || name == RDMA_OPTION_ID_ACK_TIMEOUT;

	if (len != (byte ? sizeof(uint8_t) : sizeof(int)))
		return -EINVAL;
	if (byte)
		number = *(const uint8_t *)value;
	else
		memcpy(&number, value, sizeof(number));
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		id->tos = number;
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
		/* the option cannot be reset */
		if (number ? id->state == CM_LISTENING : id->state != CM_IDLE)
			return -EINVAL;
		id->reuse = number;
		return share_port(id);
	case RDMA_OPTION_ID_AFONLY:
		if (id->state != CM_IDLE && id->state != CM_BOUND)
			return -EINVAL;
		id->afonly = number;
		id->afonly_set = true;
		return share_port(id);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if ((id->qp_type != IBV_QPT_RC && id->qp_type != IBV_QPT_XRC_SEND) ||
		    number > MAX_ACK_TIMEOUT)
			return -EINVAL;
		id->ack_timeout = number;
		return 0;
	default:
		return -ENOSYS;
	}
}

/* Select the path: there is only one. */
static int set_path(struct cm_id *id, const struct ib_path_rec_data *path, uint32_t len)
{
	const uint32_t want = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	uint32_t i;

	if (len % sizeof(*path))
		return -EINVAL;
	for (i = 0; i < len / sizeof(*path); i++)
		if (path[i].flags == want)
			return cm_route_resolve_route(id);
	return -EINVAL;
}

int cm_route_set_option(struct cm_id *id, const struct rdma_ucm_set_option *cmd)
{
	const void *value = (const void *)(uintptr_t)cmd->optval;

	if (cmd->level == RDMA_OPTION_ID)
		return set_id_option(id, cmd->optname, value, cmd->optlen);
	if (cmd->level == RDMA_OPTION_IB && cmd->optname == RDMA_OPTION_IB_PATH)
		return set_path(id, value, cmd->optlen);
	return -ENOSYS;
}
