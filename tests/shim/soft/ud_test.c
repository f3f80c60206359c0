#include <errno.h>
#include <sys/wait.h>

#include "tests/shim/soft/datagrams.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/* From a to b, with a handle for this one. */
static void to_b(struct pair *p, uint32_t qkey, uint32_t len)
{
	struct ibv_ah *ah = make_ah(&p->a, local_attr());

	post_datagram(&p->a, ah, p->b.qp->qp_num, qkey, 0, len);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

static int post_to_b(struct pair *p, struct ibv_send_wr wr, struct ibv_sge sge)
{
	struct ibv_ah *ah = make_ah(&p->a, local_attr());
	int err;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = p->b.qp->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	err = send_wr(&p->a, wr, sge);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	return err;
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(datagrams_setup, pair_teardown);

TEST(payload_comes_behind_the_grh)
{
	struct pair *p = *state;
	struct ibv_wc wc;

	strcpy((char *)p->a.buf, "hello");
	memset(p->b.buf, 0xee, GRH);
	assert_int_equal(recv_at(&p->b, 7, 0, 100), 0);
	to_b(p, QKEY, 6);
	wc = expect_wc(p->b.cq, 7, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, GRH + 6);
	assert_int_equal(wc.qp_num, p->b.qp->qp_num);
	assert_int_equal(wc.src_qp, p->a.qp->qp_num);
	assert_int_equal(wc.wc_flags, 0);
	assert_int_equal(wc.slid, 1);
	assert_int_equal(wc.sl, 3);
	assert_int_equal(wc.dlid_path_bits, 0);
	assert_int_equal(wc.pkey_index, 0);
	assert_string_equal((char *)p->b.buf + GRH, "hello");
	assert_int_equal(p->b.buf[0], 0xee); /* no GRH was sent */
	assert_int_equal(p->b.buf[GRH - 1], 0xee);
}

TEST(immediate_and_inline_arrive)
{
	struct pair *p = *state;
	char data[64] = "inline";
	struct ibv_sge sge = { (uintptr_t)data, 64, 0 };
	struct ibv_wc wc;

	assert_int_equal(recv_at(&p->b, 1, 0, 200), 0);
	assert_int_equal(post_to_b(p,
				   (struct ibv_send_wr){ .opcode = IBV_WR_SEND_WITH_IMM,
							 .imm_data = 0x1234,
							 .send_flags = IBV_SEND_INLINE },
				   sge),
			 0);
	expect_wc(p->a.cq, 0, IBV_WC_SUCCESS);
	wc = expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, 0x1234);
	assert_string_equal((char *)p->b.buf + GRH, "inline");
}

TEST(scatter_follows_the_lists)
{
	struct pair *p = *state;
	struct ibv_sge to[3] = { sge_of(&p->b, 0, 30), sge_of(&p->b, 100, 11),
				 sge_of(&p->b, 200, 50) };
	struct ibv_recv_wr wr = { .sg_list = to, .num_sge = 3 }, *bad;

	memcpy(p->a.buf, "abcdef", 6);
	assert_int_equal(ibv_post_recv(p->b.qp, &wr, &bad), 0);
	to_b(p, QKEY, 6);
	assert_int_equal(expect_wc(p->b.cq, 0, IBV_WC_SUCCESS).byte_len, GRH + 6);
	assert_memory_equal(p->b.buf + 100 + 10, "a", 1);
	assert_memory_equal(p->b.buf + 200, "bcdef", 5);
}

TEST(qkey_must_fit)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	to_b(p, QKEY + 1, 6);
	expect_none(p->b.cq);
	/* with the high bit, the sender's own counts */
	to_b(p, 0x80000000, 7);
	assert_int_equal(expect_wc(p->b.cq, 1, IBV_WC_SUCCESS).byte_len, GRH + 7);
}

TEST(qkey_can_be_changed)
{
	struct pair *p = *state;
	struct ibv_qp_attr attr = { .qkey = 55 }, got;
	struct ibv_qp_init_attr init;

	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	assert_int_equal(ibv_modify_qp(p->b.qp, &attr, IBV_QP_QKEY), 0);
	to_b(p, QKEY, 6);
	expect_none(p->b.cq);
	to_b(p, 55, 6);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_query_qp(p->b.qp, &got, IBV_QP_QKEY, &init), 0);
	assert_int_equal(got.qkey, 55);
}

TEST(loss_is_a_success)
{
	struct pair *p = *state;
	struct ibv_ah *ah = make_ah(&p->a, local_attr());
	uint32_t qpn = p->b.qp->qp_num;

	/* no receive request; it does not come later either */
	post_datagram(&p->a, ah, qpn, QKEY, 0, 6);
	assert_int_equal(recv_at(&p->b, 1, 0, GRH + 5), 0);
	expect_none(p->b.cq);
	/* too long for it, which stays */
	post_datagram(&p->a, ah, qpn, QKEY, 0, 6);
	expect_none(p->b.cq);
	post_datagram(&p->a, ah, qpn, QKEY, 0, 5);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	/* no receiver, or not yet */
	post_datagram(&p->a, ah, qpn + 1, QKEY, 0, 6);
	post_datagram(&p->a, ah, 0, QKEY, 0, 6);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	post_datagram(&p->a, ah, qpn, QKEY, 0, 6);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	post_datagram(&p->a, ah, qpn, QKEY, 0, 6);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

TEST(receiver_that_posts_is_waited_for)
{
	struct pair *p = *state;
	struct ibv_ah *ah = make_ah(&p->a, local_attr());
	struct ibv_send_wr wr = make_datagram(ah, p->b.qp->qp_num, QKEY, 3);

	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	to_b(p, QKEY, 6);
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 7)), 0);
	expect_none(p->a.cq);
	assert_int_equal(recv_at(&p->b, 2, 0, 100), 0);
	expect_wc(p->a.cq, 3, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(p->b.cq, 2, IBV_WC_SUCCESS).byte_len, GRH + 7);
	/* or given up */
	to_b(p, QKEY, 6);
	expect_none(p->b.cq);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

TEST(receiver_is_found_again_after_reset)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	to_b(p, QKEY, 6);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	open_datagrams(p->b.qp, QKEY);
	assert_int_equal(recv_at(&p->b, 2, 0, 100), 0);
	to_b(p, QKEY, 6);
	expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
}

TEST(connections_take_no_datagrams)
{
	struct pair *p = *state;

	use_qp_of(&p->b, IBV_QPT_RC, NULL);
	connect_to(p->b.qp, p->a.qp->qp_num);
	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	to_b(p, 0, 6);
	expect_none(p->b.cq);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_RTS);
}

TEST(longer_than_the_mtu_stops_the_send_queue)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 5000), 0);
	to_b(p, QKEY, 4096);
	assert_int_equal(expect_wc(p->b.cq, 1, IBV_WC_SUCCESS).byte_len, GRH + 4096);
	assert_int_equal(recv_at(&p->b, 2, 0, 5000), 0);
	assert_int_equal(post_to_b(p, (struct ibv_send_wr){ .wr_id = 3, .opcode = IBV_WR_SEND },
				   sge_of(&p->a, 0, 4097)),
			 0);
	expect_wc(p->a.cq, 3, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(state_of(p->a.qp), IBV_QPS_SQE);
	/* later posts are flushed, until it is moved back */
	assert_int_equal(post_to_b(p, (struct ibv_send_wr){ .wr_id = 4, .opcode = IBV_WR_SEND },
				   sge_of(&p->a, 0, 4)),
			 0);
	expect_wc(p->a.cq, 4, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RTS), 0);
	to_b(p, QKEY, 4);
	expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
}

TEST(own_bad_buffer_stops_the_send_queue_alone)
{
	struct pair *p = *state;
	struct ibv_sge bad = sge_of(&p->a, 0, 6);
	struct ibv_ah *ah;

	bad.lkey++;
	assert_int_equal(
		post_to_b(p, (struct ibv_send_wr){ .wr_id = 3, .opcode = IBV_WR_SEND }, bad), 0);
	expect_wc(p->a.cq, 3, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(state_of(p->a.qp), IBV_QPS_SQE);
	/* it receives */
	ah = make_ah(&p->b, local_attr());
	assert_int_equal(recv_at(&p->a, 5, 0, 100), 0);
	post_datagram(&p->b, ah, p->a.qp->qp_num, QKEY, 0, 6);
	expect_wc(p->a.cq, 5, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

TEST(handle_must_be_of_the_same_domain)
{
	struct pair *p = *state;
	struct ibv_pd *pd = ibv_alloc_pd(p->a.context);
	struct ibv_ah_attr attr = local_attr();
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);

	assert_int_equal(
		send_wr(&p->a, make_datagram(ah, p->b.qp->qp_num, QKEY, 1), sge_of(&p->a, 0, 4)),
		0);
	expect_wc(p->a.cq, 1, IBV_WC_LOC_QP_OP_ERR);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

TEST(posts_are_checked)
{
	struct pair *p = *state;
	struct ibv_ah *ah = make_ah(&p->a, local_attr());
	struct ibv_send_wr wr = make_datagram(NULL, 1, QKEY, 1);

	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 4)), EINVAL);
	wr.wr.ud.ah = ah;
	wr.opcode = IBV_WR_RDMA_WRITE;
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 4)), EINVAL);
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 4)), EINVAL);
	expect_none(p->a.cq);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

TEST(bad_buffer_fails_the_receiver_alone)
{
	struct pair *p = *state;
	struct ibv_sge bad = sge_of(&p->b, 0, 100);

	bad.lkey++;
	assert_int_equal(recv_sge(&p->b, 1, bad), 0);
	assert_int_equal(recv_at(&p->b, 2, 0, 100), 0);
	to_b(p, QKEY, 6);
	expect_wc(p->b.cq, 1, IBV_WC_LOC_PROT_ERR);
	expect_wc(p->b.cq, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_ERR);
	to_b(p, QKEY, 6);
}

TEST(shared_queue_receives)
{
	struct pair *p = *state;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(p->b.pd, &attr);
	struct ibv_sge sge[2] = { sge_of(&p->b, 0, GRH + 5), sge_of(&p->b, 100, 100) };
	struct ibv_recv_wr wr[2] = {
		{ .wr_id = 1, .next = &wr[1], .sg_list = &sge[0], .num_sge = 1 },
		{ .wr_id = 2, .sg_list = &sge[1], .num_sge = 1 },
	}, *bad;

	assert_non_null(srq);
	use_datagrams(&p->b, srq);
	assert_int_equal(ibv_post_srq_recv(srq, wr, &bad), 0);
	memcpy(p->a.buf, "abcdef", 6);
	/* too long uses up a request of a shared queue */
	to_b(p, QKEY, 6);
	expect_wc(p->b.cq, 1, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_RTS);
	to_b(p, QKEY, 6);
	expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
	assert_memory_equal(p->b.buf + 100 + GRH, "abcdef", 6);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

TEST(it_reaches_itself)
{
	struct pair *p = *state;
	struct ibv_ah *ah = make_ah(&p->a, local_attr());

	memcpy(p->a.buf, "self", 4);
	assert_int_equal(recv_at(&p->a, 1, 100, 100), 0);
	assert_int_equal(
		send_wr(&p->a, make_datagram(ah, p->a.qp->qp_num, QKEY, 2), sge_of(&p->a, 0, 4)),
		0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	assert_memory_equal(p->a.buf + 100 + GRH, "self", 4);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

TEST(reset_purges)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	assert_int_equal(recv_at(&p->b, 2, 0, 100), 0);
	to_b(p, QKEY, 6);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	expect_none(p->b.cq);
	open_datagrams(p->b.qp, QKEY);
	to_b(p, QKEY, 6);
	expect_none(p->b.cq);
}

TEST(drained_queue_sends_when_it_runs_again)
{
	struct pair *p = *state;
	struct ibv_ah *ah = make_ah(&p->a, local_attr());

	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_SQD), 0);
	assert_int_equal(
		send_wr(&p->a, make_datagram(ah, p->b.qp->qp_num, QKEY, 2), sge_of(&p->a, 0, 4)),
		0);
	expect_none(p->a.cq);
	expect_none(p->b.cq);
	/* as with hardware that has copied it */
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RTS), 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
}

TEST(what_waits_is_gone_with_its_queue)
{
	struct pair *p = *state;
	struct ibv_ah *ah = make_ah(&p->a, local_attr());
	struct ibv_send_wr wr = make_datagram(ah, p->b.qp->qp_num, QKEY, 3);

	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	to_b(p, QKEY, 6);
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 4)), 0);
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 4)), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_ERR), 0);
	expect_wc(p->a.cq, 3, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p->a.cq, 3, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	open_datagrams(p->a.qp, QKEY);
	ah = make_ah(&p->a, local_attr());
	wr.wr.ud.ah = ah;
	assert_int_equal(to_state(p->a.qp, IBV_QPS_SQD), 0);
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 4)), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	expect_none(p->a.cq);
}

TEST(many_are_reached_from_one)
{
	enum { MANY = 40 };
	struct pair *p = *state;
	struct ibv_ah *ah = make_ah(&p->a, local_attr());
	struct ibv_qp *qp[MANY], *own = p->b.qp;
	int round, i;

	for (i = 0; i < MANY; i++) {
		qp[i] = make_qp_of(&p->b, IBV_QPT_UD, NULL);
		open_datagrams(qp[i], QKEY);
	}
	for (round = 0; round < 3; round++)
		for (i = 0; i < MANY; i++) {
			p->b.qp = qp[i];
			assert_int_equal(recv_at(&p->b, i, 0, 100), 0);
			post_datagram(&p->a, ah, qp[i]->qp_num, QKEY, 0, 4);
			assert_int_equal(expect_wc(p->b.cq, i, IBV_WC_SUCCESS).qp_num,
					 qp[i]->qp_num);
		}
	p->b.qp = own;
	for (i = 0; i < MANY; i++)
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

/* A queue pair whose number shares the entry of @qpn in a sender's table. */
static struct ibv_qp *make_rival(struct end *e, uint32_t qpn)
{
	struct ibv_qp *qp = make_qp_of(e, IBV_QPT_UD, NULL);

	while (qp->qp_num % 1024 != qpn % 1024) {
		assert_int_equal(ibv_destroy_qp(qp), 0);
		qp = make_qp_of(e, IBV_QPT_UD, NULL);
	}
	open_datagrams(qp, QKEY);
	return qp;
}

TEST(rivals_for_a_place_are_both_reached)
{
	struct pair *p = *state;
	struct ibv_ah *ah = make_ah(&p->a, local_attr());
	struct ibv_qp *qp[2] = { p->b.qp, make_rival(&p->b, p->b.qp->qp_num) };
	int i;

	assert_int_not_equal(qp[0]->qp_num, qp[1]->qp_num);
	for (i = 0; i < 4; i++) {
		p->b.qp = qp[i % 2];
		assert_int_equal(recv_at(&p->b, i, 0, 100), 0);
		post_datagram(&p->a, ah, qp[i % 2]->qp_num, QKEY, 0, 4);
		assert_int_equal(expect_wc(p->b.cq, i, IBV_WC_SUCCESS).qp_num, qp[i % 2]->qp_num);
	}
	p->b.qp = qp[0];
	assert_int_equal(ibv_destroy_qp(qp[1]), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

/* Answers each datagram with its bytes plus one, to its sender. */
static void echo_datagrams(int in, int out)
{
	struct ibv_ah *ah;
	struct end e = { 0 };
	struct ibv_wc wc;
	struct ibv_grh *grh;
	uint32_t n, i;

	end_open(&e);
	use_datagrams(&e, NULL);
	grh = (void *)e.buf;
	for (i = 0; i < 4; i++)
		assert_int_equal(recv_at(&e, i, 0, 5000), 0);
	assert_int_equal(write(out, &e.qp->qp_num, 4), 4);
	for (i = 0; i < 4; i++) {
		wc = expect_wc(e.cq, i, IBV_WC_SUCCESS);
		ah = ibv_create_ah_from_wc(e.pd, &wc, grh, 1);
		assert_non_null(ah);
		for (n = GRH; n < wc.byte_len; n++)
			e.buf[n]++;
		post_datagram(&e, ah, wc.src_qp, QKEY, GRH, wc.byte_len - GRH);
		assert_int_equal(ibv_destroy_ah(ah), 0);
	}
	assert_int_equal(read(in, &n, 4), 0);
	end_close(&e);
}

static void fork_echo(int *in, int *out, pid_t *pid)
{
	int to[2], from[2];

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	*pid = fork();
	if (*pid == 0) {
		close(to[1]);
		close(from[0]);
		echo_datagrams(to[0], from[1]);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	*in = from[0];
	*out = to[1];
}

/* The peer is as fast as we are: its answer @wr_id may be there before our own completion. */
static struct ibv_wc ask_peer(struct end *e, struct ibv_ah *ah, uint32_t qpn, uint32_t len,
			      uint64_t wr_id)
{
	struct ibv_wc wc[2];
	int answer;

	assert_int_equal(send_wr(e, make_datagram(ah, qpn, QKEY, 99), sge_of(e, 0, len)), 0);
	wc[0] = poll_one(e->cq);
	wc[1] = poll_one(e->cq);
	answer = wc[0].wr_id == 99;
	assert_int_equal(wc[!answer].wr_id, 99);
	assert_int_equal(wc[!answer].status, IBV_WC_SUCCESS);
	assert_int_equal(wc[answer].wr_id, wr_id);
	assert_int_equal(wc[answer].status, IBV_WC_SUCCESS);
	return wc[answer];
}

TEST_WITH(processes_talk, NULL, NULL)
{
	static const uint32_t sizes[] = { 4, 60, 1000, 4096 };
	uint32_t qpn, i, n;
	struct end e = { 0 };
	struct ibv_ah *ah;
	int in, out, status;
	union ibv_gid gid;
	pid_t pid;

	fork_echo(&in, &out, &pid);
	end_open(&e);
	use_datagrams(&e, NULL);
	assert_int_equal(read(in, &qpn, 4), 4);
	gid = gid_at(&e, 0);
	for (i = 0; i < 4; i++) {
		/* with and without a GRH */
		ah = make_ah(&e, i % 2 ? local_attr() : global_attr(&gid, 0));
		for (n = 0; n < sizes[i]; n++)
			e.buf[n] = n;
		assert_int_equal(recv_at(&e, i, 8192, 5000), 0);
		assert_int_equal(ask_peer(&e, ah, qpn, sizes[i], i).byte_len, GRH + sizes[i]);
		for (n = 0; n < sizes[i]; n++)
			assert_int_equal(e.buf[8192 + GRH + n], (uint8_t)(n + 1));
		assert_int_equal(ibv_destroy_ah(ah), 0);
	}
	close(out);
	close(in);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	end_close(&e);
}
