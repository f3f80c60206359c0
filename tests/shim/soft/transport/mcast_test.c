#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/shim/soft/datagrams.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

enum { MLID = 0xc001, ALL = 0xffffff };

static const union ibv_gid group = { .raw = { 0xff, 0x12, [15] = 7 } };
static const union ibv_gid other = { .raw = { 0xff, 0x12, [15] = 8 } };
static const union ibv_gid ipv4_group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
static const union ibv_gid unicast = { .raw = { 0xfe, 0x80, [15] = 7 } };

static struct ibv_ah *group_ah(struct end *e, const union ibv_gid *gid, uint16_t lid)
{
	struct ibv_ah_attr attr = global_attr(gid, 0);

	attr.dlid = lid;
	return make_ah(e, attr);
}

static void cast_to(struct end *e, const union ibv_gid *gid, uint16_t lid, uint32_t qkey)
{
	struct ibv_ah *ah = group_ah(e, gid, lid);

	post_datagram(e, ah, ALL, qkey, 0, 6);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(datagrams_setup, pair_teardown);

TEST(all_members_receive)
{
	struct pair *p = *state;
	struct ibv_ah *ah = group_ah(&p->a, &group, MLID);
	struct ibv_wc wc;
	int i;

	strcpy((char *)p->a.buf, "hello");
	assert_int_equal(recv_at(&p->a, 1, 100, 100), 0);
	assert_int_equal(recv_at(&p->b, 2, 0, 100), 0);
	assert_int_equal(ibv_attach_mcast(p->a.qp, &group, MLID), 0);
	assert_int_equal(ibv_attach_mcast(p->b.qp, &group, MLID), 0);
	assert_int_equal(send_wr(&p->a, make_datagram(ah, ALL, QKEY, 3), sge_of(&p->a, 0, 6)), 0);
	/* the sender receives its own message */
	for (i = 0; i < 2; i++) {
		wc = poll_one(p->a.cq);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_true(wc.wr_id == 1 || wc.wr_id == 3);
	}
	assert_string_equal((char *)p->a.buf + 100 + GRH, "hello");
	wc = expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH);
	assert_int_equal(wc.src_qp, p->a.qp->qp_num);
	assert_int_equal(wc.qp_num, p->b.qp->qp_num);
	assert_int_equal(wc.byte_len, GRH + 6);
	assert_string_equal((char *)p->b.buf + GRH, "hello");
	assert_memory_equal(((struct ibv_grh *)p->b.buf)->dgid.raw, &group, 16);
	assert_int_equal(ibv_detach_mcast(p->a.qp, &group, MLID), 0);
	assert_int_equal(ibv_detach_mcast(p->b.qp, &group, MLID), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

TEST(only_who_is_attached_receives)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	cast_to(&p->a, &group, MLID, QKEY);
	expect_none(p->b.cq);
	assert_int_equal(ibv_attach_mcast(p->b.qp, &group, MLID), 0);
	cast_to(&p->a, &other, MLID, QKEY);
	cast_to(&p->a, &group, MLID + 1, QKEY);
	cast_to(&p->a, &group, MLID, QKEY + 1);
	expect_none(p->b.cq);
	cast_to(&p->a, &group, MLID, QKEY);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_detach_mcast(p->b.qp, &group, MLID), 0);
	assert_int_equal(recv_at(&p->b, 2, 0, 100), 0);
	cast_to(&p->a, &group, MLID, QKEY);
	expect_none(p->b.cq);
}

TEST(group_needs_its_number_and_its_address)
{
	struct pair *p = *state;
	struct ibv_ah *ah = make_ah(&p->a, local_attr());
	struct ibv_ah *to_group = group_ah(&p->a, &group, MLID);

	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	assert_int_equal(ibv_attach_mcast(p->b.qp, &group, MLID), 0);
	post_datagram(&p->a, ah, ALL, QKEY, 0, 6);
	post_datagram(&p->a, to_group, p->b.qp->qp_num, QKEY, 0, 6);
	expect_none(p->b.cq);
	assert_int_equal(ibv_detach_mcast(p->b.qp, &group, MLID), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_ah(to_group), 0);
}

TEST(only_datagrams_and_groups_attach)
{
	struct pair *p = *state;
	struct ibv_qp *rc = make_qp(&p->b, NULL);

	assert_int_equal(ibv_attach_mcast(rc, &group, MLID), EINVAL);
	assert_int_equal(ibv_attach_mcast(p->b.qp, &unicast, MLID), EINVAL);
	assert_int_equal(ibv_attach_mcast(p->b.qp, &group, 0xbfff), EINVAL);
	assert_int_equal(ibv_attach_mcast(p->b.qp, &group, 0xffff), EINVAL);
	assert_int_equal(ibv_detach_mcast(p->b.qp, &group, MLID), EINVAL);
	assert_int_equal(ibv_destroy_qp(rc), 0);
}

TEST(attached_queue_pair_is_busy)
{
	struct pair *p = *state;

	assert_int_equal(ibv_attach_mcast(p->b.qp, &group, MLID), 0);
	assert_int_equal(ibv_attach_mcast(p->b.qp, &group, MLID), 0);
	assert_int_equal(ibv_attach_mcast(p->b.qp, &other, MLID), 0);
	assert_int_equal(ibv_destroy_qp(p->b.qp), EBUSY);
	/* attached twice is attached once */
	assert_int_equal(ibv_detach_mcast(p->b.qp, &group, MLID), 0);
	assert_int_equal(ibv_detach_mcast(p->b.qp, &group, MLID), EINVAL);
	assert_int_equal(ibv_destroy_qp(p->b.qp), EBUSY);
	assert_int_equal(ibv_detach_mcast(p->b.qp, &other, MLID), 0);
}

TEST(member_receives_after_reset)
{
	struct pair *p = *state;

	assert_int_equal(ibv_attach_mcast(p->b.qp, &group, MLID), 0);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	cast_to(&p->a, &group, MLID, QKEY);
	open_datagrams(p->b.qp, QKEY);
	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	cast_to(&p->a, &group, MLID, QKEY);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_detach_mcast(p->b.qp, &group, MLID), 0);
}

TEST(own_messages_can_be_kept_out)
{
	struct pair *p = *state;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = p->a.cq,
		.recv_cq = p->a.cq,
		.qp_type = IBV_QPT_UD,
		.cap = { 4, 4, 1, 1, 0 },
		.pd = p->a.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
	};

	assert_int_equal(ibv_destroy_qp(p->a.qp), 0);
	attr.qp_type = IBV_QPT_RC;
	assert_null(ibv_create_qp_ex(p->a.context, &attr));
	assert_int_equal(errno, EINVAL);
	attr.qp_type = IBV_QPT_UD;
	p->a.qp = ibv_create_qp_ex(p->a.context, &attr);
	assert_non_null(p->a.qp);
	open_datagrams(p->a.qp, QKEY);
	assert_int_equal(recv_at(&p->a, 1, 100, 100), 0);
	assert_int_equal(recv_at(&p->b, 2, 0, 100), 0);
	assert_int_equal(ibv_attach_mcast(p->a.qp, &group, MLID), 0);
	assert_int_equal(ibv_attach_mcast(p->b.qp, &group, MLID), 0);
	cast_to(&p->a, &group, MLID, QKEY);
	expect_none(p->a.cq);
	expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
	/* messages of other senders arrive */
	cast_to(&p->b, &group, MLID, QKEY);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_detach_mcast(p->a.qp, &group, MLID), 0);
	assert_int_equal(ibv_detach_mcast(p->b.qp, &group, MLID), 0);
}

TEST(closing_the_device_detaches)
{
	static struct end e; /* messages that remain are not lost */
	struct pair *p = *state;

	end_open(&e);
	use_datagrams(&e, NULL);
	assert_int_equal(ibv_attach_mcast(e.qp, &group, MLID), 0);
	close(e.channel->fd);
	assert_int_equal(ibv_close_device(e.context), 0);
	munmap(e.buf, END_BYTES);
	cast_to(&p->a, &group, MLID, QKEY);
}

/* Joins, receives one, and is killed while it is a member. */
static void listen_once(int in, int out)
{
	struct end e = { 0 };
	char word = 'k';

	end_open(&e);
	use_datagrams(&e, NULL);
	assert_int_equal(recv_at(&e, 1, 0, 100), 0);
	assert_int_equal(ibv_attach_mcast(e.qp, &group, MLID), 0);
	assert_int_equal(write(out, &word, 1), 1);
	expect_wc(e.cq, 1, IBV_WC_SUCCESS);
	if (memcmp(e.buf + GRH, "hello", 6))
		word = 'x';
	assert_int_equal(write(out, &word, 1), 1);
	assert_int_equal(read(in, &word, 1), 0);
}

TEST(members_of_other_processes_receive)
{
	struct pair *p = *state;
	int to[2], from[2];
	char word = 0;
	pid_t pid;

	strcpy((char *)p->a.buf, "hello");
	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid = fork();
	if (pid == 0) {
		close(to[1]);
		listen_once(to[0], from[1]);
		_exit(1);
	}
	/* the sender knows the group before any process joins */
	cast_to(&p->a, &group, MLID, QKEY);
	assert_int_equal(read(from[0], &word, 1), 1);
	cast_to(&p->a, &group, MLID, QKEY);
	assert_int_equal(read(from[0], &word, 1), 1);
	assert_int_equal(word, 'k');
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	cast_to(&p->a, &group, MLID, QKEY);
	assert_int_equal(ibv_attach_mcast(p->b.qp, &group, MLID), 0);
	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	cast_to(&p->a, &group, MLID, QKEY);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_detach_mcast(p->b.qp, &group, MLID), 0);
	close(to[0]);
	close(to[1]);
	close(from[0]);
	close(from[1]);
}

TEST_WITH(ethernet_goes_by_the_address_alone, datagrams_roce_setup, datagrams_roce_teardown)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	assert_int_equal(ibv_attach_mcast(p->b.qp, &ipv4_group, 0), 0);
	assert_int_equal(ibv_attach_mcast(p->b.qp, &unicast, 0), EINVAL);
	cast_to(&p->a, &ipv4_group, 0, QKEY);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_detach_mcast(p->b.qp, &ipv4_group, 0), 0);
}
