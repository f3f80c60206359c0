#include "shim/soft/wire/header.h"
#include "shim/soft/wire/opcode.h"
#include "tests/test.h"

TEST(transports_have_their_operations_only)
{
	assert_non_null(opcode_info(OPCODE_RC | OPCODE_READ_REQUEST));
	assert_null(opcode_info(OPCODE_UC | OPCODE_READ_REQUEST));
	assert_null(opcode_info(OPCODE_UD | OPCODE_WRITE_ONLY));
	assert_non_null(opcode_info(OPCODE_UD | OPCODE_SEND_ONLY_IMM));
	assert_null(opcode_info(0x40 | OPCODE_SEND_ONLY));
	assert_null(opcode_info(OPCODE_RC | 0x15));
	assert_null(opcode_info(OPCODE_RC | 0x1f));
}

TEST(headers_are_those_of_table_38)
{
	assert_int_equal(header_size(OPCODE_RC | OPCODE_SEND_MIDDLE), 12);
	assert_int_equal(header_size(OPCODE_RC | OPCODE_WRITE_ONLY_IMM), 12 + 16 + 4);
	assert_int_equal(header_size(OPCODE_RC | OPCODE_COMPARE_SWAP), 12 + 28);
	assert_int_equal(header_size(OPCODE_RC | OPCODE_ATOMIC_ACKNOWLEDGE), 12 + 4 + 8);
	assert_int_equal(header_size(OPCODE_RC | OPCODE_SEND_LAST_INV), 12 + 4);
	assert_int_equal(header_size(OPCODE_UD | OPCODE_SEND_ONLY_IMM), 12 + 8 + 4);
	assert_int_equal(header_size(OPCODE_XRC | OPCODE_COMPARE_SWAP), HEADER_MAX - 4);
	assert_int_equal(header_size(OPCODE_XRC | OPCODE_ACKNOWLEDGE), 12 + 4);
	assert_int_equal(header_size(OPCODE_UD | OPCODE_ACKNOWLEDGE), 0);
}
