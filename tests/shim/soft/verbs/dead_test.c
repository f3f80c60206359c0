/*
 * shim/soft/verbs/dead.c: verbs on destroyed objects fail, and do not crash; but AddressSanitizer
 * reports them
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/soft/verbs/dead.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

#ifdef __SANITIZE_ADDRESS__

TEST(destroyed_objects_are_freed_at_once)
{
	skip();
}

#else

enum { DEPTH = 4 };

struct open {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

static void open_device(struct open *o)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	assert_non_null(list);
	o->context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	o->pd = ibv_alloc_pd(o->context);
	o->cq = ibv_create_cq(o->context, 2 * DEPTH, NULL, NULL, 0);
	assert_non_null(o->cq);
}

static void close_device(struct open *o)
{
	assert_int_equal(ibv_destroy_cq(o->cq), 0);
	assert_int_equal(ibv_dealloc_pd(o->pd), 0);
	assert_int_equal(ibv_close_device(o->context), 0);
}

static struct ibv_qp *create_qp(struct open *o, uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = o->cq,
		.recv_cq = o->cq,
		.qp_type = IBV_QPT_RC,
		.pd = o->pd,
		.cap = { DEPTH, DEPTH, 2, 2, 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | (ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.send_ops_flags = ops,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(o->context, &attr);

	assert_non_null(qp);
	return qp;
}

TEST(posts_to_a_destroyed_queue_pair)
{
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv = NULL;
	struct ibv_send_wr send = { .wr_id = 1 }, *bad_send = NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct open o;
	struct ibv_qp *qp;

	open_device(&o);
	qp = create_qp(&o, 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_post_send(qp, &send, &bad_send), EIO);
	assert_ptr_equal(bad_send, &send);
	assert_int_equal(ibv_post_recv(qp, &recv, &bad_recv), EIO);
	assert_ptr_equal(bad_recv, &recv);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EIO);
	assert_int_equal(ibv_destroy_qp(qp), EIO);
	close_device(&o);
	assert_int_equal(ibv_post_send(qp, &send, &bad_send),
			 EIO); /* posting fails after the close, too */
}

TEST(builders_on_a_destroyed_queue_pair)
{
	static const struct ibv_sge list[2] = { { 0x1000, 64, 1 }, { 0x2000, 64, 1 } };
	static char text[64];
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;
	struct open o;

	open_device(&o);
	qp = create_qp(&o, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE);
	ex = ibv_qp_to_qp_ex(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	ibv_wr_start(ex);
	for (int i = 0; i < 2 * DEPTH; i++) {
		ibv_wr_send(ex);
		ibv_wr_set_sge_list(ex, 2, list);
		ibv_wr_rdma_write(ex, 1, 0x3000);
		ibv_wr_set_inline_data(ex, text, sizeof(text));
	}
	assert_int_equal(ibv_wr_complete(ex), EIO);
	ibv_wr_start(ex);
	ibv_wr_abort(ex);
	close_device(&o);
}

TEST(polls_of_a_destroyed_cq)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = DEPTH, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_cq_ex *ex;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	struct open o;

	open_device(&o);
	cq = ibv_create_cq(o.context, DEPTH, NULL, NULL, 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_true(ibv_poll_cq(cq, 1, &wc) < 0);
	assert_int_equal(ibv_req_notify_cq(cq, 0), EIO);
	ibv_ack_cq_events(cq, 0);
	ex = ibv_create_cq_ex(o.context, &attr);
	assert_non_null(ex);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	assert_int_equal(ibv_start_poll(ex, &poll), EIO);
	close_device(&o);
}

TEST(receives_of_a_destroyed_srq)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad = NULL;
	struct ibv_srq *srq;
	struct open o;

	open_device(&o);
	srq = ibv_create_srq(o.pd, &attr);
	assert_non_null(srq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad), EIO);
	assert_ptr_equal(bad, &recv);
	close_device(&o);
}

TEST(objects_that_were_left_in_a_closed_context)
{
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad = NULL;
	struct ibv_port_attr port;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	struct open o;

	open_device(&o);
	qp = create_qp(&o, 0);
	assert_int_equal(ibv_close_device(o.context), 0);
	assert_true(ibv_poll_cq(o.cq, 1, &wc) < 0);
	assert_int_equal(ibv_req_notify_cq(o.cq, 0), EIO);
	assert_int_equal(ibv_post_recv(qp, &recv, &bad), EIO);
	assert_int_equal(ibv_query_port(o.context, 1, &port), EIO);
	assert_int_equal(ibv_dealloc_pd(o.pd), EIO);
}

/* The first is not freed before there are so many: nobody gets its memory. */
TEST(the_last_ones_remain)
{
	struct open o;
	struct ibv_qp *first, *qp;

	open_device(&o);
	first = create_qp(&o, 0);
	assert_int_equal(ibv_destroy_qp(first), 0);
	for (int i = 1; i < DEAD_OBJECTS; i++) {
		qp = create_qp(&o, 0);
		assert_ptr_not_equal(qp, first);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	close_device(&o);
}

/* Memory of its own pages, which free() unmaps. */
static bool is_mapped(void *page)
{
	unsigned char core;

	return !mincore(page, 1, &core) || errno != ENOMEM;
}

static void retain_in(struct open *o, void *object)
{
	struct ibv_context *context = o->context;

	assert_non_null(object);
	dead_retain(object, &context);
	assert_ptr_not_equal(context, o->context);
}

/* One that is destroyed when there are so many is freed only after as many others. */
TEST(the_oldest_is_freed)
{
	enum { LARGE = 4 << 20 };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct open o;
	char *inner, *oldest;

	open_device(&o);
	assert_int_equal(mallopt(M_MMAP_THRESHOLD, LARGE / 2), 1);
	oldest = malloc(LARGE);
	inner = (char *)(((uintptr_t)oldest + LARGE / 2) & ~(page - 1));
	retain_in(&o, oldest);
	for (int i = 1; i < DEAD_OBJECTS; i++)
		retain_in(&o, malloc(64));
	assert_true(is_mapped(inner));
	retain_in(&o, malloc(64));
	assert_false(is_mapped(inner));
	close_device(&o);
}

#endif
