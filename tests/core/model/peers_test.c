#include <stdint.h>
#include <string.h>

#include "core/model/peers.h"
#include "tests/test.h"

static struct peers *make_peers(void)
{
	struct peers *peers;

	assert_int_equal(peers_new(&peers), 0);
	return peers;
}

static void add_at(struct peers *p, uint32_t host, uint32_t id, uint32_t device, uint32_t number)
{
	const struct peers_qp qp = {
		.id = id, .device = device, .host = host, .number = number, .destroyed = INT64_MAX
	};

	assert_int_equal(peers_add(p, &qp), 0);
}

static void add_qp(struct peers *p, uint32_t id, uint32_t device, uint32_t number, int64_t created,
		   int64_t destroyed)
{
	const struct peers_qp qp = { .id = id,
				     .device = device,
				     .number = number,
				     .created = created,
				     .destroyed = destroyed };

	assert_int_equal(peers_add(p, &qp), 0);
}

static void connect_qp(struct peers *p, uint32_t id, uint32_t dest, const struct place *place)
{
	struct peers_link link = { .dest = dest };

	if (place)
		link.place = *place;
	assert_int_equal(peers_connect(p, id, &link), 0);
}

TEST(both_sides_find_each_other)
{
	struct peers *p = make_peers();

	add_qp(p, 1, 0, 100, 0, INT64_MAX);
	add_qp(p, 2, 0, 200, 0, INT64_MAX);
	connect_qp(p, 1, 200, NULL);
	connect_qp(p, 2, 100, NULL);
	assert_int_equal(peers_find(p, 1, 200, NULL, 10, NULL), 2);
	assert_int_equal(peers_find(p, 2, 100, NULL, 10, NULL), 1);
	peers_free(p);
}

TEST(a_number_of_nobody_is_outside)
{
	struct peers *p = make_peers();

	add_qp(p, 1, 0, 100, 0, INT64_MAX);
	connect_qp(p, 1, 999, NULL);
	assert_int_equal(peers_find(p, 1, 999, NULL, 10, NULL), 0);
	peers_free(p);
}

TEST(the_connection_goes_before_the_time)
{
	struct peers *p = make_peers();

	add_qp(p, 1, 0, 100, 0, INT64_MAX);
	add_qp(p, 2, 0, 200, 0, 50); /* had the number before */
	add_qp(p, 3, 0, 200, 60, INT64_MAX);
	connect_qp(p, 3, 100, NULL);
	assert_int_equal(peers_find(p, 1, 200, NULL, 40, NULL), 3);
	peers_free(p);
}

TEST(of_equals_the_living_is_meant)
{
	struct peers *p = make_peers();

	add_qp(p, 1, 0, 100, 0, INT64_MAX);
	add_qp(p, 2, 0, 200, 0, 50);
	add_qp(p, 3, 0, 200, 60, 100);
	assert_int_equal(peers_find_datagram(p, 0, 200, NULL, 40), 2);
	assert_int_equal(peers_find_datagram(p, 0, 200, NULL, 70), 3);
	assert_int_equal(peers_find_datagram(p, 0, 200, NULL, 55), 3);
	assert_int_equal(peers_find_datagram(p, 0, 200, NULL, 500), 3);
	peers_free(p);
}

TEST(a_datagram_is_of_another_with_the_number)
{
	struct peers *p = make_peers();

	add_qp(p, 1, 0, 100, 0, INT64_MAX);
	assert_int_equal(peers_find_datagram(p, 1, 100, NULL, 5), 1);
	add_qp(p, 2, 0, 100, 0, INT64_MAX);
	assert_int_equal(peers_find_datagram(p, 1, 100, NULL, 5), 2);
	assert_int_equal(peers_find_datagram(p, 2, 100, NULL, 5), 1);
	peers_free(p);
}

TEST(a_pair_may_be_its_own_peer)
{
	struct peers *p = make_peers();

	add_qp(p, 1, 0, 100, 0, INT64_MAX);
	connect_qp(p, 1, 100, NULL);
	assert_int_equal(peers_find(p, 1, 100, NULL, 5, NULL), 1);
	peers_free(p);
}

TEST(a_pair_connected_again_is_found_both_times)
{
	struct peers *p = make_peers();

	add_qp(p, 1, 0, 100, 0, INT64_MAX);
	add_qp(p, 2, 0, 200, 0, INT64_MAX);
	add_qp(p, 3, 0, 300, 0, INT64_MAX);
	connect_qp(p, 1, 200, NULL);
	connect_qp(p, 1, 300, NULL);
	connect_qp(p, 2, 100, NULL);
	connect_qp(p, 3, 100, NULL);
	assert_int_equal(peers_find(p, 1, 200, NULL, 5, NULL), 2);
	assert_int_equal(peers_find(p, 1, 300, NULL, 5, NULL), 3);
	assert_int_equal(peers_find(p, 3, 100, NULL, 5, NULL), 1);
	peers_free(p);
}

/* A GID that ends so, of a link-local prefix or of another. */
static struct place make_address(uint8_t prefix, uint8_t last)
{
	return (struct place){ .is_global = true,
			       .gid = { prefix, prefix == 0xfe ? 0x80 : 0, [15] = last } };
}

TEST(the_same_number_on_another_host_is_another)
{
	struct place here = make_address(0xfe, 1), there = make_address(0xfe, 2);
	struct peers *p = make_peers();

	add_qp(p, 1, 50, 17, 0, INT64_MAX);
	add_qp(p, 2, 50, 18, 0, INT64_MAX);
	peers_add_place(p, 50, 1, &here);
	connect_qp(p, 1, 18, NULL);
	connect_qp(p, 2, 17, NULL);
	assert_int_equal(peers_find(p, 1, 18, &there, 5, NULL), 0);
	assert_int_equal(peers_find(p, 1, 18, &here, 5, NULL), 2);
	assert_int_equal(peers_find_datagram(p, 0, 18, &there, 5), 0);
	peers_free(p);
}

TEST(of_two_hosts_the_address_decides)
{
	struct place a = make_address(0xfe, 1), b = make_address(0xfe, 2);
	struct peers *p = make_peers();

	add_qp(p, 1, 50, 17, 0, INT64_MAX);
	add_qp(p, 2, 60, 17, 0, INT64_MAX);
	peers_add_place(p, 50, 1, &a);
	peers_add_place(p, 60, 1, &b);
	connect_qp(p, 1, 17, NULL);
	connect_qp(p, 2, 17, NULL);
	assert_int_equal(peers_find(p, 1, 17, &b, 5, NULL), 2);
	assert_int_equal(peers_find(p, 2, 17, &a, 5, NULL), 1);
	peers_free(p);
}

TEST(a_lid_decides_as_well)
{
	const struct place here = { .lid = 4 }, there = { .lid = 5 };
	struct peers *p = make_peers();

	add_qp(p, 1, 50, 17, 0, INT64_MAX);
	peers_use_port(p, 1, 2);
	peers_add_place(p, 50, 1, &(struct place){ .lid = 5 });
	peers_add_place(p, 50, 2, &(struct place){ .lid = 4 });
	connect_qp(p, 1, 17, NULL);
	assert_int_equal(peers_find(p, 1, 17, &here, 5, NULL), 1);
	assert_int_equal(peers_find(p, 1, 17, &there, 5, NULL), 0);
	peers_free(p);
}

TEST(an_address_of_another_kind_contradicts_nothing)
{
	struct place told = make_address(0xfe, 1), other = make_address(0x20, 2);
	struct peers *p = make_peers();

	add_qp(p, 1, 50, 17, 0, INT64_MAX);
	add_qp(p, 2, 50, 18, 0, INT64_MAX);
	peers_add_place(p, 50, 1, &told);
	connect_qp(p, 1, 18, NULL);
	connect_qp(p, 2, 17, NULL);
	assert_int_equal(peers_find(p, 1, 18, &other, 5, NULL), 2);
	peers_free(p);
}

/* A program of rdma_cm does not learn its own address. */
TEST(its_own_number_at_an_unknown_address_is_anothers)
{
	struct place unknown = make_address(0x20, 2);
	struct peers *p = make_peers();

	add_qp(p, 1, 50, 17, 0, INT64_MAX);
	connect_qp(p, 1, 17, NULL);
	assert_int_equal(peers_find(p, 1, 17, &unknown, 5, NULL), 0);
	peers_free(p);
}

TEST(one_gone_and_connected_elsewhere_is_not_meant)
{
	struct peers *p = make_peers();

	add_qp(p, 1, 50, 17, 0, INT64_MAX);
	add_qp(p, 2, 50, 18, 0, 20);
	connect_qp(p, 1, 18, NULL);
	connect_qp(p, 2, 99, NULL);
	assert_int_equal(peers_find(p, 1, 18, NULL, 10, NULL), 2);
	assert_int_equal(peers_find(p, 1, 18, NULL, 30, NULL), 0);
	peers_free(p);
}

TEST(one_connected_to_it_for_sure_is_its_peer)
{
	const struct place here = { .lid = 4 }, there = { .lid = 5 };
	struct peers *p = make_peers();

	add_qp(p, 1, 50, 17, 0, INT64_MAX);
	add_qp(p, 2, 50, 18, 0, INT64_MAX);
	peers_add_place(p, 50, 1, &(struct place){ .lid = 4 });
	connect_qp(p, 1, 99, &here); /* a number that is not in the trace */
	connect_qp(p, 2, 17, &here);
	assert_true(peers_is_claimed(p, 1));
	assert_false(peers_is_claimed(p, 2));
	add_qp(p, 3, 50, 19, 0, INT64_MAX);
	connect_qp(p, 3, 18, &there); /* of another host */
	assert_false(peers_is_claimed(p, 2));
	peers_free(p);
}

TEST(one_connected_elsewhere_at_an_unknown_address_is_not_meant)
{
	struct place unknown = make_address(0x20, 2);
	struct peers *p = make_peers();

	add_qp(p, 1, 50, 17, 0, INT64_MAX);
	add_qp(p, 2, 50, 18, 0, INT64_MAX);
	connect_qp(p, 1, 25, &unknown);
	connect_qp(p, 2, 17, &unknown);
	assert_int_equal(peers_find(p, 2, 17, &unknown, 5, NULL), 0);
	peers_free(p);
}

TEST(connected_back_to_another_host_is_not_mutual)
{
	struct place here = make_address(0xfe, 1), there = make_address(0xfe, 2);
	enum peers_known known;
	struct peers *p = make_peers();

	add_qp(p, 1, 50, 17, 0, INT64_MAX);
	add_qp(p, 2, 50, 18, 0, 20); /* had the number before, and its peer was elsewhere */
	add_qp(p, 3, 50, 18, 30, INT64_MAX);
	peers_add_place(p, 50, 1, &here);
	connect_qp(p, 1, 18, &here);
	connect_qp(p, 2, 17, &there);
	assert_int_equal(peers_find(p, 1, 18, &here, 40, &known), 3);
	assert_int_equal(known, PEERS_ADDRESS);
	connect_qp(p, 3, 17, &here);
	assert_int_equal(peers_find(p, 1, 18, &here, 10, &known), 3);
	assert_int_equal(known, PEERS_BOTH);
	peers_free(p);
}

TEST(how_it_is_known_is_reported)
{
	const struct place here = { .lid = 4 };
	enum peers_known known = PEERS_BOTH;
	struct peers *p = make_peers();

	add_qp(p, 1, 50, 17, 0, INT64_MAX);
	assert_int_equal(peers_find(p, 1, 18, &here, 5, &known), 0);
	assert_int_equal(known, PEERS_UNKNOWN);
	add_qp(p, 2, 50, 18, 0, INT64_MAX);
	assert_int_equal(peers_find(p, 1, 18, &here, 5, &known), 2);
	assert_int_equal(known, PEERS_NUMBER);
	peers_add_place(p, 50, 1, &here);
	assert_int_equal(peers_find(p, 1, 18, &here, 5, &known), 2);
	assert_int_equal(known, PEERS_ADDRESS);
	assert_null(peers_known_name(PEERS_UNKNOWN));
	assert_string_equal(peers_known_name(PEERS_BOTH), "both");
	peers_free(p);
}

/* Queue pairs 17 and 18 twice, at addresses that are equal; of the first ones the PSNs fit. */
static struct peers *make_twins(void)
{
	const struct place here = { .lid = 4 };
	struct peers *p = make_peers();

	for (uint32_t id = 1; id <= 4; id++) {
		add_qp(p, id, 50, id & 1 ? 17 : 18, 0, INT64_MAX);
		connect_qp(p, id, id & 1 ? 18 : 17, &here);
		peers_send_psn(p, id, id <= 2 ? 100 : 0x1000000 | (100 + id));
		peers_receive_psn(p, id, id <= 2 ? 100 : 100 + (id ^ 7));
	}
	peers_add_place(p, 50, 1, &here);
	return p;
}

TEST(of_equals_the_psn_decides)
{
	const struct place here = { .lid = 4 };
	struct peers *p = make_twins();

	assert_int_equal(peers_find(p, 1, 18, &here, 5, NULL), 2);
	assert_int_equal(peers_find(p, 2, 17, &here, 5, NULL), 1);
	assert_int_equal(peers_find(p, 3, 18, &here, 5, NULL), 4);
	assert_int_equal(peers_find(p, 4, 17, &here, 5, NULL), 3);
	peers_free(p);
}

TEST(of_two_hosts_all_must_fit)
{
	const struct place here = { .lid = 4 };
	struct peers *p = make_peers();

	add_at(p, 1, 1, 50, 17);
	add_at(p, 2, 2, 60, 18);
	connect_qp(p, 1, 18, &here);
	connect_qp(p, 2, 17, &here);
	peers_add_place(p, 50, 1, &here);
	assert_int_equal(peers_find(p, 1, 18, &here, 5, NULL), 0);
	peers_send_psn(p, 1, 7);
	peers_receive_psn(p, 2, 7);
	assert_int_equal(peers_find(p, 1, 18, &here, 5, NULL), 0);
	peers_add_place(p, 60, 1, &here);
	peers_send_psn(p, 2, 8); /* librdmacm sets one later */
	peers_receive_psn(p, 1, 9);
	assert_int_equal(peers_find(p, 1, 18, &here, 5, NULL), 2);
	assert_int_equal(peers_find(p, 2, 17, &here, 5, NULL), 1);
	peers_free(p);
}

/* InfiniBand's local mask control: several LIDs lead to one port. */
TEST(a_path_of_a_lid_leads_to_its_port)
{
	const struct place path = { .lid = 0x13 }, next = { .lid = 0x14 };
	struct peers *p = make_peers();

	add_qp(p, 1, 50, 17, 0, INT64_MAX);
	add_qp(p, 2, 50, 18, 0, INT64_MAX);
	peers_add_place(p, 50, 1, &(struct place){ .lid = 0x10, .lmc = 2 });
	connect_qp(p, 1, 18, &path);
	assert_int_equal(peers_find(p, 1, 18, &path, 5, NULL), 2);
	assert_int_equal(peers_find(p, 1, 18, &next, 5, NULL), 0);
	peers_free(p);
}
