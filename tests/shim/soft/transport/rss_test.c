/*
 * shim/soft/transport/rss.c: which fields of a packet are hashed, and which queue gets it
 */
#include "shim/soft/transport/rss.h"

#include <infiniband/verbs.h>

#include "tests/test.h"

enum {
	IP4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4,
	IP6 = IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6,
	TCP = IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP,
	UDP = IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP,
	ALL = IP4 | IP6 | TCP | UDP,
};

/* "S" and "D" are the addresses, "s" and "d" the ports that are hashed, in that order. */
static const struct fields_row {
	const char *name;
	unsigned int layers;
	uint64_t fields;
	const char *hashed;
} fields_rows[] = {
	{ "ip4_addresses", PACKET_IPV4, ALL, "SD" },
	{ "ip4_source", PACKET_IPV4, IBV_RX_HASH_SRC_IPV4 | IP6, "S" },
	{ "ip4_destination", PACKET_IPV4, IBV_RX_HASH_DST_IPV4 | IP6, "D" },
	{ "ip4_without_its_fields", PACKET_IPV4, IP6 | UDP, "" },
	{ "ip6_addresses", PACKET_IPV6, ALL, "SD" },
	{ "ip6_source", PACKET_IPV6, IBV_RX_HASH_SRC_IPV6 | IP4, "S" },
	{ "ip6_destination", PACKET_IPV6, IBV_RX_HASH_DST_IPV6 | IP4, "D" },
	{ "ip6_without_its_fields", PACKET_IPV6, IP4 | TCP, "" },
	{ "tcp_ports", PACKET_IPV4 | PACKET_TCP, ALL, "SDsd" },
	{ "tcp_source", PACKET_IPV4 | PACKET_TCP, IBV_RX_HASH_SRC_PORT_TCP | UDP, "s" },
	{ "tcp_destination", PACKET_IPV6 | PACKET_TCP, IBV_RX_HASH_DST_PORT_TCP | UDP, "d" },
	{ "udp_ports", PACKET_IPV6 | PACKET_UDP, ALL, "SDsd" },
	{ "udp_source", PACKET_IPV4 | PACKET_UDP, IBV_RX_HASH_SRC_PORT_UDP | TCP, "s" },
	{ "udp_destination", PACKET_IPV4 | PACKET_UDP, IBV_RX_HASH_DST_PORT_UDP | TCP, "d" },
	{ "no_ports", PACKET_IPV4, TCP | UDP, "" },
	{ "no_address", 0, ALL, "" },
};

static struct packet make_packet(void)
{
	struct packet p;

	memset(&p, 0, sizeof(p));
	for (unsigned int i = 0; i < sizeof(p.src_ip); i++) {
		p.src_ip[i] = (uint8_t)(0x11 + 3 * i);
		p.dst_ip[i] = (uint8_t)(0xc3 + 5 * i);
	}
	memcpy(p.src_port, "\x12\x34", 2);
	memcpy(p.dst_port, "\xab\xcd", 2);
	return p;
}

static struct shm_flow make_rule(uint64_t fields)
{
	struct shm_flow rule = { .spread = SHM_RSS_MAX, .fields = fields };

	for (unsigned int i = 0; i < SHM_RSS_KEY; i++)
		rule.key[i] = (uint8_t)(0x6d + 29 * i);
	for (uint32_t i = 0; i < SHM_RSS_MAX; i++)
		rule.target[i] = 1000 + i;
	return rule;
}

static uint32_t hash_fields(const struct shm_flow *rule, const struct packet *p,
			    const struct fields_row *row)
{
	size_t ip = row->layers & PACKET_IPV4 ? 4 : 16, n = 0;
	uint8_t bytes[36];

	for (const char *at = row->hashed; *at; at++) {
		const void *from = *at == 'S'   ? p->src_ip
				   : *at == 'D' ? p->dst_ip
				   : *at == 's' ? (const void *)p->src_port
						: (const void *)p->dst_port;
		size_t length = *at == 'S' || *at == 'D' ? ip : 2;

		memcpy(bytes + n, from, length);
		n += length;
	}
	return packet_hash(rule->key, bytes, n);
}

static void expect_hashed(void **state)
{
	const struct fields_row *row = *state;
	const struct packet packet = make_packet();
	const struct shm_flow rule = make_rule(row->fields);

	assert_int_equal(rss_target(&rule, row->layers, &packet),
			 1000 + (hash_fields(&rule, &packet, row) & (SHM_RSS_MAX - 1)));
}

TEST_ROWS(fields_rows, expect_hashed);

TEST(a_rule_that_does_not_spread_has_one_queue)
{
	const struct packet packet = make_packet();
	struct shm_flow rule = make_rule(ALL);

	(void)state;
	rule.spread = 0;
	assert_int_equal(rss_target(&rule, PACKET_IPV4, &packet), 1000);
}

TEST(packets_are_spread_over_as_many_queues_as_there_are)
{
	struct packet packet = make_packet();
	struct shm_flow rule = make_rule(ALL);
	unsigned int got[4] = { 0 };

	(void)state;
	rule.spread = 4;
	for (int i = 0; i < 256; i++) {
		uint32_t target;

		packet.src_ip[3] = (uint8_t)i;
		target = rss_target(&rule, PACKET_IPV4, &packet);
		assert_in_range(target, 1000, 1003);
		got[target - 1000]++;
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(got[i], 64); /* the hash is linear */
}
