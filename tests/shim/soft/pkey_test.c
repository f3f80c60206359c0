/*
 * Partitions: which keys reach which. The table is a profile's, which is read as the library is
 * loaded, so the program starts itself again.
 */
#define TEST_MAIN
#include <stdbool.h>

#include "tests/shim/soft/datagrams.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/* The index of each in the table of port 1. */
enum { DEFAULT, FULL, LIMITED, OTHER, NONE };

static const char table[] = "port.1.pkey.0 0xffff\n"
			    "port.1.pkey.1 0x8005\n"
			    "port.1.pkey.2 0x0005\n"
			    "port.1.pkey.3 0x8006\n"
			    "port.1.pkey.4 0x0000\n";

/* clang-format off */
static const struct {
	int a, b;
	bool reach;
} cases[] = {
	{ DEFAULT, DEFAULT, true }, { FULL, FULL, true },
	{ FULL, LIMITED, true }, { LIMITED, FULL, true },
	{ LIMITED, LIMITED, false }, { FULL, OTHER, false },
	{ DEFAULT, LIMITED, false }, { NONE, NONE, false },
};
/* clang-format on */

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static void enter_partition(struct ibv_qp *qp, int index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.pkey_index = index,
		.qp_access_flags = qp->qp_type == IBV_QPT_UC ? IBV_ACCESS_REMOTE_WRITE : ALL_ACCESS,
	};

	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS),
		0);
}

static void connect_reliably(struct ibv_qp *qp, uint32_t dest, int index)
{
	assert_int_equal(to_state(qp, IBV_QPS_RESET), 0);
	enter_partition(qp, index);
	assert_int_equal(to_rtr(qp, dest), 0);
	assert_int_equal(to_rts(qp), 0);
}

FIXTURE(pair_setup, pair_teardown);

TEST(reliable_ends_share_a_partition)
{
	struct pair *p = *state;
	int i;

	for (i = 0; i < CASES; i++) {
		connect_reliably(p->a.qp, p->b.qp->qp_num, cases[i].a);
		connect_reliably(p->b.qp, p->a.qp->qp_num, cases[i].b);
		assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
		assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
		expect_wc(p->a.cq, 2, cases[i].reach ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR);
		if (cases[i].reach)
			expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
		expect_none(p->b.cq);
	}
}

static void connect_unreliably(struct ibv_qp *qp, uint32_t dest, int index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.ah_attr = { .dlid = 1, .port_num = 1 },
	};

	assert_int_equal(to_state(qp, IBV_QPS_RESET), 0);
	enter_partition(qp, index);
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN),
			 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

TEST(unreliable_messages_stay_in_their_partition)
{
	struct pair *p = *state;
	int i;

	use_qp_of(&p->a, IBV_QPT_UC, NULL);
	use_qp_of(&p->b, IBV_QPT_UC, NULL);
	for (i = 0; i < CASES; i++) {
		connect_unreliably(p->a.qp, p->b.qp->qp_num, cases[i].a);
		connect_unreliably(p->b.qp, p->a.qp->qp_num, cases[i].b);
		assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
		assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
		expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
		if (cases[i].reach)
			expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
		expect_none(p->b.cq);
	}
}

static void open_in_partition(struct ibv_qp *qp, int index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY, .pkey_index = index
	};

	assert_int_equal(to_state(qp, IBV_QPS_RESET), 0);
	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY),
		0);
	assert_int_equal(to_state(qp, IBV_QPS_RTR), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

TEST(datagrams_stay_in_their_partition)
{
	struct pair *p = *state;
	struct ibv_ah *ah = make_ah(&p->a, local_attr());
	int i;

	use_datagrams(&p->a, NULL);
	use_datagrams(&p->b, NULL);
	for (i = 0; i < CASES; i++) {
		open_in_partition(p->a.qp, cases[i].a);
		open_in_partition(p->b.qp, cases[i].b);
		assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
		post_datagram(&p->a, ah, p->b.qp->qp_num, QKEY, 0, 8);
		if (cases[i].reach)
			expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
		expect_none(p->b.cq);
	}
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

static char path[] = "/tmp/verbatim-pkey-test.XXXXXX";

static int write_table(void)
{
	int fd = mkstemp(path);
	ssize_t n = write(fd, table, sizeof(table) - 1);

	close(fd);
	return n == sizeof(table) - 1 ? 0 : -1;
}

static int tear_down(void **state)
{
	unlink(getenv("VERBATIM_SOFT_PERSONA"));
	return fabric_teardown(state);
}

GROUP(fabric_setup, tear_down);

int main(int argc, char **argv)
{
	(void)argc;
	if (!getenv("VERBATIM_SOFT_PERSONA")) {
		if (write_table() < 0 || setenv("VERBATIM_SOFT_PERSONA", path, 1) < 0)
			return 1;
		execv("/proc/self/exe", argv);
		return 1;
	}
	return test_run(argv);
}
