#pragma once
/*
 * Parses the headers of an Ethernet packet. Any thread.
 */
#include <stddef.h>
#include <stdint.h>

/* The fields in network order. */
struct packet {
	uint8_t dst_mac[6];
	uint8_t src_mac[6];
	uint8_t ether_type[2]; /* after the last VLAN tag */
	uint8_t vlan_tag[2];   /* of the first */
	uint8_t src_ip[16];    /* of IPv4: the first four */
	uint8_t dst_ip[16];
	uint8_t flow_label[4];
	uint8_t tos;      /* traffic class */
	uint8_t ttl;      /* hop limit */
	uint8_t proto;    /* next header */
	uint8_t ip_flags; /* PACKET_DONT_FRAG, PACKET_MORE_FRAG */
	uint8_t src_port[2];
	uint8_t dst_port[2];
};

enum { PACKET_DONT_FRAG = 2, PACKET_MORE_FRAG = 4 };

/* Which headers are present: bits. */
enum {
	PACKET_ETH = 1,
	PACKET_VLAN = 2,
	PACKET_IPV4 = 4,
	PACKET_IPV6 = 8,
	PACKET_TCP = 16,
	PACKET_UDP = 32,
};

enum { PACKET_HEADERS = 128 }; /* bytes that are parsed */

/* The headers of a packet that begins with @len bytes at @data. */
unsigned int packet_read(const uint8_t *data, size_t len, struct packet *packet);

/* The Toeplitz hash of @len bytes; the key has 40. */
uint32_t packet_hash(const uint8_t *key, const uint8_t *data, size_t len);
