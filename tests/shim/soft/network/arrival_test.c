/* Packets of one train, and what is joined of them. */
#include "shim/soft/network/arrival.h"
#include "tests/test.h"

enum { LENGTH = 1024, STRIDE = 1040, PSN = 0xfffffe };

static uint8_t memory[40 * STRIDE];

/* Packet @i of a train. */
static struct arrival packet_at(uint32_t i, uint8_t opcode)
{
	return (struct arrival){
		.header.bth = { .opcode = opcode,
				.pkey = 0xffff,
				.dest_qp = 0x11,
				.psn = psn_add(PSN, i) },
		.payload = memory + i * STRIDE,
		.len = LENGTH,
		.packets = 1,
	};
}

TEST(middle_packets_that_follow_each_other_are_joined)
{
	struct arrival a = packet_at(0, OPCODE_WRITE_MIDDLE), next, part;
	struct copy_list list;
	uint32_t i;

	for (i = 1; i < 5; i++) {
		next = packet_at(i, OPCODE_WRITE_MIDDLE);
		next.header.bth.ack_request = i == 3;
		assert_true(arrival_join(&a, &next));
	}
	assert_int_equal(a.packets, 5);
	assert_int_equal(a.len, 5 * LENGTH);
	assert_true(a.header.bth.ack_request);
	list = arrival_payload(&a);
	assert_int_equal(list.count, 5);
	for (i = 0; i < 5; i++) {
		part = arrival_part(&a, i);
		assert_ptr_equal(list.iov[i].iov_base, memory + i * STRIDE);
		assert_int_equal(list.iov[i].iov_len, LENGTH);
		assert_ptr_equal(part.payload, memory + i * STRIDE);
		assert_int_equal(part.header.bth.psn, psn_add(PSN, i));
		assert_int_equal(part.len, LENGTH);
		assert_int_equal(part.packets, 1);
	}
}

TEST(no_more_are_joined_than_a_list_has_entries)
{
	struct arrival a = packet_at(0, OPCODE_SEND_MIDDLE), next;
	uint32_t i;

	for (i = 1; i < SHM_SGE_MAX; i++) {
		next = packet_at(i, OPCODE_SEND_MIDDLE);
		assert_true(arrival_join(&a, &next));
	}
	next = packet_at(i, OPCODE_SEND_MIDDLE);
	assert_false(arrival_join(&a, &next));
	assert_int_equal(a.packets, SHM_SGE_MAX);
}

TEST(others_are_not_joined)
{
	struct arrival a = packet_at(0, OPCODE_WRITE_MIDDLE),
		       next = packet_at(2, OPCODE_WRITE_MIDDLE);

	assert_false(arrival_join(&a, &next)); /* one is missing */
	next = packet_at(0, OPCODE_WRITE_MIDDLE);
	assert_false(arrival_join(&a, &next)); /* a duplicate */
	next = packet_at(1, OPCODE_WRITE_LAST);
	assert_false(arrival_join(&a, &next));
	next = packet_at(1, OPCODE_SEND_MIDDLE);
	assert_false(arrival_join(&a, &next));
	next = packet_at(1, OPCODE_WRITE_MIDDLE);
	next.len = LENGTH - 4;
	assert_false(arrival_join(&a, &next));
	next = packet_at(1, OPCODE_WRITE_MIDDLE);
	next.header.bth.dest_qp++;
	assert_false(arrival_join(&a, &next));
	next = packet_at(1, OPCODE_WRITE_MIDDLE);
	next.header.bth.pkey--;
	assert_false(arrival_join(&a, &next));
	assert_int_equal(a.packets, 1);
	assert_int_equal(a.len, LENGTH);
}

/* The payloads have one distance. */
TEST(packets_elsewhere_are_not_joined)
{
	struct arrival a = packet_at(0, OPCODE_WRITE_MIDDLE),
		       next = packet_at(1, OPCODE_WRITE_MIDDLE);

	assert_true(arrival_join(&a, &next));
	next = packet_at(2, OPCODE_WRITE_MIDDLE);
	next.payload += 4;
	assert_false(arrival_join(&a, &next));
}

TEST(only_the_middle_of_reliable_and_unreliable_messages_is_joined)
{
	static const struct {
		uint8_t opcode;
		bool middle;
	} rows[] = {
		{ OPCODE_RC | OPCODE_SEND_MIDDLE, true },
		{ OPCODE_UC | OPCODE_WRITE_MIDDLE, true },
		{ OPCODE_XRC | OPCODE_WRITE_MIDDLE, false },
		{ OPCODE_RC | OPCODE_WRITE_FIRST, false },
		{ OPCODE_RC | OPCODE_SEND_LAST, false },
		{ OPCODE_RC | OPCODE_WRITE_ONLY, false },
		{ OPCODE_RC | OPCODE_READ_RESPONSE_MIDDLE, false },
		{ OPCODE_UD | OPCODE_SEND_ONLY, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct arrival a = packet_at(0, rows[i].opcode);

		assert_int_equal(arrival_is_middle(&a), rows[i].middle);
	}
}
