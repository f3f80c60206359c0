/*
 * Address handles
 *
 * A datagram with a global address begins with a header of 40 bytes, which
 * the receiver finds in front of the payload. RoCE v2 puts the packet's IP
 * header there; an IPv4 one is half as long:
 *
 *	InfiniBand, RoCE v1	GRH: next header 0x1b
 *	RoCE v2, IPv6		IPv6 header: next header UDP
 *	RoCE v2, IPv4		20 bytes of nothing, IPv4 header: protocol UDP
 *
 * What does not change from message to message is prepared with the handle.
 *
 * Source: the specification's 8.3, and annexes A16 and A17.
 */
#include "shim/soft/verbs/ah.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdlib.h>

#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/port.h"

enum {
	NEXT_IBA	= 0x1b,		/* base transport header */
	BTH		= 12,
	DETH		= 8,
	IMMDT		= 4,
	ICRC		= 4,
	UDP		= 8,
	HOPS		= 64,
	LID_MULTICAST	= 0xc000,
	LID_PERMISSIVE	= 0xffff,
};

/* What lies in front of an IPv4 header. */
#define IPV4_AT		(sizeof(struct ibv_grh) - sizeof(struct iphdr))

static struct soft_tally count;

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static bool is_ipv4(const union ibv_gid *gid)
{
	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

static uint32_t ipv4_of(const union ibv_gid *gid)
{
	uint32_t addr;

	memcpy(&addr, gid->raw + sizeof(mapped), sizeof(addr));
	return addr;
}

bool ah_gid_is_multicast(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xff ||
		(is_ipv4(gid) && IN_MULTICAST(ntohl(ipv4_of(gid))));
}

static void begin_ipv4(struct soft_ah *ah, const union ibv_gid *sgid)
{
	const struct ibv_global_route *to = &ah->attr.grh;
	struct iphdr ip = {
		.version	= 4,
		.ihl		= sizeof(ip) / 4,
		.tos		= to->traffic_class,
		.frag_off	= htons(IP_DF),
		.ttl		= to->hop_limit ? to->hop_limit : HOPS,
		.protocol	= IPPROTO_UDP,
		.saddr		= ipv4_of(sgid),
		.daddr		= ipv4_of(&to->dgid),
	};

	memcpy((uint8_t *)&ah->grh + IPV4_AT, &ip, sizeof(ip));
}

static void begin_grh(struct soft_ah *ah, const union ibv_gid *sgid,
		      enum ibv_gid_type type)
{
	const struct ibv_global_route *to = &ah->attr.grh;
	bool v2 = type == IBV_GID_TYPE_ROCE_V2;

	if (v2 && is_ipv4(sgid)) {
		ah->ipv4 = true;
		begin_ipv4(ah, sgid);
		return;
	}
	ah->grh.version_tclass_flow = htobe32(6u << 28 |
					      to->traffic_class << 20 |
					      (to->flow_label & 0xfffff));
	ah->grh.next_hdr = v2 ? IPPROTO_UDP : NEXT_IBA;
	ah->grh.hop_limit = v2 && !to->hop_limit ? HOPS : to->hop_limit;
	ah->grh.sgid = *sgid;
	ah->grh.dgid = to->dgid;
	ah->extra = v2 ? UDP : 0;
}

static uint16_t ip_checksum(const struct iphdr *ip)
{
	const uint16_t *word = (const uint16_t *)ip;
	uint32_t sum = 0;
	unsigned int i;

	for (i = 0; i < sizeof(*ip) / sizeof(*word); i++)
		sum += word[i];
	sum = (sum >> 16) + (sum & 0xffff);
	return ~(sum + (sum >> 16));
}

static void finish_ipv4(struct ibv_grh *grh, uint32_t length)
{
	struct iphdr ip;

	memcpy(&ip, (uint8_t *)grh + IPV4_AT, sizeof(ip));
	ip.tot_len = htons(sizeof(ip) + UDP + length);
	ip.check = 0;
	ip.check = ip_checksum(&ip);
	memcpy((uint8_t *)grh + IPV4_AT, &ip, sizeof(ip));
}

void ah_fill_grh(const struct soft_ah *ah, uint32_t length, bool imm,
		 struct ibv_grh *grh)
{
	/* up to and with the invariant checksum; payload is padded */
	length = ((length + 3) & ~3u) + BTH + DETH + (imm ? IMMDT : 0) + ICRC;
	*grh = ah->grh;
	if (ah->ipv4)
		finish_ipv4(grh, length);
	else
		grh->paylen = htons(length + ah->extra);
}

/* 0 or the errno for an address that cannot be one. */
static int check(const struct ibv_ah_attr *attr, struct port_gid *ret_sgid)
{
	bool roce = port_is_roce(attr->port_num);

	if (port_check(attr) || attr->sl > 15 || (!roce && !attr->dlid))
		return EINVAL;
	if (!attr->is_global)
		return 0;
	if (!port_gid(attr->port_num, attr->grh.sgid_index, ret_sgid))
		return EINVAL;
	/* on Ethernet, an address must be resolved */
	return roce && !ah_gid_is_multicast(&attr->grh.dgid) &&
		!port_has_gid(&attr->grh.dgid) ? ETIMEDOUT : 0;
}

static bool is_multicast(const struct ibv_ah_attr *attr)
{
	return attr->is_global && ah_gid_is_multicast(&attr->grh.dgid) &&
		(port_is_roce(attr->port_num) ||
		 (attr->dlid >= LID_MULTICAST && attr->dlid != LID_PERMISSIVE));
}

static struct ibv_ah *create(struct ibv_pd *pd, const struct ibv_ah_attr *attr)
{
	struct port_gid sgid;
	struct soft_ah *ah;
	int err;

	err = check(attr, &sgid);
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
	if (attr->is_global)
		begin_grh(ah, &sgid.gid, sgid.type);
	__atomic_add_fetch(&to_pd(pd)->refs, 1, __ATOMIC_RELAXED);
	return &ah->ah;
}

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	int err = soft_enter(pd->context, "create_ah");

	return err ? soft_fail(err) : create(pd, attr);
}

void ah_get(struct soft_ah *ah)
{
	__atomic_add_fetch(&ah->refs, 1, __ATOMIC_RELAXED);
}

void ah_put(struct soft_ah *ah)
{
	if (!__atomic_sub_fetch(&ah->refs, 1, __ATOMIC_ACQ_REL))
		free(ah);
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ibah)
{
	int err;

	err = soft_enter(ibah->context, "destroy_ah");
	if (err)
		return err;
	__atomic_sub_fetch(&to_pd(ibah->pd)->refs, 1, __ATOMIC_RELEASE);
	soft_tally_sub(&count);
	ah_put(to_ah(ibah));
	return 0;
}

/* The IPv4 header at the end, if that is what @grh is. */
static bool find_ipv4(const struct ibv_grh *grh, struct iphdr *ip)
{
	uint16_t check;

	memcpy(ip, (const uint8_t *)grh + IPV4_AT, sizeof(*ip));
	if (ip->version != 4 || ip->ihl != sizeof(*ip) / 4 ||
	    ip->protocol != IPPROTO_UDP)
		return false;
	check = ip->check;
	ip->check = 0;
	return ip_checksum(ip) == check;
}

static union ibv_gid gid_of(uint32_t ipv4)
{
	union ibv_gid gid;

	memcpy(gid.raw, mapped, sizeof(mapped));
	memcpy(gid.raw + sizeof(mapped), &ipv4, sizeof(ipv4));
	return gid;
}

/* The way back: to where it came from, by the address that it came to. */
static int turn(struct ibv_ah_attr *attr, const struct ibv_grh *grh)
{
	struct ibv_global_route *to = &attr->grh;
	enum ibv_gid_type type = IBV_GID_TYPE_IB;
	union ibv_gid here = grh->dgid;
	struct iphdr ip;
	uint32_t flow;
	int index;

	if (find_ipv4(grh, &ip)) {
		type = IBV_GID_TYPE_ROCE_V2;
		here = gid_of(ip.daddr);
		to->dgid = gid_of(ip.saddr);
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

static int init_from_wc(uint8_t port_num, const struct ibv_wc *wc,
			const struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	if (!port_at(port_num))
		return EINVAL;
	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port_num;
	return wc->wc_flags & IBV_WC_GRH ? turn(attr, grh) : 0;
}

EXPORT int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num,
			       struct ibv_wc *wc, struct ibv_grh *grh,
			       struct ibv_ah_attr *ah_attr)
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

EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd,
					    struct ibv_wc *wc,
					    struct ibv_grh *grh,
					    uint8_t port_num)
{
	struct ibv_ah_attr attr;
	int err;

	err = soft_enter(pd->context, "create_ah_from_wc");
	if (!err)
		err = init_from_wc(port_num, wc, grh, &attr);
	return err ? soft_fail(err) : create(pd, &attr);
}
