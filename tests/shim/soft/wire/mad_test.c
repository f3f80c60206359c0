#include <string.h>

#include "shim/soft/wire/mad.h"
#include "tests/test.h"

/* Offsets of the specification's table 106, after the common header. */
TEST(fields_of_a_request_are_where_the_table_has_them)
{
	const struct mad mad = {
		.attr_id = MAD_ATTR_REQ,
		.tid = 0x0102030405060708,
		.local_id = 0x11121314,
		.service_id = 0x0106a1a2,
		.qpn = 0x212223,
		.responder_resources = 4,
		.initiator_depth = 5,
		.remote_timeout = 20,
		.service_type = 3,
		.flow_control = 1,
		.psn = 0x313233,
		.local_timeout = 19,
		.retry_count = 7,
		.pkey = 0xffff,
		.mtu = 3,
		.rnr_retry_count = 6,
		.max_retries = 15,
		.srq = 1,
		.extended_type = 1,
		.hop_limit = 64,
		.ack_timeout = 15,
		.private_data = { 0x51 },
	};
	static const struct {
		uint8_t at, len, bytes[8];
	} expected[] = {
		{ 0, 4, { 1, 7, 2, 3 } },
		{ 8, 8, { 1, 2, 3, 4, 5, 6, 7, 8 } },
		{ 16, 2, { 0, 0x10 } },
		{ 24 + 0, 4, { 0x11, 0x12, 0x13, 0x14 } },
		{ 24 + 8, 8, { 0, 0, 0, 0, 1, 6, 0xa1, 0xa2 } },
		{ 24 + 32, 4, { 0x21, 0x22, 0x23, 4 } },
		{ 24 + 39, 1, { 5 } },
		{ 24 + 43, 1, { 20 << 3 | 3 << 1 | 1 } },
		{ 24 + 44, 4, { 0x31, 0x32, 0x33, 19 << 3 | 7 } },
		{ 24 + 48, 4, { 0xff, 0xff, 3 << 4 | 6, 15 << 4 | 1 << 3 | 1 } },
		{ 24 + 93, 1, { 64 } },
		{ 24 + 95, 1, { 15 << 3 } },
		{ 24 + 140, 1, { 0x51 } },
	};
	uint8_t bytes[MAD_SIZE];
	unsigned int i;

	assert_true(mad_write(&mad, bytes));
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_memory_equal(bytes + expected[i].at, expected[i].bytes, expected[i].len);
}

/* What a message does not have is zero. */
static void check_read(uint8_t attr_id, uint32_t private_len)
{
	uint8_t bytes[MAD_SIZE], again[MAD_SIZE];
	struct mad mad;

	memset(&mad, 0xff, sizeof(mad));
	mad.attr_id = attr_id;
	assert_int_equal(mad_private(attr_id), private_len);
	assert_true(mad_write(&mad, bytes));
	assert_true(mad_read(&mad, bytes));
	assert_int_equal(mad.attr_id, attr_id);
	assert_int_equal(mad.private_data[private_len - 1], 0xff);
	assert_true(mad_write(&mad, again));
	assert_memory_equal(again, bytes, MAD_SIZE);
}

TEST(messages_are_read_as_written)
{
	check_read(MAD_ATTR_REQ, 92);
	check_read(MAD_ATTR_MRA, 222);
	check_read(MAD_ATTR_REJ, 148);
	check_read(MAD_ATTR_REP, 196);
	check_read(MAD_ATTR_RTU, 224);
	check_read(MAD_ATTR_DREQ, 220);
	check_read(MAD_ATTR_DREP, 224);
	check_read(MAD_ATTR_SIDR_REQ, 216);
	check_read(MAD_ATTR_SIDR_REP, 136);
}

TEST(others_are_refused)
{
	struct mad mad = { .attr_id = MAD_ATTR_RTU };
	uint8_t bytes[MAD_SIZE];
	unsigned int i;

	for (i = 0; i < 4; i++) {
		assert_true(mad_write(&mad, bytes));
		bytes[i] ^= 0x80;
		assert_false(mad_read(&mad, bytes));
	}
	bytes[3] ^= 0x80;
	bytes[17] = 0x0f;
	assert_false(mad_read(&mad, bytes));
	mad.attr_id = 0x0f;
	assert_false(mad_write(&mad, bytes));
	assert_int_equal(mad_private(0x0f), 0);
}
