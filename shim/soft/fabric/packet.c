/*
 * Reading the headers of Ethernet packets
 *
 *	Ethernet, VLAN tags, IPv4 or IPv6, TCP or UDP
 *
 * Other headers, options of IPv6 and tunnels are not parsed.
 */
#include "shim/soft/fabric/packet.h"

#include <string.h>

enum {
	MACS = 12,
	VLAN = 0x8100,
	QINQ = 0x88a8,
	IPV4 = 0x0800,
	IPV6 = 0x86dd,
	IPV6_HEADER = 40,
	TCP = 6,
	UDP = 17,
	OFFSET = 0x1fff, /* bits of the fragment offset */
};

struct reader {
	const uint8_t *data;
	size_t len;
};

/* Take the next @n bytes; NULL: fewer are left. */
static const uint8_t *take_bytes(struct reader *r, size_t n)
{
	const uint8_t *at = r->data;

	if (n > r->len)
		return NULL;
	r->data += n;
	r->len -= n;
	return at;
}

static uint16_t be16_at(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

static unsigned int read_ports(struct reader *r, struct packet *packet)
{
	unsigned int layer = packet->proto == TCP   ? PACKET_TCP
			     : packet->proto == UDP ? PACKET_UDP
						    : 0;
	const uint8_t *at = layer ? take_bytes(r, 4) : NULL;

	if (!at)
		return 0;
	memcpy(packet->src_port, at, 2);
	memcpy(packet->dst_port, at + 2, 2);
	return layer;
}

static unsigned int read_ipv4(struct reader *r, struct packet *packet)
{
	const uint8_t *at = take_bytes(r, 20);
	size_t options;

	if (!at || at[0] >> 4 != 4 || (at[0] & 15) < 5)
		return 0;
	options = (at[0] & 15) * 4 - 20;
	packet->tos = at[1];
	packet->ip_flags =
		(at[6] & 0x40 ? PACKET_DONT_FRAG : 0) | (at[6] & 0x20 ? PACKET_MORE_FRAG : 0);
	packet->ttl = at[8];
	packet->proto = at[9];
	memcpy(packet->src_ip, at + 12, 4);
	memcpy(packet->dst_ip, at + 16, 4);
	if (be16_at(at + 6) & OFFSET || (options && !take_bytes(r, options)))
		return PACKET_IPV4;
	return PACKET_IPV4 | read_ports(r, packet);
}

static unsigned int read_ipv6(struct reader *r, struct packet *packet)
{
	const uint8_t *at = take_bytes(r, IPV6_HEADER);

	if (!at || at[0] >> 4 != 6)
		return 0;
	packet->tos = at[0] << 4 | at[1] >> 4;
	packet->flow_label[1] = at[1] & 15;
	packet->flow_label[2] = at[2];
	packet->flow_label[3] = at[3];
	packet->proto = at[6];
	packet->ttl = at[7];
	memcpy(packet->src_ip, at + 8, 16);
	memcpy(packet->dst_ip, at + 24, 16);
	return PACKET_IPV6 | read_ports(r, packet);
}

unsigned int packet_read(const uint8_t *data, size_t len, struct packet *packet)
{
	struct reader r = { data, len };
	const uint8_t *macs = take_bytes(&r, MACS), *at = take_bytes(&r, 2);
	unsigned int layers = PACKET_ETH;

	memset(packet, 0, sizeof(*packet));
	if (!macs || !at)
		return 0;
	memcpy(packet->dst_mac, macs, 6);
	memcpy(packet->src_mac, macs + 6, 6);
	while (be16_at(at) == VLAN || be16_at(at) == QINQ) {
		at = take_bytes(&r, 4);
		if (!at)
			return layers;
		if (!(layers & PACKET_VLAN))
			memcpy(packet->vlan_tag, at, 2);
		layers |= PACKET_VLAN;
		at += 2;
	}
	memcpy(packet->ether_type, at, 2);
	if (be16_at(at) == IPV4)
		layers |= read_ipv4(&r, packet);
	else if (be16_at(at) == IPV6)
		layers |= read_ipv6(&r, packet);
	return layers;
}

uint32_t packet_hash(const uint8_t *key, const uint8_t *data, size_t len)
{
	uint32_t window = (uint32_t)key[0] << 24 | key[1] << 16 | key[2] << 8 | key[3];
	uint32_t hash = 0;
	size_t i;
	int bit;

	for (i = 0; i < len; i++)
		for (bit = 7; bit >= 0; bit--) {
			if (data[i] >> bit & 1)
				hash ^= window;
			window = window << 1 | (key[i + 4] >> bit & 1);
		}
	return hash;
}
