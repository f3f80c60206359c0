/*
 * The handler of a flushed request frees the pool of buffers that other requests still use
 * (spdk#3830).
 */
#include "tests/apps/ends.h"

static bool good;

static void free_pool(void)
{
	MUST(ibv_dereg_mr(ends.mr[0]));
}

static void handle_flush(void)
{
	if (!good)
		free_pool();
}

static struct ibv_send_wr make_request(struct ibv_sge *sge)
{
	*sge = ends_sge(0, 64);
	return (struct ibv_send_wr){ .wr_id = 7,
				     .sg_list = sge,
				     .num_sge = 1,
				     .opcode = IBV_WR_SEND,
				     .send_flags = IBV_SEND_SIGNALED };
}

int main(int argc, char **argv)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	good = is_good(argc, argv);
	ends_open();
	MUST(ends_receive(1));
	MUST(ends_receive(2));
	wr = make_request(&sge);
	MUST(ibv_post_send(ends.qp[0], &wr, &bad));
	ends_await(0, 1);
	ends_await(1, 1);
	ends_drain(1, 1);
	handle_flush();
	if (!good) {
		wr.wr_id = 8;
		MUST(ibv_post_send(ends.qp[0], &wr, &bad));
		ends_await(0, 1);
		ends.mr[0] = NULL;
	}
	ends_close();
	return 0;
}
