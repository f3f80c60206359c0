/*
 * Which queue pair talks to which, in one trace without addresses of ports
 */
#include "analyzer/model/peer.h"

#include "analyzer/model/qp.h"
#include "tests/test.h"

enum { ENDS = 4, NUMBER = 0x20 };

static struct peers peers;
static struct life lives[ENDS];
static struct qp qps[ENDS];

/* Queue pairs 0x20, 0x21, ..., which were not told whom they talk to. */
static int make_ends(void **state)
{
	(void)state;
	memset(&peers, 0, sizeof(peers));
	memset(lives, 0, sizeof(lives));
	memset(qps, 0, sizeof(qps));
	for (uint32_t i = 0; i < ENDS; i++) {
		lives[i] = (struct life){ .kind = OBJECT_qp,
					  .process = 1,
					  .id = 10 + i,
					  .number = NUMBER + i,
					  .qp = &qps[i] };
		if (peer_add(&peers, &lives[i], NULL))
			return -1;
	}
	return 0;
}

static int free_ends(void **state)
{
	(void)state;
	for (int i = 0; i < ENDS; i++)
		peer_leave(&peers, &lives[i], INT64_MAX - 1);
	peer_fini(&peers);
	return 0;
}

FIXTURE(make_ends, free_ends);

/* End @i is given the number of end @other at @time. */
static void connect_to(uint32_t i, uint32_t other, int64_t time)
{
	qps[i].type = ABI_QPT_RC;
	qps[i].set = ABI_QP_DEST_QPN | ABI_QP_AV;
	qps[i].dest_qp_num = NUMBER + other;
	qps[i].rtr.time = time;
	peer_connect(&peers, &lives[i]);
}

static void expect_peers(uint32_t i, uint32_t other)
{
	assert_ptr_equal(peer_find_other(&peers, lives[i].peer), lives[other].peer);
	assert_ptr_equal(peer_find_other(&peers, lives[other].peer), lives[i].peer);
}

TEST(peers_are_connected_to_each_other)
{
	assert_null(peer_find_other(&peers, lives[0].peer));
	connect_to(0, 1, 5);
	assert_null(peer_find_other(&peers, lives[0].peer));
	assert_null(peer_find_other(&peers, lives[1].peer));
	connect_to(1, 2, 6);
	assert_null(peer_find_other(&peers, lives[0].peer));
	connect_to(1, 0, 7);
	expect_peers(0, 1);
	assert_true(lives[0].peer->is_rc);
	assert_int_equal(lives[0].peer->since, 5);
	assert_int_equal(lives[0].peer->takes_reads, UINT32_MAX);
}

TEST(half_of_the_attributes_is_not_enough)
{
	connect_to(1, 0, 6);
	qps[0].set = ABI_QP_DEST_QPN;
	qps[0].dest_qp_num = NUMBER + 1;
	peer_connect(&peers, &lives[0]);
	assert_false(lives[0].peer->connected);
	qps[0].set = ABI_QP_AV;
	peer_connect(&peers, &lives[0]);
	assert_false(lives[0].peer->connected);
	qps[0].set = ABI_QP_AV | ABI_QP_DEST_QPN;
	peer_connect(&peers, &lives[0]);
	expect_peers(0, 1);
}

TEST(a_reset_ends_the_connection)
{
	connect_to(0, 1, 5);
	connect_to(1, 0, 6);
	assert_ptr_equal(peer_find_claimant(&peers, lives[0].peer), lives[1].peer);
	qps[1].set = 0;
	peer_connect(&peers, &lives[1]);
	assert_false(lives[1].peer->connected);
	assert_null(peer_find_other(&peers, lives[0].peer));
	assert_null(peer_find_claimant(&peers, lives[0].peer));
	connect_to(1, 0, 9);
	expect_peers(0, 1);
}

/* The same attributes, told again, are another connection only if the time differs. */
TEST(another_connection_is_later)
{
	uint64_t changes;

	connect_to(0, 1, 5);
	changes = peers.changes;
	connect_to(0, 2, 5);
	assert_int_equal(peers.changes, changes);
	assert_int_equal(lives[0].peer->dest, NUMBER + 1);
	connect_to(0, 2, 8);
	assert_true(peers.changes > changes);
	assert_int_equal(lives[0].peer->dest, NUMBER + 2);
	assert_null(peer_find_claimant(&peers, lives[1].peer));
	assert_ptr_equal(peer_find_claimant(&peers, lives[2].peer), lives[0].peer);
}

TEST(attributes_are_learnt_before_the_connection)
{
	uint64_t changes = peers.changes;

	qps[0].set = ABI_QP_MAX_DEST_RD_ATOMIC;
	qps[0].max_dest_rd_atomic = 3;
	peer_connect(&peers, &lives[0]);
	assert_int_equal(lives[0].peer->takes_reads, 3);
	assert_int_equal(peers.changes, changes);
	qps[0].set = ABI_QP_RQ_PSN | ABI_QP_SQ_PSN;
	qps[0].rq_psn = 7;
	qps[0].sq_psn = 9;
	peer_connect(&peers, &lives[0]);
	assert_int_equal(peers.changes, changes + 1);
	assert_int_equal(lives[0].peer->psns, ABI_QP_RQ_PSN | ABI_QP_SQ_PSN);
	assert_int_equal(lives[0].peer->rq_psn, 7);
	assert_int_equal(lives[0].peer->sq_psn, 9);
	peer_connect(&peers, &lives[0]);
	assert_int_equal(peers.changes, changes + 1);
	qps[0].sq_psn = 10;
	peer_connect(&peers, &lives[0]);
	assert_int_equal(peers.changes, changes + 2);
	qps[0].rq_psn = 8;
	peer_connect(&peers, &lives[0]);
	assert_int_equal(peers.changes, changes + 3);
}

TEST(what_is_gone_is_still_the_peer)
{
	struct peer *was = lives[1].peer;

	connect_to(0, 1, 5);
	connect_to(1, 0, 6);
	lives[1].destroyed = (struct moment){ .id = { 1, 40 }, .time = 70 };
	assert_null(peer_find_former(&peers, lives[0].peer));
	peer_leave(&peers, &lives[1], 99);
	assert_null(lives[1].peer);
	assert_null(was->life);
	assert_int_equal(was->gone, 70);
	assert_int_equal(was->destroyed.id.n, 40);
	assert_ptr_equal(peer_find_other(&peers, lives[0].peer), was);
	assert_ptr_equal(peer_find_former(&peers, lives[0].peer), was);
	assert_null(peer_find_claimant(&peers, lives[0].peer));
	assert_null(peer_find_at(&peers, 1, NUMBER + 1, &was->place));
	peer_leave(&peers, &lives[1], 100); /* once */
	assert_int_equal(peers.ngone, 1);
}

TEST(the_end_of_a_process_has_a_time_too)
{
	struct peer *was = lives[1].peer;

	peer_leave(&peers, &lives[1], 99);
	assert_int_equal(was->gone, 99);
	assert_int_equal(was->destroyed.id.thread, 0);
}

/* The earlier queue pair was destroyed before the connection was made. */
TEST(an_earlier_one_of_the_number_is_not_the_peer)
{
	struct life again = lives[1];
	struct peer *was = lives[1].peer;
	struct qp qp = { 0 };

	connect_to(1, 0, 5);
	peer_leave(&peers, &lives[1], 20);
	connect_to(0, 1, 20);
	assert_null(peer_find_other(&peers, lives[0].peer));
	connect_to(0, 1, 19);
	assert_ptr_equal(peer_find_other(&peers, lives[0].peer), was);
	assert_int_equal(peer_count_candidates(&peers, lives[0].peer), 1);
	again.qp = &qp;
	again.peer = NULL;
	assert_int_equal(peer_add(&peers, &again, NULL), 0);
	assert_int_equal(peer_count_candidates(&peers, lives[0].peer), 2);
	assert_false(peer_is_only(&peers, again.peer));
	assert_false(peer_is_only(&peers, was));
	assert_true(peer_is_only(&peers, lives[0].peer));
	assert_null(peer_find_former(&peers, lives[0].peer));
	qp = (struct qp){ .set = ABI_QP_DEST_QPN | ABI_QP_AV,
			  .dest_qp_num = NUMBER,
			  .rtr.time = 21 };
	peer_connect(&peers, &again);
	assert_ptr_equal(peer_find_other(&peers, lives[0].peer), again.peer);
	peer_leave(&peers, &again, 30);
	assert_ptr_equal(peer_find_former(&peers, lives[0].peer)->life, NULL);
	assert_int_equal(peer_find_former(&peers, lives[0].peer)->gone, 30);
	assert_int_equal(peer_find_other(&peers, lives[0].peer)->gone, 30);
}

/* Two that are there with one number: nobody is meant. */
TEST(several_of_a_number_are_no_peer)
{
	struct life twin = lives[1];
	struct qp qp;

	connect_to(0, 1, 5);
	connect_to(1, 0, 6);
	qp = qps[1];
	twin.qp = &qp;
	twin.peer = NULL;
	assert_int_equal(peer_add(&peers, &twin, NULL), 0);
	expect_peers(0, 1);
	peer_connect(&peers, &twin);
	assert_null(peer_find_other(&peers, lives[0].peer));
	peer_leave(&peers, &twin, 50);
	expect_peers(0, 1);
}

TEST(queue_pairs_without_a_number_are_nobody)
{
	struct life life = { .kind = OBJECT_qp, .process = 1 };

	assert_int_equal(peer_add(&peers, &life, NULL), 0);
	assert_null(life.peer);
	peer_connect(&peers, &life);
	peer_leave(&peers, &life, 1);
	assert_int_equal(peers.ngone, 0);
}

/* PEERS_DEAD destroyed queue pairs are remembered; the oldest is forgotten first. */
TEST(the_oldest_is_forgotten)
{
	enum { FAR = 1000 };
	struct peer *oldest = NULL, *second = NULL;

	for (uint32_t i = 0; i <= PEERS_DEAD; i++) {
		struct life life = { .kind = OBJECT_qp, .process = 1, .number = FAR + i };

		assert_int_equal(peer_add(&peers, &life, NULL), 0);
		if (i < 2)
			*(i ? &second : &oldest) = life.peer;
		assert_ptr_equal(peers.oldest, i ? oldest : NULL);
		peer_leave(&peers, &life, i + 1);
	}
	assert_int_equal(peers.ngone, PEERS_DEAD);
	assert_ptr_equal(peers.oldest, second);
	assert_null(second->older);
	qps[0] = (struct qp){ .set = ABI_QP_DEST_QPN | ABI_QP_AV, .dest_qp_num = FAR };
	peer_connect(&peers, &lives[0]);
	assert_int_equal(peer_count_candidates(&peers, lives[0].peer), 0);
	qps[0].dest_qp_num = FAR + 1;
	qps[0].rtr.time = 1;
	peer_connect(&peers, &lives[0]);
	assert_int_equal(peer_count_candidates(&peers, lives[0].peer), 1);
}
