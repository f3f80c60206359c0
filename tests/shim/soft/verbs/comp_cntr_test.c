#include <errno.h>

#include "shim/soft/verbs/newer.h"
#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

enum { ALL_OPS = (1 << SHM_COUNTED) - 1 };

/* Two ends that are not connected yet. */
static int ends_setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	end_open(&p->a);
	end_open(&p->b);
	*state = p;
	return 0;
}

static struct soft_comp_cntr *make_cntr(struct end *e, enum soft_comp_cntr_type type)
{
	struct soft_comp_cntr_init_attr attr = { .type = type };
	struct soft_comp_cntr *cntr = soft_create_comp_cntr(e->context, &attr);

	assert_non_null(cntr);
	return cntr;
}

static int attach_cntr(struct end *e, struct soft_comp_cntr *cntr, uint32_t ops)
{
	struct soft_qp_attach_comp_cntr_attr attr = { .op_mask = ops };

	return soft_qp_attach_comp_cntr(e->qp, cntr, &attr);
}

static struct soft_comp_cntr *attach_new(struct end *e, enum soft_comp_cntr_type type, uint32_t ops)
{
	struct soft_comp_cntr *cntr = make_cntr(e, type);

	assert_int_equal(attach_cntr(e, cntr, ops), 0);
	return cntr;
}

static uint64_t read_done(struct soft_comp_cntr *cntr)
{
	uint64_t value;

	assert_int_equal(soft_read_comp_cntr(cntr, &value), 0);
	return value;
}

static uint64_t read_errors(struct soft_comp_cntr *cntr)
{
	uint64_t value;

	assert_int_equal(soft_read_err_comp_cntr(cntr, &value), 0);
	return value;
}

static void connect_both(struct pair *p)
{
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
}

static void drop_cntr(struct end *e, struct soft_comp_cntr *cntr)
{
	if (e->qp)
		assert_int_equal(ibv_destroy_qp(e->qp), 0);
	e->qp = NULL;
	assert_int_equal(soft_destroy_comp_cntr(cntr), 0);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(ends_setup, pair_teardown);

TEST(sends_and_receives_are_counted_where_they_complete)
{
	struct pair *p = *state;
	struct soft_comp_cntr *sent = attach_new(&p->a, COMP_CNTR_WRS, 1 << SHM_COUNT_SEND);
	struct soft_comp_cntr *bytes = attach_new(&p->b, COMP_CNTR_BYTES, 1 << SHM_COUNT_RECV);
	int i;

	connect_both(p);
	for (i = 0; i < 3; i++) {
		assert_int_equal(recv_at(&p->b, i, 0, 100), 0);
		assert_int_equal(send_at(&p->a, i, 0, 10 + i), 0);
	}
	assert_int_equal(read_done(sent), 3);
	assert_int_equal(read_done(bytes), 10 + 11 + 12);
	assert_int_equal(read_errors(sent) + read_errors(bytes), 0);
	drop_cntr(&p->a, sent);
	drop_cntr(&p->b, bytes);
}

TEST(the_responder_counts_remote_writes_and_reads)
{
	struct pair *p = *state;
	struct soft_comp_cntr *writes = attach_new(&p->a, COMP_CNTR_WRS, 1 << SHM_COUNT_WRITE);
	struct soft_comp_cntr *reads = attach_new(&p->a, COMP_CNTR_BYTES, 1 << SHM_COUNT_READ);
	struct soft_comp_cntr *written =
		attach_new(&p->b, COMP_CNTR_BYTES, 1 << SHM_COUNT_REMOTE_WRITE);
	struct soft_comp_cntr *read = attach_new(&p->b, COMP_CNTR_WRS, 1 << SHM_COUNT_REMOTE_READ);
	struct address there = end_address(&p->b);

	connect_both(p);
	rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 64, there.addr, there.rkey);
	rdma_at(&p->a, IBV_WR_RDMA_WRITE, 2, 36, there.addr, there.rkey);
	rdma_at(&p->a, IBV_WR_RDMA_READ, 3, 8, there.addr, there.rkey);
	assert_int_equal(read_done(writes), 2);
	assert_int_equal(read_done(reads), 8);
	assert_int_equal(read_done(written), 100);
	assert_int_equal(read_done(read), 1);
	drop_cntr(&p->a, writes);
	drop_cntr(&p->a, reads);
	drop_cntr(&p->b, written);
	drop_cntr(&p->b, read);
}

TEST(failed_and_flushed_requests_are_errors)
{
	struct pair *p = *state;
	struct soft_comp_cntr *writes = attach_new(&p->a, COMP_CNTR_WRS, 1 << SHM_COUNT_WRITE);
	struct soft_comp_cntr *received = attach_new(&p->b, COMP_CNTR_WRS, 1 << SHM_COUNT_RECV);

	connect_both(p);
	assert_int_equal(recv_at(&p->b, 1, 0, 8), 0);
	assert_int_equal(recv_at(&p->b, 2, 0, 8), 0);
	rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, 0, 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(read_errors(writes), 1);
	assert_int_equal(read_done(writes), 0);
	assert_int_equal(read_errors(received), 2);
	drop_cntr(&p->a, writes);
	drop_cntr(&p->b, received);
}

static void send_three(struct end *e, int fd, struct address yours)
{
	int i;

	(void)yours;
	memset(e->buf, 7, 4096);
	for (i = 0; i < 3; i++)
		assert_int_equal(send_at(e, i, 0, 4096), 0);
	for (i = 0; i < 3; i++)
		expect_wc(e->cq, i, IBV_WC_SUCCESS);
	say_bytes(fd, "d", 1);
	await_word(fd);
}

/* The counted data is in memory, although no poll was made. */
TEST(another_process_counts_and_its_data_is_there)
{
	struct pair *p = *state;
	struct soft_comp_cntr *received = attach_new(&p->a, COMP_CNTR_WRS, 1 << SHM_COUNT_RECV);
	struct fellow f = fellow_start(send_three);
	int i;

	for (i = 0; i < 3; i++)
		assert_int_equal(to_init(p->a.qp, ALL_ACCESS) | recv_at(&p->a, i, 4096 * i, 4096),
				 0);
	fellow_meet(&f, &p->a);
	await_word(f.fd);
	assert_int_equal(read_done(received), 3);
	assert_int_equal(p->a.buf[0], 7);
	assert_int_equal(p->a.buf[3 * 4096 - 1], 7);
	say_bytes(f.fd, "d", 1);
	assert_int_equal(fellow_stop(&f), 0);
	drop_cntr(&p->a, received);
}

TEST(values_are_set_and_increased)
{
	struct pair *p = *state;
	struct soft_comp_cntr *cntr = make_cntr(&p->a, COMP_CNTR_WRS);

	assert_int_equal(read_done(cntr) + read_errors(cntr), 0);
	assert_int_equal(soft_set_comp_cntr(cntr, 40), 0);
	assert_int_equal(soft_inc_comp_cntr(cntr, 2), 0);
	assert_int_equal(soft_set_err_comp_cntr(cntr, 5), 0);
	assert_int_equal(soft_inc_err_comp_cntr(cntr, 2), 0);
	assert_int_equal(read_done(cntr), 42);
	assert_int_equal(read_errors(cntr), 7);
	assert_int_equal(soft_destroy_comp_cntr(cntr), 0);
}

TEST(a_kind_of_request_has_one_counter)
{
	struct pair *p = *state;
	struct soft_comp_cntr *first = attach_new(&p->a, COMP_CNTR_WRS, 1 << SHM_COUNT_SEND);
	struct soft_comp_cntr *second = make_cntr(&p->a, COMP_CNTR_WRS);

	assert_int_equal(attach_cntr(&p->a, second, 1 << SHM_COUNT_SEND | 1 << SHM_COUNT_RECV),
			 EBUSY);
	assert_int_equal(attach_cntr(&p->a, second, 1 << SHM_COUNT_RECV), 0);
	assert_int_equal(attach_cntr(&p->b, first, ALL_OPS), EINVAL); /* another context */
	assert_int_equal(attach_cntr(&p->a, second, 0), EINVAL);
	assert_int_equal(attach_cntr(&p->a, second, 1 << SHM_COUNTED), ENOTSUP);
	assert_int_equal(soft_destroy_comp_cntr(first), EBUSY);
	drop_cntr(&p->a, first);
	drop_cntr(&p->a, second);
}

TEST(queue_pairs_that_can_receive_take_no_counter)
{
	struct pair *p = *state;
	struct soft_comp_cntr *cntr = make_cntr(&p->a, COMP_CNTR_WRS);

	assert_int_equal(to_init(p->a.qp, 0), 0);
	assert_int_equal(attach_cntr(&p->a, cntr, 1 << SHM_COUNT_SEND), 0);
	assert_int_equal(to_rtr(p->a.qp, p->b.qp->qp_num), 0);
	assert_int_equal(attach_cntr(&p->a, cntr, 1 << SHM_COUNT_RECV), EINVAL);
	drop_cntr(&p->a, cntr);
}

TEST(there_are_as_many_as_the_device_says)
{
	struct pair *p = *state;
	struct soft_comp_cntr_init_attr attr = { .comp_mask = 1 };
	struct soft_comp_cntr *all[SHM_COMP_CNTR_MAX];
	struct soft_comp_cntr_caps caps;
	uint32_t i;

	assert_null(soft_create_comp_cntr(p->a.context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr.comp_mask = 0;
	assert_int_equal(soft_query_comp_cntr_caps(p->a.context, &caps, sizeof(caps)), 0);
	assert_int_equal(caps.max_counters, SHM_COMP_CNTR_MAX);
	assert_int_equal(caps.supported_qp_attach_ops, ALL_OPS);
	for (i = 0; i < caps.max_counters; i++)
		all[i] = make_cntr(&p->a, COMP_CNTR_WRS);
	assert_null(soft_create_comp_cntr(p->a.context, &attr));
	assert_int_equal(errno, ENOMEM);
	while (i--)
		assert_int_equal(soft_destroy_comp_cntr(all[i]), 0);
}
