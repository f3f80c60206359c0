/*
 * Address handles
 *
 * Not here: the header of datagrams to it (grh.c).
 */
#include "shim/soft/transport/grh.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdlib.h>

#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/network/network.h"
#include "shim/soft/verbs/enter.h"

enum {
	LID_MULTICAST = 0xc000,
	LID_PERMISSIVE = 0xffff,
};

static struct soft_tally count;

/* Check an address. 0, or the errno if it is invalid. */
static int check_attr(const struct ibv_ah_attr *attr, struct port_gid *ret_sgid)
{
	bool roce = port_is_roce(attr->port_num);
	int err = port_check(attr);

	if (err)
		return err;
	if (attr->sl > 15 || (!roce && !attr->dlid))
		return EINVAL;
	if (!attr->is_global)
		return 0;
	port_gid(attr->port_num, attr->grh.sgid_index, ret_sgid);
	/* on Ethernet, a destination must have a known MAC address */
	return roce && !grh_is_multicast(&attr->grh.dgid) && !port_knows_gid(&attr->grh.dgid)
		       ? ETIMEDOUT
		       : 0;
}

static bool is_multicast(const struct ibv_ah_attr *attr)
{
	return attr->is_global && grh_is_multicast(&attr->grh.dgid) &&
	       (port_is_roce(attr->port_num) ||
		(attr->dlid >= LID_MULTICAST && attr->dlid != LID_PERMISSIVE));
}

static struct ibv_ah *make_ah(struct ibv_pd *pd, const struct ibv_ah_attr *attr)
{
	struct port_gid sgid;
	struct soft_ah *ah;
	int err;

	err = check_attr(attr, &sgid);
	if (err)
		return soft_fail(err);
	if (!soft_tally_add(&count, profile_limits()->max_ah))
		return soft_fail(ENOMEM);
	ah = calloc(1, sizeof(*ah));
	if (!ah) {
		soft_tally_sub(&count);
		return soft_fail(ENOMEM);
	}
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	ah->ah.handle = soft_serial();
	ah->attr = *attr;
	ah->refs = 1;
	ah->pd = pd->handle;
	ah->slid = port_at(attr->port_num)->attr.lid | attr->src_path_bits;
	ah->multicast = is_multicast(attr);
	ah->reachable = port_reaches(attr);
	ah->wc_sl = attr->sl;
	if (attr->is_global)
		grh_prepare(ah, &sgid.gid, sgid.type);
	network_route_ah(ah);
	__atomic_add_fetch(&to_pd(pd)->refs, 1, __ATOMIC_RELAXED);
	return &ah->ah;
}

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	int err = soft_enter(pd->context, "create_ah");

	return err ? soft_fail(err) : make_ah(pd, attr);
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ibah)
{
	int err;

	err = soft_enter(ibah->context, "destroy_ah");
	if (err)
		return err;
	__atomic_sub_fetch(&to_pd(ibah->pd)->refs, 1, __ATOMIC_RELEASE);
	soft_tally_sub(&count);
	soft_ah_put(to_ah(ibah));
	return 0;
}

/* Reverse the path of a received datagram: the destination becomes its source. */
static int reverse_path(struct ibv_ah_attr *attr, const struct ibv_grh *grh)
{
	struct ibv_global_route *to = &attr->grh;
	enum ibv_gid_type type = IBV_GID_TYPE_IB;
	union ibv_gid here = grh->dgid;
	struct iphdr ip;
	uint32_t flow;
	int index;

	if (grh_find_ipv4(grh, &ip)) {
		type = IBV_GID_TYPE_ROCE_V2;
		here = grh_gid_of_ipv4(ip.daddr);
		to->dgid = grh_gid_of_ipv4(ip.saddr);
		to->traffic_class = ip.tos;
		to->hop_limit = ip.ttl;
	} else {
		flow = be32toh(grh->version_tclass_flow);
		if (flow >> 28 != 6)
			return EPROTONOSUPPORT;
		if (grh->next_hdr == IPPROTO_UDP)
			type = IBV_GID_TYPE_ROCE_V2;
		else if (port_is_roce(attr->port_num))
			type = IBV_GID_TYPE_ROCE_V1;
		to->dgid = grh->sgid;
		to->flow_label = flow & 0xfffff;
		to->traffic_class = flow >> 20;
		to->hop_limit = grh->hop_limit;
	}
	index = port_find_gid(attr->port_num, &here, type);
	if (index < 0)
		return ENODATA;
	attr->is_global = 1;
	to->sgid_index = index;
	return 0;
}

static int init_from_wc(uint8_t port_num, const struct ibv_wc *wc, const struct ibv_grh *grh,
			struct ibv_ah_attr *attr)
{
	if (!port_at(port_num))
		return EINVAL;
	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port_num;
	return wc->wc_flags & IBV_WC_GRH ? reverse_path(attr, grh) : 0;
}

EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			       struct ibv_grh *grh, struct ibv_ah_attr *ah_attr)
{
	int err;

	err = soft_enter(context, "init_ah_from_wc");
	if (!err)
		err = init_from_wc(port_num, wc, grh, ah_attr);
	if (!err)
		return 0;
	errno = err;
	return -1;
}

EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					    struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;
	int err;

	err = soft_enter(pd->context, "create_ah_from_wc");
	if (!err)
		err = init_from_wc(port_num, wc, grh, &attr);
	return err ? soft_fail(err) : make_ah(pd, &attr);
}
