#include <errno.h>

#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

enum { DM_ACCESS = ALL_ACCESS | IBV_ACCESS_ZERO_BASED };

static struct ibv_dm *alloc_dm(struct ibv_context *context, size_t length)
{
	struct ibv_alloc_dm_attr attr = { .length = length };

	return ibv_alloc_dm(context, &attr);
}

static uint64_t max_size(struct ibv_context *context)
{
	struct ibv_device_attr_ex attr;

	assert_int_equal(ibv_query_device_ex(context, NULL, &attr), 0);
	return attr.max_dm_size;
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(what_is_copied_in_comes_out)
{
	struct pair *p = *state;
	struct ibv_dm *dm = alloc_dm(p->a.context, 4096);
	char back[8] = "";

	assert_non_null(dm);
	assert_int_equal(ibv_memcpy_from_dm(back, dm, 4088, 8), 0);
	assert_int_equal(back[0], 0);
	assert_int_equal(ibv_memcpy_to_dm(dm, 4088, "device!", 8), 0);
	assert_int_equal(ibv_memcpy_from_dm(back, dm, 4088, 8), 0);
	assert_string_equal(back, "device!");
	assert_int_equal(ibv_free_dm(dm), 0);
}

TEST(copying_keeps_to_words_and_bounds)
{
	struct pair *p = *state;
	struct ibv_dm *dm = alloc_dm(p->a.context, 100);
	char host[128] = "";

	assert_int_equal(ibv_memcpy_to_dm(dm, 3, host, 4), EINVAL);
	assert_int_equal(ibv_memcpy_to_dm(dm, 4, host, 3), EINVAL);
	assert_int_equal(ibv_memcpy_from_dm(host, dm, 2, 4), EINVAL);
	assert_int_equal(ibv_memcpy_to_dm(dm, 104, host, 4), EFAULT);
	assert_int_equal(ibv_memcpy_from_dm(host, dm, 0, 104), EFAULT);
	assert_int_equal(ibv_memcpy_from_dm(host, dm, UINT64_MAX - 3, 8), EFAULT);
	assert_int_equal(ibv_memcpy_from_dm(host, dm, 100, 0), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

TEST(there_is_no_more_than_the_device_says)
{
	struct pair *p = *state;
	uint64_t max = max_size(p->a.context);
	struct ibv_dm *half = alloc_dm(p->a.context, max / 2), *rest;

	errno = 0;
	assert_null(alloc_dm(p->a.context, max + 1));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(alloc_dm(p->b.context, max / 2 + 4));
	assert_int_equal(errno, ENOMEM);
	rest = alloc_dm(p->b.context, max / 2);
	assert_non_null(rest);
	assert_int_equal(ibv_free_dm(rest), 0);
	assert_int_equal(ibv_free_dm(half), 0);
}

TEST(closing_a_context_frees_what_it_has_left)
{
	for (int i = 0; i < 2; i++) {
		struct ibv_context *context = open_context();

		assert_non_null(alloc_dm(context, max_size(context) - 1000));
		assert_null(alloc_dm(context, max_size(context) - 1000));
		assert_int_equal(ibv_close_device(context), 0);
	}
}

TEST(impossible_memory_is_refused)
{
	struct pair *p = *state;
	struct ibv_alloc_dm_attr attr = { .length = 64, .comp_mask = 1 };

	assert_null(ibv_alloc_dm(p->a.context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr = (struct ibv_alloc_dm_attr){ .length = 64, .log_align_req = 40 };
	assert_null(ibv_alloc_dm(p->a.context, &attr));
	assert_int_equal(errno, EINVAL);
	assert_null(alloc_dm(p->a.context, 0));
}

TEST(regions_of_it_are_zero_based)
{
	struct pair *p = *state;
	struct ibv_dm *dm = alloc_dm(p->a.context, 100);
	struct ibv_mr *mr;

	errno = 0;
	assert_null(ibv_reg_dm_mr(p->a.pd, dm, 0, 100, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_dm_mr(p->a.pd, dm, 0, 104, DM_ACCESS));
	assert_null(ibv_reg_dm_mr(p->a.pd, dm, 60, 44, DM_ACCESS));
	assert_null(ibv_reg_dm_mr(p->a.pd, dm, UINT64_MAX - 3, 8, DM_ACCESS));
	assert_null(ibv_reg_dm_mr(p->a.pd, dm, 0, 100, DM_ACCESS | IBV_ACCESS_ON_DEMAND));
	assert_null(ibv_reg_dm_mr(p->b.pd, dm, 0, 100, DM_ACCESS));
	assert_int_equal(errno, EINVAL);
	mr = ibv_reg_dm_mr(p->a.pd, dm, 60, 40, DM_ACCESS);
	assert_non_null(mr);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_CMD);
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

TEST(peers_reach_it)
{
	struct pair *p = *state;
	struct ibv_dm *dm = alloc_dm(p->b.context, 128);
	struct ibv_mr *mr = ibv_reg_dm_mr(p->b.pd, dm, 64, 64, DM_ACCESS);
	uint64_t word = 40;
	char text[8];

	memcpy(p->a.buf, "written", 8);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, 8, mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_memcpy_from_dm(text, dm, 72, 8), 0);
	assert_string_equal(text, "written");

	assert_int_equal(ibv_memcpy_to_dm(dm, 64, &word, 8), 0);
	assert_int_equal(send_wr(&p->a,
				 (struct ibv_send_wr){ .wr_id = 2,
						       .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
						       .wr.atomic = { .remote_addr = 0,
								      .compare_add = 2,
								      .rkey = mr->rkey } },
				 sge_of(&p->a, 0, 8)),
			 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(ibv_memcpy_from_dm(&word, dm, 64, 8), 0);
	assert_int_equal(word, 42);

	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_READ, 3, 8, 60, mr->rkey), 0);
	expect_wc(p->a.cq, 3, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

TEST(messages_come_from_and_go_to_it)
{
	struct pair *p = *state;
	struct ibv_dm *a = alloc_dm(p->a.context, 64);
	struct ibv_dm *b = alloc_dm(p->b.context, 64);
	struct ibv_mr *from = ibv_reg_dm_mr(p->a.pd, a, 0, 64, DM_ACCESS);
	struct ibv_mr *to = ibv_reg_dm_mr(p->b.pd, b, 0, 64, DM_ACCESS);
	char text[8];

	assert_int_equal(ibv_memcpy_to_dm(a, 16, "message", 8), 0);
	assert_int_equal(recv_sge(&p->b, 9, (struct ibv_sge){ 4, 60, to->lkey }), 0);
	assert_int_equal(send_wr(&p->a, (struct ibv_send_wr){ .wr_id = 1, .opcode = IBV_WR_SEND },
				 (struct ibv_sge){ 16, 8, from->lkey }),
			 0);
	expect_wc(p->b.cq, 9, IBV_WC_SUCCESS);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_memcpy_from_dm(text, b, 4, 8), 0);
	assert_string_equal(text, "message");
	assert_int_equal(ibv_dereg_mr(from), 0);
	assert_int_equal(ibv_dereg_mr(to), 0);
	assert_int_equal(ibv_free_dm(a), 0);
	assert_int_equal(ibv_free_dm(b), 0);
}

TEST(child_allocates_with_what_it_inherits)
{
	struct pair *p = *state;
	struct ibv_dm *dm;
	uint32_t word = 7;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		dm = alloc_dm(p->a.context, 64);
		if (!dm || ibv_memcpy_to_dm(dm, 60, &word, 4))
			_exit(1);
		/* an empty range cannot be registered */
		if (ibv_reg_dm_mr(p->a.pd, dm, 0, 64, DM_ACCESS) || errno != EIO)
			_exit(2);
		_exit(ibv_free_dm(dm));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void offer_device_memory(struct end *e, int fd, struct address yours)
{
	struct ibv_dm *dm = alloc_dm(e->context, 64);
	struct ibv_mr *mr = ibv_reg_dm_mr(e->pd, dm, 0, 64, DM_ACCESS);
	struct address a = { .rkey = mr->rkey };
	uint64_t words[2] = { 5 };

	(void)yours;
	assert_int_equal(ibv_memcpy_to_dm(dm, 0, words, 8), 0);
	say_bytes(fd, &a, sizeof(a));
	await_word(fd);
	assert_int_equal(ibv_memcpy_from_dm(words, dm, 0, 16), 0);
	assert_int_equal(words[0], 12);
	assert_int_equal(words[1], 99);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

TEST_WITH(another_process_reaches_it, NULL, NULL)
{
	struct fellow f = fellow_start(offer_device_memory);
	struct address there;
	uint64_t *word;
	struct end e;

	end_open(&e);
	fellow_meet(&f, &e);
	hear_bytes(f.fd, &there, sizeof(there));
	word = (uint64_t *)e.buf;
	assert_int_equal(send_wr(&e,
				 (struct ibv_send_wr){ .wr_id = 1,
						       .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
						       .wr.atomic = { .remote_addr = 0,
								      .compare_add = 7,
								      .rkey = there.rkey } },
				 sge_of(&e, 0, 8)),
			 0);
	expect_wc(e.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(*word, 5);
	*word = 99;
	assert_int_equal(rdma_at(&e, IBV_WR_RDMA_WRITE, 2, 8, 8, there.rkey), 0);
	expect_wc(e.cq, 2, IBV_WC_SUCCESS);
	say_bytes(f.fd, "d", 1);
	end_close(&e);
	assert_int_equal(fellow_stop(&f), 0);
}
