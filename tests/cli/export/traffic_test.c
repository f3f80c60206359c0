/*
 * The packets of recorded requests, as lines
 *
 * 	INTERFACE FROM > TO port P tc T ttl H qp Q	where that changes
 * 	TIME us op O psn P [ack] [se], N bytes HEX EVENT[INDEX] VERB
 *
 * HEX are the bytes behind the base transport header, without trailing zeros and the ICRC.
 */
#include "cli/export/traffic.h"

#include <stdlib.h>

#include "analyzer/profile/profile.h"
#include "core/wire/log.h"
#include "tests/core/store/example.h"
#include "tests/transcript.h"

enum { ETHERNET = 14, UDP = 8, BTH = 12, ICRC = 4 };

static const uint8_t *bytes;
static size_t nbytes;

static uint64_t number_at(const uint8_t *at, size_t n)
{
	uint64_t number = 0;

	for (; n; n--)
		number = number << 8 | *at++;
	return number;
}

static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static void add_address(struct text *out, const uint8_t *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text_addf(out, n == 4 ? "%s%u" : "%s%x", i ? n == 4 ? "." : ":" : "", at[i]);
}

static void add_transport(struct text *out, const uint8_t *bth, size_t n)
{
	size_t used = n;

	text_addf(out, "op %02x psn %" PRIx64 "%s%s, %zu bytes ", bth[0], number_at(bth + 9, 3),
		  bth[8] & 0x80 ? " ack" : "", bth[1] & 0x80 ? " se" : "", n);
	while (used && !bth[BTH + used - 1])
		used--;
	for (size_t i = 0; i < used; i++)
		text_addf(out, "%02x", bth[BTH + i]);
	text_addf(out, used ? " " : "");
}

/* The way of the packet, unless it is @before, that of the one before it. */
static void add_way(struct text *out, const uint8_t *block, bool v4, char before[256])
{
	const uint8_t *ip = block + 28 + ETHERNET, *udp = ip + (v4 ? 20 : 40);
	struct text way = { 0 };

	text_addf(&way, "%u ", word_at(block + 8));
	add_address(&way, v4 ? ip + 12 : ip + 8, v4 ? 4 : 16);
	text_addf(&way, " > ");
	add_address(&way, v4 ? ip + 16 : ip + 24, v4 ? 4 : 16);
	text_addf(&way, " port %" PRIx64 " tc %u ttl %u qp %" PRIx64 "\n", number_at(udp, 2),
		  v4 ? ip[1] : (unsigned int)(number_at(ip, 2) >> 4 & 255), v4 ? ip[8] : ip[7],
		  number_at(udp + UDP + 4, 4));
	if (strcmp(way.at, before) != 0)
		text_addf(out, "%s", way.at);
	snprintf(before, 256, "%s", way.at);
	text_fini(&way);
}

static void add_packet(struct text *out, const uint8_t *block, uint64_t start, char way[256])
{
	uint64_t time = ((uint64_t)word_at(block + 12) << 32 | word_at(block + 16)) - start;
	const uint8_t *frame = block + 28, *udp;
	size_t length = word_at(block + 20), at = 28 + ((length + 3) & ~(size_t)3);
	bool v4 = number_at(frame + 12, 2) == 0x0800;

	add_way(out, block, v4, way);
	udp = frame + ETHERNET + (v4 ? 20 : 40);
	text_addf(out, "%" PRIu64 " us ", time / 1000);
	add_transport(out, udp + UDP, length - (size_t)(udp - frame) - UDP - BTH - ICRC);
	text_addf(out, "%s\n", block + at + 4);
}

/* All blocks behind that of the section, which says how they were made. */
static void add_blocks(struct text *out, uint64_t start)
{
	size_t at = word_at(bytes + 4);
	char way[256] = "";

	assert_memory_equal(bytes + 28, traffic_inferred, strlen(traffic_inferred));
	for (; at < nbytes; at += word_at(bytes + at + 4))
		if (word_at(bytes + at) == 1)
			text_addf(out, "interface %.*s\n", bytes[at + 18], bytes + at + 20);
		else
			add_packet(out, bytes + at, start, way);
}

static void expect_packets(const struct profile_select *select, const char *wanted)
{
	struct text text = { 0 };
	char *buffer = NULL;
	FILE *file;

	file = open_memstream(&buffer, &nbytes);
	assert_int_equal(traffic_write(file, example.trace, select), 0);
	fclose(file);
	bytes = (const uint8_t *)buffer;
	add_blocks(&text, EXAMPLE_REALTIME);
	transcript_compare(text.at ?: "", wanted);
	text_fini(&text);
	free(buffer);
}

/* a constant, unlike a variable, in initialisers */
#define REMOTE                \
	{                     \
		0x20408, 0x22 \
	}
static const struct profile_select all;

static void expect_all(const char *wanted)
{
	example_open(&example);
	expect_packets(&all, wanted);
	example_end(&example);
}

/* Completions of all these come in one poll, the last with @status. */
static void complete_all(struct example_end *end, const struct example_wr *wrs, uint32_t n,
			 int status)
{
	struct event_wc wcs[EXAMPLE_MOST];

	for (uint32_t i = 0; i < n; i++)
		wcs[i] = example_wc(end, wrs[i].wr_id, i == n - 1 ? status : 0, 0,
				    wrs[i].lengths[0]);
	make_poll(&end->m, &end->cq, 0, wcs, n);
}

TEST(each_opcode_has_its_headers)
{
	static const struct example_wr first[] = {
		{ 1, IBV_WR_SEND, .lengths = { 10 } },
		{ 2, IBV_WR_SEND_WITH_IMM, IBV_SEND_SOLICITED, .imm = 0x89abcdef,
		  .lengths = { 3, 5 } },
		{ 3, IBV_WR_RDMA_WRITE, .lengths = { 7 }, .rdma = REMOTE, .parts = WR_RDMA },
		{ 4, IBV_WR_RDMA_WRITE_WITH_IMM, .imm = 0x1020304, .lengths = { 8 },
		  .rdma = REMOTE, .parts = WR_RDMA },
		{ 5, IBV_WR_SEND_WITH_INV, .imm = 0x22, .lengths = { 1 } },
	}, second[] = {
		{ 6, IBV_WR_RDMA_READ, .lengths = { 9 }, .rdma = REMOTE, .parts = WR_RDMA },
		{ 7, IBV_WR_ATOMIC_CMP_AND_SWP, .lengths = { 8 }, .rdma = REMOTE,
		  .atomic = { 0x55, 0x66 }, .parts = WR_RDMA | WR_ATOMIC },
		{ 8, IBV_WR_ATOMIC_FETCH_AND_ADD, .lengths = { 8 }, .rdma = REMOTE,
		  .atomic = { 0x77, 0x88 }, .parts = WR_RDMA | WR_ATOMIC },
		{ 9, 14 /* FLUSH */, .rdma = REMOTE, .flush = { 0x300, 0xf2, 0xd },
		  .parts = WR_RDMA | WR_FLUSH },
		{ 10, 15 /* ATOMIC_WRITE */, .lengths = { 8 }, .rdma = REMOTE, .parts = WR_RDMA },
		{ 11, IBV_WR_LOCAL_INV, .imm = 0x12 },
		{ 12, IBV_WR_BIND_MW, .imm = 0 },
	};
	struct example_end *end = &example.ends[0];

	example_begin_connected(&example, IBV_QPT_RC, true, false);
	example_at(100);
	example_post_list(end, VERB_post_send, &end->qp, first, 5, 0);
	example_at(200);
	example_post_list(end, VERB_post_send, &end->qp, second, 7, 0);
	example_at(300);
	complete_all(end, first, 5, 0);
	example_at(400);
	complete_all(end, second, 5, 0);
	expect_all("interface dev0/1\n"
		   "interface dev1/1\n"
		   "0 10.0.0.1 > 10.0.0.2 port c111 tc 5 ttl 33 qp 222\n"
		   "100 us op 04 psn 100 ack, 12 bytes 1:24[0] ibv_post_send\n"
		   "100 us op 05 psn 101 ack se, 12 bytes 89abcdef 1:24[1] ibv_post_send\n"
		   "100 us op 0a psn 102 ack, 24 bytes 00000000000204080000002200000007 1:24[2] ib"
		   "v_post_send\n"
		   "100 us op 0b psn 103 ack, 28 bytes 0000000000020408000000220000000801020304 1:"
		   "24[3] ibv_post_send\n"
		   "100 us op 17 psn 104 ack, 8 bytes 00000022 1:24[4] ibv_post_send\n"
		   "200 us op 0c psn 105 ack, 16 bytes 00000000000204080000002200000009 1:25[0] ib"
		   "v_post_send\n"
		   "200 us op 13 psn 106 ack, 28 bytes 0000000000020408000000220000000000000066000"
		   "0000000000055 1:25[1] ibv_post_send\n"
		   "200 us op 14 psn 107 ack, 28 bytes 0000000000020408000000220000000000000077 1:"
		   "25[2] ibv_post_send\n"
		   "200 us op 1c psn 108 ack, 20 bytes 00000012000000000002040800000022000003 1:25"
		   "[3] ibv_post_send\n"
		   "200 us op 1d psn 109 ack, 24 bytes 00000000000204080000002200000008 1:25[4] ib"
		   "v_post_send\n"
		   "0 10.0.0.2 > 10.0.0.1 port c111 tc 5 ttl 33 qp 111\n"
		   "300 us op 11 psn 100, 4 bytes 1f000001 1:26[0] ibv_poll_cq\n"
		   "300 us op 11 psn 101, 4 bytes 1f000002 1:26[1] ibv_poll_cq\n"
		   "300 us op 11 psn 102, 4 bytes 1f000003 1:26[2] ibv_poll_cq\n"
		   "300 us op 11 psn 103, 4 bytes 1f000004 1:26[3] ibv_poll_cq\n"
		   "300 us op 11 psn 104, 4 bytes 1f000005 1:26[4] ibv_poll_cq\n"
		   "400 us op 10 psn 105, 16 bytes 1f000006 1:27[0] ibv_poll_cq\n"
		   "400 us op 12 psn 106, 12 bytes 1f000007 1:27[1] ibv_poll_cq\n"
		   "400 us op 12 psn 107, 12 bytes 1f000008 1:27[2] ibv_poll_cq\n"
		   "400 us op 11 psn 108, 4 bytes 1f000009 1:27[3] ibv_poll_cq\n"
		   "400 us op 11 psn 109, 4 bytes 1f00000a 1:27[4] ibv_poll_cq\n");
}

/* 1024 bytes a packet. */
TEST(a_long_message_has_several_packets)
{
	static const struct example_wr wrs[] = {
		{ 1, IBV_WR_SEND, IBV_SEND_SOLICITED, .lengths = { 1024 } },
		{ 2, IBV_WR_SEND_WITH_IMM, IBV_SEND_SOLICITED, .imm = 0x1234, .lengths = { 1025 } },
		{ 3, IBV_WR_RDMA_WRITE, .lengths = { 2048, 1 }, .rdma = REMOTE, .parts = WR_RDMA },
		{ 4, IBV_WR_RDMA_READ, .lengths = { 2049 }, .rdma = REMOTE, .parts = WR_RDMA },
		{ 5, IBV_WR_RDMA_READ, .lengths = { 1024 }, .rdma = REMOTE, .parts = WR_RDMA },
		{ 6, IBV_WR_SEND, .imm = 0 },
	};
	struct example_end *end = &example.ends[0];

	example_begin_connected(&example, IBV_QPT_RC, false, true);
	example_at(100);
	example_post_list(end, VERB_post_send, &end->qp, wrs, 6, 0);
	example_at(200);
	complete_all(end, wrs, 6, 0);
	expect_all("interface dev0/1\n"
		   "interface dev1/1\n"
		   "0 0:0:0:0:0:0:0:0:0:0:ff:ff:a:0:0:1 > fe:80:0:0:0:0:0:0:0:0:0:0:0:0:0:2 port c"
		   "111 tc 5 ttl 33 qp 222\n"
		   "100 us op 04 psn 100 ack se, 1024 bytes 1:24[0] ibv_post_send\n"
		   "100 us op 00 psn 101, 1024 bytes 1:24[1] ibv_post_send\n"
		   "100 us op 03 psn 102 ack se, 8 bytes 00001234 1:24[1] ibv_post_send\n"
		   "100 us op 06 psn 103, 1040 bytes 00000000000204080000002200000801 1:24[2] ibv_"
		   "post_send\n"
		   "100 us op 07 psn 104, 1024 bytes 1:24[2] ibv_post_send\n"
		   "100 us op 08 psn 105 ack, 4 bytes 1:24[2] ibv_post_send\n"
		   "100 us op 0c psn 106 ack, 16 bytes 00000000000204080000002200000801 1:24[3] ib"
		   "v_post_send\n"
		   "100 us op 0c psn 109 ack, 16 bytes 000000000002040800000022000004 1:24[4] ibv_"
		   "post_send\n"
		   "100 us op 04 psn 10a ack, 0 bytes 1:24[5] ibv_post_send\n"
		   "0 fe:80:0:0:0:0:0:0:0:0:0:0:0:0:0:2 > 0:0:0:0:0:0:0:0:0:0:ff:ff:a:0:0:1 port c"
		   "111 tc 5 ttl 33 qp 111\n"
		   "200 us op 11 psn 100, 4 bytes 1f000001 1:25[0] ibv_poll_cq\n"
		   "200 us op 11 psn 102, 4 bytes 1f000002 1:25[1] ibv_poll_cq\n"
		   "200 us op 11 psn 105, 4 bytes 1f000003 1:25[2] ibv_poll_cq\n"
		   "200 us op 0d psn 106, 1028 bytes 1f000004 1:25[3] ibv_poll_cq\n"
		   "200 us op 0e psn 107, 1024 bytes 1:25[3] ibv_poll_cq\n"
		   "200 us op 0f psn 108, 8 bytes 1f000004 1:25[3] ibv_poll_cq\n"
		   "200 us op 10 psn 109, 1028 bytes 1f000005 1:25[4] ibv_poll_cq\n"
		   "200 us op 11 psn 10a, 4 bytes 1f000006 1:25[5] ibv_poll_cq\n");
}

/* Without a global path, LIDs are the addresses. */
TEST(a_later_completion_acknowledges_all_before_it)
{
	static const struct example_wr wrs[] = {
		{ 1, IBV_WR_SEND, .lengths = { 10 } },
		{ 2, IBV_WR_RDMA_READ, .lengths = { 20 }, .rdma = REMOTE, .parts = WR_RDMA },
		{ 3, IBV_WR_ATOMIC_FETCH_AND_ADD, .lengths = { 8 }, .rdma = REMOTE,
		  .atomic = { 1, 0 }, .parts = WR_RDMA | WR_ATOMIC },
		{ 4, IBV_WR_SEND, IBV_SEND_SIGNALED, .lengths = { 30 } },
		{ 5, IBV_WR_SEND, IBV_SEND_SIGNALED, .lengths = { 40 } },
	};
	struct example_end *end = &example.ends[0];
	struct ibv_qp_attr attr;

	example_begin_connected(&example, IBV_QPT_RC, false, false);
	example_at(100);
	example_post_list(end, VERB_post_send, &end->qp, wrs, 5, 0);
	example_at(200);
	complete_all(end, wrs + 3, 1, 0);
	attr = example_attr(&example, 0, false, false);
	example_connect(&example, 0, &attr);
	example_at(300);
	example_post(end, wrs[0]);
	expect_all("interface dev0/1\n"
		   "interface dev1/1\n"
		   "0 169.254.0.7 > 169.254.0.9 port c111 tc 0 ttl 64 qp 222\n"
		   "100 us op 04 psn 100 ack, 12 bytes 1:24[0] ibv_post_send\n"
		   "100 us op 0c psn 101 ack, 16 bytes 00000000000204080000002200000014 1:24[1] ib"
		   "v_post_send\n"
		   "100 us op 14 psn 102 ack, 28 bytes 0000000000020408000000220000000000000001 1:"
		   "24[2] ibv_post_send\n"
		   "100 us op 04 psn 103 ack, 32 bytes 1:24[3] ibv_post_send\n"
		   "100 us op 04 psn 104 ack, 40 bytes 1:24[4] ibv_post_send\n"
		   "0 169.254.0.9 > 169.254.0.7 port c111 tc 0 ttl 64 qp 111\n"
		   "200 us op 10 psn 101, 24 bytes 1f000002 1:25[0] ibv_poll_cq\n"
		   "200 us op 12 psn 102, 12 bytes 1f000003 1:25[0] ibv_poll_cq\n"
		   "200 us op 11 psn 103, 4 bytes 1f000004 1:25[0] ibv_poll_cq\n"
		   "0 169.254.0.7 > 169.254.0.9 port c111 tc 0 ttl 64 qp 222\n"
		   "300 us op 04 psn 100 ack, 12 bytes 1:32[0] ibv_post_send\n");
}

static const struct error_row {
	const char *name;
	int status;
	const char *answer;
} error_rows[] = {
	{ "success", IBV_WC_SUCCESS, "op 11 psn 101, 4 bytes 1f000002 1:25[1] ibv_poll_cq\n" },
	{ "remote_invalid_request", IBV_WC_REM_INV_REQ_ERR,
	  "op 11 psn 101, 4 bytes 61000001 1:25[1] ibv_poll_cq\n" },
	{ "remote_access", IBV_WC_REM_ACCESS_ERR,
	  "op 11 psn 101, 4 bytes 62000001 1:25[1] ibv_poll_cq\n" },
	{ "remote_operation", IBV_WC_REM_OP_ERR,
	  "op 11 psn 101, 4 bytes 63000001 1:25[1] ibv_poll_cq\n" },
	{ "rnr_with_its_timer", IBV_WC_RNR_RETRY_EXC_ERR,
	  "op 11 psn 101, 4 bytes 2c000001 1:25[1] ibv_poll_cq\n" },
	{ "no_answer", IBV_WC_RETRY_EXC_ERR, "" },
	{ "abort", IBV_WC_REM_ABORT_ERR, "" },
	{ "not_sent", IBV_WC_LOC_PROT_ERR, NULL },
	{ "length", IBV_WC_LOC_LEN_ERR, NULL },
	{ "local_qp_operation", IBV_WC_LOC_QP_OP_ERR, NULL },
	{ "local_eec", IBV_WC_LOC_EEC_OP_ERR, NULL },
	{ "flushed", IBV_WC_WR_FLUSH_ERR, NULL },
	{ "window", IBV_WC_MW_BIND_ERR, NULL },
};

static void error_has_its_answer(void **state)
{
	static const struct example_wr wrs[] = {
		{ 1, IBV_WR_SEND, IBV_SEND_SIGNALED, .lengths = { 4 } },
		{ 2, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, .lengths = { 4 }, .rdma = REMOTE,
		  .parts = WR_RDMA },
	};
	const struct error_row *row = *state;
	struct example_end *end = &example.ends[0];
	char wanted[1024];

	example_begin_connected(&example, IBV_QPT_RC, true, false);
	example_at(100);
	example_post_list(end, VERB_post_send, &end->qp, wrs, 2, 0);
	example_at(200);
	complete_all(end, wrs, 2, row->status);
	snprintf(wanted, sizeof(wanted),
		 "interface dev0/1\ninterface dev1/1\n"
		 "0 10.0.0.1 > 10.0.0.2 port c111 tc 5 ttl 33 qp 222\n"
		 "100 us op 04 psn 100 ack, 4 bytes 1:24[0] ibv_post_send\n"
		 "%s"
		 "0 10.0.0.2 > 10.0.0.1 port c111 tc 5 ttl 33 qp 111\n"
		 "200 us op 11 psn 100, 4 bytes 1f000001 1:25[0] ibv_poll_cq\n%s%s",
		 row->answer ? "100 us op 0a psn 101 ack, 20 bytes 000000000002040800000022"
			       "00000004 1:24[1] ibv_post_send\n"
			     : "",
		 row->answer && *row->answer ? "200 us " : "", row->answer ?: "");
	expect_all(wanted);
}
TEST_ROWS(error_rows, error_has_its_answer);

TEST(payloads_are_those_of_the_trace)
{
	static const struct example_wr wrs[] = {
		{ 1, IBV_WR_SEND, IBV_SEND_SIGNALED, .lengths = { 6 } },
		{ 2, IBV_WR_RDMA_READ, .lengths = { 7 }, .rdma = REMOTE, .parts = WR_RDMA },
		{ 3, IBV_WR_ATOMIC_FETCH_AND_ADD, .lengths = { 8 }, .rdma = REMOTE,
		  .atomic = { 1, 0 }, .parts = WR_RDMA | WR_ATOMIC },
	};
	struct example_end *end = &example.ends[0];
	uint32_t poll;

	example_begin_connected(&example, IBV_QPT_RC, true, false);
	example_at(100);
	example_payload(end, &end->qp, 1, 0, PAYLOAD_SEND, "\xa1\xa2\xa3\xa4\xa5\xa6", 6);
	example_carries = true;
	example_post_list(end, VERB_post_send, &end->qp, wrs, 3, 0);
	example_at(200);
	poll = make_poll(&end->m, &end->cq, 0,
			 (const struct event_wc[]){ example_wc(end, 1, 0, 0, 6),
						    example_wc(end, 2, 0, 2, 7),
						    example_wc(end, 3, 0, 4, 8) },
			 3);
	example_payload(end, NULL, poll, 1, PAYLOAD_READ, "\xb1\xb2\xb3\xb4\xb5\xb6\xb7", 7);
	example_payload(end, NULL, poll, 2, PAYLOAD_ATOMIC, "\1\2\3\4\5\6\7\x8", 8);
	expect_all("interface dev0/1\n"
		   "interface dev1/1\n"
		   "0 10.0.0.1 > 10.0.0.2 port c111 tc 5 ttl 33 qp 222\n"
		   "100 us op 04 psn 100 ack, 8 bytes a1a2a3a4a5a6 1:25[0] ibv_post_send\n"
		   "100 us op 0c psn 101 ack, 16 bytes 00000000000204080000002200000007 1:25[1] ib"
		   "v_post_send\n"
		   "100 us op 14 psn 102 ack, 28 bytes 0000000000020408000000220000000000000001 1:"
		   "25[2] ibv_post_send\n"
		   "0 10.0.0.2 > 10.0.0.1 port c111 tc 5 ttl 33 qp 111\n"
		   "200 us op 11 psn 100, 4 bytes 1f000001 1:26[0] ibv_poll_cq\n"
		   "200 us op 10 psn 101, 12 bytes 1f000002b1b2b3b4b5b6b7 1:26[1] ibv_poll_cq\n"
		   "200 us op 12 psn 102, 12 bytes 1f0000030807060504030201 1:26[2] ibv_poll_cq\n");
}

TEST(requests_after_a_bad_one_were_not_sent)
{
	static const struct example_wr wrs[] = { { 1, IBV_WR_SEND, .lengths = { 4 } },
						 { 2, IBV_WR_SEND, .lengths = { 5 } } };
	struct example_end *end = &example.ends[0];

	example_begin_connected(&example, IBV_QPT_RC, true, false);
	example_at(100);
	example_post_list(end, VERB_post_send, &end->qp, wrs, 2, 2);
	expect_all("interface dev0/1\n"
		   "interface dev1/1\n"
		   "0 10.0.0.1 > 10.0.0.2 port c111 tc 5 ttl 33 qp 222\n"
		   "100 us op 04 psn 100 ack, 4 bytes 1:24[0] ibv_post_send\n");
}

static const struct select_row {
	const char *name;
	struct profile_select select;
	const char *wanted;
} select_rows[] = {
	{ "a_part_begins_at_its_first_event",
	  { .from = 199000, .process = 1 },
	  "interface dev0/1\n"
	  "interface dev1/1\n"
	  "0 10.0.0.1 > 10.0.0.2 port c111 tc 5 ttl 33 qp 222\n"
	  "200 us op 04 psn 101 ack, 8 bytes 1:25[0] ibv_post_send\n" },
	{ "a_part_ends_before_its_last_event",
	  { .to = 199000, .process = 1 },
	  "interface dev0/1\n"
	  "interface dev1/1\n"
	  "0 10.0.0.1 > 10.0.0.2 port c111 tc 5 ttl 33 qp 222\n"
	  "100 us op 04 psn 100 ack, 4 bytes 1:24[0] ibv_post_send\n" },
	{ "a_part_is_of_a_process",
	  { .process = 2 },
	  "interface dev0/1\n"
	  "interface dev1/1\n"
	  "1 10.0.0.2 > 10.0.0.1 port c222 tc 5 ttl 33 qp 111\n"
	  "300 us op 04 psn 200 ack, 8 bytes 2:24[0] ibv_post_send\n" },
};

/* A message of each end; all are followed, so that numbers stay the same. */
static void part_is_as_selected(void **state)
{
	const struct select_row *row = *state;

	example_begin_connected(&example, IBV_QPT_RC, true, false);
	example_at(100);
	example_post(&example.ends[0], (struct example_wr){ 1, IBV_WR_SEND, .lengths = { 4 } });
	example_at(200);
	example_post(&example.ends[0], (struct example_wr){ 2, IBV_WR_SEND, .lengths = { 5 } });
	example_at(300);
	example_post(&example.ends[1], (struct example_wr){ 3, IBV_WR_SEND, .lengths = { 6 } });
	example_open(&example);
	expect_packets(&row->select, row->wanted);
	example_end(&example);
}
TEST_ROWS(select_rows, part_is_as_selected);

/* The sender's messages are known from the receives. */
TEST(the_packets_of_a_foreign_sender_are_received)
{
	static const struct {
		int opcode, flags;
		uint32_t imm, bytes;
	} rows[] = { { IBV_WC_RECV, 0, 0, 1025 },
		     { IBV_WC_RECV, IBV_WC_WITH_IMM, 0x1234, 5 },
		     { IBV_WC_RECV, IBV_WC_WITH_INV, 0x22, 6 },
		     { IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM, 0x4321, 7 } };
	struct example_end *end = &example.ends[0];
	struct event_wc wcs[5];

	example_begin(&example);
	example_create_qp(&example.ends[0], IBV_QPT_RC, 0x111, false);
	example.ends[1].qp.qp_num = 0x999;
	example_connect(&example, 0,
			(struct ibv_qp_attr[]){ example_attr(&example, 0, true, false) });
	for (uint64_t i = 0; i < 5; i++)
		example_receive(end, i, 2000);
	for (uint64_t i = 0; i < 4; i++) {
		wcs[i] = example_wc(end, i, 0, rows[i].opcode, rows[i].bytes);
		wcs[i].wc_flags = (uint32_t)rows[i].flags;
		wcs[i].imm = rows[i].imm;
	}
	wcs[4] = example_wc(end, 4, IBV_WC_WR_FLUSH_ERR, 0, 0);
	example_at(200);
	make_poll(&end->m, &end->cq, 0, wcs, 5);
	expect_all("interface dev0/1\n"
		   "0 10.0.0.2 > 10.0.0.1 port c111 tc 5 ttl 33 qp 111\n"
		   "200 us op 00 psn 200, 1024 bytes 1:29[0] ibv_poll_cq\n"
		   "200 us op 02 psn 201 ack, 4 bytes 1:29[0] ibv_poll_cq\n"
		   "200 us op 05 psn 202 ack, 12 bytes 3412 1:29[1] ibv_poll_cq\n"
		   "200 us op 17 psn 203 ack, 12 bytes 00000022 1:29[2] ibv_poll_cq\n"
		   "200 us op 0b psn 204 ack, 28 bytes 000000000000000000000000000000072143 1:29[3"
		   "] ibv_poll_cq\n");
}

TEST(an_unreliable_connection_has_no_answers)
{
	example_begin_connected(&example, IBV_QPT_UC, true, false);
	example_at(100);
	example_post(&example.ends[0],
		     (struct example_wr){ 1, IBV_WR_SEND, IBV_SEND_SIGNALED, .lengths = { 1025 } });
	example_at(200);
	example_poll(&example.ends[0], 1, 0, 0, 0);
	expect_all("interface dev0/1\n"
		   "interface dev1/1\n"
		   "0 10.0.0.1 > 10.0.0.2 port c111 tc 5 ttl 33 qp 222\n"
		   "100 us op 20 psn 100, 1024 bytes 1:24[0] ibv_post_send\n"
		   "100 us op 22 psn 101, 4 bytes 1:24[0] ibv_post_send\n");
}

/* A datagram goes where its address handle says, in one packet. */
TEST(datagrams_have_their_destination)
{
	struct example_end *end = &example.ends[0];
	struct ibv_ah ah[2] = { { .context = &end->context }, { .context = &end->context } };
	struct ibv_ah_attr attrs[2] = {
		{ .dlid = 0x1234, .port_num = 1 },
		{ .is_global = 1, .port_num = 1, .grh = { example_gid(4, false), 0, 3, 1, 9 } },
	};
	struct example_wr wr = { 1, IBV_WR_SEND, .lengths = { 1025 }, .ud = { 0, 0x333, 0x77 },
				 .parts = WR_UD };
	struct event_wc wc;

	example_begin_connected(&example, IBV_QPT_UD, true, false);
	for (int i = 0; i < 2; i++)
		make_verb(&end->m, VERB_create_ah,
			  MAKE_ARGS(MAKE_PTR(&end->pd), MAKE_PTR(&attrs[i])),
			  (int64_t)MAKE_PTR(&ah[i]), 0);
	for (int i = 0; i < 3; i++) {
		example_at(100 + 100 * (unsigned int)i);
		wr.ud.ah = i < 2 ? MAKE_PTR(&ah[i]) : 0x5555;
		wr.ud.remote_qkey = i == 1 ? 0x80000000 : 0x77;
		example_post(end, wr);
	}
	example_receive(end, 7, 2000);
	wc = example_wc(end, 7, 0, IBV_WC_RECV, 40 + 9);
	wc.src_qp = 0x345;
	wc.slid = 0x207;
	example_at(400);
	make_poll(&end->m, &end->cq, 0, &wc, 1);
	wc.byte_len = 40;
	example_receive(end, 7, 2000);
	example_at(500);
	make_poll(&end->m, &end->cq, 0, &wc, 1);
	wc.byte_len = 39;
	example_receive(end, 7, 2000);
	example_at(600);
	make_poll(&end->m, &end->cq, 0, &wc, 1);
	expect_all("interface dev0/1\n"
		   "interface dev1/1\n"
		   "0 169.254.0.7 > 169.254.18.52 port c111 tc 0 ttl 64 qp 333\n"
		   "100 us op 64 psn 100, 1036 bytes 0000007700000111 1:28[0] ibv_post_send\n"
		   "0 10.0.0.1 > 10.0.0.5 port c111 tc 0 ttl 64 qp 333\n"
		   "200 us op 64 psn 101, 1036 bytes 0000123400000111 1:29[0] ibv_post_send\n"
		   "0 169.254.0.7 > 169.254.0.0 port c111 tc 0 ttl 64 qp 333\n"
		   "300 us op 64 psn 102, 1036 bytes 0000007700000111 1:30[0] ibv_post_send\n"
		   "0 169.254.2.7 > 169.254.0.7 port c111 tc 0 ttl 64 qp 111\n"
		   "400 us op 64 psn 0, 20 bytes 0000123400000345 1:32[0] ibv_poll_cq\n"
		   "500 us op 64 psn 1, 8 bytes 0000123400000345 1:34[0] ibv_poll_cq\n"
		   "600 us op 64 psn 2, 48 bytes 0000123400000345 1:36[0] ibv_poll_cq\n");
}

TEST(an_xrc_request_names_a_shared_queue)
{
	struct example_wr wr = { 1, IBV_WR_SEND, .lengths = { 1025 }, .xrc = { 0x5000abcd },
				 .parts = WR_XRC };

	example_begin(&example);
	for (int i = 0; i < EXAMPLE_ENDS; i++)
		example_create_qp(&example.ends[i], IBV_QPT_XRC_SEND,
				  0x111u * (1 + (unsigned int)i), false);
	example_connect(&example, 0,
			(struct ibv_qp_attr[]){ example_attr(&example, 0, true, false) });
	example_at(100);
	example_post(&example.ends[0], wr);
	example_at(200);
	example_poll(&example.ends[0], 1, 0, 0, 0);
	expect_all("interface dev0/1\n"
		   "0 10.0.0.1 > 10.0.0.2 port c111 tc 5 ttl 33 qp 222\n"
		   "100 us op a0 psn 100, 1028 bytes 0000abcd 1:24[0] ibv_post_send\n"
		   "100 us op a2 psn 101 ack, 8 bytes 0000abcd 1:24[0] ibv_post_send\n"
		   "0 10.0.0.2 > 10.0.0.1 port c111 tc 5 ttl 33 qp 111\n"
		   "200 us op b1 psn 101, 4 bytes 1f000001 1:25[0] ibv_poll_cq\n");
}

TEST(other_queue_pairs_have_no_packets)
{
	example_begin(&example);
	example_create_qp(&example.ends[0], IBV_QPT_RAW_PACKET, 0x111, false);
	example_post(&example.ends[0], (struct example_wr){ 1, IBV_WR_SEND, .lengths = { 4 } });
	expect_all("");
}
