#include <stdlib.h>

#include "replay/peers.h"
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
	peers_connect(p, 1, 200);
	peers_connect(p, 2, 100);
	assert_int_equal(peers_find(p, 1, 200, NULL, 10), 2);
	assert_int_equal(peers_find(p, 2, 100, NULL, 10), 1);
	peers_free(p);
}

TEST(a_number_of_nobody_is_outside)
{
	struct peers *p = make_peers();

	peers_add(p, 1, 0, 100, 0, INT64_MAX);
	peers_connect(p, 1, 999);
	assert_int_equal(peers_find(p, 1, 999, NULL, 10), 0);
	peers_free(p);
}

TEST(the_connection_goes_before_the_time)
{
	struct peers *p = make_peers();

	peers_add(p, 1, 0, 100, 0, INT64_MAX);
	peers_add(p, 2, 0, 200, 0, 50); /* had the number before */
	peers_add(p, 3, 0, 200, 60, INT64_MAX);
	peers_connect(p, 3, 100);
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
	peers_connect(p, 1, 100);
	assert_int_equal(peers_find(p, 1, 100, NULL, 5), 1);
	peers_free(p);
}

TEST(a_pair_connected_again_is_found_both_times)
{
	struct peers *p = make_peers();

	peers_add(p, 1, 0, 100, 0, INT64_MAX);
	peers_add(p, 2, 0, 200, 0, INT64_MAX);
	peers_add(p, 3, 0, 300, 0, INT64_MAX);
	peers_connect(p, 1, 200);
	peers_connect(p, 1, 300);
	peers_connect(p, 2, 100);
	peers_connect(p, 3, 100);
	assert_int_equal(peers_find(p, 1, 200, NULL, 5), 2);
	assert_int_equal(peers_find(p, 1, 300, NULL, 5), 3);
	assert_int_equal(peers_find(p, 3, 100, NULL, 5), 1);
	peers_free(p);
}
