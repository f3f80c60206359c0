#include <string.h>

#include "shim/soft/fabric/packet.h"
#include "tests/test.h"

/* clang-format off */
static const uint8_t udp4[] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x81, 0x00, 0xa0, 0x05,
	0x08, 0x00,
	0x45, 0x02, 0, 30, 0, 0, 0x40, 0, 64, 17, 0, 0,
	1, 1, 1, 1, 2, 2, 2, 2,
	0x12, 0x34, 0x56, 0x78, 0, 8, 0, 0,
};

static const uint8_t tcp6[] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x86, 0xdd,
	0x61, 0x23, 0x45, 0x67, 0, 20, 6, 63,
	1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
	3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4,
	0x12, 0x34, 0x56, 0x78, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0,
};
/* clang-format on */

TEST(headers_are_read)
{
	struct packet p;

	assert_int_equal(packet_read(udp4, sizeof(udp4), &p),
			 PACKET_ETH | PACKET_VLAN | PACKET_IPV4 | PACKET_UDP);
	assert_memory_equal(p.dst_mac, udp4, 6);
	assert_memory_equal(p.src_mac, udp4 + 6, 6);
	assert_memory_equal(p.vlan_tag, "\xa0\x05", 2);
	assert_memory_equal(p.ether_type, "\x08\x00", 2);
	assert_memory_equal(p.src_ip, "\1\1\1\1", 4);
	assert_memory_equal(p.dst_ip, "\2\2\2\2", 4);
	assert_int_equal(p.tos, 2);
	assert_int_equal(p.ttl, 64);
	assert_int_equal(p.proto, 17);
	assert_int_equal(p.ip_flags, PACKET_DONT_FRAG);
	assert_memory_equal(p.src_port, "\x12\x34", 2);
	assert_memory_equal(p.dst_port, "\x56\x78", 2);
}

TEST(headers_of_ipv6_are_read)
{
	struct packet p;

	assert_int_equal(packet_read(tcp6, sizeof(tcp6), &p),
			 PACKET_ETH | PACKET_IPV6 | PACKET_TCP);
	assert_memory_equal(p.ether_type, "\x86\xdd", 2);
	assert_memory_equal(p.src_ip, tcp6 + 22, 16);
	assert_memory_equal(p.dst_ip, tcp6 + 38, 16);
	assert_memory_equal(p.flow_label, "\0\x03\x45\x67", 4);
	assert_int_equal(p.tos, 0x12);
	assert_int_equal(p.ttl, 63);
	assert_int_equal(p.proto, 6);
	assert_memory_equal(p.src_port, "\x12\x34", 2);
	assert_memory_equal(p.dst_port, "\x56\x78", 2);
}

/* Every prefix of a packet has fewer headers, and none is read beyond it. */
TEST(short_packets_have_fewer_headers)
{
	uint8_t copy[sizeof(udp4)];
	unsigned int layers, last = 0;
	struct packet p;
	size_t len;

	for (len = 0; len <= sizeof(udp4); len++) {
		memset(copy, 0xff, sizeof(copy));
		memcpy(copy, udp4, len);
		layers = packet_read(copy, len, &p);
		assert_int_equal(layers & last, last);
		last = layers;
	}
	assert_true(last & PACKET_UDP);
}

TEST(later_fragments_have_no_ports)
{
	uint8_t fragment[sizeof(udp4)];
	struct packet p;

	memcpy(fragment, udp4, sizeof(udp4));
	fragment[18 + 6] = 0x20;
	fragment[18 + 7] = 9;
	assert_int_equal(packet_read(fragment, sizeof(fragment), &p),
			 PACKET_ETH | PACKET_VLAN | PACKET_IPV4);
	assert_int_equal(p.ip_flags, PACKET_MORE_FRAG);
}

/* From Microsoft's verification suite for receive side scaling. */
TEST(hash_is_toeplitz)
{
	static const uint8_t key[40] = {
		0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
		0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
		0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
	};
	static const uint8_t input[] = {
		66, 9, 149, 187, 161, 142, 100, 80, 2794 >> 8, 2794 & 255, 1766 >> 8, 1766 & 255,
	};

	assert_int_equal(packet_hash(key, input, 8), 0x323e8fc2);
	assert_int_equal(packet_hash(key, input, 12), 0x51ccc178);
	assert_int_equal(packet_hash(key, input, 0), 0);
}
