#include <stdlib.h>

#include "replay/two_host/pair_match.h"
#include "tests/test.h"

/* Two hosts that were booted alike: queue pair 17 of each is connected to 17 of the other. */
struct host {
	struct place known[2];
	struct pair_port port;
	struct pair_life lives[4];
	struct pair_table table;
};

static union ibv_gid gid_of(uint8_t last)
{
	return (union ibv_gid){ .raw = { [10] = 0xff, [11] = 0xff, 10, 0, 0, last } };
}

static void make_host(struct host *h, uint8_t own)
{
	memset(h, 0, sizeof(*h));
	h->known[0].is_global = true;
	memcpy(h->known[0].gid, gid_of(own).raw, PLACE_GID);
	h->port = (struct pair_port){ .known = h->known, .nknown = 1 };
	h->table = (struct pair_table){ .ports = &h->port, .nports = 1, .lives = h->lives };
}

static struct pair_life *add_life(struct host *h, uint32_t number, uint32_t dest, uint8_t at,
				  uint32_t psn, uint32_t its_psn)
{
	struct pair_life *life = &h->lives[h->table.nlives++];

	*life = (struct pair_life){ .number = number,
				    .type = IBV_QPT_RC,
				    .connected = true,
				    .dest = dest,
				    .has_sq_psn = true,
				    .has_rq_psn = true,
				    .sq_psn = psn,
				    .rq_psn = its_psn };
	life->av.is_global = 1;
	life->av.grh.dgid = gid_of(at);
	return life;
}

static struct host a, b;
static uint32_t of_a[4], of_b[4];

static void match_hosts(void)
{
	memset(of_a, 0, sizeof(of_a));
	memset(of_b, 0, sizeof(of_b));
	pair_match(&a.table, &b.table, of_a, of_b);
}

static int make_hosts(void **state)
{
	(void)state;
	make_host(&a, 1);
	make_host(&b, 2);
	return 0;
}

FIXTURE(make_hosts, NULL);

TEST(hosts_that_were_booted_alike_are_joined)
{
	(void)state;
	add_life(&a, 17, 17, 2, 100, 200);
	add_life(&b, 17, 17, 1, 200, 100);
	match_hosts();
	assert_int_equal(of_a[0], 1);
	assert_int_equal(of_b[0], 1);
}

TEST(another_address_is_another_host)
{
	(void)state;
	add_life(&a, 17, 17, 3, 100, 200);
	add_life(&b, 17, 17, 1, 200, 100);
	match_hosts();
	assert_int_equal(of_a[0], 0);
	assert_string_equal(
		pair_match_why(&a.table, 0, &b.table),
		"the queue pair of the other host with this number has another address");
}

TEST(another_number_is_another_queue_pair)
{
	(void)state;
	add_life(&a, 17, 18, 2, 100, 200);
	add_life(&b, 17, 17, 1, 200, 100);
	match_hosts();
	assert_int_equal(of_a[0], 0);
	assert_string_equal(pair_match_why(&a.table, 0, &b.table),
			    "no queue pair of the other host has this number");
}

TEST(one_way_is_no_connection)
{
	(void)state;
	add_life(&a, 17, 17, 2, 100, 200);
	add_life(&b, 17, 20, 1, 200, 100);
	match_hosts();
	assert_int_equal(of_a[0], 0);
}

TEST(the_sequence_numbers_tell_which_of_two_lives)
{
	(void)state;
	add_life(&a, 17, 17, 2, 100, 200);
	add_life(&b, 17, 17, 1, 777, 778);
	add_life(&b, 17, 17, 1, 200, 100);
	match_hosts();
	assert_int_equal(of_a[0], 2);
	assert_int_equal(of_b[0], 0);
	assert_int_equal(of_b[1], 1);
}

TEST(sequence_numbers_that_both_differ_are_of_others)
{
	(void)state;
	add_life(&a, 17, 17, 2, 100, 200);
	add_life(&b, 17, 17, 1, 300, 400);
	match_hosts();
	assert_int_equal(of_a[0], 0);
	assert_string_equal(
		pair_match_why(&a.table, 0, &b.table),
		"the queue pair of the other host with this number started with another PSN");
}

TEST(of_equals_the_first_goes_with_the_first)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		add_life(&a, 17, 17, 2, 100, 200);
		add_life(&b, 17, 17, 1, 200, 100);
	}
	match_hosts();
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(of_a[i], i + 1);
}

TEST(both_sides_find_the_same)
{
	uint32_t as_peer[4] = { 0 }, as_listener[4] = { 0 };

	(void)state;
	add_life(&a, 17, 18, 2, 1, 2);
	add_life(&a, 18, 17, 2, 3, 4);
	add_life(&b, 17, 18, 1, 4, 3);
	add_life(&b, 18, 17, 1, 2, 1);
	match_hosts();
	pair_match(&a.table, &b.table, as_listener, as_peer);
	assert_memory_equal(as_listener, of_a, sizeof(of_a));
	assert_memory_equal(as_peer, of_b, sizeof(of_b));
	assert_int_equal(of_a[0], 2);
	assert_int_equal(of_a[1], 1);
}

TEST(a_datagram_goes_to_the_number_at_the_address)
{
	struct ibv_ah_attr av = { .is_global = 1 };

	(void)state;
	add_life(&b, 17, 0, 0, 0, 0)->type = IBV_QPT_UD;
	av.grh.dgid = gid_of(2);
	assert_int_equal(pair_match_datagram(&b.table, 17, &av), 1);
	assert_int_equal(pair_match_datagram(&b.table, 18, &av), 0);
	assert_int_equal(pair_match_datagram(&b.table, 17, NULL), 1);
	assert_ptr_equal(pair_match_port(&b.table, &av), &b.port);
	av.grh.dgid = gid_of(3);
	assert_int_equal(pair_match_datagram(&b.table, 17, &av), 0);
	assert_null(pair_match_port(&b.table, &av));
}

/* The other side receives exactly what was sent. */
static void tell_table(const struct pair_table *from, struct pair_table *to)
{
	uint8_t bytes[PAIR_PART_MOST];

	for (enum pair_part part = 0; part < PAIR_PARTS; part++)
		for (size_t i = 0; i < pair_table_count(from, part); i++)
			assert_int_equal(pair_table_unpack(to, part, bytes,
							   pair_table_pack(from, part, i, bytes)),
					 0);
}

TEST(a_table_is_the_same_at_the_other_end)
{
	struct pair_use use = { 0, 0x1234, 99 };
	struct pair_stream stream = { 0, 17, 5 };
	struct pair_table told = { 0 };

	(void)state;
	add_life(&a, 17, 17, 2, 100, 200);
	a.port.here =
		(struct port){ .lid = 3, .gids = { .n = 1, .at = { { gid_of(9), GID_ROCE_V2 } } } };
	a.table.uses = &use;
	a.table.nuses = 1;
	a.table.streams = &stream;
	a.table.nstreams = 1;
	tell_table(&a.table, &told);
	assert_true(pair_table_is_sound(&told));
	assert_int_equal(told.lives[0].dest, 17);
	assert_int_equal(told.lives[0].rq_psn, 200);
	assert_memory_equal(&told.lives[0].av.grh.dgid, &a.lives[0].av.grh.dgid, 16);
	assert_int_equal(told.ports[0].here.lid, 3);
	assert_memory_equal(&told.ports[0].known[0].gid, &a.known[0].gid, 16);
	assert_int_equal(told.uses[0].rkey, 0x1234);
	assert_int_equal(told.streams[0].source, 17);
	told.streams[0].life = 1;
	assert_false(pair_table_is_sound(&told));
	pair_table_fini(&told);
}

TEST(a_part_that_is_cut_or_longer_is_refused)
{
	uint8_t bytes[PAIR_PART_MOST];
	struct pair_table told = { 0 };
	size_t n;

	(void)state;
	add_life(&a, 17, 17, 2, 100, 200);
	for (enum pair_part part = PAIR_PORT; part <= PAIR_LIFE; part++) {
		n = pair_table_pack(&a.table, part, 0, bytes);
		for (size_t cut = 0; cut < n; cut++)
			assert_int_not_equal(pair_table_unpack(&told, part, bytes, cut), 0);
		bytes[n] = 0;
		assert_int_not_equal(pair_table_unpack(&told, part, bytes, n + 1), 0);
	}
	assert_int_not_equal(pair_table_unpack(&told, PAIR_PARTS, bytes, 4), 0);
	pair_table_fini(&told);
}
