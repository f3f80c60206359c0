#pragma once
/*
 * Parses the headers of an Ethernet packet. Any thread.
 */
#include <stddef.h>
#include <stdint.h>

/* The fields of the headers, in network order. */
struct packet {
	uint8_t dst_mac[6];
	uint8_t src_mac[6];
	uint8_t ether_type[2]; /* the type after the last VLAN tag */
	uint8_t vlan_tag[2];   /* the first VLAN tag */
	uint8_t src_ip[16];    /* IPv4: in the first four bytes */
	uint8_t dst_ip[16];
	uint8_t flow_label[4];
	uint8_t tos;      /* IPv6: traffic class */
	uint8_t ttl;      /* IPv6: hop limit */
	uint8_t proto;    /* IPv6: next header */
	uint8_t ip_flags; /* PACKET_DONT_FRAG, PACKET_MORE_FRAG */
	uint8_t src_port[2];
	uint8_t dst_port[2];
};

enum { PACKET_DONT_FRAG = 2, PACKET_MORE_FRAG = 4 };

/* Bits that say which headers are present. */
enum {
	PACKET_ETH = 1,
	PACKET_VLAN = 2,
	PACKET_IPV4 = 4,
	PACKET_IPV6 = 8,
	PACKET_TCP = 16,
	PACKET_UDP = 32,
};

enum { PACKET_HEADERS = 128 }; /* at most this many bytes are parsed */

/*
 * Parse the headers of a packet that begins with the @len bytes at @data. Returns the bits of the
 * headers that are present.
 */
unsigned int packet_read(const uint8_t *data, size_t len, struct packet *packet);

/* The Toeplitz hash of the @len bytes at @data; @key has 40 bytes. */
uint32_t packet_hash(const uint8_t *key, const uint8_t *data, size_t len);
