#include <errno.h>
#include <stdbool.h>

#include "tests/shim/soft/fellow.h"
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

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(on_demand_brings_nothing_in_at_registration)
{
	struct pair *p = *state;
	uint8_t *mem = map_pages(2 * PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, mem, 2 * PAGE, ODP);

	assert_non_null(mr);
	assert_false(is_present(mem));
	memcpy(p->a.buf, "late", 5);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 5, (uintptr_t)mem, mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_string_equal((char *)mem, "late");
	assert_true(is_present(mem));
	assert_false(is_present(mem + PAGE));
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(mem, 2 * PAGE);
}

TEST(sending_what_is_not_mapped_is_a_local_error)
{
	struct pair *p = *state;
	uint8_t *mem = map_pages(PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(p->a.pd, mem, PAGE, ODP);

	munmap(mem, PAGE);
	assert_int_equal(recv_at(&p->b, 9, 0, 100), 0);
	assert_int_equal(send_wr(&p->a, (struct ibv_send_wr){ .wr_id = 1, .opcode = IBV_WR_SEND },
				 (struct ibv_sge){ (uintptr_t)mem, 8, mr->lkey }),
			 0);
	expect_wc(p->a.cq, 1, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_RTS);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

TEST(receiving_where_nothing_is_mapped_fails_both_ends)
{
	struct pair *p = *state;
	uint8_t *mem = map_pages(PAGE, PROT_READ);
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, mem, PAGE, ODP);

	assert_int_equal(recv_sge(&p->b, 9, (struct ibv_sge){ (uintptr_t)mem, 64, mr->lkey }), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 8), 0);
	expect_wc(p->b.cq, 9, IBV_WC_LOC_PROT_ERR);
	expect_wc(p->a.cq, 1, IBV_WC_REM_OP_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(mem, PAGE);
}

TEST(fault_of_remote_access_is_an_operation_error)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };
	struct pair *p = *state;
	uint8_t *mem = map_pages(PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, mem, PAGE, ODP);
	int i;

	munmap(mem, PAGE);
	for (i = 0; i < 2; i++) {
		assert_int_equal(rdma_at(&p->a, ops[i], i, 8, (uintptr_t)mem, mr->rkey), 0);
		expect_wc(p->a.cq, i, IBV_WC_REM_OP_ERR);
		to_state(p->a.qp, IBV_QPS_RESET);
		to_state(p->b.qp, IBV_QPS_RESET);
		connect_to(p->a.qp, p->b.qp->qp_num);
		connect_to(p->b.qp, p->a.qp->qp_num);
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

TEST(implicit_region_is_the_address_space)
{
	struct pair *p = *state;
	struct ibv_mr *a = ibv_reg_mr(p->a.pd, NULL, SIZE_MAX, ODP);
	struct ibv_mr *b = ibv_reg_mr(p->b.pd, NULL, SIZE_MAX, ODP);
	char from[] = "anywhere", to[sizeof(from)] = "";

	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(recv_sge(&p->b, 9, (struct ibv_sge){ (uintptr_t)to, sizeof(to), b->lkey }),
			 0);
	assert_int_equal(send_wr(&p->a, (struct ibv_send_wr){ .wr_id = 1, .opcode = IBV_WR_SEND },
				 (struct ibv_sge){ (uintptr_t)from, sizeof(from), a->lkey }),
			 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 9, IBV_WC_SUCCESS);
	assert_string_equal(to, "anywhere");
	/* nothing is mapped at address 16 */
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 2, 8, 16, b->rkey), 0);
	expect_wc(p->a.cq, 2, IBV_WC_REM_OP_ERR);
	assert_int_equal(ibv_dereg_mr(a), 0);
	assert_int_equal(ibv_dereg_mr(b), 0);
}

TEST(implicit_region_has_no_other_form)
{
	struct pair *p = *state;

	errno = 0;
	assert_null(ibv_reg_mr(p->a.pd, NULL, SIZE_MAX, ODP | IBV_ACCESS_HUGETLB));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(ibv_reg_mr(p->a.pd, (void *)4096, SIZE_MAX, ODP));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(p->a.pd, NULL, SIZE_MAX, ALL_ACCESS));
}

TEST(huge_pages_are_promised_in_truth)
{
	struct pair *p = *state;
	struct ibv_mr *mr;

	errno = 0;
	assert_null(ibv_reg_mr(p->a.pd, p->a.buf, PAGE, ODP | IBV_ACCESS_HUGETLB));
	assert_int_equal(errno, EINVAL);
	/* without paging on demand it is a hint */
	mr = ibv_reg_mr(p->a.pd, p->a.buf, PAGE, IBV_ACCESS_HUGETLB);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static int advise_mr(struct end *e, int advice, uint32_t flags, struct ibv_sge sge)
{
	return ibv_advise_mr(e->pd, advice, flags, &sge, 1);
}

TEST(prefetch_brings_pages_in)
{
	struct pair *p = *state;
	uint8_t *mem = map_pages(3 * PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(p->a.pd, mem, 3 * PAGE, ODP);
	struct ibv_sge sge = { (uintptr_t)mem, PAGE, mr->lkey };

	assert_int_equal(advise_mr(&p->a, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
				   IBV_ADVISE_MR_FLAG_FLUSH, sge),
			 0);
	assert_false(is_present(mem));
	assert_int_equal(
		advise_mr(&p->a, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, sge), 0);
	assert_true(is_present(mem));
	sge.addr += PAGE;
	assert_int_equal(advise_mr(&p->a, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, sge), 0);
	assert_true(is_present(mem + PAGE));
	assert_false(is_present(mem + 2 * PAGE));
	munmap(mem, 3 * PAGE);
	/* later or never is success, at once is not */
	assert_int_equal(advise_mr(&p->a, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, sge), 0);
	assert_int_equal(
		advise_mr(&p->a, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, sge),
		EFAULT);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

TEST(bad_advice_says_what_is_wrong)
{
	enum {
		PREFETCH = IBV_ADVISE_MR_ADVICE_PREFETCH,
		WRITE = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE
	};
	struct pair *p = *state;
	struct ibv_mr *mr = ibv_reg_mr(p->a.pd, p->a.buf, PAGE, IBV_ACCESS_ON_DEMAND);
	struct ibv_sge sge = { (uintptr_t)p->a.buf, PAGE, mr->lkey };
	struct ibv_sge other = sge;

	assert_int_equal(advise_mr(&p->a, 17, 0, sge), ENOTSUP);
	assert_int_equal(advise_mr(&p->a, PREFETCH, 2, sge), EINVAL);
	assert_int_equal(ibv_advise_mr(p->a.pd, 0, 0, NULL, 0), EINVAL);
	assert_int_equal(advise_mr(&p->a, WRITE, 0, sge), EPERM);
	assert_int_equal(advise_mr(&p->b, PREFETCH, 0, sge), EPERM);
	assert_int_equal(advise_mr(&p->a, PREFETCH, 0, sge_of(&p->a, 0, 8)), ENOENT);
	assert_int_equal(advise_mr(&p->b, PREFETCH, 0, sge_of(&p->a, 0, 8)), ENOENT);
	other.length++;
	assert_int_equal(advise_mr(&p->a, PREFETCH, 0, other), EFAULT);
	other = sge;
	other.lkey = mr->rkey;
	assert_int_equal(advise_mr(&p->a, PREFETCH, 0, other), ENOENT);
	other.lkey = mr->lkey + (1000 << 15); /* another slot */
	assert_int_equal(advise_mr(&p->a, PREFETCH, 0, other), EFAULT);
	other.lkey = UINT32_MAX;
	assert_int_equal(advise_mr(&p->a, PREFETCH, 0, other), EINVAL);
	assert_int_equal(advise_mr(&p->a, PREFETCH, 0, sge), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* The other process's report about its region. */
static void tell_region(int fd, const struct ibv_mr *mr)
{
	struct address a = { .rkey = mr->rkey, .addr = (uintptr_t)mr->addr };

	say_bytes(fd, &a, sizeof(a));
}

/* Receives once where nothing is mapped any more, on demand. */
static void receive_in_a_hole(struct end *e, int fd, struct address yours)
{
	uint8_t *mem = map_pages(PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(e->pd, mem, PAGE, ODP);

	(void)yours;
	munmap(mem, PAGE);
	assert_int_equal(recv_sge(e, 9, (struct ibv_sge){ (uintptr_t)mem, 64, mr->lkey }), 0);
	say_bytes(fd, "r", 1);
	expect_wc(e->cq, 9, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

TEST_WITH(fault_in_another_process_fails_both_ends, NULL, NULL)
{
	struct fellow f = fellow_start(receive_in_a_hole);
	struct end e;

	end_open(&e);
	fellow_meet(&f, &e);
	await_word(f.fd);
	assert_int_equal(send_at(&e, 1, 0, 8), 0);
	expect_wc(e.cq, 1, IBV_WC_REM_OP_ERR);
	end_close(&e);
	assert_int_equal(fellow_stop(&f), 0);
}

/* Has an on-demand region of which the second page is a hole. */
static void offer_half_a_region(struct end *e, int fd, struct address yours)
{
	uint8_t *mem = map_pages(2 * PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(e->pd, mem, 2 * PAGE, ODP);

	(void)yours;
	munmap(mem + PAGE, PAGE);
	assert_false(is_present(mem));
	tell_region(fd, mr);
	await_word(fd);
	assert_string_equal((char *)mem, "faulted");
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(mem, PAGE);
}

TEST_WITH(remote_access_faults_pages_in_or_fails, NULL, NULL)
{
	struct fellow f = fellow_start(offer_half_a_region);
	struct address there;
	struct end e;

	end_open(&e);
	fellow_meet(&f, &e);
	hear_bytes(f.fd, &there, sizeof(there));
	memcpy(e.buf, "faulted", 8);
	assert_int_equal(rdma_at(&e, IBV_WR_RDMA_WRITE, 1, 8, there.addr, there.rkey), 0);
	expect_wc(e.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(rdma_at(&e, IBV_WR_RDMA_READ, 2, 8, there.addr + PAGE, there.rkey), 0);
	expect_wc(e.cq, 2, IBV_WC_REM_OP_ERR);
	say_bytes(f.fd, "d", 1);
	end_close(&e);
	assert_int_equal(fellow_stop(&f), 0);
}
