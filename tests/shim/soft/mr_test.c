#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>

#include "tests/shim/soft/fellow.h"

#define GIVEN(name)	struct pair *name = *state

enum { PAGE = 4096, ODP = ALL_ACCESS | IBV_ACCESS_ON_DEMAND };

static void *map_pages(size_t bytes, int prot)
{
	void *mem = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(mem != MAP_FAILED);
	return mem;
}

/* Is the page in memory? */
static bool is_there(void *page)
{
	unsigned char there;

	assert_int_equal(mincore(page, PAGE, &there), 0);
	return there & 1;
}

static int rdma(struct end *e, enum ibv_wr_opcode op, struct ibv_sge sge,
		uint64_t addr, uint32_t rkey)
{
	struct ibv_send_wr wr = { .opcode = op };

	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = rkey;
	return send_wr(e, wr, sge);
}

static void zero_based_region_begins_at_zero(void **state)
{
	GIVEN(p);
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, p->b.buf + 100, 64,
				       ALL_ACCESS | IBV_ACCESS_ZERO_BASED);

	memcpy(p->a.buf, "zero", 5);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 5, 10, mr->rkey), 0);
	expect(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_string_equal((char *)p->b.buf + 110, "zero");
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 2, 5,
				 (uintptr_t)p->b.buf + 100, mr->rkey), 0);
	expect(p->a.cq, 2, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void iova_may_be_anything(void **state)
{
	GIVEN(p);
	uint64_t iovas[] = { 0, 1, 0x1003, 1ull << 63, UINT64_MAX - 100 };
	struct ibv_mr *mr;
	size_t i;

	for (i = 0; i < sizeof(iovas) / sizeof(iovas[0]); i++) {
		mr = ibv_reg_mr_iova2(p->b.pd, p->b.buf + 7, 64, iovas[i],
				      ALL_ACCESS);
		assert_non_null(mr);
		p->a.buf[0] = 'A' + i;
		assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, i, 1,
					 iovas[i] + 63, mr->rkey), 0);
		expect(p->a.cq, i, IBV_WC_SUCCESS);
		assert_int_equal(p->b.buf[7 + 63], 'A' + i);
		assert_int_equal(ibv_dereg_mr(mr), 0);
	}
}

static void optional_access_is_taken(void **state)
{
	GIVEN(p);
	struct ibv_mr *mr = ibv_reg_mr(p->a.pd, p->a.buf, 64,
				       IBV_ACCESS_RELAXED_ORDERING | 1 << 25);

	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void on_demand_brings_nothing_in_at_registration(void **state)
{
	GIVEN(p);
	uint8_t *mem = map_pages(2 * PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, mem, 2 * PAGE, ODP);

	assert_non_null(mr);
	assert_false(is_there(mem));
	memcpy(p->a.buf, "late", 5);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 5,
				 (uintptr_t)mem, mr->rkey), 0);
	expect(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_string_equal((char *)mem, "late");
	assert_true(is_there(mem));
	assert_false(is_there(mem + PAGE));
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(mem, 2 * PAGE);
}

static void sending_what_is_not_mapped_is_a_local_error(void **state)
{
	GIVEN(p);
	uint8_t *mem = map_pages(PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(p->a.pd, mem, PAGE, ODP);

	munmap(mem, PAGE);
	assert_int_equal(recv_at(&p->b, 9, 0, 100), 0);
	assert_int_equal(send_wr(&p->a, (struct ibv_send_wr){
		.wr_id = 1, .opcode = IBV_WR_SEND },
		(struct ibv_sge){ (uintptr_t)mem, 8, mr->lkey }), 0);
	expect(p->a.cq, 1, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_RTS);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void receiving_where_nothing_is_mapped_fails_both_ends(void **state)
{
	GIVEN(p);
	uint8_t *mem = map_pages(PAGE, PROT_READ);
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, mem, PAGE, ODP);

	assert_int_equal(recv_sge(&p->b, 9, (struct ibv_sge){
		(uintptr_t)mem, 64, mr->lkey }), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 8), 0);
	expect(p->b.cq, 9, IBV_WC_LOC_PROT_ERR);
	expect(p->a.cq, 1, IBV_WC_REM_OP_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(mem, PAGE);
}

static void fault_of_remote_access_is_an_operation_error(void **state)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE,
						  IBV_WR_RDMA_READ };
	GIVEN(p);
	uint8_t *mem = map_pages(PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, mem, PAGE, ODP);
	int i;

	munmap(mem, PAGE);
	for (i = 0; i < 2; i++) {
		assert_int_equal(rdma_at(&p->a, ops[i], i, 8, (uintptr_t)mem,
					 mr->rkey), 0);
		expect(p->a.cq, i, IBV_WC_REM_OP_ERR);
		to_state(p->a.qp, IBV_QPS_RESET);
		to_state(p->b.qp, IBV_QPS_RESET);
		connect_to(p->a.qp, p->b.qp->qp_num);
		connect_to(p->b.qp, p->a.qp->qp_num);
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void implicit_region_is_the_address_space(void **state)
{
	GIVEN(p);
	struct ibv_mr *a = ibv_reg_mr(p->a.pd, NULL, SIZE_MAX, ODP);
	struct ibv_mr *b = ibv_reg_mr(p->b.pd, NULL, SIZE_MAX, ODP);
	char from[] = "anywhere", to[sizeof(from)] = "";

	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(recv_sge(&p->b, 9, (struct ibv_sge){
		(uintptr_t)to, sizeof(to), b->lkey }), 0);
	assert_int_equal(send_wr(&p->a, (struct ibv_send_wr){
		.wr_id = 1, .opcode = IBV_WR_SEND },
		(struct ibv_sge){ (uintptr_t)from, sizeof(from), a->lkey }), 0);
	expect(p->a.cq, 1, IBV_WC_SUCCESS);
	expect(p->b.cq, 9, IBV_WC_SUCCESS);
	assert_string_equal(to, "anywhere");
	/* nobody has anything at address 16 */
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 2, 8, 16, b->rkey), 0);
	expect(p->a.cq, 2, IBV_WC_REM_OP_ERR);
	assert_int_equal(ibv_dereg_mr(a), 0);
	assert_int_equal(ibv_dereg_mr(b), 0);
}

static void implicit_region_has_no_other_form(void **state)
{
	GIVEN(p);

	errno = 0;
	assert_null(ibv_reg_mr(p->a.pd, NULL, SIZE_MAX,
			       ODP | IBV_ACCESS_HUGETLB));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(ibv_reg_mr(p->a.pd, (void *)4096, SIZE_MAX, ODP));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(p->a.pd, NULL, SIZE_MAX, ALL_ACCESS));
}

static void huge_pages_are_promised_in_truth(void **state)
{
	GIVEN(p);
	struct ibv_mr *mr;

	errno = 0;
	assert_null(ibv_reg_mr(p->a.pd, p->a.buf, PAGE,
			       ODP | IBV_ACCESS_HUGETLB));
	assert_int_equal(errno, EINVAL);
	/* without paging on demand it is a hint */
	mr = ibv_reg_mr(p->a.pd, p->a.buf, PAGE, IBV_ACCESS_HUGETLB);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static int advise(struct end *e, int advice, uint32_t flags, struct ibv_sge sge)
{
	return ibv_advise_mr(e->pd, advice, flags, &sge, 1);
}

static void prefetch_brings_pages_in(void **state)
{
	GIVEN(p);
	uint8_t *mem = map_pages(3 * PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(p->a.pd, mem, 3 * PAGE, ODP);
	struct ibv_sge sge = { (uintptr_t)mem, PAGE, mr->lkey };

	assert_int_equal(advise(&p->a, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
				IBV_ADVISE_MR_FLAG_FLUSH, sge), 0);
	assert_false(is_there(mem));
	assert_int_equal(advise(&p->a, IBV_ADVISE_MR_ADVICE_PREFETCH,
				IBV_ADVISE_MR_FLAG_FLUSH, sge), 0);
	assert_true(is_there(mem));
	sge.addr += PAGE;
	assert_int_equal(advise(&p->a, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
				sge), 0);
	assert_true(is_there(mem + PAGE));
	assert_false(is_there(mem + 2 * PAGE));
	munmap(mem, 3 * PAGE);
	/* later or never is success, at once is not */
	assert_int_equal(advise(&p->a, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, sge), 0);
	assert_int_equal(advise(&p->a, IBV_ADVISE_MR_ADVICE_PREFETCH,
				IBV_ADVISE_MR_FLAG_FLUSH, sge), EFAULT);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void bad_advice_says_what_is_wrong(void **state)
{
	enum { PREFETCH = IBV_ADVISE_MR_ADVICE_PREFETCH,
	       WRITE = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE };
	GIVEN(p);
	struct ibv_mr *mr = ibv_reg_mr(p->a.pd, p->a.buf, PAGE,
				       IBV_ACCESS_ON_DEMAND);
	struct ibv_sge sge = { (uintptr_t)p->a.buf, PAGE, mr->lkey };
	struct ibv_sge other = sge;

	assert_int_equal(advise(&p->a, 17, 0, sge), ENOTSUP);
	assert_int_equal(advise(&p->a, PREFETCH, 2, sge), EINVAL);
	assert_int_equal(ibv_advise_mr(p->a.pd, 0, 0, NULL, 0), EINVAL);
	assert_int_equal(advise(&p->a, WRITE, 0, sge), EPERM);
	assert_int_equal(advise(&p->b, PREFETCH, 0, sge), EPERM);
	assert_int_equal(advise(&p->a, PREFETCH, 0, sge_of(&p->a, 0, 8)), EINVAL);
	other.length++;
	assert_int_equal(advise(&p->a, PREFETCH, 0, other), EFAULT);
	other = sge;
	other.lkey = mr->rkey;
	assert_int_equal(advise(&p->a, PREFETCH, 0, other), ENOENT);
	other.lkey = mr->lkey + (1000 << 15);	/* another slot */
	assert_int_equal(advise(&p->a, PREFETCH, 0, other), EFAULT);
	other.lkey = UINT32_MAX;
	assert_int_equal(advise(&p->a, PREFETCH, 0, other), EINVAL);
	assert_int_equal(advise(&p->a, PREFETCH, 0, sge), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static int send_two(struct end *e, struct ibv_sge first, struct ibv_sge second)
{
	struct ibv_sge sges[] = { first, second };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1, .opcode = IBV_WR_SEND, .sg_list = sges,
		.num_sge = 2, .send_flags = IBV_SEND_SIGNALED,
	};

	return ibv_post_send(e->qp, &wr, &bad);
}

static void null_region_reads_zeros(void **state)
{
	GIVEN(p);
	struct ibv_mr *null = ibv_alloc_null_mr(p->a.pd);
	enum { LONG = 50000 };
	uint32_t i;

	assert_non_null(null);
	memset(p->b.buf, 0xff, LONG + 8);
	assert_int_equal(recv_at(&p->b, 9, 0, LONG + 8), 0);
	assert_int_equal(send_two(&p->a, (struct ibv_sge){ 12345, LONG, null->lkey },
				  sge_of(&p->a, 0, 4)), 0);
	expect(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(expect(p->b.cq, 9, IBV_WC_SUCCESS).byte_len, LONG + 4);
	for (i = 0; i < LONG; i++)
		assert_int_equal(p->b.buf[i], 0);
	assert_int_equal(p->b.buf[LONG + 4], 0xff);
	assert_int_equal(ibv_dereg_mr(null), 0);
}

static void null_region_discards_what_is_written(void **state)
{
	GIVEN(p);
	struct ibv_mr *null = ibv_alloc_null_mr(p->b.pd);
	struct ibv_sge sges[] = { { 0, 1000, null->lkey }, sge_of(&p->b, 0, 8) };
	struct ibv_recv_wr *bad, wr = { .wr_id = 9, .sg_list = sges,
					.num_sge = 2 };

	memset(p->a.buf, 'x', 1000);
	memcpy(p->a.buf + 1000, "kept", 5);
	assert_int_equal(ibv_post_recv(p->b.qp, &wr, &bad), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 1005), 0);
	expect(p->b.cq, 9, IBV_WC_SUCCESS);
	assert_string_equal((char *)p->b.buf, "kept");
	assert_int_equal(rdma(&p->b, IBV_WR_RDMA_READ,
			      (struct ibv_sge){ 7, 5000, null->lkey },
			      (uintptr_t)p->a.buf, p->a.mr->rkey), 0);
	expect(p->b.cq, 0, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(null), 0);
}

static void null_region_has_no_remote_key(void **state)
{
	GIVEN(p);
	struct ibv_mr *null = ibv_alloc_null_mr(p->b.pd);

	assert_null(null->addr);
	assert_int_equal(null->length, SIZE_MAX);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, 0,
				 null->lkey | 1), 0);
	expect(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	errno = 0;
	assert_int_equal(ibv_rereg_mr(null, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				      NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_dereg_mr(null), 0);
}


static int rereg(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
		 size_t length, int access)
{
	errno = 0;
	return ibv_rereg_mr(mr, flags, pd, addr, length, access);
}

enum {
	MOVE	= IBV_REREG_MR_CHANGE_TRANSLATION,
	TO_PD	= IBV_REREG_MR_CHANGE_PD,
	ACCESS	= IBV_REREG_MR_CHANGE_ACCESS,
};

static void bad_arguments_leave_the_region_good(void **state)
{
	GIVEN(p);
	struct ibv_mr *mr = p->b.mr;

	assert_int_equal(rereg(mr, 1 << 7, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rereg(mr, MOVE, NULL, NULL, 64, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(rereg(mr, MOVE, NULL, p->b.buf, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(rereg(mr, MOVE, NULL, p->b.buf, 64, ALL_ACCESS),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(rereg(mr, TO_PD, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(rereg(mr, TO_PD, p->a.pd, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8,
				 (uintptr_t)p->b.buf, mr->rkey), 0);
	expect(p->a.cq, 1, IBV_WC_SUCCESS);
}

static void failed_command_costs_the_region_its_keys(void **state)
{
	GIVEN(p);
	struct ibv_mr *mr = p->b.mr;
	uint8_t *gone = map_pages(PAGE, PROT_READ);

	assert_int_equal(rereg(mr, ACCESS, NULL, NULL, 0,
			       IBV_ACCESS_REMOTE_WRITE), IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, EINVAL);
	munmap(gone, PAGE);
	assert_int_equal(rereg(mr, MOVE, NULL, gone, PAGE, 0),
			 IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(rereg(mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_CMD);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8,
				 (uintptr_t)p->b.buf, mr->rkey), 0);
	expect(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	/* until it is given others */
	assert_int_equal(rereg(mr, ACCESS, NULL, NULL, 0, ALL_ACCESS), 0);
}

static void keys_stay_unless_the_memory_changes(void **state)
{
	GIVEN(p);
	struct ibv_pd *pd = ibv_alloc_pd(p->b.context);
	uint32_t rkey = p->b.mr->rkey;

	assert_int_equal(rereg(p->b.mr, ACCESS | TO_PD, pd, NULL, 0,
			       IBV_ACCESS_LOCAL_WRITE), 0);
	assert_int_equal(p->b.mr->rkey, rkey);
	assert_ptr_equal(p->b.mr->pd, pd);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(rereg(p->b.mr, TO_PD | ACCESS | MOVE, p->b.pd,
			       p->b.buf + 64, 64, ALL_ACCESS), 0);
	assert_int_not_equal(p->b.mr->rkey, rkey);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8,
				 (uintptr_t)p->b.buf + 64, p->b.mr->rkey), 0);
	expect(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 2, 8,
				 (uintptr_t)p->b.buf, p->b.mr->rkey), 0);
	expect(p->a.cq, 2, IBV_WC_REM_ACCESS_ERR);
}

static void region_becomes_on_demand(void **state)
{
	GIVEN(p);
	uint8_t *mem = map_pages(PAGE, PROT_READ | PROT_WRITE);

	assert_int_equal(rereg(p->b.mr, ACCESS | MOVE, NULL, mem, PAGE, ODP), 0);
	assert_false(is_there(mem));
	assert_int_equal(rereg(p->b.mr, ACCESS, NULL, NULL, 0, ALL_ACCESS), 0);
	assert_true(is_there(mem));
	assert_int_equal(rereg(p->b.mr, MOVE, NULL, p->b.buf, 64, 0), 0);
	munmap(mem, PAGE);
}

static void zero_based_region_stays_so_where_it_moves(void **state)
{
	GIVEN(p);
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, p->b.buf, 64,
				       ALL_ACCESS | IBV_ACCESS_ZERO_BASED);

	assert_int_equal(rereg(mr, MOVE, NULL, p->b.buf + 200, 64, 0), 0);
	p->a.buf[0] = 'z';
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 1, 63, mr->rkey), 0);
	expect(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(p->b.buf[263], 'z');
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void fork_errors_tell_which_region_is_good(void **state)
{
	GIVEN(p);
	uint8_t *mem = map_pages(2 * PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, mem, PAGE, ALL_ACCESS);
	uint32_t rkey = mr->rkey;

	munmap(mem + PAGE, PAGE);
	setenv("VERBATIM_SOFT_FORK", "enabled", 1);
	assert_int_equal(rereg(mr, MOVE, NULL, mem + PAGE, PAGE, 0),
			 IBV_REREG_MR_ERR_DONT_FORK_NEW);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(mr->rkey, rkey);
	munmap(mem, PAGE);
	assert_int_equal(rereg(mr, MOVE, NULL, p->b.buf, 64, 0),
			 IBV_REREG_MR_ERR_DO_FORK_OLD);
	unsetenv("VERBATIM_SOFT_FORK");
	assert_ptr_equal(mr->addr, p->b.buf);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8,
				 (uintptr_t)p->b.buf, mr->rkey), 0);
	expect(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void memory_file_is_registered(void **state)
{
	GIVEN(p);
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct ibv_mr *mr;
	char text[8] = "";

	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	mr = ibv_reg_dmabuf_mr(p->b.pd, PAGE + 16, 64, 0x7016, fd, ALL_ACCESS);
	assert_null(mr);	/* other offsets in their pages */
	assert_int_equal(errno, EINVAL);
	mr = ibv_reg_dmabuf_mr(p->b.pd, PAGE + 16, 64, 0x7010, fd, ALL_ACCESS);
	assert_non_null(mr);
	memcpy(p->a.buf, "dmabuf!", 8);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, 0x7018,
				 mr->rkey), 0);
	expect(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(pread(fd, text, 8, PAGE + 24), 8);
	assert_string_equal(text, "dmabuf!");
	assert_int_equal(rereg(mr, ACCESS, NULL, NULL, 0, 0),
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

static void file_that_is_no_memory_is_refused(void **state)
{
	GIVEN(p);
	int fd = memfd_create("test", MFD_CLOEXEC), ends[2];

	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dmabuf_error(&p->b, 64, -1, 0), EBADF);
	assert_int_equal(dmabuf_error(&p->b, 64, ends[0], 0), EINVAL);
	assert_int_equal(dmabuf_error(&p->b, PAGE + 1, fd, 0), EINVAL);
	assert_int_equal(dmabuf_error(&p->b, 0, fd, 0), EINVAL);
	assert_int_equal(dmabuf_error(&p->b, 64, fd, IBV_ACCESS_ON_DEMAND),
			 EINVAL);
	assert_int_equal(dmabuf_error(&p->b, 64, fd, IBV_ACCESS_REMOTE_WRITE),
			 EINVAL);
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

/* What the other process tells of a region of its own. */
static void tell_region(int fd, const struct ibv_mr *mr)
{
	struct address a = { .rkey = mr->rkey, .addr = (uintptr_t)mr->addr };

	say(fd, &a, sizeof(a));
}

/* Receives once where nothing is mapped any more, on demand. */
static void receive_in_a_hole(struct end *e, int fd, struct address yours)
{
	uint8_t *mem = map_pages(PAGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(e->pd, mem, PAGE, ODP);

	(void)yours;
	munmap(mem, PAGE);
	assert_int_equal(recv_sge(e, 9, (struct ibv_sge){
		(uintptr_t)mem, 64, mr->lkey }), 0);
	say(fd, "r", 1);
	expect(e->cq, 9, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void fault_in_another_process_fails_both_ends(void **state)
{
	struct fellow f = fellow_start(receive_in_a_hole);
	struct end e;

	(void)state;
	end_open(&e);
	fellow_meet(&f, &e);
	await_word(f.fd);
	assert_int_equal(send_at(&e, 1, 0, 8), 0);
	expect(e.cq, 1, IBV_WC_REM_OP_ERR);
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
	assert_false(is_there(mem));
	tell_region(fd, mr);
	await_word(fd);
	assert_string_equal((char *)mem, "faulted");
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(mem, PAGE);
}

static void remote_access_faults_pages_in_or_fails(void **state)
{
	struct fellow f = fellow_start(offer_half_a_region);
	struct address there;
	struct end e;

	(void)state;
	end_open(&e);
	fellow_meet(&f, &e);
	hear(f.fd, &there, sizeof(there));
	memcpy(e.buf, "faulted", 8);
	assert_int_equal(rdma_at(&e, IBV_WR_RDMA_WRITE, 1, 8, there.addr,
				 there.rkey), 0);
	expect(e.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(rdma_at(&e, IBV_WR_RDMA_READ, 2, 8, there.addr + PAGE,
				 there.rkey), 0);
	expect(e.cq, 2, IBV_WC_REM_OP_ERR);
	say(f.fd, "d", 1);
	end_close(&e);
	assert_int_equal(fellow_stop(&f), 0);
}

/* Receives long and short messages, with a null region in the middle. */
static void receive_around_a_null_region(struct end *e, int fd,
					 struct address yours)
{
	struct ibv_mr *null = ibv_alloc_null_mr(e->pd);
	struct ibv_sge sges[] = { sge_of(e, 0, 4), { 0, 30000, null->lkey },
				  sge_of(e, 4, 4) };
	struct ibv_recv_wr *bad, wr = { .wr_id = 9, .sg_list = sges,
					.num_sge = 3 };

	(void)yours;
	assert_int_equal(ibv_post_recv(e->qp, &wr, &bad), 0);
	sges[1].length = 3000;
	assert_int_equal(ibv_post_recv(e->qp, &wr, &bad), 0);
	say(fd, "r", 1);
	expect(e->cq, 9, IBV_WC_SUCCESS);
	assert_memory_equal(e->buf, "headtail", 8);
	memset(e->buf, 0, 8);
	say(fd, "r", 1);
	expect(e->cq, 9, IBV_WC_SUCCESS);
	assert_memory_equal(e->buf, "headtail", 8);
	assert_int_equal(ibv_dereg_mr(null), 0);
}

static void null_region_of_another_process_discards(void **state)
{
	struct fellow f = fellow_start(receive_around_a_null_region);
	static const uint32_t middle[] = { 30000, 3000 };
	struct end e;
	int i;

	(void)state;
	end_open(&e);
	fellow_meet(&f, &e);
	for (i = 0; i < 2; i++) {
		memcpy(e.buf, "head", 4);
		memcpy(e.buf + 4 + middle[i], "tail", 4);
		await_word(f.fd);
		assert_int_equal(send_at(&e, i, 0, middle[i] + 8), 0);
		expect(e.cq, i, IBV_WC_SUCCESS);
	}
	end_close(&e);
	assert_int_equal(fellow_stop(&f), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, pair_setup, pair_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(zero_based_region_begins_at_zero),
		TEST(iova_may_be_anything),
		TEST(optional_access_is_taken),
		TEST(on_demand_brings_nothing_in_at_registration),
		TEST(sending_what_is_not_mapped_is_a_local_error),
		TEST(receiving_where_nothing_is_mapped_fails_both_ends),
		TEST(fault_of_remote_access_is_an_operation_error),
		TEST(implicit_region_is_the_address_space),
		TEST(implicit_region_has_no_other_form),
		TEST(huge_pages_are_promised_in_truth),
		TEST(prefetch_brings_pages_in),
		TEST(bad_advice_says_what_is_wrong),
		TEST(null_region_reads_zeros),
		TEST(null_region_discards_what_is_written),
		TEST(null_region_has_no_remote_key),
		TEST(bad_arguments_leave_the_region_good),
		TEST(failed_command_costs_the_region_its_keys),
		TEST(keys_stay_unless_the_memory_changes),
		TEST(region_becomes_on_demand),
		TEST(zero_based_region_stays_so_where_it_moves),
		TEST(fork_errors_tell_which_region_is_good),
		TEST(memory_file_is_registered),
		TEST(file_that_is_no_memory_is_refused),
		cmocka_unit_test(fault_in_another_process_fails_both_ends),
		cmocka_unit_test(remote_access_faults_pages_in_or_fails),
		cmocka_unit_test(null_region_of_another_process_discards),
	};

	return cmocka_run_group_tests(tests, fabric_setup, fabric_teardown);
}
