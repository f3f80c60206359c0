/*
 * The ports: link, addresses, partition keys
 *
 * One port on an InfiniBand link with LID 1, or on a RoCE one with
 * VERBATIM_SOFT_LINK=roce, or those that a personality describes. All
 * processes of a fabric are on the same ports, told apart by their queue pair
 * numbers, as on a machine with one adapter whose ports are cabled together.
 */
#include "shim/soft/verbs/context.h"

#include <endian.h>
#include <stdlib.h>

#include "shim/soft/fabric/address.h"
#include "shim/soft/fabric/persona.h"
#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/port_state.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/fabric/registry.h"

enum {
	IFINDEX_LO	= 1,	/* the kernel's in each network namespace */
	PHYS_DISABLED	= 3,
	NO_VLAN		= 0xffff,
};

/* The link-local addresses on Ethernet are made of it. */
#define MAC		0x02, 'V', 'B', 'M', 0, 1
#define LINK_LOCAL	0xfe, 0x80, 0, 0, 0, 0, 0, 0
#define IB_GID(n)	{ { LINK_LOCAL, 0x02, 'V', 'B', 'M', 0, 0, n, 1 } }
#define ROCE_GID	{ { LINK_LOCAL, 0, 'V', 'B', 0xff, 0xfe, 'M', 0, 1 } }
#define LOCALHOST	{ { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1 } }

static const struct port ib_port = {
	.attr = {
		.state		= IBV_PORT_ACTIVE,
		.max_mtu	= IBV_MTU_4096,
		.active_mtu	= IBV_MTU_4096,
		.gid_tbl_len	= 16,
		.port_cap_flags	= IBV_PORT_CM_SUP,
		.max_msg_sz	= 1 << 30,
		.pkey_tbl_len	= 1,
		.lid		= 1,
		.sm_lid		= 1,
		.max_vl_num	= 1,
		.subnet_timeout	= 18,
		.active_width	= 2,	/* 4X */
		.active_speed	= 32,	/* 25 Gbit/s a lane */
		.phys_state	= 5,	/* LinkUp */
		.link_layer	= IBV_LINK_LAYER_INFINIBAND,
	},
	.gid = {
		{ IB_GID(0), IBV_GID_TYPE_IB },
		{ IB_GID(1), IBV_GID_TYPE_IB },
	},
	.pkey = { 0xffff },
};

static const struct port_gid roce_gids[] = {
	{ ROCE_GID, IBV_GID_TYPE_ROCE_V1 },
	{ ROCE_GID, IBV_GID_TYPE_ROCE_V2 },
	{ LOCALHOST, IBV_GID_TYPE_ROCE_V1 },
	{ LOCALHOST, IBV_GID_TYPE_ROCE_V2 },
};

bool port_wants_roce(void)
{
	const char *link = getenv("VERBATIM_SOFT_LINK");

	return link && !strcmp(link, "roce");
}

static void make_roce(struct port *port)
{
	port->attr.port_cap_flags |= IBV_PORT_IP_BASED_GIDS;
	port->attr.lid = 0;
	port->attr.sm_lid = 0;
	port->attr.link_layer = IBV_LINK_LAYER_ETHERNET;
	port->attr.flags = IBV_QPF_GRH_REQUIRED;
	memcpy(port->gid, roce_gids, sizeof(roce_gids));
}

void port_own(uint32_t num, bool roce, struct port *out)
{
	uint32_t i;

	*out = ib_port;
	out->attr.lid = num;
	if (roce)
		make_roce(out);
	for (i = 0; port_has_index(out, i); i++)
		out->gid[i].gid.raw[15] = num;
}

static struct port own[2];

__attribute__((constructor)) static void init(void)
{
	port_own(1, false, &own[0]);
	port_own(1, true, &own[1]);
}

const struct port *port_at(uint32_t num)
{
	const struct persona *persona = persona_get();

	if (persona->num_ports)
		return num - 1 < persona->num_ports ?
			&persona->port[num - 1] : NULL;
	return num == 1 ? &own[port_wants_roce()] : NULL;
}

static uint32_t num_gids(const struct port *port)
{
	return port ? port->attr.gid_tbl_len : 0;
}

bool port_has_index(const struct port *port, uint32_t index)
{
	static const union ibv_gid unset;

	return index < num_gids(port) &&
		memcmp(&port->gid[index].gid, &unset, sizeof(unset));
}

bool port_is_roce(uint32_t num)
{
	const struct port *port = port_at(num);

	return port && port->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
}

static bool has_gid(const struct port *port, const union ibv_gid *gid)
{
	uint32_t i;

	for (i = 0; i < num_gids(port); i++)
		if (port_has_index(port, i) &&
		    !memcmp(&port->gid[i].gid, gid, sizeof(*gid)))
			return true;
	return false;
}

bool port_gid(uint32_t num, uint32_t index, struct port_gid *gid)
{
	const struct port *port = port_at(num);

	if (!port_has_index(port, index))
		return false;
	*gid = port->gid[index];
	return true;
}

int port_find_gid(uint32_t num, const union ibv_gid *gid,
		  enum ibv_gid_type type)
{
	const struct port *port = port_at(num);
	uint32_t i;

	for (i = 0; i < num_gids(port); i++)
		if (port->gid[i].type == type &&
		    !memcmp(&port->gid[i].gid, gid, sizeof(*gid)))
			return i;
	return -1;
}

static bool has_lid(const struct port *port, uint16_t lid)
{
	return port->attr.link_layer != IBV_LINK_LAYER_ETHERNET && lid &&
		lid >> port->attr.lmc == port->attr.lid >> port->attr.lmc;
}

static bool is_gid(const struct registry_address *address, const void *gid)
{
	return !address->lid &&
		!memcmp(&address->gid, gid, sizeof(address->gid));
}

bool port_has_gid(const union ibv_gid *gid)
{
	const struct port *port;
	uint32_t num;

	for (num = 1; (port = port_at(num)); num++)
		if (has_gid(port, gid))
			return true;
	return address_find(is_gid, gid);
}

/* Of an address that other processes alone have. */
static bool is_dest(const struct registry_address *address, const void *arg)
{
	const struct ibv_ah_attr *attr = arg;

	if (address->link_layer != port_at(attr->port_num)->attr.link_layer)
		return false;
	if (attr->is_global)
		return is_gid(address, &attr->grh.dgid);
	return address->lid &&
		address->lid >> address->lmc == attr->dlid >> address->lmc;
}

/* Of one link layer, both up. */
static bool connected(const struct port *from, const struct port *to)
{
	return from->attr.state == IBV_PORT_ACTIVE &&
		to->attr.state == IBV_PORT_ACTIVE &&
		from->attr.link_layer == to->attr.link_layer;
}

bool port_reaches(const struct ibv_ah_attr *attr)
{
	const struct port *from = port_at(attr->port_num), *to;
	uint32_t num;

	for (num = 1; from && (to = port_at(num)); num++)
		if (connected(from, to) &&
		    (attr->is_global ? has_gid(to, &attr->grh.dgid) :
				       has_lid(to, attr->dlid)))
			return true;
	return from && from->attr.state == IBV_PORT_ACTIVE &&
		address_find(is_dest, attr);
}

static void publish(const struct port *port)
{
	struct registry_address address = {
		.link_layer	= port->attr.link_layer,
		.lmc		= port->attr.lmc,
		.lid		= port->attr.lid,
	};
	uint32_t i;

	if (address.lid && address.link_layer != IBV_LINK_LAYER_ETHERNET)
		address_add(&address);
	address.lid = 0;
	for (i = 0; i < num_gids(port); i++) {
		if (!port_has_index(port, i))
			continue;
		address.gid = port->gid[i].gid;
		address_add(&address);
	}
}

void port_publish(void)
{
	const struct port *port;
	uint32_t num;

	if (!persona_get()->num_ports)
		return;
	for (num = 1; (port = port_at(num)); num++)
		if (port->attr.state == IBV_PORT_ACTIVE)
			publish(port);
}

int port_check(const struct ibv_ah_attr *attr)
{
	const struct port *port = port_at(attr->port_num);

	if (!port || (port_is_roce(attr->port_num) && !attr->is_global))
		return EINVAL;
	return attr->is_global && attr->grh.sgid_index >= num_gids(port) ?
		EINVAL : 0;
}

int soft_query_port(struct ibv_context *context, uint8_t port_num,
		    struct ibv_port_attr *attr, size_t size)
{
	const struct port *port = port_at(port_num);
	int err = soft_enter(context, "query_port");
	struct ibv_port_attr all;

	if (err)
		return err;
	if (!port)
		return EINVAL;
	all = port->attr;
	if (port_blocked(segment_own, port_num)) {
		all.state = IBV_PORT_DOWN;
		all.phys_state = PHYS_DISABLED;
	}
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

/* The structure ends before link_layer's successors: 48 bytes of it. */
EXPORT int (ibv_query_port)(struct ibv_context *context, uint8_t port_num,
			    struct _compat_ibv_port_attr *attr)
{
	return soft_query_port(context, port_num, (void *)attr,
			       offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* For verbs that return -1. */
static int refuse(int err)
{
	errno = err;
	return -1;
}

EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port_num,
			 int index, union ibv_gid *gid)
{
	const struct port *port = port_at(port_num);
	int err = soft_enter(context, "query_gid");

	if (!err && (uint32_t)index >= num_gids(port))
		err = EINVAL;
	if (err)
		return refuse(err);
	*gid = port->gid[index].gid;
	return 0;
}

static void fill_entry(struct ibv_gid_entry *entry, size_t size, uint32_t num,
		       uint32_t index)
{
	const struct port_gid *gid = &port_at(num)->gid[index];
	struct ibv_gid_entry all = {
		.gid		= gid->gid,
		.gid_index	= index,
		.port_num	= num,
		.gid_type	= gid->type,
		.ndev_ifindex	= port_is_roce(num) ? IFINDEX_LO : 0,
	};

	memset(entry, 0, size);
	memcpy(entry, &all, size < sizeof(all) ? size : sizeof(all));
}

EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
			     uint32_t index, struct ibv_gid_entry *entry,
			     uint32_t flags, size_t size)
{
	const struct port *port = port_at(port_num);
	int err = soft_enter(context, "query_gid_ex");

	if (err)
		return err;
	if (flags)
		return EOPNOTSUPP;
	if (index >= num_gids(port))
		return EINVAL;
	if (!port_has_index(port, index))
		return ENODATA;
	fill_entry(entry, size, port_num, index);
	return 0;
}

EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context,
				    struct ibv_gid_entry *entries, size_t max,
				    uint32_t flags, size_t size)
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
		for (i = 0; i < num_gids(port); i++) {
			if (!port_has_index(port, i))
				continue;
			if (n >= max)
				return -EINVAL;
			fill_entry((void *)((char *)entries + n++ * size), size,
				   num, i);
		}
	}
	return n;
}

/* Private, but ibv_devinfo and pyverbs import it. 0: IB or v1, 1: RoCE v2. */
EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
			      unsigned int index, int *type);
EXPORT int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
			      unsigned int index, int *type)
{
	const struct port *port = port_at(port_num);

	if (!soft_ours(context) || index >= num_gids(port))
		return refuse(EINVAL);
	*type = port_has_index(port, index) &&
		port->gid[index].type == IBV_GID_TYPE_ROCE_V2;
	return 0;
}

uint16_t port_pkey(uint32_t num, uint32_t index)
{
	const struct port *port = port_at(num);

	return port && index < PORT_PKEYS ? port->pkey[index] : 0;
}

EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port_num,
			  int index, __be16 *pkey)
{
	const struct port *port = port_at(port_num);
	int err = soft_enter(context, "query_pkey");

	if (!err && (!port || index < 0 || index >= port->attr.pkey_tbl_len))
		err = EINVAL;
	if (err)
		return refuse(err);
	*pkey = htobe16(port->pkey[index]);
	return 0;
}

EXPORT int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num,
			      __be16 pkey)
{
	const struct port *port = port_at(port_num);
	int err = soft_enter(context, "get_pkey_index");
	int i;

	/* full or limited members, as the kernel compares them */
	for (i = 0; !err && port && i < port->attr.pkey_tbl_len; i++)
		if (!((be16toh(pkey) ^ port->pkey[i]) & 0x7fff))
			return i;
	return refuse(err ? err : EINVAL);
}

/*
 * Everybody is on this port. Source: libibverbs' verbs.c; there is no
 * manual page.
 */
EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context,
				       struct ibv_ah_attr *attr,
				       uint8_t eth_mac[ETHERNET_LL_SIZE],
				       uint16_t *vid)
{
	static const uint8_t mac[ETHERNET_LL_SIZE] = { MAC };
	int err = soft_enter(context, "resolve_eth_l2_from_gid");

	if (!err && !port_is_roce(attr->port_num))
		err = EOPNOTSUPP;
	if (!err && (!attr->is_global ||
		     !port_has_index(port_at(attr->port_num),
				     attr->grh.sgid_index)))
		err = EINVAL;
	if (!err && !port_has_gid(&attr->grh.dgid))
		err = ETIMEDOUT;
	if (err)
		return refuse(err);
	memcpy(eth_mac, mac, sizeof(mac));
	*vid = NO_VLAN;
	return 0;
}
