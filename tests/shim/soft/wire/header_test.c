#include <string.h>

#include "shim/soft/wire/header.h"
#include "tests/test.h"

static const uint8_t write_only[] = {
	0x0a, 0xb0, 0xff, 0xff, 0x40, 0x00, 0x01, 0x02, 0x80, 0x12, 0x34, 0x56, /* BTH */
	0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,                         /* RETH */
	0xde, 0xad, 0xbe, 0xef, 0x00, 0x10, 0x00, 0x03,
};

static const struct header write_header = {
	.bth = {
		.opcode = OPCODE_RC | OPCODE_WRITE_ONLY,
		.solicited = 1,
		.pad = 3,
		.pkey = 0xffff,
		.becn = 1,
		.dest_qp = 0x000102,
		.ack_request = 1,
		.psn = 0x123456,
	},
	.reth = { .addr = 0x0123456789abcdef, .rkey = 0xdeadbeef, .length = 0x100003 },
};

TEST(headers_are_written_as_specified)
{
	uint8_t bytes[HEADER_MAX];

	memset(bytes, 0xa5, sizeof(bytes));
	assert_int_equal(header_write(&write_header, bytes), sizeof(write_only));
	assert_memory_equal(bytes, write_only, sizeof(write_only));
}

TEST(headers_are_read_as_written)
{
	struct header header;

	memset(&header, 0, sizeof(header));
	assert_int_equal(header_read(&header, write_only, sizeof(write_only)), sizeof(write_only));
	assert_memory_equal(&header, &write_header, sizeof(header));
}

TEST(short_packets_are_refused)
{
	struct header header;
	size_t len;

	for (len = 0; len < sizeof(write_only); len++)
		assert_int_equal(header_read(&header, write_only, len), 0);
}

TEST(another_version_is_refused)
{
	struct header header;
	uint8_t bytes[sizeof(write_only)];

	memcpy(bytes, write_only, sizeof(bytes));
	bytes[1] |= 1;
	assert_int_equal(header_read(&header, bytes, sizeof(bytes)), 0);
}

TEST(every_opcode_is_read_as_written)
{
	struct header in, out;
	uint8_t bytes[HEADER_MAX], again[HEADER_MAX];
	unsigned int opcode, i;
	size_t size;

	for (opcode = 0; opcode < 256; opcode++) {
		if (!opcode_info(opcode))
			continue;
		for (i = 0; i < sizeof(bytes); i++)
			bytes[i] = opcode * 31 + i * 7;
		bytes[0] = opcode;
		bytes[1] &= 0xf0;
		size = header_read(&in, bytes, sizeof(bytes));
		assert_int_equal(size, header_size(opcode));
		assert_int_equal(header_write(&in, again), size);
		assert_memory_equal(bytes, again, size);
		assert_int_equal(header_read(&out, again, size), size);
	}
}
