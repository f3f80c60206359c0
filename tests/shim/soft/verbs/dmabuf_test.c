#include <errno.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

enum { PAGE = 4096 };

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(memory_file_is_registered)
{
	struct pair *p = *state;
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct ibv_mr *mr;
	char text[8] = "";

	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	mr = ibv_reg_dmabuf_mr(p->b.pd, PAGE + 16, 64, 0x7016, fd, ALL_ACCESS);
	assert_null(mr); /* the offsets within the pages differ */
	assert_int_equal(errno, EINVAL);
	mr = ibv_reg_dmabuf_mr(p->b.pd, PAGE + 16, 64, 0x7010, fd, ALL_ACCESS);
	assert_non_null(mr);
	memcpy(p->a.buf, "dmabuf!", 8);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, 0x7018, mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(pread(fd, text, 8, PAGE + 24), 8);
	assert_string_equal(text, "dmabuf!");
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	close(fd);
}

static int dmabuf_error(struct end *e, size_t length, int fd, int access)
{
	errno = 0;
	assert_null(ibv_reg_dmabuf_mr(e->pd, 0, length, 0, fd, access));
	return errno;
}

TEST(file_that_is_no_memory_is_refused)
{
	struct pair *p = *state;
	int fd = memfd_create("test", MFD_CLOEXEC), ends[2];

	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dmabuf_error(&p->b, 64, -1, 0), EBADF);
	assert_int_equal(dmabuf_error(&p->b, 64, ends[0], 0), EINVAL);
	assert_int_equal(dmabuf_error(&p->b, PAGE + 1, fd, 0), EINVAL);
	assert_int_equal(dmabuf_error(&p->b, 0, fd, 0), EINVAL);
	assert_int_equal(dmabuf_error(&p->b, 64, fd, IBV_ACCESS_ON_DEMAND), EINVAL);
	assert_int_equal(dmabuf_error(&p->b, 64, fd, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	close(ends[0]);
	close(ends[1]);
	close(fd);
}
