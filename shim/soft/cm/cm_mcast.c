/*
 * Multicast groups
 *
 * The GID of a group is derived from the IP address, as in the kernel: RFC 4391 and 4392 for
 * InfiniBand, in the datagram port space with the signature of rdma_cm instead of IPoIB's; on RoCE
 * the GID is the address itself. librdmacm attaches the queue pair when it gets the event.
 */
#include "shim/soft/cm/cm_mcast.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "shim/soft/cm/cm_event.h"
#include "shim/soft/cm/cm_path.h"
#include "shim/soft/fabric/port.h"

enum {
	SCOPE = 2, /* link-local */
	SIGNATURE_IP4 = 0x40,
	SIGNATURE_IP6 = 0x60,
	OF_IPOIB = 0x1b,
	OF_RDMA_CM = 0x01,
	FIRST_LID = 0xc001,
	LIDS = 0x3ffe,
};

static uint32_t last_handle;

static void make_ib_mgid(uint16_t ps, const struct cm_addr *addr, uint8_t mgid[16])
{
	bool ip4 = addr->family == AF_INET;

	mgid[0] = 0xff;
	mgid[1] = 0x10 | SCOPE;
	mgid[2] = ip4 ? SIGNATURE_IP4 : SIGNATURE_IP6;
	mgid[3] = ps == RDMA_PS_UDP ? OF_RDMA_CM : OF_IPOIB;
	mgid[4] = 0xff; /* bytes 4 and 5: the partition key */
	mgid[5] = 0xff;
	if (!ip4) {
		memcpy(mgid + 6, addr->ip + 6, 10);
		return;
	}
	memcpy(mgid + 12, addr->ip, 4);
	mgid[12] &= 0x0f;
}

/* Is @addr a GID that the subnet has assigned? An IPv6 address may be one. */
static bool is_mgid(const struct cm_addr *addr)
{
	return addr->family == AF_INET6 && addr->ip[0] == 0xff && (addr->ip[1] & 0xf0) == 0x10 &&
	       addr->ip[2] == 0xa0 && addr->ip[3] == 0x1b;
}

static void make_mgid(uint16_t ps, const struct cm_addr *addr, uint8_t mgid[16])
{
	memset(mgid, 0, 16);
	if (cm_addr_is_any(addr))
		return;
	if (is_mgid(addr) || (port_is_roce(1) && addr->family == AF_INET6)) {
		memcpy(mgid, addr->ip, 16);
	} else if (port_is_roce(1)) {
		memset(mgid + 10, 0xff, 2);
		memcpy(mgid + 12, addr->ip, 4);
	} else {
		make_ib_mgid(ps, addr, mgid);
	}
}

static uint16_t mlid_of(const uint8_t mgid[16])
{
	uint32_t i, hash = 0;

	if (port_is_roce(1))
		return 0;
	for (i = 0; i < 16; i++)
		hash = hash * 31 + mgid[i];
	return FIRST_LID + hash % LIDS;
}

static void fill_ud(const struct cm_id *id, const struct cm_addr *addr,
		    struct rdma_ucm_ud_param *ud)
{
	cm_path_fill_ah(id, &ud->ah_attr);
	make_mgid(id->ps, addr, ud->ah_attr.grh.dgid);
	ud->ah_attr.dlid = mlid_of(ud->ah_attr.grh.dgid);
	ud->ah_attr.is_global = 1;
	ud->qp_num = 0xffffff;
	ud->qkey = id->qkey ? id->qkey : CM_UDP_QKEY;
}

int cm_mcast_join(struct cm_id *id, const struct cm_addr *addr, uint64_t uid, uint32_t *ret_handle)
{
	struct cm_multicast *group;
	struct cm_event *event;

	if (id->qp_type != IBV_QPT_UD || !id->device ||
	    (id->state != CM_BOUND && id->state != CM_ADDR_RESOLVED &&
	     id->state != CM_ROUTE_RESOLVED))
		return -EINVAL;
	if (!cm_addr_is_any(addr) && !cm_addr_is_multicast(addr))
		return -EINVAL;
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	group->handle = ++last_handle;
	group->uid = uid;
	event = cm_id_event(id, CM_EVENT_MULTICAST_JOIN, 0);
	if (!event) {
		free(group);
		return -ENOMEM;
	}
	event->multicast = group;
	event->resp.uid = uid;
	event->resp.id = group->handle;
	fill_ud(id, addr, &event->resp.param.ud);
	group->next = id->multicast;
	id->multicast = group;
	*ret_handle = group->handle;
	return 0;
}

/* Drop the queued events of a group that the program leaves. */
static void drop_events(struct cm_channel *channel, struct cm_multicast *group)
{
	struct cm_event **p = &channel->first, *event;

	channel->last = p;
	while ((event = *p)) {
		if (event->multicast == group) {
			*p = event->next;
			free(event);
			continue;
		}
		p = &event->next;
		channel->last = p;
	}
}

int cm_mcast_leave(struct cm_channel *channel, uint32_t handle)
{
	struct cm_multicast **p, *group;
	struct cm_id *id;
	int events;

	for (id = channel->ids; id; id = id->next)
		for (p = &id->multicast; (group = *p); p = &group->next) {
			if (group->handle != handle)
				continue;
			*p = group->next;
			drop_events(channel, group);
			events = group->events;
			free(group);
			return events;
		}
	return -ENOENT;
}

void cm_mcast_free_all(struct cm_id *id)
{
	struct cm_multicast *group;

	while ((group = id->multicast)) {
		id->multicast = group->next;
		free(group);
	}
}
