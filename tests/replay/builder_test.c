#include <stdlib.h>

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
