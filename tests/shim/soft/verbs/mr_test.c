#include <errno.h>
#include <sys/mman.h>

#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

static int post_rdma(struct end *e, enum ibv_wr_opcode op, struct ibv_sge sge, uint64_t addr,
		     uint32_t rkey)
{
	struct ibv_send_wr wr = { .opcode = op };

	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = rkey;
	return send_wr(e, wr, sge);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

/* As the kernel, which must have a page to pin. */
TEST(region_without_a_page_is_einval)
{
	struct pair *p = *state;
	struct ibv_mr *mr;

	errno = 0;
	assert_null(ibv_reg_mr(p->b.pd, p->b.buf, 0, ALL_ACCESS));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(p->b.pd, NULL, 0, ALL_ACCESS));
	assert_int_equal(errno, EINVAL);
	mr = ibv_reg_mr(p->b.pd, p->b.buf + 64, 0, ALL_ACCESS);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

TEST(zero_based_region_begins_at_zero)
{
	struct pair *p = *state;
	struct ibv_mr *mr =
		ibv_reg_mr(p->b.pd, p->b.buf + 100, 64, ALL_ACCESS | IBV_ACCESS_ZERO_BASED);

	memcpy(p->a.buf, "zero", 5);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 5, 10, mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_string_equal((char *)p->b.buf + 110, "zero");
	assert_int_equal(
		rdma_at(&p->a, IBV_WR_RDMA_WRITE, 2, 5, (uintptr_t)p->b.buf + 100, mr->rkey), 0);
	expect_wc(p->a.cq, 2, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

TEST(iova_may_be_anything)
{
	struct pair *p = *state;
	uint64_t iovas[] = { 0, 1, 0x1003, 1ull << 63, UINT64_MAX - 100 };
	struct ibv_mr *mr;
	size_t i;

	for (i = 0; i < sizeof(iovas) / sizeof(iovas[0]); i++) {
		mr = ibv_reg_mr_iova2(p->b.pd, p->b.buf + 7, 64, iovas[i], ALL_ACCESS);
		assert_non_null(mr);
		p->a.buf[0] = 'A' + i;
		assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, i, 1, iovas[i] + 63, mr->rkey),
				 0);
		expect_wc(p->a.cq, i, IBV_WC_SUCCESS);
		assert_int_equal(p->b.buf[7 + 63], 'A' + i);
		assert_int_equal(ibv_dereg_mr(mr), 0);
	}
}

TEST(optional_access_is_taken)
{
	struct pair *p = *state;
	struct ibv_mr *mr =
		ibv_reg_mr(p->a.pd, p->a.buf, 64, IBV_ACCESS_RELAXED_ORDERING | 1 << 25);

	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static int send_two(struct end *e, struct ibv_sge first, struct ibv_sge second)
{
	struct ibv_sge sges[] = { first, second };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.opcode = IBV_WR_SEND,
		.sg_list = sges,
		.num_sge = 2,
		.send_flags = IBV_SEND_SIGNALED,
	};

	return ibv_post_send(e->qp, &wr, &bad);
}

TEST(null_region_reads_zeros)
{
	struct pair *p = *state;
	struct ibv_mr *null = ibv_alloc_null_mr(p->a.pd);
	enum { LONG = 50000 };
	uint32_t i;

	assert_non_null(null);
	memset(p->b.buf, 0xff, LONG + 8);
	assert_int_equal(recv_at(&p->b, 9, 0, LONG + 8), 0);
	assert_int_equal(
		send_two(&p->a, (struct ibv_sge){ 12345, LONG, null->lkey }, sge_of(&p->a, 0, 4)),
		0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(p->b.cq, 9, IBV_WC_SUCCESS).byte_len, LONG + 4);
	for (i = 0; i < LONG; i++)
		assert_int_equal(p->b.buf[i], 0);
	assert_int_equal(p->b.buf[LONG + 4], 0xff);
	assert_int_equal(ibv_dereg_mr(null), 0);
}

TEST(null_region_discards_what_is_written)
{
	struct pair *p = *state;
	struct ibv_mr *null = ibv_alloc_null_mr(p->b.pd);
	struct ibv_sge sges[] = { { 0, 1000, null->lkey }, sge_of(&p->b, 0, 8) };
	struct ibv_recv_wr *bad, wr = { .wr_id = 9, .sg_list = sges, .num_sge = 2 };

	memset(p->a.buf, 'x', 1000);
	memcpy(p->a.buf + 1000, "kept", 5);
	assert_int_equal(ibv_post_recv(p->b.qp, &wr, &bad), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 1005), 0);
	expect_wc(p->b.cq, 9, IBV_WC_SUCCESS);
	assert_string_equal((char *)p->b.buf, "kept");
	assert_int_equal(post_rdma(&p->b, IBV_WR_RDMA_READ, (struct ibv_sge){ 7, 5000, null->lkey },
				   (uintptr_t)p->a.buf, p->a.mr->rkey),
			 0);
	expect_wc(p->b.cq, 0, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(null), 0);
}

TEST(null_region_has_no_remote_key)
{
	struct pair *p = *state;
	struct ibv_mr *null = ibv_alloc_null_mr(p->b.pd);

	assert_null(null->addr);
	assert_int_equal(null->length, SIZE_MAX);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, 0, null->lkey | 1), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	errno = 0;
	assert_int_equal(ibv_rereg_mr(null, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_dereg_mr(null), 0);
}

/* Receives long and short messages, with a null region in the middle. */
static void receive_around_a_null_region(struct end *e, int fd, struct address yours)
{
	struct ibv_mr *null = ibv_alloc_null_mr(e->pd);
	struct ibv_sge sges[] = { sge_of(e, 0, 4), { 0, 30000, null->lkey }, sge_of(e, 4, 4) };
	struct ibv_recv_wr *bad, wr = { .wr_id = 9, .sg_list = sges, .num_sge = 3 };

	(void)yours;
	assert_int_equal(ibv_post_recv(e->qp, &wr, &bad), 0);
	sges[1].length = 3000;
	assert_int_equal(ibv_post_recv(e->qp, &wr, &bad), 0);
	say_bytes(fd, "r", 1);
	expect_wc(e->cq, 9, IBV_WC_SUCCESS);
	assert_memory_equal(e->buf, "headtail", 8);
	memset(e->buf, 0, 8);
	say_bytes(fd, "r", 1);
	expect_wc(e->cq, 9, IBV_WC_SUCCESS);
	assert_memory_equal(e->buf, "headtail", 8);
	assert_int_equal(ibv_dereg_mr(null), 0);
}

TEST_WITH(null_region_of_another_process_discards, NULL, NULL)
{
	struct fellow f = fellow_start(receive_around_a_null_region);
	static const uint32_t middle[] = { 30000, 3000 };
	struct end e;
	int i;

	end_open(&e);
	fellow_meet(&f, &e);
	for (i = 0; i < 2; i++) {
		memcpy(e.buf, "head", 4);
		memcpy(e.buf + 4 + middle[i], "tail", 4);
		await_word(f.fd);
		assert_int_equal(send_at(&e, i, 0, middle[i] + 8), 0);
		expect_wc(e.cq, i, IBV_WC_SUCCESS);
	}
	end_close(&e);
	assert_int_equal(fellow_stop(&f), 0);
}

enum { PAGE = 4096, PAGES = 16 };

/* Are the pages of @buf from @from up to @to in memory? */
static bool are_resident(void *buf, size_t from, size_t to)
{
	unsigned char resident[PAGES];

	assert_int_equal(mincore(buf, (size_t)PAGES * PAGE, resident), 0);
	while (from < to && resident[from] & 1)
		from++;
	return from == to;
}

static int register_pages(struct end *e, void *buf, size_t n)
{
	struct ibv_mr *mr = ibv_reg_mr(e->pd, buf, n * PAGE, ALL_ACCESS);

	if (!mr)
		return errno;
	assert_int_equal(ibv_dereg_mr(mr), 0);
	return 0;
}

TEST(pages_of_a_region_come_when_they_are_used_if_that_is_asked_for)
{
	struct pair *p = *state;
	char *buf = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	setenv("VERBATIM_SOFT_PAGES", "lazy", 1);
	assert_int_equal(register_pages(&p->a, buf, PAGES), 0);
	assert_true(are_resident(buf, 0, 1) && are_resident(buf, PAGES - 1, PAGES));
	assert_false(are_resident(buf, 1, 2));
	unsetenv("VERBATIM_SOFT_PAGES");
	assert_int_equal(register_pages(&p->a, buf, PAGES), 0);
	assert_true(are_resident(buf, 0, PAGES));
	munmap(buf, PAGES * PAGE);
}

TEST(a_lazy_region_must_be_mapped_and_its_ends_writable)
{
	struct pair *p = *state;
	char *buf = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	setenv("VERBATIM_SOFT_PAGES", "lazy", 1);
	assert_int_equal(mprotect(buf, PAGE, PROT_READ), 0);
	assert_int_equal(register_pages(&p->a, buf, PAGES), EFAULT);
	assert_int_equal(register_pages(&p->a, buf + PAGE, PAGES - 1), 0);
	assert_int_equal(munmap(buf + 4 * PAGE, PAGE), 0);
	assert_int_equal(register_pages(&p->a, buf + PAGE, PAGES - 1), EFAULT);
	assert_int_equal(register_pages(&p->a, buf + PAGE, 3), 0);
	unsetenv("VERBATIM_SOFT_PAGES");
	munmap(buf, PAGES * PAGE);
}
