#include "core/model/operation.h"

#include <infiniband/verbs.h>

#include "tests/test.h"

enum { L = IBV_ACCESS_LOCAL_WRITE };

/* clang-format off */
static const struct row {
	const char *name;
	int opcode, number;
	bool receive, message, reads, rkey;
	uint32_t own, remote;
} rows[] = {
	{ "write", IBV_WR_RDMA_WRITE, ABI_WR_RDMA_WRITE,
	  false, false, false, true, 0, IBV_ACCESS_REMOTE_WRITE },
	{ "write_with_imm", IBV_WR_RDMA_WRITE_WITH_IMM, ABI_WR_RDMA_WRITE_WITH_IMM,
	  true, true, false, true, 0, IBV_ACCESS_REMOTE_WRITE },
	{ "send", IBV_WR_SEND, ABI_WR_SEND, true, true, false, false, 0, 0 },
	{ "send_with_imm", IBV_WR_SEND_WITH_IMM, ABI_WR_SEND_WITH_IMM,
	  true, true, false, false, 0, 0 },
	{ "read", IBV_WR_RDMA_READ, ABI_WR_RDMA_READ,
	  false, false, true, true, L, IBV_ACCESS_REMOTE_READ },
	{ "compare_and_swap", IBV_WR_ATOMIC_CMP_AND_SWP, ABI_WR_ATOMIC_CMP_AND_SWP,
	  false, false, true, true, L, IBV_ACCESS_REMOTE_ATOMIC },
	{ "fetch_and_add", IBV_WR_ATOMIC_FETCH_AND_ADD, ABI_WR_ATOMIC_FETCH_AND_ADD,
	  false, false, true, true, L, IBV_ACCESS_REMOTE_ATOMIC },
	{ "local_inv", IBV_WR_LOCAL_INV, ABI_WR_LOCAL_INV, false, false, false, false, 0, 0 },
	{ "bind_mw", IBV_WR_BIND_MW, ABI_WR_BIND_MW, false, false, false, false, 0, 0 },
	{ "send_with_inv", IBV_WR_SEND_WITH_INV, ABI_WR_SEND_WITH_INV,
	  true, true, false, false, 0, 0 },
	{ "tso", IBV_WR_TSO, ABI_WR_TSO, false, true, false, false, 0, 0 },
	{ "driver", IBV_WR_DRIVER1, ABI_WR_DRIVER1, false, false, false, false, 0, 0 },
	{ "flush", 14, ABI_WR_FLUSH, false, false, false, true, 0, 0 },
	{ "atomic_write", 15, ABI_WR_ATOMIC_WRITE,
	  false, false, false, true, 0, IBV_ACCESS_REMOTE_WRITE },
	{ "receive", -1, -1, false, false, false, false, L, 0 },
};
/* clang-format on */

static void opcode_does(void **state)
{
	const struct row *row = *state;

	assert_int_equal(row->number, row->opcode);
	assert_int_equal(operation_takes_receive(row->opcode), row->receive);
	assert_int_equal(operation_is_message(row->opcode), row->message);
	assert_int_equal(operation_reads(row->opcode), row->reads);
	assert_int_equal(operation_has_rkey(row->opcode), row->rkey);
	assert_int_equal(operation_needs(row->opcode), row->own);
	assert_int_equal(operation_needs_remote(row->opcode), row->remote);
}

TEST_ROWS(rows, opcode_does);

TEST(access_flags_are_those_of_the_header)
{
	(void)state;
	assert_int_equal(ABI_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(ABI_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(ABI_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ);
	assert_int_equal(ABI_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC);
}

TEST(statuses_of_a_refusal_are_answers)
{
	for (int status = IBV_WC_SUCCESS; status <= IBV_WC_TM_RNDV_INCOMPLETE; status++)
		assert_int_equal(operation_is_answered(status),
				 status == IBV_WC_SUCCESS || status == IBV_WC_REM_INV_REQ_ERR ||
					 status == IBV_WC_REM_ACCESS_ERR ||
					 status == IBV_WC_REM_OP_ERR ||
					 status == IBV_WC_RNR_RETRY_EXC_ERR);
}
