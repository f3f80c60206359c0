/*
 * A message from a buffer that the library has allocated, by verbs of newer libraries.
 */
#include <dlfcn.h>

#include "tests/apps/ends.h"

/* Functions whose types are in newer headers only. */
static void *(*alloc_buf)(struct ibv_pd *pd, size_t size, void **buf);
static void (*free_buf)(void *buf);
static struct ibv_mr *(*reg_buf_mr)(struct ibv_pd *pd, void *buf, void *addr, size_t length,
				    int access);

static void find_verbs(void)
{
	alloc_buf = NEED(dlsym(RTLD_DEFAULT, "ibv_alloc_buf"));
	free_buf = NEED(dlsym(RTLD_DEFAULT, "ibv_free_buf"));
	reg_buf_mr = NEED(dlsym(RTLD_DEFAULT, "ibv_reg_buf_mr"));
}

int main(void)
{
	void *buf;
	struct ibv_sge sge = { .length = 64 };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_mr *mr;

	find_verbs();
	ends_open();
	sge.addr = (uintptr_t)NEED(alloc_buf(ends.pd, ENDS_BYTES, &buf));
	mr = NEED(reg_buf_mr(ends.pd, buf, (void *)sge.addr, ENDS_BYTES, 0));
	sge.lkey = mr->lkey;
	MUST(ends_receive(1));
	MUST(ibv_post_send(ends.qp[0], &wr, &bad));
	MUST(ends_await(0, 1));
	MUST(ends_await(1, 1));
	MUST(ibv_dereg_mr(mr));
	free_buf(buf);
	ends_close();
	return 0;
}
