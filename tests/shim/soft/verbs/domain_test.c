#include <errno.h>
#include <stdbool.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

struct counts {
	struct ibv_pd *pd;
	int allocs, frees;
	void *last;
	bool by_default, fails;
};

static void *count_alloc(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
			 uint64_t resource_type)
{
	struct counts *c = pd_context;
	void *mem = NULL;

	assert_true(resource_type >> 32 == 0);
	c->pd = pd;
	c->allocs++;
	if (c->fails)
		return NULL;
	if (c->by_default)
		return IBV_ALLOCATOR_USE_DEFAULT;
	assert_int_equal(posix_memalign(&mem, alignment, size), 0);
	memset(mem, 0, size);
	return c->last = mem;
}

static void count_free(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type)
{
	struct counts *c = pd_context;

	assert_true(resource_type >> 32 == 0);
	assert_ptr_equal(pd, c->pd);
	assert_ptr_equal(ptr, c->last);
	c->frees++;
	free(ptr);
}

static struct ibv_pd *make_parent(struct end *e, struct ibv_td *td, struct counts *counts)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = e->pd,
		.td = td,
		.comp_mask = counts ? IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
					      IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT
				    : 0,
		.alloc = count_alloc,
		.free = count_free,
		.pd_context = counts,
	};

	return ibv_alloc_parent_domain(e->context, &attr);
}

/* Create a queue pair in that domain. */
static struct ibv_qp *qp_of(struct end *e, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { 4, 4, 1, 1, 0 },
	};

	return ibv_create_qp(pd, &attr);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(thread_domain_is_busy_while_used)
{
	struct pair *p = *state;
	struct ibv_td_init_attr attr = { .comp_mask = 1 };
	struct ibv_pd *parent;
	struct ibv_td *td;

	errno = 0;
	assert_null(ibv_alloc_td(p->a.context, &attr));
	assert_int_equal(errno, EINVAL);
	attr.comp_mask = 0;
	td = ibv_alloc_td(p->a.context, &attr);
	assert_non_null(td);
	parent = make_parent(&p->a, td, NULL);
	assert_non_null(parent);
	assert_int_equal(ibv_dealloc_td(td), EBUSY);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
}

TEST(parent_domain_needs_its_parts)
{
	struct pair *p = *state;
	struct ibv_parent_domain_init_attr attr = { .pd = NULL };

	errno = 0;
	assert_null(ibv_alloc_parent_domain(p->a.context, &attr));
	assert_int_equal(errno, EINVAL);
	attr.pd = p->b.pd;
	assert_null(ibv_alloc_parent_domain(p->a.context, &attr));
	attr.pd = p->a.pd;
	attr.comp_mask = 1 << 7;
	assert_null(ibv_alloc_parent_domain(p->a.context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	assert_null(ibv_alloc_parent_domain(p->a.context, &attr));
	assert_int_equal(errno, EINVAL);
}

TEST(objects_keep_domains_busy)
{
	struct pair *p = *state;
	struct ibv_pd *parent = make_parent(&p->a, NULL, NULL);
	struct ibv_qp *qp = qp_of(&p->a, parent);

	assert_ptr_equal(qp->pd, parent);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_qp(p->a.qp), 0);
	assert_int_equal(ibv_dereg_mr(p->a.mr), 0);
	p->a.qp = NULL;
	p->a.mr = NULL;
	assert_int_equal(ibv_dealloc_pd(p->a.pd), EBUSY);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

TEST(objects_of_both_domains_go_together)
{
	struct pair *p = *state;
	struct ibv_pd *parent = make_parent(&p->a, NULL, NULL);
	struct ibv_mr *mr = ibv_reg_mr(parent, p->a.buf, 64, ALL_ACCESS);

	assert_int_equal(recv_at(&p->b, 9, 0, 64), 0);
	assert_int_equal(send_wr(&p->a, (struct ibv_send_wr){ .wr_id = 1, .opcode = IBV_WR_SEND },
				 (struct ibv_sge){ (uintptr_t)p->a.buf, 8, mr->lkey }),
			 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

TEST(allocator_gives_the_queue_its_memory)
{
	struct pair *p = *state;
	struct counts counts = { 0 };
	struct ibv_pd *parent = make_parent(&p->a, NULL, &counts);
	struct ibv_qp *qp = qp_of(&p->a, parent);

	assert_ptr_equal(counts.pd, parent);
	assert_true(counts.allocs >= 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(counts.frees, counts.allocs);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

TEST(default_memory_is_not_given_to_its_free)
{
	struct pair *p = *state;
	struct counts counts = { .by_default = true };
	struct ibv_pd *parent = make_parent(&p->a, NULL, &counts);
	struct ibv_qp *qp = qp_of(&p->a, parent);

	assert_non_null(qp);
	assert_true(counts.allocs >= 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(counts.frees, 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

TEST(allocator_that_fails_is_enomem)
{
	struct pair *p = *state;
	struct counts counts = { .fails = true };
	struct ibv_pd *parent = make_parent(&p->a, NULL, &counts);

	errno = 0;
	assert_null(qp_of(&p->a, parent));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

TEST(completion_queue_takes_a_parent_domain_only)
{
	struct pair *p = *state;
	struct ibv_pd *parent = make_parent(&p->a, NULL, NULL);
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = p->a.pd,
	};
	struct ibv_cq_ex *cq;

	errno = 0;
	assert_null(ibv_create_cq_ex(p->a.context, &attr));
	assert_int_equal(errno, EINVAL);
	attr.parent_domain = parent;
	cq = ibv_create_cq_ex(p->a.context, &attr);
	assert_non_null(cq);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

TEST(there_are_as_many_domains_as_the_device_says)
{
	struct pair *p = *state;
	struct ibv_device_attr attr;
	struct ibv_pd **pds;
	int i, count;

	assert_int_equal(ibv_query_device(p->a.context, &attr), 0);
	pds = calloc(attr.max_pd, sizeof(*pds));
	/* two are there already */
	for (count = 0; count < attr.max_pd - 2; count++) {
		pds[count] = ibv_alloc_pd(p->a.context);
		assert_non_null(pds[count]);
	}
	errno = 0;
	assert_null(ibv_alloc_pd(p->a.context));
	assert_int_equal(errno, ENOMEM);
	for (i = count; i--;)
		assert_int_equal(ibv_dealloc_pd(pds[i]), 0);
	free(pds);
}

/* With a flag of newer headers: a device that needs no unprotected memory may use plain memory. */
TEST(unprotected_memory_may_be_allowed)
{
	struct pair *p = *state;
	struct ibv_parent_domain_init_attr attr = { .pd = p->a.pd, .comp_mask = 1 << 2 };
	struct ibv_pd *parent = ibv_alloc_parent_domain(p->a.context, &attr);

	assert_non_null(parent);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}
