/* replay/two_host/pair_table.c: each field arrives, and what does not fit is refused. */
#include "replay/two_host/pair_table.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/test.h"

static struct pair_table mine, its;

static int begin_tables(void **state)
{
	(void)state;
	mine = its = (struct pair_table){ 0 };
	return 0;
}

static int end_tables(void **state)
{
	(void)state;
	pair_table_fini(&its);
	return 0;
}

FIXTURE(begin_tables, end_tables);

/* What another replay says of part @i; its size. */
static size_t send_part(enum pair_part part, size_t i, int *ret_err)
{
	uint8_t bytes[PAIR_PART_MOST];
	size_t n = pair_table_pack(&mine, part, i, bytes);

	*ret_err = pair_table_unpack(&its, part, bytes, n);
	return n;
}

static void expect_sent(enum pair_part part, size_t i)
{
	int err;

	assert_true(send_part(part, i, &err) > 0);
	assert_int_equal(err, 0);
}

/* Bytes that are all different. */
static void fill_bytes(void *bytes, size_t n, uint8_t first)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)bytes)[i] = (uint8_t)(first + i);
}

static void fill_here(struct port *here, int ngids)
{
	*here = (struct port){ .there = true,
			       .lid = 0x1234,
			       .ethernet = true,
			       .mtu = IBV_MTU_2048,
			       .gids.n = ngids,
			       .best_gid = GIDS_MAX - 1 };
	for (int i = 0; i < ngids; i++) {
		fill_bytes(&here->gids.at[i].raw, 16, (uint8_t)(3 * i));
		here->gids.at[i].kind = i % 2 ? GID_ROCE_V2 : GID_IB;
	}
}

TEST(a_port_arrives_with_all_its_addresses)
{
	struct place known[3] = { { .is_global = true }, { .lmc = 3, .lid = 0x8765 } };
	struct pair_port port = { .known = known, .nknown = 3 };
	const struct pair_port *got;

	(void)state;
	fill_here(&port.here, GIDS_MAX);
	fill_bytes(known[0].gid, PLACE_GID, 77);
	mine = (struct pair_table){ .ports = &port, .nports = 1 };
	expect_sent(PAIR_PORT, 0);
	assert_int_equal(its.nports, 1);
	got = its.ports;
	assert_memory_equal(&got->here, &port.here, sizeof(port.here));
	assert_int_equal(got->nknown, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(got->known[i].is_global, known[i].is_global);
		assert_int_equal(got->known[i].lmc, known[i].lmc);
		assert_int_equal(got->known[i].lid, known[i].lid);
		assert_memory_equal(got->known[i].gid, known[i].gid, PLACE_GID);
	}
}

TEST(addresses_that_do_not_fit_are_left_out)
{
	enum { KNOWN = 1000 };
	struct pair_port port = { .known = calloc(KNOWN, sizeof(struct place)), .nknown = KNOWN };
	size_t n;
	int err;

	(void)state;
	fill_here(&port.here, GIDS_MAX);
	mine = (struct pair_table){ .ports = &port, .nports = 1 };
	n = send_part(PAIR_PORT, 0, &err);
	free(port.known);
	assert_int_equal(err, 0);
	assert_int_equal(its.ports[0].nknown, (PAIR_PART_MOST - 512) / 20);
	assert_int_equal(n, 6 + GIDS_MAX * 17 + 2 + its.ports[0].nknown * 20);
}

TEST(more_gids_than_a_port_has_are_refused)
{
	struct pair_port port = { 0 };
	uint8_t bytes[PAIR_PART_MOST] = { 0 };

	(void)state;
	fill_here(&port.here, 0);
	mine = (struct pair_table){ .ports = &port, .nports = 1 };
	pair_table_pack(&mine, PAIR_PORT, 0, bytes);
	bytes[4] = GIDS_MAX + 1; /* more than GIDS_MAX, although the bytes are present */
	assert_int_equal(pair_table_unpack(&its, PAIR_PORT, bytes, 6 + (GIDS_MAX + 1) * 17 + 2),
			 -EBADMSG);
	bytes[4] = 0;
	bytes[5] = GIDS_MAX; /* the best one */
	assert_int_equal(pair_table_unpack(&its, PAIR_PORT, bytes, 8), -EBADMSG);
	bytes[5] = 0;
	assert_int_equal(pair_table_unpack(&its, PAIR_PORT, bytes, 8), 0);
}

TEST(a_life_arrives_with_each_field)
{
	struct pair_life lives[2] = { { .object = 1 << 24,
					.process = 2 << 24,
					.number = 3 << 24,
					.port = 4 << 24,
					.type = 5 << 24,
					.shared = true,
					.dest = 6 << 24,
					.has_rq_psn = true,
					.rq_psn = 7 << 24,
					.sq_psn = 8 << 24,
					.finished = 9ull << 56 },
				      { .connected = true, .has_sq_psn = true } };
	const struct pair_life *got;

	(void)state;
	lives[0].av.dlid = 0x4321;
	lives[1].av.is_global = 1;
	fill_bytes(&lives[1].av.grh.dgid, 16, 50);
	mine = (struct pair_table){ .lives = lives, .nlives = 2 };
	for (int i = 0; i < 2; i++) {
		expect_sent(PAIR_LIFE, (size_t)i);
		assert_int_equal(its.nlives, i + 1);
		got = &its.lives[i];
		assert_int_equal(got->object, lives[i].object);
		assert_int_equal(got->process, lives[i].process);
		assert_int_equal(got->number, lives[i].number);
		assert_int_equal(got->port, lives[i].port);
		assert_int_equal(got->type, lives[i].type);
		assert_int_equal(got->shared, lives[i].shared);
		assert_int_equal(got->connected, lives[i].connected);
		assert_int_equal(got->dest, lives[i].dest);
		assert_int_equal(got->av.is_global, lives[i].av.is_global);
		assert_int_equal(got->av.dlid, lives[i].av.dlid);
		assert_memory_equal(&got->av.grh.dgid, &lives[i].av.grh.dgid, 16);
		assert_int_equal(got->has_rq_psn, lives[i].has_rq_psn);
		assert_int_equal(got->has_sq_psn, lives[i].has_sq_psn);
		assert_int_equal(got->rq_psn, lives[i].rq_psn);
		assert_int_equal(got->sq_psn, lives[i].sq_psn);
		assert_int_equal(got->finished, lives[i].finished);
	}
}

TEST(uses_and_streams_arrive)
{
	struct pair_use use = { 1 << 24, 2 << 24, 3ull << 56 };
	struct pair_stream stream = { 4 << 24, 5 << 24, 6ull << 56 };

	(void)state;
	mine = (struct pair_table){ .uses = &use, .nuses = 1, .streams = &stream, .nstreams = 1 };
	expect_sent(PAIR_USE, 0);
	expect_sent(PAIR_STREAM, 0);
	assert_int_equal(its.nuses, 1);
	assert_int_equal(its.nstreams, 1);
	assert_memory_equal(its.uses, &use, sizeof(use));
	assert_memory_equal(its.streams, &stream, sizeof(stream));
}

TEST(each_part_is_counted)
{
	const struct pair_table table = { .nports = 1, .nlives = 2, .nuses = 3, .nstreams = 4 };

	(void)state;
	assert_int_equal(pair_table_count(&table, PAIR_PORT), 1);
	assert_int_equal(pair_table_count(&table, PAIR_LIFE), 2);
	assert_int_equal(pair_table_count(&table, PAIR_USE), 3);
	assert_int_equal(pair_table_count(&table, PAIR_STREAM), 4);
	assert_int_equal(pair_table_count(&table, PAIR_PARTS), 0);
}

TEST(what_is_no_part_or_has_another_length_is_refused)
{
	struct pair_use use = { 1, 2, 3 };
	uint8_t bytes[PAIR_PART_MOST] = { 0 };
	size_t n;

	(void)state;
	mine = (struct pair_table){ .uses = &use, .nuses = 1 };
	n = pair_table_pack(&mine, PAIR_USE, 0, bytes);
	assert_int_equal(n, 16);
	assert_int_equal(pair_table_unpack(&its, PAIR_USE, bytes, n - 1), -EBADMSG);
	assert_int_equal(pair_table_unpack(&its, PAIR_USE, bytes, n + 1), -EBADMSG);
	assert_int_equal(pair_table_unpack(&its, PAIR_PARTS, bytes, n), -EBADMSG);
	assert_int_equal(pair_table_unpack(&its, (enum pair_part) - 1, bytes, n), -EBADMSG);
	assert_int_equal(pair_table_pack(&mine, PAIR_PARTS, 0, bytes), 0);
}

TEST(more_parts_than_a_trace_has_are_refused)
{
	struct pair_port ports[1024] = { 0 };
	uint8_t bytes[8] = { 0 };

	(void)state;
	its = (struct pair_table){ .ports = malloc(sizeof(ports)), .nports = 1024 };
	memcpy(its.ports, ports, sizeof(ports));
	assert_int_equal(pair_table_unpack(&its, PAIR_PORT, bytes, 8), -ENOMEM);
	its.nports = 1023;
	assert_int_equal(pair_table_unpack(&its, PAIR_PORT, bytes, 8), 0);
	assert_int_equal(its.nports, 1024);
}

TEST(an_index_past_the_end_is_not_sound)
{
	struct pair_life lives[2] = { { 0 }, { .port = 1 } };
	struct pair_use uses[2] = { { 0 }, { .life = 1 } };
	struct pair_stream streams[2] = { { 0 }, { .life = 1 } };
	struct pair_table table = { .nports = 2,
				    .lives = lives,
				    .nlives = 2,
				    .uses = uses,
				    .nuses = 2,
				    .streams = streams,
				    .nstreams = 2 };

	(void)state;
	assert_true(pair_table_is_sound(&table));
	lives[1].port = 2;
	assert_false(pair_table_is_sound(&table));
	lives[1].port = 0;
	uses[1].life = 2;
	assert_false(pair_table_is_sound(&table));
	uses[1].life = 0;
	streams[1].life = 2;
	assert_false(pair_table_is_sound(&table));
}
