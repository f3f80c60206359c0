/* Faults on demand, as a program meets them. */
#include <errno.h>
#include <time.h>

#include "shim/soft/transport/fault.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

static char path[] = "/tmp/verbatim-faults.XXXXXX";

/* The device reads the file when a process first opens it. */
static void set_faults(const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
	setenv("VERBATIM_SOFT_FAULTS", path, 1);
	fault_unload();
}

static int setup_with(void **state, const char *text)
{
	int err;

	set_faults(text);
	err = pair_setup(state);
	unsetenv("VERBATIM_SOFT_FAULTS");
	return err;
}

static struct ibv_async_event next_async(struct end *e)
{
	struct ibv_async_event event;

	assert_int_equal(ibv_get_async_event(e->context, &event), 0);
	ibv_ack_async_event(&event);
	return event;
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

#define STATUSES(S)           \
	S(LOC_LEN_ERR)        \
	S(LOC_QP_OP_ERR)      \
	S(LOC_EEC_OP_ERR)     \
	S(LOC_PROT_ERR)       \
	S(MW_BIND_ERR)        \
	S(BAD_RESP_ERR)       \
	S(LOC_ACCESS_ERR)     \
	S(REM_INV_REQ_ERR)    \
	S(REM_ACCESS_ERR)     \
	S(REM_OP_ERR)         \
	S(RETRY_EXC_ERR)      \
	S(RNR_RETRY_EXC_ERR)  \
	S(LOC_RDD_VIOL_ERR)   \
	S(REM_INV_RD_REQ_ERR) \
	S(REM_ABORT_ERR)      \
	S(INV_EECN_ERR)       \
	S(INV_EEC_STATE_ERR)  \
	S(FATAL_ERR)          \
	S(RESP_TIMEOUT_ERR)   \
	S(GENERAL_ERR)

static void expect_status(struct pair *p, int status)
{
	struct ibv_wc wc;

	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(send_at(&p->a, 3, 0, 8), 0);
	wc = expect_wc(p->a.cq, 3, status);
	assert_int_equal(wc.vendor_err, 0x77);
	assert_int_equal(state_of(p->a.qp), IBV_QPS_ERR);
	assert_int_equal(send_at(&p->a, 4, 0, 8), 0);
	wc = expect_wc(p->a.cq, 4, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.vendor_err, 0);
}

#define S(name)                                                                     \
	static int setup_##name(void **state)                                       \
	{                                                                           \
		return setup_with(state, "n=2 status=" #name " vendor_err=0x77\n"); \
	}                                                                           \
	TEST_WITH(status_##name, setup_##name, pair_teardown)                       \
	{                                                                           \
		expect_status(*state, IBV_WC_##name);                               \
	}
/* clang-format off */
STATUSES(S)
/* clang-format on */
#undef S

static int setup_refused(void **state)
{
	return setup_with(state, "opcode=SEND status=REM_ACCESS_ERR\n");
}

TEST_WITH(responder_that_refuses_fails, setup_refused, pair_teardown)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	expect_wc(p->a.cq, 2, IBV_WC_REM_ACCESS_ERR);
	expect_wc(p->b.cq, 1, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(next_async(&p->b).event_type, IBV_EVENT_QP_ACCESS_ERR);
}

static int setup_delay(void **state)
{
	return setup_with(state, "n=1 delay=30ms\n");
}

TEST_WITH(delay_holds_the_queue_up, setup_delay, pair_teardown)
{
	struct pair *p = *state;
	double start = now_ms();

	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(recv_at(&p->b, 2, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 3, 0, 8), 0);
	assert_int_equal(send_at(&p->a, 4, 0, 8), 0);
	expect_none(p->a.cq);
	expect_wc(p->a.cq, 3, IBV_WC_SUCCESS);
	assert_true(now_ms() - start >= 30);
	expect_wc(p->a.cq, 4, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
}

static int setup_lost_once(void **state)
{
	return setup_with(state, "n=1 lose\n");
}

TEST_WITH(lost_packet_is_sent_again, setup_lost_once, pair_teardown)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	expect_none(p->b.cq);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
}

static int setup_all_lost(void **state)
{
	return setup_with(state, "lose\n");
}

/* eight tries of a millisecond each: see to_rts_with() */
TEST_WITH(retries_run_out, setup_all_lost, pair_teardown)
{
	struct pair *p = *state;
	double start = now_ms();

	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	expect_wc(p->a.cq, 2, IBV_WC_RETRY_EXC_ERR);
	assert_true(now_ms() - start >= 7 * 1.048);
	expect_none(p->b.cq);
}

static int setup_not_ready(void **state)
{
	return setup_with(state, "n=1 rnr\n");
}

TEST_WITH(receiver_is_ready_later, setup_not_ready, pair_teardown)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
}

static int setup_never_ready(void **state)
{
	int err = setup_with(state, "rnr\n");
	struct pair *p = *state;

	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(p->a.qp, ALL_ACCESS), 0);
	assert_int_equal(to_rtr(p->a.qp, p->b.qp->qp_num), 0);
	assert_int_equal(to_rts_with(p->a.qp, 3), 0);
	return err;
}

TEST_WITH(rnr_retries_run_out, setup_never_ready, pair_teardown)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	expect_wc(p->a.cq, 2, IBV_WC_RNR_RETRY_EXC_ERR);
}

static int setup_overrun(void **state)
{
	return setup_with(state, "n=1 overrun\n");
}

TEST_WITH(overrun_is_reported, setup_overrun, pair_teardown)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	assert_int_equal(next_async(&p->a).event_type, IBV_EVENT_CQ_ERR);
	assert_int_equal(state_of(p->a.qp), IBV_QPS_ERR);
}

#define EVENTS(E)              \
	E(CQ_ERR)              \
	E(QP_FATAL)            \
	E(QP_REQ_ERR)          \
	E(QP_ACCESS_ERR)       \
	E(COMM_EST)            \
	E(SQ_DRAINED)          \
	E(PATH_MIG)            \
	E(PATH_MIG_ERR)        \
	E(DEVICE_FATAL)        \
	E(PORT_ACTIVE)         \
	E(PORT_ERR)            \
	E(LID_CHANGE)          \
	E(PKEY_CHANGE)         \
	E(SM_CHANGE)           \
	E(QP_LAST_WQE_REACHED) \
	E(CLIENT_REREGISTER)   \
	E(GID_CHANGE)

static bool ends_qp(int type)
{
	return type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
	       type == IBV_EVENT_QP_ACCESS_ERR;
}

/* As on hardware: by then the queue pair is in its error state, and later posts are flushed. */
static void expect_flushes(struct pair *p)
{
	assert_int_equal(state_of(p->a.qp), IBV_QPS_ERR);
	expect_wc(p->a.cq, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(send_at(&p->a, 3, 0, 8), 0);
	expect_wc(p->a.cq, 3, IBV_WC_WR_FLUSH_ERR);
}

static void expect_fault_event(struct pair *p, int type)
{
	struct ibv_async_event event;

	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	if (ends_qp(type)) {
		expect_flushes(p);
	} else if (type == IBV_EVENT_CQ_ERR) {
		assert_int_equal(state_of(p->a.qp), IBV_QPS_ERR);
	} else {
		expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
		expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	}
	event = next_async(&p->a);
	assert_int_equal(event.event_type, type);
	if (type == IBV_EVENT_CQ_ERR)
		assert_ptr_equal(event.element.cq, p->a.cq);
	else if (type < IBV_EVENT_DEVICE_FATAL || type == IBV_EVENT_QP_LAST_WQE_REACHED)
		assert_ptr_equal(event.element.qp, p->a.qp);
	else if (type != IBV_EVENT_DEVICE_FATAL)
		assert_int_equal(event.element.port_num, 1);
}

#define E(name)                                                    \
	static int setup_event_##name(void **state)                \
	{                                                          \
		return setup_with(state, "n=1 event=" #name "\n"); \
	}                                                          \
	TEST_WITH(event_##name, setup_event_##name, pair_teardown) \
	{                                                          \
		expect_fault_event(*state, IBV_EVENT_##name);      \
	}
/* clang-format off */
EVENTS(E)
/* clang-format on */
#undef E

/* Ready to wait for seconds, however busy the machine is. */
static void connect_patiently(struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .timeout = 18,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = 1 };

	assert_int_equal(to_state(qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(qp, ALL_ACCESS), 0);
	assert_int_equal(to_rtr(qp, dest), 0);
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

static int setup_port(void **state)
{
	int err = setup_with(state, "n=1 port=down for=50ms\n");
	struct pair *p = *state;

	connect_patiently(p->a.qp, p->b.qp->qp_num);
	connect_patiently(p->b.qp, p->a.qp->qp_num);
	return err;
}

static enum ibv_port_state port_state(struct end *e)
{
	struct ibv_port_attr attr;

	assert_int_equal(ibv_query_port(e->context, 1, &attr), 0);
	return attr.state;
}

TEST_WITH(port_goes_down_and_comes_up, setup_port, pair_teardown)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	assert_int_equal(port_state(&p->a), IBV_PORT_DOWN);
	assert_int_equal(next_async(&p->a).event_type, IBV_EVENT_PORT_ERR);
	assert_int_equal(next_async(&p->b).event_type, IBV_EVENT_PORT_ERR);
	assert_int_equal(next_async(&p->a).event_type, IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(port_state(&p->a), IBV_PORT_ACTIVE);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
}

static int setup_port_gone(void **state)
{
	return setup_with(state, "n=1 port=down\n");
}

TEST_WITH(nothing_passes_a_port_that_is_down, setup_port_gone, pair_teardown)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	expect_wc(p->a.cq, 2, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(send_at(&p->b, 3, 0, 8), 0);
	expect_wc(p->b.cq, 3, IBV_WC_RETRY_EXC_ERR);
}

static int setup_verbs(void **state)
{
	return setup_with(state, "verb=reg_mr n=3 errno=ENOMEM\n"
				 "verb=create_cq n=3 errno=EMFILE\n"
				 "verb=modify_qp n=7 errno=ETIMEDOUT\n"
				 "verb=query_gid errno=EINVAL\n"
				 "verb=post_send n=2 errno=ENOMEM\n"
				 "verb=post_recv n=2 errno=ENOMEM\n"
				 "verb=poll_cq n=1 errno=EIO\n"
				 "verb=dealloc_pd n=1 errno=EBUSY\n");
}

TEST_WITH(verbs_fail_as_told, setup_verbs, pair_teardown)
{
	struct pair *p = *state;
	union ibv_gid gid;
	struct ibv_wc wc;
	struct ibv_pd *pd;

	errno = 0;
	assert_null(ibv_reg_mr(p->a.pd, p->a.buf, 64, 0));
	assert_int_equal(errno, ENOMEM);
	assert_null(ibv_create_cq(p->a.context, 1, NULL, NULL, 0));
	assert_int_equal(errno, EMFILE);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_ERR), ETIMEDOUT);
	assert_int_equal(state_of(p->a.qp), IBV_QPS_RTS);
	assert_int_equal(ibv_query_gid(p->a.context, 1, 0, &gid), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(recv_at(&p->b, 1, 0, 8), 0);
	assert_int_equal(recv_at(&p->b, 1, 0, 8), ENOMEM);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), ENOMEM);
	assert_true(ibv_poll_cq(p->a.cq, 1, &wc) < 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	pd = ibv_alloc_pd(p->a.context);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* A program that opens the device, closes it and opens it again counts on. */
static void expect_domain(bool expected)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	struct ibv_pd *pd = ibv_alloc_pd(context);

	assert_true(!pd == !expected);
	if (pd)
		ibv_dealloc_pd(pd);
	ibv_close_device(context);
	ibv_free_device_list(list);
}

TEST(counts_outlive_contexts)
{
	set_faults("verb=alloc_pd n=2 errno=ENOMEM");
	expect_domain(true);
	expect_domain(false);
	expect_domain(true);
	unsetenv("VERBATIM_SOFT_FAULTS");
}

TEST(bad_file_keeps_the_device_closed)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	setenv("VERBATIM_SOFT_FAULTS", "/nonexistent", 1);
	fault_unload();
	errno = 0;
	assert_null(ibv_open_device(list[0]));
	assert_int_equal(errno, EINVAL);
	unsetenv("VERBATIM_SOFT_FAULTS");
	ibv_free_device_list(list);
}

static int setup_group(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 || close(fd) ? -1 : fabric_setup(state);
}

static int teardown_group(void **state)
{
	unlink(path);
	return fabric_teardown(state);
}

GROUP(setup_group, teardown_group);
