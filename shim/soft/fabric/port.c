/*
 * The ports: addresses, partition keys, and reachability
 *
 * There is one port: on an InfiniBand link with LID 1; or on a RoCE link with
 * VERBATIM_SOFT_LINK=roce or with a network (uplink.h); or a profile describes the ports. All
 * processes of a fabric use the same ports and differ in their queue pair numbers, as on a machine
 * with one adapter whose ports are cabled together.
 */
#include "shim/soft/fabric/port.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/uplink.h"

/*
 * A process with a separate profile (profile.h) writes the LIDs and GIDs of its ports to a table of
 * the fabric. Entries are never removed: an entry is valid while the process that wrote it is
 * alive, and free afterwards.
 */

static bool is_address_live(const struct registry_address *address)
{
	return address->instance && node_has(address->node, address->instance);
}

/*
 * Publish an address of this process. Default addresses need no entry. If the table is full the
 * address is dropped.
 */
static void add_address(const struct registry_address *address)
{
	struct registry_members *members = registry_lock_members();
	uint32_t i;

	for (i = 0; i < REGISTRY_ADDRESSES && is_address_live(&members->address[i]); i++)
		;
	if (i < REGISTRY_ADDRESSES) {
		members->address[i] = *address;
		members->address[i].node = node_self.node;
		members->address[i].instance = node_self.instance;
		if (members->high_address <= i)
			members->high_address = i + 1;
	}
	registry_unlock_members();
}

/* Has a living process published an address that matches? */
static bool find_address(bool (*match)(const struct registry_address *address, const void *arg),
			 const void *arg)
{
	const struct registry_members *members = registry_lock_members();
	bool found = false;
	uint32_t i;

	for (i = 0; i < members->high_address && i < REGISTRY_ADDRESSES; i++) {
		found = match(&members->address[i], arg) && is_address_live(&members->address[i]);
		if (found)
			break;
	}
	registry_unlock_members();
	return found;
}

static struct port own[2];
static struct port wired;

__attribute__((constructor)) static void init_own_ports(void)
{
	link_fill_port(1, false, &own[0]);
	link_fill_port(1, true, &own[1]);
}

/* Make a RoCE v2 port whose only GID is the address of the network. */
static void make_wired(void)
{
	const struct uplink *uplink = uplink_get();

	link_fill_port(1, true, &wired);
	memset(wired.gid, 0, sizeof(wired.gid));
	memcpy(&wired.gid[0].gid, &uplink->addr, sizeof(uplink->addr));
	wired.gid[0].type = IBV_GID_TYPE_ROCE_V2;
	wired.attr.active_mtu = uplink->mtu;
}

static const struct port *wired_port(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_wired);
	return &wired;
}

const struct port *port_at(uint32_t num)
{
	const struct profile *profile = profile_get();

	if (profile->num_ports)
		return num - 1 < profile->num_ports ? &profile->port[num - 1] : NULL;
	if (num != 1)
		return NULL;
	return uplink_get() ? wired_port() : &own[link_wants_roce()];
}

bool port_is_roce(uint32_t num)
{
	const struct port *port = port_at(num);

	return port && port->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
}

static bool has_gid(const struct port *port, const union ibv_gid *gid)
{
	uint32_t i;

	for (i = 0; i < link_num_gids(port); i++)
		if (link_has_gid(port, i) && !memcmp(&port->gid[i].gid, gid, sizeof(*gid)))
			return true;
	return false;
}

bool port_gid(uint32_t num, uint32_t index, struct port_gid *gid)
{
	const struct port *port = port_at(num);

	if (!link_has_gid(port, index))
		return false;
	*gid = port->gid[index];
	return true;
}

int port_find_gid(uint32_t num, const union ibv_gid *gid, enum ibv_gid_type type)
{
	const struct port *port = port_at(num);
	uint32_t i;

	for (i = 0; i < link_num_gids(port); i++)
		if (port->gid[i].type == type && !memcmp(&port->gid[i].gid, gid, sizeof(*gid)))
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
	return !address->lid && !memcmp(&address->gid, gid, sizeof(address->gid));
}

bool port_has_gid(const union ibv_gid *gid)
{
	const struct port *port;
	uint32_t num;

	for (num = 1; (port = port_at(num)); num++)
		if (has_gid(port, gid))
			return true;
	return find_address(is_gid, gid);
}

/* Is @arg, an address vector, the address of the port of another process? */
static bool is_dest(const struct registry_address *address, const void *arg)
{
	const struct ibv_ah_attr *attr = arg;

	if (address->link_layer != port_at(attr->port_num)->attr.link_layer)
		return false;
	if (attr->is_global)
		return is_gid(address, &attr->grh.dgid);
	return address->lid && address->lid >> address->lmc == attr->dlid >> address->lmc;
}

/* Have both ports the same link layer, and are both up? */
static bool are_connected(const struct port *from, const struct port *to)
{
	return from->attr.state == IBV_PORT_ACTIVE && to->attr.state == IBV_PORT_ACTIVE &&
	       from->attr.link_layer == to->attr.link_layer;
}

bool port_reaches(const struct ibv_ah_attr *attr)
{
	const struct port *from = port_at(attr->port_num), *to;
	uint32_t num;

	for (num = 1; from && (to = port_at(num)); num++)
		if (are_connected(from, to) &&
		    (attr->is_global ? has_gid(to, &attr->grh.dgid) : has_lid(to, attr->dlid)))
			return true;
	return from && from->attr.state == IBV_PORT_ACTIVE && find_address(is_dest, attr);
}

bool port_knows_gid(const union ibv_gid *gid)
{
	return port_has_gid(gid) || uplink_reaches(gid);
}

static void publish_port(const struct port *port)
{
	struct registry_address address = {
		.link_layer = port->attr.link_layer,
		.lmc = port->attr.lmc,
		.lid = port->attr.lid,
	};
	uint32_t i;

	if (address.lid && address.link_layer != IBV_LINK_LAYER_ETHERNET)
		add_address(&address);
	address.lid = 0;
	for (i = 0; i < link_num_gids(port); i++) {
		if (!link_has_gid(port, i))
			continue;
		address.gid = port->gid[i].gid;
		add_address(&address);
	}
}

void port_publish(void)
{
	const struct port *port;
	uint32_t num;

	if (!profile_get()->num_ports && !uplink_get())
		return;
	for (num = 1; (port = port_at(num)); num++)
		if (port->attr.state == IBV_PORT_ACTIVE)
			publish_port(port);
}

int port_check(const struct ibv_ah_attr *attr)
{
	const struct port *port = port_at(attr->port_num);

	if (!port || (port_is_roce(attr->port_num) && !attr->is_global))
		return EINVAL;
	if (!attr->is_global)
		return 0;
	/* as in the kernel: EINVAL beyond the table, ENODATA for an empty entry */
	if (attr->grh.sgid_index >= port->attr.gid_tbl_len)
		return EINVAL;
	return link_has_gid(port, attr->grh.sgid_index) ? 0 : ENODATA;
}

uint16_t port_pkey(uint32_t num, uint32_t index)
{
	const struct port *port = port_at(num);

	return port && index < PORT_PKEYS ? port->pkey[index] : 0;
}
