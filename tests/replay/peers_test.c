#include <stdlib.h>

#include "replay/state/peers.h"
#include "tests/test.h"

static struct peers *make_peers(void)
{
	struct peers *peers;

	assert_int_equal(peers_new(&peers), 0);
	return peers;
}

TEST(both_sides_find_each_other)
{
	struct peers *p = make_peers();

	peers_add(p, 1, 0, 100, 0, INT64_MAX);
	peers_add(p, 2, 0, 200, 0, INT64_MAX);
	peers_connect(p, 1, 200, NULL);
	peers_connect(p, 2, 100, NULL);
	assert_int_equal(peers_find(p, 1, 200, NULL, 10), 2);
	assert_int_equal(peers_find(p, 2, 100, NULL, 10), 1);
	peers_free(p);
}

TEST(a_number_of_nobody_is_outside)
{
	struct peers *p = make_peers();

	peers_add(p, 1, 0, 100, 0, INT64_MAX);
	peers_connect(p, 1, 999, NULL);
	assert_int_equal(peers_find(p, 1, 999, NULL, 10), 0);
	peers_free(p);
}

TEST(the_connection_goes_before_the_time)
{
	struct peers *p = make_peers();

	peers_add(p, 1, 0, 100, 0, INT64_MAX);
	peers_add(p, 2, 0, 200, 0, 50); /* had the number before */
	peers_add(p, 3, 0, 200, 60, INT64_MAX);
	peers_connect(p, 3, 100, NULL);
	assert_int_equal(peers_find(p, 1, 200, NULL, 40), 3);
	peers_free(p);
}

TEST(of_equals_the_living_is_meant)
{
	struct peers *p = make_peers();

	peers_add(p, 1, 0, 100, 0, INT64_MAX);
	peers_add(p, 2, 0, 200, 0, 50);
	peers_add(p, 3, 0, 200, 60, 100);
	assert_int_equal(peers_find(p, 0, 200, NULL, 40), 2);
	assert_int_equal(peers_find(p, 0, 200, NULL, 70), 3);
	assert_int_equal(peers_find(p, 0, 200, NULL, 55), 3);
	assert_int_equal(peers_find(p, 0, 200, NULL, 500), 3);
	peers_free(p);
}

TEST(a_pair_may_be_its_own_peer)
{
	struct peers *p = make_peers();

	peers_add(p, 1, 0, 100, 0, INT64_MAX);
	peers_connect(p, 1, 100, NULL);
	assert_int_equal(peers_find(p, 1, 100, NULL, 5), 1);
	peers_free(p);
}

TEST(a_pair_connected_again_is_found_both_times)
{
	struct peers *p = make_peers();

	peers_add(p, 1, 0, 100, 0, INT64_MAX);
	peers_add(p, 2, 0, 200, 0, INT64_MAX);
	peers_add(p, 3, 0, 300, 0, INT64_MAX);
	peers_connect(p, 1, 200, NULL);
	peers_connect(p, 1, 300, NULL);
	peers_connect(p, 2, 100, NULL);
	peers_connect(p, 3, 100, NULL);
	assert_int_equal(peers_find(p, 1, 200, NULL, 5), 2);
	assert_int_equal(peers_find(p, 1, 300, NULL, 5), 3);
	assert_int_equal(peers_find(p, 3, 100, NULL, 5), 1);
	peers_free(p);
}

/* A GID that ends so, of a link-local prefix or of another. */
static struct ibv_ah_attr make_address(uint8_t prefix, uint8_t last)
{
	struct ibv_ah_attr av = { .is_global = 1 };

	av.grh.dgid.raw[0] = prefix;
	av.grh.dgid.raw[1] = prefix == 0xfe ? 0x80 : 0;
	av.grh.dgid.raw[15] = last;
	return av;
}

TEST(the_same_number_on_another_host_is_another)
{
	struct ibv_ah_attr here = make_address(0xfe, 1), there = make_address(0xfe, 2);
	struct peers *p = make_peers();

	peers_add(p, 1, 50, 17, 0, INT64_MAX);
	peers_add(p, 2, 50, 18, 0, INT64_MAX);
	peers_told_gid(p, 50, 1, &here.grh.dgid);
	peers_connect(p, 1, 18, NULL);
	peers_connect(p, 2, 17, NULL);
	assert_int_equal(peers_find(p, 1, 18, &there, 5), 0);
	assert_int_equal(peers_find(p, 1, 18, &here, 5), 2);
	assert_int_equal(peers_find(p, 0, 18, &there, 5), 0);
	peers_free(p);
}

TEST(of_two_hosts_the_address_decides)
{
	struct ibv_ah_attr a = make_address(0xfe, 1), b = make_address(0xfe, 2);
	struct peers *p = make_peers();

	peers_add(p, 1, 50, 17, 0, INT64_MAX);
	peers_add(p, 2, 60, 17, 0, INT64_MAX);
	peers_told_gid(p, 50, 1, &a.grh.dgid);
	peers_told_gid(p, 60, 1, &b.grh.dgid);
	peers_connect(p, 1, 17, NULL);
	peers_connect(p, 2, 17, NULL);
	assert_int_equal(peers_find(p, 1, 17, &b, 5), 2);
	assert_int_equal(peers_find(p, 2, 17, &a, 5), 1);
	peers_free(p);
}

TEST(a_lid_decides_as_well)
{
	const struct ibv_ah_attr here = { .dlid = 4 }, there = { .dlid = 5 };
	struct peers *p = make_peers();

	peers_add(p, 1, 50, 17, 0, INT64_MAX);
	peers_use_port(p, 1, 2);
	peers_told_lid(p, 50, 1, 5);
	peers_told_lid(p, 50, 2, 4);
	peers_connect(p, 1, 17, NULL);
	assert_int_equal(peers_find(p, 1, 17, &here, 5), 1);
	assert_int_equal(peers_find(p, 1, 17, &there, 5), 0);
	peers_free(p);
}

TEST(an_address_of_another_kind_contradicts_nothing)
{
	struct ibv_ah_attr told = make_address(0xfe, 1), other = make_address(0x20, 2);
	struct peers *p = make_peers();

	peers_add(p, 1, 50, 17, 0, INT64_MAX);
	peers_add(p, 2, 50, 18, 0, INT64_MAX);
	peers_told_gid(p, 50, 1, &told.grh.dgid);
	peers_connect(p, 1, 18, NULL);
	peers_connect(p, 2, 17, NULL);
	assert_int_equal(peers_find(p, 1, 18, &other, 5), 2);
	peers_free(p);
}

/* rdma_cm tells the program no address of its own. */
TEST(its_own_number_at_an_unknown_address_is_anothers)
{
	struct ibv_ah_attr unknown = make_address(0x20, 2);
	struct peers *p = make_peers();

	peers_add(p, 1, 50, 17, 0, INT64_MAX);
	peers_connect(p, 1, 17, NULL);
	assert_int_equal(peers_find(p, 1, 17, &unknown, 5), 0);
	peers_free(p);
}

TEST(who_was_gone_and_connected_elsewhere_is_not_meant)
{
	struct peers *p = make_peers();

	peers_add(p, 1, 50, 17, 0, INT64_MAX);
	peers_add(p, 2, 50, 18, 0, 20);
	peers_connect(p, 1, 18, NULL);
	peers_connect(p, 2, 99, NULL);
	assert_int_equal(peers_find(p, 1, 18, NULL, 10), 2);
	assert_int_equal(peers_find(p, 1, 18, NULL, 30), 0);
	peers_free(p);
}

TEST(who_is_connected_to_it_for_sure_is_its_peer)
{
	const struct ibv_ah_attr here = { .dlid = 4 }, there = { .dlid = 5 };
	struct peers *p = make_peers();

	peers_add(p, 1, 50, 17, 0, INT64_MAX);
	peers_add(p, 2, 50, 18, 0, INT64_MAX);
	peers_told_lid(p, 50, 1, 4);
	peers_connect(p, 1, 99, &here); /* a number that is not in the trace */
	peers_connect(p, 2, 17, &here);
	assert_true(peers_claimed(p, 1));
	assert_false(peers_claimed(p, 2));
	peers_add(p, 3, 50, 19, 0, INT64_MAX);
	peers_connect(p, 3, 18, &there); /* of another host */
	assert_false(peers_claimed(p, 2));
	peers_free(p);
}

TEST(who_is_connected_elsewhere_at_an_unknown_address_is_not_meant)
{
	struct ibv_ah_attr unknown = make_address(0x20, 2);
	struct peers *p = make_peers();

	peers_add(p, 1, 50, 17, 0, INT64_MAX);
	peers_add(p, 2, 50, 18, 0, INT64_MAX);
	peers_connect(p, 1, 25, &unknown);
	peers_connect(p, 2, 17, &unknown);
	assert_int_equal(peers_find(p, 2, 17, &unknown, 5), 0);
	peers_free(p);
}
