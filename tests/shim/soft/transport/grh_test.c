/*
 * The header in front of a datagram: all bytes, and the checksum of random IPv4 headers
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "shim/soft/transport/grh.h"
#include "tests/test.h"

static union ibv_gid make_gid(const char *text)
{
	union ibv_gid gid;

	assert_int_equal(inet_pton(AF_INET6, text, gid.raw), 1);
	return gid;
}

static struct soft_ah make_ah(const char *from, const char *to, enum ibv_gid_type type,
			      uint8_t hops)
{
	struct soft_ah ah = { .attr.grh = { .dgid = make_gid(to),
					    .flow_label = 0xfabcde,
					    .traffic_class = 0x5a,
					    .hop_limit = hops } };
	union ibv_gid sgid = make_gid(from);

	grh_prepare(&ah, &sgid, type);
	return ah;
}

/* RFC 1071, one bit of carry after the other. */
static uint32_t sum_words(const uint8_t *bytes, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i += 2) {
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
		if (sum > 0xffff)
			sum -= 0xffff;
	}
	return sum;
}

static const struct {
	const char *name, *from, *to;
	enum ibv_gid_type type;
	uint8_t hops, shown_hops, next;
	uint16_t bytes; /* after the header, of 5 of payload */
	bool imm;
} headers[] = {
	{ "infiniband", "fe80::1", "fe80::2", IBV_GID_TYPE_IB, 0, 0, 0x1b, 12 + 8 + 8 + 4, false },
	{ "immediate_data", "fe80::1", "fe80::2", IBV_GID_TYPE_IB, 7, 7, 0x1b, 12 + 8 + 8 + 4 + 4,
	  true },
	{ "roce_v1", "fe80::1", "fe80::2", IBV_GID_TYPE_ROCE_V1, 0, 0, 0x1b, 12 + 8 + 8 + 4,
	  false },
	{ "roce_v2", "fe80::1", "fe80::2", IBV_GID_TYPE_ROCE_V2, 9, 9, 17, 12 + 8 + 8 + 4 + 8,
	  false },
	{ "hops_of_roce_v2", "fe80::1", "fe80::2", IBV_GID_TYPE_ROCE_V2, 0, 64, 17,
	  12 + 8 + 8 + 4 + 8, false },
};

static void header_is_exact(void **state)
{
	const typeof(headers[0]) *row = *state;
	struct soft_ah ah = make_ah(row->from, row->to, row->type, row->hops);
	union ibv_gid from = make_gid(row->from), to = make_gid(row->to);
	struct ibv_grh grh;
	struct iphdr ip;

	grh_fill(&ah, 5, row->imm, &grh);
	assert_int_equal(ntohl(grh.version_tclass_flow), 0x65aabcde);
	assert_int_equal(ntohs(grh.paylen), row->bytes);
	assert_int_equal(grh.next_hdr, row->next);
	assert_int_equal(grh.hop_limit, row->shown_hops);
	assert_memory_equal(&grh.sgid, &from, sizeof(from));
	assert_memory_equal(&grh.dgid, &to, sizeof(to));
	assert_false(grh_find_ipv4(&grh, &ip));
}

TEST_ROWS(headers, header_is_exact);

TEST(ipv4_header_is_at_the_end)
{
	for (int i = 0; i < 2000; i++) {
		struct soft_ah ah;
		struct ibv_grh grh;
		struct iphdr ip;
		char from[32], to[32];
		uint32_t length = (uint32_t)rand() % 4000;

		snprintf(from, sizeof(from), "::ffff:%d.1.%d.255", rand() % 256, rand() % 256);
		snprintf(to, sizeof(to), "::ffff:255.%d.0.%d", rand() % 256, rand() % 256);
		ah = make_ah(from, to, IBV_GID_TYPE_ROCE_V2, i % 2 ? 3 : 0);
		grh_fill(&ah, length, i % 3 == 0, &grh);
		assert_true(grh_find_ipv4(&grh, &ip));
		assert_int_equal(sum_words((const uint8_t *)&grh + 20, 20), 0xffff);
		assert_int_equal(ntohs(ip.tot_len),
				 20 + 8 + (length + 3) / 4 * 4 + 12 + 8 + 4 + (i % 3 == 0 ? 4 : 0));
		assert_int_equal(ip.tos, 0x5a);
		assert_int_equal(ip.ttl, i % 2 ? 3 : 64);
		assert_int_equal(ip.protocol, IPPROTO_UDP);
		assert_memory_equal(&ip.saddr, make_gid(from).raw + 12, 4);
		assert_memory_equal(&ip.daddr, make_gid(to).raw + 12, 4);
		for (int byte = 0; byte < 20; byte++) {
			((uint8_t *)&grh)[20 + byte] ^= 1;
			assert_false(grh_find_ipv4(&grh, &ip));
			((uint8_t *)&grh)[20 + byte] ^= 1;
		}
	}
}

static const struct {
	const char *name, *gid;
	bool is_multicast;
} groups[] = {
	{ "multicast", "ff02::1", true },
	{ "unicast", "feff::1", false },
	{ "the_second_byte", "0:ff::", false },
	{ "first_ipv4_group", "::ffff:224.0.0.0", true },
	{ "last_ipv4_group", "::ffff:239.255.255.255", true },
	{ "before_ipv4_groups", "::ffff:223.255.255.255", false },
	{ "behind_ipv4_groups", "::ffff:240.0.0.0", false },
	{ "ipv4_that_is_not_mapped", "::fffe:e000:1", false },
};

static void group_is_known(void **state)
{
	const typeof(groups[0]) *row = *state;
	union ibv_gid gid = make_gid(row->gid);

	assert_int_equal(grh_is_multicast(&gid), row->is_multicast);
}

TEST_ROWS(groups, group_is_known);

TEST(ipv4_is_mapped)
{
	union ibv_gid wanted = make_gid("::ffff:10.1.2.3");
	uint32_t ipv4 = inet_addr("10.1.2.3");

	assert_memory_equal(grh_gid_of_ipv4(ipv4).raw, wanted.raw, sizeof(wanted));
}
