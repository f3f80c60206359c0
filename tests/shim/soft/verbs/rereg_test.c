#include <errno.h>
#include <stdbool.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

enum { PAGE = 4096, ODP = ALL_ACCESS | IBV_ACCESS_ON_DEMAND };

static void *map_pages(size_t bytes, int prot)
{
	void *mem = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(mem != MAP_FAILED);
	return mem;
}

/* Is the page in memory? */
static bool is_present(void *page)
{
	unsigned char there;

	assert_int_equal(mincore(page, PAGE, &there), 0);
	return there & 1;
}

static int rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		    int access)
{
	errno = 0;
	return ibv_rereg_mr(mr, flags, pd, addr, length, access);
}

enum {
	MOVE = IBV_REREG_MR_CHANGE_TRANSLATION,
	TO_PD = IBV_REREG_MR_CHANGE_PD,
	ACCESS = IBV_REREG_MR_CHANGE_ACCESS,
};

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(bad_arguments_leave_the_region_good)
{
	struct pair *p = *state;
	struct ibv_mr *mr = p->b.mr;

	assert_int_equal(rereg_mr(mr, 1 << 7, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rereg_mr(mr, MOVE, NULL, NULL, 64, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(rereg_mr(mr, MOVE, NULL, p->b.buf, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(rereg_mr(mr, MOVE, NULL, p->b.buf, 64, ALL_ACCESS),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(rereg_mr(mr, TO_PD, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(rereg_mr(mr, TO_PD, p->a.pd, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, (uintptr_t)p->b.buf, mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
}

TEST(failed_command_costs_the_region_its_keys)
{
	struct pair *p = *state;
	struct ibv_mr *mr = p->b.mr;
	uint8_t *gone = map_pages(PAGE, PROT_READ);

	assert_int_equal(rereg_mr(mr, ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE),
			 IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, EINVAL);
	munmap(gone, PAGE);
	assert_int_equal(rereg_mr(mr, MOVE, NULL, gone, PAGE, 0), IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(rereg_mr(mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_CMD);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, (uintptr_t)p->b.buf, mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	/* until the region gets other rights */
	assert_int_equal(rereg_mr(mr, ACCESS, NULL, NULL, 0, ALL_ACCESS), 0);
}

TEST(keys_stay_unless_the_memory_changes)
{
	struct pair *p = *state;
	struct ibv_pd *pd = ibv_alloc_pd(p->b.context);
	uint32_t rkey = p->b.mr->rkey;

	assert_int_equal(rereg_mr(p->b.mr, ACCESS | TO_PD, pd, NULL, 0, IBV_ACCESS_LOCAL_WRITE), 0);
	assert_int_equal(p->b.mr->rkey, rkey);
	assert_ptr_equal(p->b.mr->pd, pd);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(
		rereg_mr(p->b.mr, TO_PD | ACCESS | MOVE, p->b.pd, p->b.buf + 64, 64, ALL_ACCESS),
		0);
	assert_int_not_equal(p->b.mr->rkey, rkey);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(
		rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, (uintptr_t)p->b.buf + 64, p->b.mr->rkey),
		0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(
		rdma_at(&p->a, IBV_WR_RDMA_WRITE, 2, 8, (uintptr_t)p->b.buf, p->b.mr->rkey), 0);
	expect_wc(p->a.cq, 2, IBV_WC_REM_ACCESS_ERR);
}

TEST(region_becomes_on_demand)
{
	struct pair *p = *state;
	uint8_t *mem = map_pages(PAGE, PROT_READ | PROT_WRITE);

	assert_int_equal(rereg_mr(p->b.mr, ACCESS | MOVE, NULL, mem, PAGE, ODP), 0);
	assert_false(is_present(mem));
	assert_int_equal(rereg_mr(p->b.mr, ACCESS, NULL, NULL, 0, ALL_ACCESS), 0);
	assert_true(is_present(mem));
	assert_int_equal(rereg_mr(p->b.mr, MOVE, NULL, p->b.buf, 64, 0), 0);
	munmap(mem, PAGE);
}

TEST(zero_based_region_stays_so_where_it_moves)
{
	struct pair *p = *state;
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, p->b.buf, 64, ALL_ACCESS | IBV_ACCESS_ZERO_BASED);

	assert_int_equal(rereg_mr(mr, MOVE, NULL, p->b.buf + 200, 64, 0), 0);
	p->a.buf[0] = 'z';
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 1, 63, mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(p->b.buf[263], 'z');
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

TEST(fork_errors_tell_which_region_is_good)
{
	struct pair *p = *state;
	uint8_t *mem = map_pages(2 * PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, mem, PAGE, ALL_ACCESS);
	uint32_t rkey = mr->rkey;

	munmap(mem + PAGE, PAGE);
	setenv("VERBATIM_SOFT_FORK", "enabled", 1);
	assert_int_equal(rereg_mr(mr, MOVE, NULL, mem + PAGE, PAGE, 0),
			 IBV_REREG_MR_ERR_DONT_FORK_NEW);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(mr->rkey, rkey);
	munmap(mem, PAGE);
	assert_int_equal(rereg_mr(mr, MOVE, NULL, p->b.buf, 64, 0), IBV_REREG_MR_ERR_DO_FORK_OLD);
	unsetenv("VERBATIM_SOFT_FORK");
	assert_ptr_equal(mr->addr, p->b.buf);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, (uintptr_t)p->b.buf, mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}
