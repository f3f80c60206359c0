/*
 * One packet of RoCE v2
 *
 * 	+----------+------------+-----+-----+----------+---------+-----+------+
 * 	| Ethernet | IPv4, IPv6 | UDP | BTH | extended | payload | pad | ICRC |
 * 	+----------+------------+-----+-----+----------+---------+-----+------+
 *
 * InfiniBand Architecture Specification volume 1, chapter 9 and annexes A16, A17. A GID is an IP
 * address; the Ethernet address is made from it.
 */
#include "cli/export/roce.h"

#include <string.h>

enum {
	ETHERTYPE_V4 = 0x0800,
	ETHERTYPE_V6 = 0x86dd,
	PROTOCOL_UDP = 17,
	PORT_ROCE = 4791,
	HEADER_ETHERNET = 14,
	HEADER_UDP = 8,
	HEADER_TRANSPORT = 12,
	ICRC = 4,
	PKEY_DEFAULT = 0xffff,
};

static uint8_t *put_number(uint8_t *at, uint64_t number, size_t bytes)
{
	for (size_t i = bytes; i-- > 0; number >>= 8)
		at[i] = (uint8_t)number;
	return at + bytes;
}

void roce_add(struct roce_fields *fields, uint64_t number, size_t bytes)
{
	put_number(fields->at + fields->n, number, bytes);
	fields->n += bytes;
}

void roce_join(struct roce_fields *fields, const struct roce_fields *other)
{
	memcpy(fields->at + fields->n, other->at, other->n);
	fields->n += other->n;
}

static bool is_ipv4(const uint8_t gid[ROCE_GID])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, mapped, sizeof(mapped)) ||
	       (gid[0] == 0xff && !memcmp(gid + 2, mapped + 2, 10));
}

/* An invented MAC address; for multicast, 33:33 and the end of the GID. */
static uint8_t *put_mac(uint8_t *at, const uint8_t gid[ROCE_GID])
{
	memcpy(at, gid[0] == 0xff ? (const uint8_t[]){ 0x33, 0x33 } : (const uint8_t[]){ 2, 0 }, 2);
	memcpy(at + 2, gid + 12, 4);
	return at + 6;
}

static uint16_t sum_header(const uint8_t *at, size_t bytes)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < bytes; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

static uint8_t *put_ipv4(uint8_t *at, const struct roce_packet *packet, size_t length)
{
	uint8_t *first = at;

	*at++ = 0x45;
	*at++ = packet->traffic_class;
	at = put_number(at, 20 + length, 2);
	at = put_number(at, 0x4000, 4); /* don't fragment */
	*at++ = packet->hop_limit;
	*at++ = PROTOCOL_UDP;
	at = put_number(at, 0, 2);
	memcpy(at, packet->from + 12, 4);
	memcpy(at + 4, packet->to + 12, 4);
	if (packet->to[0] == 0xff)
		at[4] = (uint8_t)(0xe0 | (at[4] & 0xf));
	put_number(first + 10, sum_header(first, 20), 2);
	return at + 8;
}

static uint8_t *put_ipv6(uint8_t *at, const struct roce_packet *packet, size_t length)
{
	at = put_number(at, 6ull << 28 | (uint32_t)packet->traffic_class << 20, 4);
	at = put_number(at, length, 2);
	*at++ = PROTOCOL_UDP;
	*at++ = packet->hop_limit;
	memcpy(at, packet->from, ROCE_GID);
	memcpy(at + ROCE_GID, packet->to, ROCE_GID);
	return at + 2 * (size_t)ROCE_GID;
}

/* The CRC-32 of Ethernet. */
static uint32_t add_crc(uint32_t crc, const uint8_t *at, size_t bytes)
{
	static uint32_t table[256];

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			table[i] = i;
			for (int bit = 0; bit < 8; bit++)
				table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
		}
	for (size_t i = 0; i < bytes; i++)
		crc = crc >> 8 ^ table[(crc ^ at[i]) & 0xff];
	return crc;
}

/* CRC of the packet from IP on, with ones for the fields that a router may change. */
static uint32_t find_icrc(const uint8_t *ip, size_t nip, size_t bytes)
{
	uint8_t headers[8 + 40 + HEADER_UDP + HEADER_TRANSPORT], *at = headers + 8;
	size_t n = nip + HEADER_UDP + HEADER_TRANSPORT;
	uint32_t crc;

	memset(headers, 0xff, 8);
	memcpy(at, ip, n);
	if (nip == 20) {
		at[1] = at[8] = at[10] = at[11] = 0xff;
	} else {
		at[0] |= 0xf;
		at[1] = at[2] = at[3] = at[7] = 0xff;
	}
	at[nip + 6] = at[nip + 7] = 0xff; /* UDP's checksum */
	at[nip + HEADER_UDP + 4] = 0xff;  /* reserved, congestion */
	crc = add_crc(UINT32_MAX, headers, 8 + n);
	return ~add_crc(crc, ip + n, bytes - n);
}

static uint8_t *put_transport(uint8_t *at, const struct roce_packet *packet, uint32_t pad)
{
	*at++ = packet->opcode;
	*at++ = (uint8_t)(packet->solicited << 7 | 1 << 6 | pad << 4); /* migrated; version 0 */
	at = put_number(at, PKEY_DEFAULT, 2);
	at = put_number(at, packet->qp & 0xffffff, 4);
	at = put_number(at, (uint32_t)packet->acknowledge << 31 | (packet->psn & 0xffffff), 4);
	memcpy(at, packet->extended.at, packet->extended.n);
	return at + packet->extended.n;
}

size_t roce_write(const struct roce_packet *packet, uint8_t to[ROCE_MOST])
{
	uint32_t pad = -packet->length & 3, icrc;
	bool v4 = is_ipv4(packet->from) && is_ipv4(packet->to);
	size_t length =
		HEADER_UDP + HEADER_TRANSPORT + packet->extended.n + packet->length + pad + ICRC;
	uint8_t *at = put_mac(put_mac(to, packet->to), packet->from), *ip, *udp;

	ip = at = put_number(at, v4 ? ETHERTYPE_V4 : ETHERTYPE_V6, 2);
	udp = at = v4 ? put_ipv4(at, packet, length) : put_ipv6(at, packet, length);
	at = put_number(at, packet->port, 2);
	at = put_number(at, PORT_ROCE, 2);
	at = put_number(at, length, 2);
	at = put_number(at, 0, 2); /* no checksum */
	at = put_transport(at, packet, pad);
	if (packet->npayload)
		memcpy(at, packet->payload, packet->npayload);
	at += packet->npayload;
	memset(at, 0, packet->length - packet->npayload + pad);
	at += packet->length - packet->npayload + pad;
	icrc = find_icrc(ip, (size_t)(udp - ip), (size_t)(at - ip));
	for (int i = 0; i < ICRC; i++)
		*at++ = (uint8_t)(icrc >> 8 * i);
	return (size_t)(at - to);
}
