/*
 * Queries of the ports
 */

#include "shim/soft/verbs/query_port.h"

#include <endian.h>

#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/fabric/uplink.h"
#include "shim/soft/transport/port_state.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/inject.h"
#include "shim/soft/verbs/newer.h"
#include "shim/soft/verbs/nodes.h"

enum {
	PHYS_DISABLED = 3,
	NO_VLAN = 0xffff,
};

/* The MAC address, which is also part of link-local addresses on Ethernet: link.c. */
#define MAC 0x02, 'V', 'B', 'M', 0, 1

int soft_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		    size_t size)
{
	const struct port *port = port_at(port_num);
	int err = soft_enter(context, "query_port");
	struct ibv_port_attr all;

	if (err)
		return err;
	if (!port)
		return EINVAL;
	all = port->attr;
	if (port_is_blocked(segment_own, port_num) || inject_port_down(context, port_num)) {
		all.state = IBV_PORT_DOWN;
		all.phys_state = PHYS_DISABLED;
	}
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

/* For programs built before 2016: the old structure has 48 bytes, up to link_layer. */
EXPORT int(ibv_query_port)(struct ibv_context *context, uint8_t port_num,
			   struct _compat_ibv_port_attr *attr)
{
	return soft_query_port(context, port_num, (void *)attr,
			       offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* The speed of one lane in units of 100 Mb/s, by the bit number of active_speed. */
static const uint16_t lane_speed[] = { 25, 50, 100, 100, 140, 250, 500, 1000, 2000 };

static unsigned int count_lanes(uint8_t active_width)
{
	switch (active_width) {
	case 2:
		return 4;
	case 4:
		return 8;
	case 8:
		return 12;
	case 16:
		return 2;
	default:
		return 1;
	}
}

/* The effective bandwidth of a port; 0 if it is down. */
int soft_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *speed)
{
	struct ibv_port_attr attr;
	unsigned int bit;
	int err = port_num > UINT8_MAX ? EINVAL : 0;

	if (!err)
		err = soft_query_port(context, port_num, &attr, sizeof(attr));
	if (err)
		return err;
	bit = __builtin_ffs(attr.active_speed);
	*speed = 0;
	if (attr.state == IBV_PORT_ACTIVE && bit && bit <= sizeof(lane_speed) / sizeof(*lane_speed))
		*speed = (uint64_t)lane_speed[bit - 1] * count_lanes(attr.active_width);
	return 0;
}

/* For verbs that return -1. */
static int fail_errno(int err)
{
	errno = err;
	return -1;
}

EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index,
			 union ibv_gid *gid)
{
	const struct port *port = port_at(port_num);
	int err = soft_enter(context, "query_gid");

	if (!err && (uint32_t)index >= link_num_gids(port))
		err = EINVAL;
	if (err)
		return fail_errno(err);
	*gid = port->gid[index].gid;
	return 0;
}

static void fill_entry(struct ibv_gid_entry *entry, size_t size, uint32_t num, uint32_t index)
{
	const struct port_gid *gid = &port_at(num)->gid[index];
	struct ibv_gid_entry all = {
		.gid = gid->gid,
		.gid_index = index,
		.port_num = num,
		.gid_type = gid->type,
		.ndev_ifindex = port_is_roce(num) ? uplink_interface()->index : 0,
	};

	memset(entry, 0, size);
	memcpy(entry, &all, size < sizeof(all) ? size : sizeof(all));
}

EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t index,
			     struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	const struct port *port = port_at(port_num);
	int err = soft_enter(context, "query_gid_ex");

	if (err)
		return err;
	if (flags)
		return EOPNOTSUPP;
	if (index >= link_num_gids(port))
		return EINVAL;
	if (!link_has_gid(port, index))
		return ENODATA;
	fill_entry(entry, size, port_num, index);
	return 0;
}

EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
				    size_t max, uint32_t flags, size_t size)
{
	int err = soft_enter(context, "query_gid_table");
	const struct port *port;
	uint32_t num, i;
	size_t n = 0;

	if (err)
		return -err;
	if (flags)
		return -EOPNOTSUPP;
	for (num = 1; (port = port_at(num)); num++) {
		for (i = 0; i < link_num_gids(port); i++) {
			if (!link_has_gid(port, i))
				continue;
			if (n >= max)
				return -EINVAL;
			fill_entry((void *)((char *)entries + n++ * size), size, num, i);
		}
	}
	return n;
}

/*
 * A private function that ibv_devinfo and pyverbs use nevertheless. 0: IB or RoCE v1, 1: RoCE v2.
 */
PRIVATE_NODES(ibv_query_gid_type);
EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
			      int *type);
EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
			      int *type)
{
	const struct port *port = port_at(port_num);

	if (!soft_ours(context) || index >= link_num_gids(port))
		return fail_errno(EINVAL);
	*type = link_has_gid(port, index) && port->gid[index].type == IBV_GID_TYPE_ROCE_V2;
	return 0;
}

EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	const struct port *port = port_at(port_num);
	int err = soft_enter(context, "query_pkey");

	if (!err && (!port || index < 0 || index >= port->attr.pkey_tbl_len))
		err = EINVAL;
	if (err)
		return fail_errno(err);
	*pkey = htobe16(port->pkey[index]);
	return 0;
}

EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	const struct port *port = port_at(port_num);
	int err = soft_enter(context, "get_pkey_index");
	int i;

	/* compare without the membership bit, as the kernel does */
	for (i = 0; !err && port && i < port->attr.pkey_tbl_len; i++)
		if (!((be16toh(pkey) ^ port->pkey[i]) & 0x7fff))
			return i;
	return fail_errno(err ? err : EINVAL);
}

/*
 * Returns the port's own MAC address: all addresses are on this port. Source:
 * ibv_resolve_eth_l2_from_gid() of libibverbs; there is no manual page.
 */
EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				       uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	static const uint8_t mac[ETHERNET_LL_SIZE] = { MAC };
	int err = soft_enter(context, "resolve_eth_l2_from_gid");

	if (!err && !port_is_roce(attr->port_num))
		err = EOPNOTSUPP;
	if (!err &&
	    (!attr->is_global || !link_has_gid(port_at(attr->port_num), attr->grh.sgid_index)))
		err = EINVAL;
	if (!err && !port_knows_gid(&attr->grh.dgid))
		err = ETIMEDOUT;
	if (err)
		return fail_errno(err);
	memcpy(eth_mac, mac, sizeof(mac));
	*vid = NO_VLAN;
	return 0;
}
