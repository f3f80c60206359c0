/*
 * The invariant CRC
 *
 * It begins with 8 bytes of ones instead of the local route header, and replaces the fields that
 * routers change by ones: type of service or traffic class and flow label, time to live or hop
 * limit, the checksums of IP and UDP, and the reserved byte of the base transport header, which has
 * the congestion marks.
 *
 * The identification and the flags of an IPv4 header are not masked. A UDP socket sends packets
 * that must not be fragmented with identification 0, or with numbers from 0 on in a train
 * (outbox.c). But a receiving socket does not report these fields, and other senders use other
 * values. So if the CRC differs from the one for the likely values, the difference is computed back
 * to these fields: it must be a difference only of the identification, or of the flag DF. One wrong
 * packet in 2^15 passes this test, but the checksum of UDP is checked, too.
 */
#include "shim/soft/wire/icrc.h"

#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <stddef.h>
#include <string.h>

#include "shim/soft/wire/crc32.h"
#include "shim/soft/wire/header.h"

#define SEED 0xdebb20e3u /* the CRC of 8 bytes of ones */

enum {
	BTH_MASKED = 4, /* offset of the byte with the congestion marks */
	/* bytes of the IP and UDP headers after the identification */
	AFTER_ID = sizeof(struct iphdr) - offsetof(struct iphdr, frag_off) + sizeof(struct udphdr),
};

static uint32_t add_udp(uint32_t crc, uint16_t src_port, size_t len)
{
	struct udphdr udp = {
		.source = htons(src_port),
		.dest = htons(HEADER_UDP_PORT),
		.len = htons(sizeof(udp) + len),
		.check = 0xffff,
	};

	return crc32_add(crc, &udp, sizeof(udp));
}

static uint32_t add_ipv4(uint32_t crc, const struct icrc_ends *ends, size_t len)
{
	struct iphdr ip = {
		.version = 4,
		.ihl = sizeof(ip) / 4,
		.tos = 0xff,
		.tot_len = htons(sizeof(ip) + sizeof(struct udphdr) + len),
		.frag_off = htons(IP_DF),
		.ttl = 0xff,
		.protocol = IPPROTO_UDP,
		.check = 0xffff,
	};

	memcpy(&ip.saddr, ends->src.s6_addr + 12, sizeof(ip.saddr));
	memcpy(&ip.daddr, ends->dst.s6_addr + 12, sizeof(ip.daddr));
	return crc32_add(crc, &ip, sizeof(ip));
}

static uint32_t add_ipv6(uint32_t crc, const struct icrc_ends *ends, size_t len)
{
	struct ip6_hdr ip = {
		.ip6_src = ends->src,
		.ip6_dst = ends->dst,
	};

	ip.ip6_flow = htonl(0x6fffffff);
	ip.ip6_plen = htons(sizeof(struct udphdr) + len);
	ip.ip6_nxt = IPPROTO_UDP;
	ip.ip6_hlim = 0xff;
	return crc32_add(crc, &ip, sizeof(ip));
}

static bool is_ipv4(const struct icrc_ends *ends)
{
	return IN6_IS_ADDR_V4MAPPED(&ends->dst);
}

/*
 * What an identification of IPv4 changes: its CRC, since a CRC is linear, and of the bytes of both
 * headers after it.
 */
static uint32_t effect_of_id(uint16_t id)
{
	const uint8_t bytes[AFTER_ID + sizeof(id)] = { id >> 8, id & 0xff };

	return crc32_add(0, bytes, sizeof(bytes));
}

static bool is_same_path(const struct icrc_ends *a, const struct icrc_ends *b)
{
	return a->src_port == b->src_port && !memcmp(&a->src, &b->src, sizeof(a->src)) &&
	       !memcmp(&a->dst, &b->dst, sizeof(a->dst));
}

uint32_t icrc_begin(struct icrc_start *last, const struct icrc_ends *ends, size_t len)
{
	uint32_t crc;

	if (last->len != len || !is_same_path(&last->ends, ends)) {
		crc = is_ipv4(ends) ? add_ipv4(SEED, ends, len) : add_ipv6(SEED, ends, len);
		*last = (struct icrc_start){ *ends, len, add_udp(crc, ends->src_port, len) };
	}
	return ends->id && is_ipv4(ends) ? last->crc ^ effect_of_id(ends->id) : last->crc;
}

uint32_t icrc_add_bth(uint32_t crc, const uint8_t *bth)
{
	uint8_t masked[HEADER_BTH_SIZE];

	memcpy(masked, bth, sizeof(masked));
	masked[BTH_MASKED] = 0xff;
	return crc32_add(crc, masked, sizeof(masked));
}

uint32_t icrc_add(uint32_t crc, const void *data, size_t len)
{
	return crc32_add(crc, data, len);
}

void icrc_write(uint32_t crc, uint8_t *to)
{
	crc = ~crc;
	to[0] = crc;
	to[1] = crc >> 8;
	to[2] = crc >> 16;
	to[3] = crc >> 24;
}

static uint32_t read_icrc(const uint8_t *from)
{
	return ~(from[0] | from[1] << 8 | from[2] << 16 | (uint32_t)from[3] << 24);
}

/*
 * Can @diff be the difference of the CRCs of two packets, with @len bytes after UDP, that differ
 * only in the identification or DF? In the result of crc32_back(), the first of these four bytes is
 * the lowest.
 */
static bool is_ipv4_id_diff(uint32_t diff, size_t len)
{
	size_t after = sizeof(struct iphdr) - offsetof(struct iphdr, ttl) + sizeof(struct udphdr) +
		       len - HEADER_ICRC;

	return !(crc32_back(diff, after + 4) & 0xffbf0000);
}

bool icrc_is_good(struct icrc_start *last, const struct icrc_ends *ends, const uint8_t *packet,
		  size_t len)
{
	uint32_t crc;

	if (len < HEADER_BTH_SIZE + HEADER_ICRC)
		return false;
	crc = icrc_add_bth(icrc_begin(last, ends, len), packet);
	crc = crc32_add(crc, packet + HEADER_BTH_SIZE, len - HEADER_BTH_SIZE - HEADER_ICRC);
	crc ^= read_icrc(packet + len - HEADER_ICRC);
	return !crc || (is_ipv4(ends) && is_ipv4_id_diff(crc, len));
}

/*
 * Would the ICRC detect a flipped bit @bit? The CRC is linear: the difference of the CRCs of two
 * packets is the CRC of their difference.
 */
bool icrc_shows(size_t bit, size_t len)
{
	size_t at = bit / 8, end = len - HEADER_ICRC;
	uint8_t byte = 1 << bit % 8, zero = 0;
	uint32_t diff;

	if (at >= end)
		diff = (uint32_t)byte << 8 * (at - end);
	else if (at == BTH_MASKED)
		return false;
	else
		diff = crc32_add(0, &byte, 1);
	while (++at < end)
		diff = crc32_add(diff, &zero, 1);
	return !is_ipv4_id_diff(diff, len);
}
