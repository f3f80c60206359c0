#include <stdlib.h>
#include <string.h>

#include "replay/device/builder.h"
#include "tests/test.h"

/* A queue pair that notes the calls it gets. */
struct noted {
	struct ibv_qp_ex ex;
	unsigned int flags;
	size_t length;
};

static void start_nothing(struct ibv_qp_ex *qp)
{
	(void)qp;
}

static int complete_nothing(struct ibv_qp_ex *qp)
{
	(void)qp;
	return 0;
}

static void note_send(struct ibv_qp_ex *qp)
{
	((struct noted *)qp)->flags = qp->wr_flags;
}

static void note_bytes(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	(void)addr;
	((struct noted *)qp)->length = length;
}

/* rdma_rxe copies the bytes into the request only if the flag is set. */
TEST(inline_data_goes_with_its_flag)
{
	struct noted noted = { .ex = { .qp_base.qp_type = IBV_QPT_RC,
				       .wr_start = start_nothing,
				       .wr_complete = complete_nothing,
				       .wr_send = note_send,
				       .wr_set_inline_data = note_bytes } };
	struct ibv_sge sge = { 0, 7, 0 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED };
	struct ibv_data_buf buf;

	assert_int_equal(builder_run(&noted.ex, &wr, 1, &buf, true), 0);
	assert_int_equal(noted.flags, IBV_SEND_INLINE | IBV_SEND_SIGNALED);
	assert_int_equal(noted.length, 7);
}

/* A queue pair with the member of newer headers. */
static union {
	struct noted noted;
	uint8_t bytes[BUILDER_SIZE];
} newer;
static uint64_t flushed[5];

static void note_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, size_t length,
		       uint8_t type, uint8_t level)
{
	(void)qp;
	flushed[0] = rkey;
	flushed[1] = addr;
	flushed[2] = length;
	flushed[3] = type;
	flushed[4] = level;
}

TEST(flush_gets_its_type_and_level)
{
	void *flush = (void *)note_flush;
	struct ibv_send_wr wr = { .opcode = (enum ibv_wr_opcode)BUILDER_FLUSH };
	struct ibv_data_buf buf;

	newer.noted.ex.wr_start = start_nothing;
	newer.noted.ex.wr_complete = complete_nothing;
	memcpy(newer.bytes + BUILDER_FLUSH_OFFSET, &flush, sizeof(flush));
	wr.wr.atomic.rkey = 7;
	wr.wr.atomic.remote_addr = 0x1000;
	wr.wr.atomic.compare_add = 64;
	wr.wr.atomic.swap = 2 | 1 << 8;
	assert_false(builder_has(&newer.noted.ex, BUILDER_FLUSH, false));
	assert_true(builder_has(&newer.noted.ex, BUILDER_FLUSH, true));
	assert_int_equal(builder_run(&newer.noted.ex, &wr, 1, &buf, true), 0);
	assert_int_equal(flushed[0], 7);
	assert_int_equal(flushed[1], 0x1000);
	assert_int_equal(flushed[2], 64);
	assert_int_equal(flushed[3], 2);
	assert_int_equal(flushed[4], 1);
}
