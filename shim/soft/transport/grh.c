/*
 * The header in front of a datagram
 *
 * A datagram with a global address begins with a header of 40 bytes, which the receiver gets in
 * front of the payload. With RoCE v2 this is the packet's IP header; an IPv4 header is half as
 * long:
 *
 *	InfiniBand, RoCE v1	GRH: next header 0x1b
 *	RoCE v2, IPv6		IPv6 header: next header UDP
 *	RoCE v2, IPv4		20 unused bytes, IPv4 header: protocol UDP
 *
 * The parts that are equal in all messages are prepared when the address handle is created.
 *
 * Source: InfiniBand specification, 8.3, and annexes A16 and A17.
 */
#include "shim/soft/transport/grh.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <string.h>

enum {
	NEXT_IBA = 0x1b, /* value of next header: base transport header */
	BTH = 12,
	DETH = 8,
	IMMDT = 4,
	ICRC = 4,
	UDP = 8,
	HOPS = 64,
};

/*
 * The kind of a RoCE packet, which the completion must report to the receiver (annex A17.4.5.1).
 * Adapters report it in the service level, which RoCE does not use, and UCX reads it from there.
 * Bit 3: UDP.
 */
enum { SL_ROCE_V1 = 0, SL_IPV6 = 8 | 1, SL_IPV4 = 8 | 2 };

/* Number of bytes in front of an IPv4 header. */
#define IPV4_AT (sizeof(struct ibv_grh) - sizeof(struct iphdr))

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

bool grh_is_multicast(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xff || (is_ipv4(gid) && IN_MULTICAST(ntohl(ipv4_of(gid))));
}

static void begin_ipv4(struct soft_ah *ah, const union ibv_gid *sgid)
{
	const struct ibv_global_route *to = &ah->attr.grh;
	struct iphdr ip = {
		.version = 4,
		.ihl = sizeof(ip) / 4,
		.tos = to->traffic_class,
		.frag_off = htons(IP_DF),
		.ttl = to->hop_limit ? to->hop_limit : HOPS,
		.protocol = IPPROTO_UDP,
		.saddr = ipv4_of(sgid),
		.daddr = ipv4_of(&to->dgid),
	};

	memcpy((uint8_t *)&ah->grh + IPV4_AT, &ip, sizeof(ip));
}

void grh_prepare(struct soft_ah *ah, const union ibv_gid *sgid, enum ibv_gid_type type)
{
	const struct ibv_global_route *to = &ah->attr.grh;
	bool v2 = type == IBV_GID_TYPE_ROCE_V2;

	if (type != IBV_GID_TYPE_IB)
		ah->wc_sl = !v2 ? SL_ROCE_V1 : is_ipv4(sgid) ? SL_IPV4 : SL_IPV6;
	if (v2 && is_ipv4(sgid)) {
		ah->ipv4 = true;
		begin_ipv4(ah, sgid);
		return;
	}
	ah->grh.version_tclass_flow =
		htobe32(6u << 28 | to->traffic_class << 20 | (to->flow_label & 0xfffff));
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

void grh_fill(const struct soft_ah *ah, uint32_t length, bool imm, struct ibv_grh *grh)
{
	/* up to and including the invariant CRC; the payload is padded */
	length = ((length + 3) & ~3u) + BTH + DETH + (imm ? IMMDT : 0) + ICRC;
	*grh = ah->grh;
	if (ah->ipv4)
		finish_ipv4(grh, length);
	else
		grh->paylen = htons(length + ah->extra);
}

bool grh_find_ipv4(const struct ibv_grh *grh, struct iphdr *ip)
{
	uint16_t check;

	memcpy(ip, (const uint8_t *)grh + IPV4_AT, sizeof(*ip));
	if (ip->version != 4 || ip->ihl != sizeof(*ip) / 4 || ip->protocol != IPPROTO_UDP)
		return false;
	check = ip->check;
	ip->check = 0;
	return ip_checksum(ip) == check;
}

union ibv_gid grh_gid_of_ipv4(uint32_t ipv4)
{
	union ibv_gid gid;

	memcpy(gid.raw, mapped, sizeof(mapped));
	memcpy(gid.raw + sizeof(mapped), &ipv4, sizeof(ipv4));
	return gid;
}
