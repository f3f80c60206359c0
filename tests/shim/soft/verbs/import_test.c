#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

static struct ibv_context *import_of(struct ibv_context *context)
{
	struct ibv_context *imported = ibv_import_device(dup(context->cmd_fd));

	assert_non_null(imported);
	return imported;
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(duplicate_leads_to_the_context)
{
	struct pair *p = *state;
	struct ibv_context *twice[2] = { import_of(p->a.context), import_of(p->a.context) };
	struct ibv_port_attr port;
	int fd = twice[0]->cmd_fd;

	assert_ptr_not_equal(twice[0], p->a.context);
	assert_ptr_not_equal(twice[0], twice[1]);
	assert_ptr_equal(twice[0]->device, p->a.context->device);
	assert_int_not_equal(twice[0]->async_fd, p->a.context->async_fd);
	assert_int_equal(ibv_query_port(twice[1], 1, &port), 0);
	assert_int_equal(ibv_close_device(twice[0]), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* it was closed */
	assert_int_equal(ibv_close_device(twice[1]), 0);
}

TEST(what_is_no_context_is_refused)
{
	int file = open("/proc/self/exe", O_RDONLY);
	int null = open("/dev/null", O_RDWR);

	errno = 0;
	assert_null(ibv_import_device(-1));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_import_device(file));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_import_device(null));
	assert_int_equal(errno, ENODEV);
	close(file);
	close(null);
}

TEST(another_process_cannot_import)
{
	struct pair *p = *state;
	int status, fd = dup(p->a.context->cmd_fd);
	pid_t pid = fork();

	if (!pid) {
		open_context();
		_exit(ibv_import_device(fd) || errno != EOPNOTSUPP);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(fd);
}

TEST(imported_domain_is_the_same)
{
	struct pair *p = *state;
	struct ibv_context *context = import_of(p->a.context);
	struct ibv_pd *pd = ibv_import_pd(context, p->a.pd->handle);
	struct ibv_mr *mr;

	assert_non_null(pd);
	assert_ptr_equal(pd->context, context);
	assert_int_equal(pd->handle, p->a.pd->handle);
	mr = ibv_reg_mr(pd, p->a.buf, 64, ALL_ACCESS);
	assert_int_equal(recv_at(&p->b, 9, 0, 64), 0);
	assert_int_equal(send_wr(&p->a, (struct ibv_send_wr){ .wr_id = 1, .opcode = IBV_WR_SEND },
				 (struct ibv_sge){ (uintptr_t)p->a.buf, 8, mr->lkey }),
			 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	ibv_unimport_pd(pd);
	assert_int_equal(ibv_close_device(context), 0);
}

TEST(domain_is_busy_with_what_any_pointer_made)
{
	struct pair *p = *state;
	struct ibv_context *context = import_of(p->a.context);
	struct ibv_pd *own = ibv_alloc_pd(p->a.context);
	struct ibv_pd *pd = ibv_import_pd(context, own->handle);
	struct ibv_mr *mr = ibv_reg_mr(own, p->a.buf, 64, 0);

	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	/* the object of the other pointer does not exist any more */
	assert_int_equal(ibv_dealloc_pd(own), ENOENT);
	ibv_unimport_pd(own);
	assert_int_equal(ibv_close_device(context), 0);
}

TEST(imported_region_has_the_keys)
{
	struct pair *p = *state;
	struct ibv_context *context = import_of(p->b.context);
	struct ibv_pd *pd = ibv_import_pd(context, p->b.pd->handle);
	struct ibv_mr *mr = ibv_import_mr(pd, p->b.mr->handle);

	assert_non_null(mr);
	assert_null(mr->addr);
	assert_int_equal(mr->length, p->b.mr->length);
	assert_int_equal(mr->lkey, p->b.mr->lkey);
	assert_int_equal(mr->rkey, p->b.mr->rkey);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, (uintptr_t)p->b.buf, mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	ibv_unimport_mr(mr);
	assert_int_equal(
		rdma_at(&p->a, IBV_WR_RDMA_WRITE, 2, 8, (uintptr_t)p->b.buf, p->b.mr->rkey), 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	ibv_unimport_pd(pd);
	assert_int_equal(ibv_close_device(context), 0);
}

TEST(region_goes_with_whom_destroys_it)
{
	struct pair *p = *state;
	struct ibv_context *context = import_of(p->b.context);
	struct ibv_pd *pd = ibv_import_pd(context, p->b.pd->handle);
	struct ibv_mr *mr = ibv_import_mr(pd, p->b.mr->handle);
	uint32_t rkey = mr->rkey;

	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, (uintptr_t)p->b.buf, rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(p->b.mr), ENOENT);
	ibv_unimport_mr(p->b.mr);
	p->b.mr = NULL;
	ibv_unimport_pd(pd);
	assert_int_equal(ibv_close_device(context), 0);
}

TEST(region_outlives_its_first_pointer)
{
	struct pair *p = *state;
	struct ibv_context *context = import_of(p->b.context);
	struct ibv_pd *pd = ibv_import_pd(context, p->b.pd->handle);
	struct ibv_mr *mr = ibv_import_mr(pd, p->b.mr->handle);

	ibv_unimport_mr(p->b.mr);
	p->b.mr = NULL;
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, (uintptr_t)p->b.buf, mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	ibv_unimport_pd(pd);
	assert_int_equal(ibv_close_device(context), 0);
}

TEST(region_without_pointers_can_be_imported_again)
{
	struct pair *p = *state;
	uint32_t handle = p->b.mr->handle;

	ibv_unimport_mr(p->b.mr);
	p->b.mr = ibv_import_mr(p->b.pd, handle);
	assert_non_null(p->b.mr);
	assert_int_equal(
		rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, (uintptr_t)p->b.buf, p->b.mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
}

TEST(imported_device_memory_is_the_same)
{
	struct pair *p = *state;
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_context *context = import_of(p->a.context);
	struct ibv_dm *dm = ibv_alloc_dm(p->a.context, &attr);
	struct ibv_dm *same = ibv_import_dm(context, dm->handle);
	char text[8];

	assert_non_null(same);
	assert_int_equal(ibv_memcpy_to_dm(dm, 0, "shared!", 8), 0);
	assert_int_equal(ibv_memcpy_from_dm(text, same, 0, 8), 0);
	assert_string_equal(text, "shared!");
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(ibv_memcpy_from_dm(text, same, 0, 8), ENOENT);
	ibv_unimport_dm(same);
	assert_int_equal(ibv_close_device(context), 0);
}

TEST(numbers_of_other_files_are_enoent)
{
	struct pair *p = *state;
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm *dm = ibv_alloc_dm(p->a.context, &attr);

	errno = 0;
	assert_null(ibv_import_pd(p->b.context, p->a.pd->handle));
	assert_int_equal(errno, ENOENT);
	errno = 0;
	assert_null(ibv_import_mr(p->b.pd, p->a.mr->handle));
	assert_int_equal(errno, ENOENT);
	assert_null(ibv_import_mr(p->b.pd, 1 << 30));
	errno = 0;
	assert_null(ibv_import_dm(p->b.context, dm->handle));
	assert_int_equal(errno, ENOENT);
	assert_null(ibv_import_pd(p->a.context, 0));
	assert_int_equal(ibv_free_dm(dm), 0);
}

TEST(objects_live_until_the_last_context_closes)
{
	/* structures that were not destroyed stay the program's */
	static struct ibv_pd *volatile pd[2];
	static struct ibv_mr *volatile mr[2];
	struct pair *p = *state;
	struct ibv_context *first = open_context(), *context;
	uint32_t pd_handle, mr_handle;

	pd[0] = ibv_alloc_pd(first);
	mr[0] = ibv_reg_mr(pd[0], p->b.buf, 64, ALL_ACCESS);
	pd_handle = pd[0]->handle;
	mr_handle = mr[0]->handle;
	context = import_of(first);
	assert_int_equal(ibv_close_device(first), 0);
	pd[1] = ibv_import_pd(context, pd_handle);
	assert_non_null(pd[1]);
	mr[1] = ibv_import_mr(pd[1], mr_handle);
	assert_non_null(mr[1]);
	assert_int_equal(ibv_close_device(context), 0);
	assert_null(ibv_import_mr(p->b.pd, mr_handle));
}
