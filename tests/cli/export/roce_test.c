/*
 * Frames, as computed by another program: headers, checksum and ICRC (annexes A16 and A17)
 */
#include "cli/export/roce.h"

#include "tests/test.h"

#define V4A                                    \
	{                                      \
		[10] = 0xff, 0xff, 10, 1, 2, 3 \
	}
#define V4B                                       \
	{                                         \
		[10] = 0xff, 0xff, 192, 168, 7, 9 \
	}
#define MULTI4                                               \
	{                                                    \
		0xff, 0x0e, [10] = 0xff, 0xff, 0x7f, 1, 2, 3 \
	}
#define V6A                                   \
	{                                     \
		0xfe, 0x80, [14] = 0x12, 0x34 \
	}
#define V6B                                                            \
	{                                                              \
		0x20, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 \
	}
#define MULTI6                             \
	{                                  \
		0xff, 0x0e, 1, [14] = 5, 6 \
	}
#define ONES                      \
	{                         \
		[0 ... 15] = 0xff \
	}

static const struct row {
	const char *name;
	struct roce_packet packet;
	const char *frame; /* in hexadecimal */
} rows[] = {
	{ "ipv4",
	  { .from = V4A,
	    .to = V4B,
	    .traffic_class = 0x28,
	    .hop_limit = 63,
	    .port = 0xc123,
	    .opcode = 4,
	    .acknowledge = true,
	    .qp = 0x1234567,
	    .psn = 0xabcdef01,
	    .extended = { { 1, 2, 3, 4 }, 4 },
	    .payload = "abcde",
	    .npayload = 5,
	    .length = 5 },
	  "0200c0a8070902000a010203080045280038000040003f1167d80a010203c0a80709"
	  "c12312b7002400000470ffff0023456780cdef01010203046162636465000000c9ce"
	  "bda1" },
	{ "ipv4_multicast",
	  { .from = V4A,
	    .to = MULTI4,
	    .hop_limit = 64,
	    .port = 0xffff,
	    .opcode = 0x64,
	    .solicited = true,
	    .qp = 0xffffff,
	    .payload = "xy",
	    .npayload = 2,
	    .length = 8 },
	  "33337f01020302000a0102030800450000340000400040113db10a010203ef010203"
	  "ffff12b70020000064c0ffff00ffffff00000000787900000000000049b6d101" },
	{ "ipv6",
	  { .from = V6A,
	    .to = V6B,
	    .traffic_class = 0xfe,
	    .hop_limit = 1,
	    .port = 0xc000,
	    .opcode = 0x0a,
	    .qp = 0x11,
	    .psn = 0xffffff,
	    .extended = { ONES, 16 } },
	  "02000b0c0d0e02000000123486dd6fe0000000281101fe8000000000000000000000"
	  "0000123420010102030405060708090a0b0c0d0ec00012b7002800000a40ffff0000"
	  "001100ffffffffffffffffffffffffffffffffffffffe08ec1f8" },
	{ "ipv6_multicast",
	  { .from = V6A,
	    .to = MULTI6,
	    .traffic_class = 0x12,
	    .hop_limit = 255,
	    .port = 0xc001,
	    .opcode = 0x24,
	    .solicited = true,
	    .acknowledge = true,
	    .qp = 0x11,
	    .psn = 0x7fffff,
	    .payload = "abc",
	    .npayload = 3,
	    .length = 6 },
	  "33330000050602000000123486dd61200000002011fffe8000000000000000000000"
	  "00001234ff0e0100000000000000000000000506c00112b70020000024e0ffff0000"
	  "0011807fffff6162630000000000940ac1f7" },
	{ "an_ipv4_address_to_ipv6",
	  { .from = V4A,
	    .to = V6A,
	    .traffic_class = 0x12,
	    .hop_limit = 255,
	    .port = 0xc001,
	    .opcode = 0x24,
	    .solicited = true,
	    .acknowledge = true,
	    .qp = 0x11,
	    .psn = 0x7fffff,
	    .payload = "abc",
	    .npayload = 3,
	    .length = 3 },
	  "02000000123402000a01020386dd61200000001c11ff00000000000000000000ffff"
	  "0a010203fe800000000000000000000000001234c00112b7001c000024d0ffff0000"
	  "0011807fffff6162630075b06c9f" },
};

static void frame_is_as_computed(void **state)
{
	const struct row *row = *state;
	char text[2 * ROCE_MOST + 1] = "";
	uint8_t frame[ROCE_MOST];
	size_t n = roce_write(&row->packet, frame);

	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", frame[i]);
	assert_string_equal(text, row->frame);
}
TEST_ROWS(rows, frame_is_as_computed);

TEST(fields_are_joined)
{
	struct roce_fields fields = { 0 }, more = { 0 };

	roce_add(&fields, 0x1234, 2);
	roce_add(&more, 0xfedcba98, 4);
	roce_join(&fields, &more);
	assert_int_equal(fields.n, 6);
	assert_memory_equal(fields.at, "\x12\x34\xfe\xdc\xba\x98", 6);
}
