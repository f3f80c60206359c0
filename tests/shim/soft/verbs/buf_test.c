#include <errno.h>
#include <sys/mman.h>

#include "shim/soft/verbs/newer.h"
#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

enum { SIZE = 8192 };

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(a_buffer_carries_messages)
{
	struct pair *p = *state;
	struct soft_buf *buf = NULL;
	uint8_t *at = soft_alloc_buf(p->b.pd, SIZE, &buf);
	struct ibv_mr *mr = soft_reg_buf_mr(p->b.pd, buf, at, SIZE, IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(mr);
	memset(p->a.buf, 5, 64);
	assert_int_equal(recv_sge(&p->b, 1, (struct ibv_sge){ (uintptr_t)at, 64, mr->lkey }), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 64), 0);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(at[63], 5);
	assert_int_equal(soft_export_buf_dmabuf_fd(buf), -1);
	assert_int_equal(errno, ENODATA);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	soft_free_buf(buf);
}

static void expect_refused(struct ibv_pd *pd, struct soft_mr_init_attr attr, int err)
{
	errno = 0;
	assert_null(soft_reg_mr_ex(pd, &attr));
	assert_int_equal(errno, err);
}

TEST(regions_keep_within_their_buffer)
{
	struct pair *p = *state;
	struct soft_buf *buf = NULL;
	uint8_t *at = soft_alloc_buf(p->a.pd, SIZE, &buf);
	const int mask = MR_BUF | MR_ADDR;
	struct soft_mr_init_attr good = {
		.length = SIZE - 16, .addr = at + 16, .buf = buf, .comp_mask = mask
	};
	struct soft_mr_init_attr bad = good;
	struct ibv_mr *mr = soft_reg_mr_ex(p->a.pd, &good);

	assert_non_null(mr);
	assert_ptr_equal(mr->addr, at + 16);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	expect_refused(p->b.pd, good, EINVAL);
	bad.length = SIZE - 15;
	expect_refused(p->a.pd, bad, EINVAL);
	bad = good;
	bad.addr = at - 1;
	expect_refused(p->a.pd, bad, EINVAL);
	bad = good;
	bad.comp_mask = MR_BUF;
	expect_refused(p->a.pd, bad, EINVAL);
	bad.comp_mask = mask | MR_FD;
	expect_refused(p->a.pd, bad, EINVAL);
	assert_null(soft_alloc_buf(p->a.pd, 0, &buf));
	soft_free_buf(buf);
}

TEST(a_region_is_registered_by_what_it_has)
{
	struct pair *p = *state;
	struct soft_mr_init_attr attr = {
		.length = 64, .addr = p->a.buf, .iova = 0x1000, .comp_mask = MR_ADDR | MR_IOVA
	};
	int fd = memfd_create("buffer", MFD_CLOEXEC);
	struct ibv_mr *mr = soft_reg_mr_ex(p->a.pd, &attr);

	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	attr = (struct soft_mr_init_attr){
		.length = 64, .fd = fd, .fd_offset = 4096, .comp_mask = MR_FD | MR_FD_OFFSET
	};
	mr = soft_reg_mr_ex(p->a.pd, &attr);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	attr.comp_mask = MR_FD;
	expect_refused(p->a.pd, attr, EINVAL);
	attr.comp_mask = MR_FD | MR_FD_OFFSET | MR_ADDR;
	expect_refused(p->a.pd, attr, EINVAL);
	attr.comp_mask = 0;
	expect_refused(p->a.pd, attr, EINVAL);
	attr.comp_mask = MR_ADDR | 1 << 20;
	expect_refused(p->a.pd, attr, EOPNOTSUPP);
	close(fd);
}

TEST(a_handle_is_busy_while_a_region_has_it)
{
	struct pair *p = *state;
	struct soft_dmah_init_attr hints = { .comp_mask = 1 };
	struct soft_dmah *dmah = soft_alloc_dmah(p->a.context, &hints);
	struct soft_mr_init_attr attr = {
		.length = 64, .addr = p->a.buf, .dmah = dmah, .comp_mask = MR_ADDR | MR_DMAH
	};
	struct ibv_mr *mr;

	assert_non_null(dmah);
	expect_refused(p->b.pd, attr, EINVAL); /* of another context */
	attr.access = IBV_ACCESS_ON_DEMAND;
	expect_refused(p->a.pd, attr, EINVAL);
	attr.access = 0;
	mr = soft_reg_mr_ex(p->a.pd, &attr);
	assert_non_null(mr);
	assert_int_equal(soft_dealloc_dmah(dmah), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(soft_dealloc_dmah(dmah), 0);
}

TEST(impossible_hints_are_refused)
{
	static const struct {
		struct soft_dmah_init_attr attr;
		int err;
	} cases[] = {
		{ { .comp_mask = 1, .cpu_id = 1 << 20 }, EINVAL },
		{ { .comp_mask = 2, .ph = 4 }, EINVAL },
		{ { .comp_mask = 4, .tph_mem_type = 2 }, EINVAL },
		{ { .comp_mask = 8 }, EOPNOTSUPP },
	};
	struct pair *p = *state;
	struct soft_dmah_init_attr attr;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		attr = cases[i].attr;
		errno = 0;
		assert_null(soft_alloc_dmah(p->a.context, &attr));
		assert_int_equal(errno, cases[i].err);
	}
}

TEST(a_port_has_the_speed_of_its_lanes)
{
	struct pair *p = *state;
	struct ibv_port_attr attr;
	uint64_t speed = 0;

	assert_int_equal(ibv_query_port(p->a.context, 1, &attr), 0);
	assert_int_equal(attr.active_width, 2);
	assert_int_equal(attr.active_speed, 32);
	assert_int_equal(soft_query_port_speed(p->a.context, 1, &speed), 0);
	assert_int_equal(speed, 4 * 250); /* 4X EDR, in 100 Mb/s */
	assert_int_equal(soft_query_port_speed(p->a.context, 2, &speed), EINVAL);
	assert_int_equal(soft_query_port_speed(p->a.context, 257, &speed), EINVAL);
}
