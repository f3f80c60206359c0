#include <arpa/inet.h>
#include <string.h>

#include "shim/soft/wire/crc32.h"
#include "shim/soft/wire/header.h"
#include "shim/soft/wire/icrc.h"
#include "tests/test.h"

enum { LEN = HEADER_BTH_SIZE + 8 + HEADER_ICRC, LONG = HEADER_BTH_SIZE + 256 + HEADER_ICRC };

static struct icrc_ends make_ends(const char *src, const char *dst)
{
	struct icrc_ends ends = { .src_port = 0xc123 };

	assert_int_equal(inet_pton(AF_INET6, src, &ends.src), 1);
	assert_int_equal(inet_pton(AF_INET6, dst, &ends.dst), 1);
	return ends;
}

static void seal_packet(const struct icrc_ends *ends, uint8_t *packet, size_t len)
{
	uint32_t crc;
	size_t i;

	for (i = 0; i < len; i++)
		packet[i] = i * 37;
	crc = icrc_add_bth(icrc_begin(&(struct icrc_start){ 0 }, ends, len), packet);
	crc = icrc_add(crc, packet + HEADER_BTH_SIZE, len - HEADER_BTH_SIZE - HEADER_ICRC);
	icrc_write(crc, packet + len - HEADER_ICRC);
}

static void make_packet(const struct icrc_ends *ends, uint8_t *packet)
{
	seal_packet(ends, packet, LEN);
}

TEST(seed_is_the_crc_of_a_masked_route_header)
{
	assert_int_equal(crc32_add(~0u, "\xff\xff\xff\xff\xff\xff\xff\xff", 8), 0xdebb20e3);
}

TEST(own_packets_are_good)
{
	struct icrc_ends v4 = make_ends("::ffff:10.0.0.1", "::ffff:10.0.0.2");
	struct icrc_ends v6 = make_ends("fd00::1", "fd00::2");
	uint8_t packet[LEN];

	make_packet(&v4, packet);
	assert_true(icrc_is_good(&(struct icrc_start){ 0 }, &v4, packet, LEN));
	assert_false(icrc_is_good(&(struct icrc_start){ 0 }, &v6, packet, LEN));
	make_packet(&v6, packet);
	assert_true(icrc_is_good(&(struct icrc_start){ 0 }, &v6, packet, LEN));
}

static uint32_t begin_alone(const struct icrc_ends *ends, size_t len)
{
	return icrc_begin(&(struct icrc_start){ 0 }, ends, len);
}

/* Identifications of all bits, another length, port, and address. */
static void begin_one_after_another(struct icrc_ends ends)
{
	struct icrc_start last = { 0 };
	struct icrc_ends other = ends;
	int id;

	for (id = 0; id < 1 << 16; id = id * 3 + 1) {
		ends.id = (uint16_t)id;
		assert_int_equal(icrc_begin(&last, &ends, 100), begin_alone(&ends, 100));
	}
	assert_int_equal(icrc_begin(&last, &ends, 104), begin_alone(&ends, 104));
	other.src_port++;
	assert_int_equal(icrc_begin(&last, &other, 104), begin_alone(&other, 104));
	other.dst.s6_addr[15]++;
	assert_int_equal(icrc_begin(&last, &other, 104), begin_alone(&other, 104));
	other.src.s6_addr[15]++;
	assert_int_equal(icrc_begin(&last, &other, 104), begin_alone(&other, 104));
}

TEST(packets_after_another_begin_as_alone)
{
	begin_one_after_another(make_ends("::ffff:10.0.0.1", "::ffff:10.0.0.2"));
	begin_one_after_another(make_ends("fd00::1", "fd00::2"));
}

TEST(identification_counts_with_ipv4_only)
{
	struct icrc_ends v4 = make_ends("::ffff:10.0.0.1", "::ffff:10.0.0.2"), v4_id = v4;
	struct icrc_ends v6 = make_ends("fd00::1", "fd00::2"), v6_id = v6;

	v4_id.id = v6_id.id = 0x1234;
	assert_int_not_equal(begin_alone(&v4, 100), begin_alone(&v4_id, 100));
	assert_int_equal(begin_alone(&v6, 100), begin_alone(&v6_id, 100));
}

TEST(each_bit_counts_but_those_of_congestion)
{
	struct icrc_ends ends = make_ends("::ffff:10.0.0.1", "::ffff:10.0.0.2");
	uint8_t packet[LEN];
	int bit;

	make_packet(&ends, packet);
	for (bit = 0; bit < LEN * 8; bit++) {
		packet[bit / 8] ^= 1 << bit % 8;
		assert_int_equal(icrc_is_good(&(struct icrc_start){ 0 }, &ends, packet, LEN),
				 bit / 8 == 4);
		packet[bit / 8] ^= 1 << bit % 8;
	}
}

/* At this length one bit of the payload looks like another identification. */
TEST(bits_that_do_not_show_are_known)
{
	struct icrc_ends ends = make_ends("::ffff:10.0.0.1", "::ffff:10.0.0.2");
	uint8_t packet[LONG];
	unsigned int bit, hidden = 0;

	seal_packet(&ends, packet, LONG);
	for (bit = 0; bit < LONG * 8; bit++) {
		packet[bit / 8] ^= 1 << bit % 8;
		assert_int_equal(icrc_is_good(&(struct icrc_start){ 0 }, &ends, packet, LONG),
				 !icrc_shows(bit, LONG));
		hidden += bit / 8 != 4 && !icrc_shows(bit, LONG);
		packet[bit / 8] ^= 1 << bit % 8;
	}
	assert_int_equal(hidden, 1);
}

TEST(port_and_addresses_count)
{
	struct icrc_ends ends = make_ends("::ffff:10.0.0.1", "::ffff:10.0.0.2");
	uint8_t packet[LEN];

	make_packet(&ends, packet);
	ends.src_port++;
	assert_false(icrc_is_good(&(struct icrc_start){ 0 }, &ends, packet, LEN));
	ends = make_ends("::ffff:10.0.0.1", "::ffff:10.0.0.3");
	assert_false(icrc_is_good(&(struct icrc_start){ 0 }, &ends, packet, LEN));
}

/* The same packet with IPv4 identification @id, and flags, as another sender's. */
static void change_id(const struct icrc_ends *ends, uint8_t *packet, uint16_t id, uint16_t flags)
{
	uint8_t ip[20 + 8] = { 0x45,       0xff,  0,    20 + 8 + LEN, id >> 8, id,
			       flags >> 8, flags, 0xff, 17,           0xff,    0xff };
	uint32_t crc;

	memcpy(ip + 12, ends->src.s6_addr + 12, 4);
	memcpy(ip + 16, ends->dst.s6_addr + 12, 4);
	ip[20] = ends->src_port >> 8;
	ip[21] = ends->src_port;
	ip[22] = 4791 >> 8;
	ip[23] = 4791 & 0xff;
	ip[25] = 8 + LEN;
	ip[26] = ip[27] = 0xff;
	crc = crc32_add(0xdebb20e3, ip, sizeof(ip));
	crc = icrc_add_bth(crc, packet);
	crc = icrc_add(crc, packet + HEADER_BTH_SIZE, LEN - HEADER_BTH_SIZE - HEADER_ICRC);
	icrc_write(crc, packet + LEN - HEADER_ICRC);
}

TEST(any_identification_is_good)
{
	struct icrc_ends ends = make_ends("::ffff:10.0.0.1", "::ffff:10.0.0.2");
	uint8_t packet[LEN];
	unsigned int id;

	make_packet(&ends, packet);
	for (id = 0; id < 0x10000; id += 251) {
		change_id(&ends, packet, id, 0x4000);
		assert_true(icrc_is_good(&(struct icrc_start){ 0 }, &ends, packet, LEN));
		packet[20] ^= 1;
		assert_false(icrc_is_good(&(struct icrc_start){ 0 }, &ends, packet, LEN));
		packet[20] ^= 1;
	}
	change_id(&ends, packet, 0x1234, 0);
	assert_true(icrc_is_good(&(struct icrc_start){ 0 }, &ends, packet, LEN));
}

TEST(fragments_are_bad)
{
	struct icrc_ends ends = make_ends("::ffff:10.0.0.1", "::ffff:10.0.0.2");
	uint8_t packet[LEN];

	make_packet(&ends, packet);
	change_id(&ends, packet, 0x1234, 0x2000);
	assert_false(icrc_is_good(&(struct icrc_start){ 0 }, &ends, packet, LEN));
}

TEST(short_packets_are_bad)
{
	struct icrc_ends ends = make_ends("fd00::1", "fd00::2");
	uint8_t packet[LEN] = { 0 };
	size_t len;

	for (len = 0; len < LEN; len++)
		assert_false(icrc_is_good(&(struct icrc_start){ 0 }, &ends, packet, len));
}
