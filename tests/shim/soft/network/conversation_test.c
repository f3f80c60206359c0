/*
 * Conversations of the device with a stranger: what is posted, what the stranger answers or asks,
 * and every packet and completion that follows, with all fields: conversation_test.txt
 *
 * No timer runs but those that a conversation waits for, so the packets are the same on a slow
 * machine.
 */
#define TEST_MAIN
#include <inttypes.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tests/shim/soft/network/stranger.h"
#include "tests/transcript.h"

GROUP(open_device, close_device);

enum { STEPS = 20, WAIT_MS = 20000, IMPAIRED = 4 /* conversations on a bad link */ };

#define LINK_ENV "VERBATIM_SOFT_LINK_MODEL"

struct step {
	enum { END, POST, TELL, RECEIVE, AWAIT, MODIFY } kind;
	const char *name;
	int opcode;      /* enum ibv_wr_opcode, that of a packet, or enum ibv_qp_state */
	int psn;         /* relative to the first */
	uint32_t length; /* of the request, or of the packet's payload */
	uint32_t extra;  /* send_flags; syndrome; of a request: its length */
	uint32_t offset; /* in the region; of the key */
};

struct conversation {
	const char *name;
	enum ibv_qp_type type;
	struct step steps[STEPS];
};

#define SENDS(op, length, flags)                                    \
	{                                                           \
		POST, "post " #op, IBV_WR_##op, 0, length, flags, 0 \
	}
#define SENDS_AT(op, length, at)                                 \
	{                                                        \
		POST, "post " #op, IBV_WR_##op, 0, length, 2, at \
	}
#define ANSWER(op, psn, bytes, syn)                                         \
	{                                                                   \
		TELL, "answer " #op, OPCODE_##op, psn, bytes, AETH_##syn, 0 \
	}
#define ASK(op, psn, bytes, dma)                                     \
	{                                                            \
		TELL, "packet " #op, OPCODE_##op, psn, bytes, dma, 0 \
	}
#define ASK_AT(op, psn, bytes, dma, at)                               \
	{                                                             \
		TELL, "packet " #op, OPCODE_##op, psn, bytes, dma, at \
	}
#define ASK_UC(op, psn, bytes, dma)                                                 \
	{                                                                           \
		TELL, "packet UC " #op, OPCODE_UC | OPCODE_##op, psn, bytes, dma, 0 \
	}
#define ASK_UD(op, psn, bytes, qkey)                                                 \
	{                                                                            \
		TELL, "packet UD " #op, OPCODE_UD | OPCODE_##op, psn, bytes, qkey, 0 \
	}
#define RECV(length)                                   \
	{                                              \
		RECEIVE, "receive", 0, 0, length, 0, 0 \
	}
#define COMES                                 \
	{                                     \
		AWAIT, "await", 0, 0, 0, 0, 0 \
	}
#define BECOMES(state)                                      \
	{                                                   \
		MODIFY, #state, IBV_QPS_##state, 0, 0, 0, 0 \
	}
#define S IBV_SEND_SIGNALED

enum { AETH_RNR_SHORT = AETH_RNR | 1, AETH_NAK_UNKNOWN = AETH_NAK | 9, AETH_CREDITS = 5 };

/* clang-format off */
static const struct conversation conversations[] = {
	{ "a request of each kind", IBV_QPT_RC, {
		SENDS(SEND, 5, S), ANSWER(ACKNOWLEDGE, 0, 0, ACK),
		SENDS(SEND_WITH_IMM, 0, S | IBV_SEND_SOLICITED), ANSWER(ACKNOWLEDGE, 1, 0, ACK),
		SENDS(SEND_WITH_INV, 8, S), ANSWER(ACKNOWLEDGE, 2, 0, CREDITS),
		SENDS(RDMA_WRITE, MTU, S), ANSWER(ACKNOWLEDGE, 3, 0, ACK),
		SENDS(RDMA_WRITE_WITH_IMM, 0, S), ANSWER(ACKNOWLEDGE, 4, 0, ACK),
		SENDS(RDMA_READ, 7, S), ANSWER(READ_RESPONSE_ONLY, 5, 7, ACK),
		SENDS(ATOMIC_FETCH_AND_ADD, 8, S), ANSWER(ATOMIC_ACKNOWLEDGE, 6, 0, ACK),
		SENDS(ATOMIC_CMP_AND_SWP, 8, S), ANSWER(ATOMIC_ACKNOWLEDGE, 7, 0, ACK) } },
	{ "messages in packets", IBV_QPT_RC, {
		SENDS(SEND, MTU + 1, S), SENDS(SEND_WITH_IMM, 2 * MTU, S | IBV_SEND_SOLICITED),
		SENDS(SEND_WITH_INV, 3 * MTU, 0), SENDS(RDMA_WRITE, 2 * MTU + 3, S),
		SENDS(RDMA_WRITE_WITH_IMM, MTU + 4, S), ANSWER(ACKNOWLEDGE, 0, 0, ACK),
		ANSWER(ACKNOWLEDGE, 3, 0, ACK), ANSWER(ACKNOWLEDGE, 2, 0, ACK),
		ANSWER(ACKNOWLEDGE, 11, 0, ACK) } },
	{ "a read in packets", IBV_QPT_RC, {
		SENDS(RDMA_READ, 3 * MTU + 5, S), ANSWER(READ_RESPONSE_FIRST, 0, MTU, ACK),
		ANSWER(READ_RESPONSE_MIDDLE, 1, MTU, ACK),
		ANSWER(READ_RESPONSE_MIDDLE, 1, MTU, ACK),
		ANSWER(READ_RESPONSE_MIDDLE, 2, MTU, ACK),
		ANSWER(READ_RESPONSE_LAST, 3, 5, ACK) } },
	{ "a read whose middle is lost", IBV_QPT_RC, {
		SENDS(RDMA_READ, 3 * MTU, S), SENDS(SEND, 1, S),
		ANSWER(READ_RESPONSE_FIRST, 0, MTU, ACK), ANSWER(READ_RESPONSE_LAST, 2, MTU, ACK),
		ANSWER(READ_RESPONSE_LAST, 2, MTU, ACK), ANSWER(READ_RESPONSE_FIRST, 1, MTU, ACK),
		ANSWER(READ_RESPONSE_LAST, 2, MTU, ACK), ANSWER(ACKNOWLEDGE, 3, 0, ACK) } },
	{ "a read of odd lengths", IBV_QPT_RC, {
		SENDS(RDMA_READ, MTU + 5, S), ANSWER(READ_RESPONSE_FIRST, 0, 12, ACK),
		ANSWER(READ_RESPONSE_ONLY, 0, MTU, ACK), ANSWER(READ_RESPONSE_FIRST, 0, MTU, ACK),
		ANSWER(READ_RESPONSE_LAST, 1, 8, ACK), ANSWER(READ_RESPONSE_LAST, 1, 5, ACK) } },
	{ "an answer to a read that is an acknowledge", IBV_QPT_RC, {
		SENDS(RDMA_READ, 8, S), SENDS(SEND, 8, S), ANSWER(ACKNOWLEDGE, 1, 0, ACK),
		ANSWER(ACKNOWLEDGE, 1, 0, ACK), ANSWER(READ_RESPONSE_ONLY, 0, 8, ACK),
		ANSWER(ACKNOWLEDGE, 1, 0, ACK) } },
	{ "more reads than may be outstanding", IBV_QPT_RC, {
		SENDS(RDMA_READ, 4, S), SENDS(RDMA_READ, 4, S), SENDS(ATOMIC_FETCH_AND_ADD, 8, S),
		SENDS(ATOMIC_CMP_AND_SWP, 8, S), SENDS(RDMA_READ, 4, S), SENDS(SEND, 4, S),
		ANSWER(READ_RESPONSE_ONLY, 0, 4, ACK), ANSWER(READ_RESPONSE_ONLY, 1, 4, ACK),
		ANSWER(ATOMIC_ACKNOWLEDGE, 2, 0, ACK), ANSWER(ATOMIC_ACKNOWLEDGE, 3, 0, ACK),
		ANSWER(READ_RESPONSE_ONLY, 4, 4, ACK), ANSWER(ACKNOWLEDGE, 5, 0, ACK) } },
	{ "a fence waits for the read", IBV_QPT_RC, {
		SENDS(RDMA_READ, 4, S), SENDS(SEND, 4, S | IBV_SEND_FENCE), SENDS(SEND, 2, S),
		ANSWER(READ_RESPONSE_ONLY, 0, 4, ACK), ANSWER(ACKNOWLEDGE, 2, 0, ACK) } },
	{ "a long write fills the window", IBV_QPT_RC, {
		SENDS(RDMA_WRITE, 40 * MTU, S), ANSWER(ACKNOWLEDGE, 15, 0, ACK),
		ANSWER(ACKNOWLEDGE, 31, 0, ACK), ANSWER(ACKNOWLEDGE, 39, 0, ACK) } },
	{ "a long read is asked for in parts", IBV_QPT_RC, {
		SENDS(RDMA_READ, 40 * MTU, S), ANSWER(READ_RESPONSE_FIRST, 0, MTU, ACK),
		ANSWER(READ_RESPONSE_MIDDLE, 1, MTU, ACK),
		ANSWER(READ_RESPONSE_MIDDLE, 3, MTU, ACK),
		ANSWER(READ_RESPONSE_MIDDLE, 4, MTU, ACK),
		ANSWER(READ_RESPONSE_FIRST, 2, MTU, ACK) } },
	{ "a lost packet is sent again", IBV_QPT_RC, {
		SENDS(SEND, MTU + 4, S), SENDS(SEND, 4, S), ANSWER(ACKNOWLEDGE, 1, 0, NAK_SEQUENCE),
		ANSWER(ACKNOWLEDGE, 2, 0, ACK) } },
	{ "too many losses", IBV_QPT_RC, {
		SENDS(SEND, 4, S), SENDS(SEND, 4, S), ANSWER(ACKNOWLEDGE, 0, 0, NAK_SEQUENCE),
		ANSWER(ACKNOWLEDGE, 0, 0, NAK_SEQUENCE),
		ANSWER(ACKNOWLEDGE, 0, 0, NAK_SEQUENCE) } },
	{ "progress between losses", IBV_QPT_RC, {
		SENDS(SEND, 4, S), SENDS(SEND, 4, S), ANSWER(ACKNOWLEDGE, 0, 0, NAK_SEQUENCE),
		ANSWER(ACKNOWLEDGE, 0, 0, NAK_SEQUENCE), ANSWER(ACKNOWLEDGE, 1, 0, NAK_SEQUENCE),
		ANSWER(ACKNOWLEDGE, 1, 0, NAK_SEQUENCE), ANSWER(ACKNOWLEDGE, 1, 0, ACK) } },
	{ "refused: invalid", IBV_QPT_RC, {
		SENDS(SEND, 4, S), SENDS(SEND, 4, S), ANSWER(ACKNOWLEDGE, 1, 0, NAK_INVALID) } },
	{ "refused: access", IBV_QPT_RC, {
		SENDS(RDMA_WRITE, 4, S), SENDS(SEND, 4, 0),
		ANSWER(ACKNOWLEDGE, 0, 0, NAK_ACCESS) } },
	{ "refused: operation", IBV_QPT_RC, {
		SENDS(SEND, 4, 0), ANSWER(ACKNOWLEDGE, 0, 0, NAK_OPERATION) } },
	{ "refused: unknown", IBV_QPT_RC, {
		SENDS(SEND, 4, S), ANSWER(ACKNOWLEDGE, 0, 0, NAK_UNKNOWN),
		ANSWER(ACKNOWLEDGE, 0, 0, ACK) } },
	{ "refused: what was not sent", IBV_QPT_RC, {
		SENDS(SEND, 4, S), ANSWER(ACKNOWLEDGE, 1, 0, NAK_ACCESS),
		ANSWER(ACKNOWLEDGE, 7, 0, ACK), ANSWER(ACKNOWLEDGE, -1, 0, NAK_ACCESS),
		ANSWER(ACKNOWLEDGE, 0, 0, ACK) } },
	{ "the receiver is not ready", IBV_QPT_RC, {
		SENDS(SEND, 4, S), SENDS(SEND, 4, S), ANSWER(ACKNOWLEDGE, 0, 0, RNR_SHORT), COMES,
		ANSWER(ACKNOWLEDGE, 1, 0, RNR_SHORT), COMES, ANSWER(ACKNOWLEDGE, 1, 0, ACK) } },
	{ "the receiver is never ready", IBV_QPT_RC, {
		SENDS(SEND, 4, S), ANSWER(ACKNOWLEDGE, 0, 0, RNR_SHORT), COMES,
		ANSWER(ACKNOWLEDGE, 0, 0, RNR_SHORT) } },
	{ "a key that is wrong here", IBV_QPT_RC, {
		SENDS(SEND, 4, S), SENDS_AT(SEND, 4, 1), SENDS(SEND, 4, S),
		ANSWER(ACKNOWLEDGE, 0, 0, ACK) } },
	{ "drained, and on", IBV_QPT_RC, {
		SENDS(SEND, 4, S), BECOMES(SQD), SENDS(SEND, 5, S), ANSWER(ACKNOWLEDGE, 0, 0, ACK),
		BECOMES(RTS), ANSWER(ACKNOWLEDGE, 1, 0, ACK) } },
	{ "requests in packets", IBV_QPT_RC, {
		RECV(2 * MTU), ASK(SEND_FIRST, 0, MTU, 0), ASK(SEND_MIDDLE, 1, MTU, 0),
		ASK(SEND_LAST_IMM, 2, 3, 0), RECV(64), ASK(WRITE_FIRST, 3, MTU, 2 * MTU + 4),
		ASK(WRITE_MIDDLE, 4, MTU, 0), ASK(WRITE_LAST_IMM, 5, 4, 0),
		ASK(WRITE_ONLY, 6, 8, 8) } },
	{ "a send that is too long", IBV_QPT_RC, {
		RECV(MTU), ASK(SEND_FIRST, 0, MTU, 0), ASK(SEND_LAST, 1, 1, 0) } },
	{ "a message inside a message", IBV_QPT_RC, {
		RECV(PART), ASK(SEND_FIRST, 0, MTU, 0), ASK(WRITE_LAST, 1, 4, 0) } },
	{ "a read inside a message", IBV_QPT_RC, {
		RECV(PART), ASK(SEND_FIRST, 0, MTU, 0), ASK(READ_REQUEST, 1, 0, 8) } },
	{ "an empty last packet", IBV_QPT_RC, {
		RECV(PART), ASK(SEND_FIRST, 0, MTU, 0), ASK(SEND_LAST, 1, 0, 0) } },
	{ "no request at the first, then one", IBV_QPT_RC, {
		ASK(SEND_FIRST, 0, MTU, 0), RECV(PART), ASK(SEND_FIRST, 0, MTU, 0),
		ASK(SEND_LAST, 1, 8, 0), ASK(WRITE_ONLY_IMM, 2, 8, 8) } },
	{ "gaps and duplicates", IBV_QPT_RC, {
		ASK(WRITE_ONLY, 1, 8, 8), ASK(WRITE_ONLY, 2, 8, 8), ASK(WRITE_ONLY, 0, 8, 8),
		ASK(WRITE_ONLY, 0, 8, 8), ASK(WRITE_ONLY, 2, 8, 8), ASK(WRITE_ONLY, 1, 8, 8),
		ASK(WRITE_ONLY, -3, 8, 8) } },
	{ "reads, and again", IBV_QPT_RC, {
		ASK_AT(READ_REQUEST, 0, 0, 2 * MTU + 8, 16), ASK(READ_REQUEST, 3, 0, 0),
		ASK_AT(READ_REQUEST, 1, 0, MTU + 8, 16 + MTU), ASK(READ_REQUEST, 3, 0, 0),
		ASK(READ_REQUEST, 3, 0, MTU + 1), ASK(WRITE_ONLY, 4, 8, 8) } },
	{ "atomics, and again", IBV_QPT_RC, {
		ASK_AT(FETCH_ADD, 0, 0, 3, 8), ASK_AT(COMPARE_SWAP, 1, 0, 3, 8),
		ASK_AT(COMPARE_SWAP, 2, 0, 3, 8), ASK_AT(FETCH_ADD, 0, 0, 3, 8),
		ASK_AT(COMPARE_SWAP, 2, 0, 9, 8), ASK_AT(FETCH_ADD, -1, 0, 9, 8) } },
	{ "a failed queue pair answers nothing", IBV_QPT_RC, {
		RECV(8), ASK(READ_REQUEST, 0, 4, 8), ASK(WRITE_ONLY, 0, 8, 8),
		SENDS(SEND, 4, S) } },
	{ "unreliable requests", IBV_QPT_UC, {
		SENDS(SEND, MTU + 1, S), SENDS(RDMA_WRITE_WITH_IMM, 8, S),
		SENDS(RDMA_WRITE, 2 * MTU, 0),
		SENDS_AT(SEND, 4, 1), SENDS(SEND, 4, S) } },
	{ "unreliable messages", IBV_QPT_UC, {
		RECV(2 * MTU), RECV(2 * MTU), ASK_UC(SEND_FIRST, 0, MTU, 0),
		ASK_UC(SEND_LAST, 2, 4, 0),
		ASK_UC(SEND_FIRST, 3, MTU, 0), ASK_UC(SEND_LAST_IMM, 4, 4, 0),
		ASK_UC(SEND_ONLY, 9, 8, 0),
		ASK_UC(SEND_ONLY, 10, 8, 0), ASK_UC(WRITE_FIRST, 11, MTU, MTU + 4),
		ASK_UC(WRITE_LAST, 12, 4, 0), ASK_UC(WRITE_ONLY, 13, 8, 4),
		ASK_UC(WRITE_ONLY, 14, 8, 8) } },
	{ "datagrams", IBV_QPT_UD, {
		SENDS(SEND, 5, S), SENDS(SEND_WITH_IMM, MTU, IBV_SEND_SOLICITED),
		SENDS_AT(SEND, 4, 1),
		RECV(MTU), RECV(MTU), ASK_UD(SEND_ONLY, 3, 5, QKEY),
		ASK_UD(SEND_ONLY_IMM, 0, 0, QKEY),
		ASK_UD(SEND_ONLY, 1, 5, QKEY), RECV(44), ASK_UD(SEND_ONLY, 1, 5, QKEY),
		ASK_UD(SEND_ONLY, 2, 4, QKEY) } },
	{ "an unreliable message that is too long", IBV_QPT_UC, {
		RECV(MTU), ASK_UC(SEND_FIRST, 0, MTU, 0), ASK_UC(SEND_LAST, 1, 4, 0),
		ASK_UC(SEND_ONLY, 2, 8, 0) } },
};
/* clang-format on */

static struct text out;
static struct ibv_ah *ah;
static struct ibv_mr *long_mr; /* for what is longer than end.mr */

static void show_number(const char *name, uint64_t value)
{
	uint64_t from = (uintptr_t)end.buf;

	if (!strcmp(name, "psn"))
		text_addf(&out, " psn %d", psn_diff((uint32_t)value, PSN));
	else if (value >= from && value < from + 64 * PART)
		text_addf(&out, " %s +%" PRIu64, name, value - from);
	else if (!strcmp(name, "rkey") && value == end.mr->rkey)
		text_addf(&out, " %s key", name);
	else if (value)
		text_addf(&out, " %s %" PRIx64, name, value);
}

static void show_header(const struct header *h)
{
	unsigned int has = opcode_headers(h->bth.opcode);

#define SHOW_FIELD(bits, name) show_number(#name, part->name);
#define SHOW_HEADER(upper, lower, size)                   \
	if (has & OPCODE_##upper) {                       \
		const typeof(h->lower) *part = &h->lower; \
                                                          \
		text_addf(&out, "; " #lower);             \
		HEADER_##upper(SHOW_FIELD)                \
	}
	{
		const typeof(h->bth) *part = &h->bth;

		HEADER_BTH(SHOW_FIELD)
	}
	HEADERS(SHOW_HEADER)
}

static void show_packets(void)
{
	uint8_t payload[PACKET];
	struct header h;
	int n;

	while ((n = take_packet(&h, payload)) != -1) {
		text_addf(&out, "\t\tpacket");
		if (n < 0)
			text_addf(&out, " unknown");
		else
			show_header(&h);
		text_addf(&out, "; %d bytes, sum %x%s\n", n < 0 ? 0 : n, packet_sum,
			  packet_is_sound ? "" : ", wrong ICRC");
	}
}

static void show_completion(const struct ibv_wc *wc)
{
	text_addf(&out, "\t\tcompletion %" PRIu64 " status %d", wc->wr_id, wc->status);
	if (!wc->status)
		text_addf(&out, " opcode %d byte_len %u src_qp %x flags %u imm %x", wc->opcode,
			  wc->byte_len, wc->src_qp, wc->wc_flags,
			  wc->wc_flags & IBV_WC_WITH_IMM ? ntohl(wc->imm_data) : 0);
	text_addf(&out, "\n");
}

static void post_request(const struct step *step, int i)
{
	const struct ibv_mr *mr = step->length > PART ? long_mr : end.mr;
	struct ibv_sge sge = { (uintptr_t)mr->addr, step->length, mr->lkey + step->offset };
	struct ibv_send_wr wr = { .wr_id = (unsigned int)i,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = (enum ibv_wr_opcode)step->opcode,
				  .send_flags = step->extra,
				  .imm_data = htonl(0xabcd) },
			   *bad;

	wr.wr.rdma.remote_addr = 0x123456;
	wr.wr.rdma.rkey = 0x789;
	if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = 0x1000;
		wr.wr.atomic.rkey = 0x789;
		wr.wr.atomic.compare_add = 17;
		wr.wr.atomic.swap = 18;
	} else if (end.qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = 0x654;
		wr.wr.ud.remote_qkey = 0x80000001;
	}
	text_addf(&out, " returns %d\n", ibv_post_send(end.qp, &wr, &bad));
}

/* An answer or a request of the stranger. */
static void tell_device(const struct step *step)
{
	struct header h = header_of((uint8_t)step->opcode, psn_add(PSN, step->psn));

	h.reth.addr = h.atomic.addr = (uintptr_t)end.buf + step->offset;
	h.reth.rkey = h.atomic.rkey = h.ieth.rkey = end.mr->rkey;
	h.reth.length = step->extra;
	h.atomic.swap_add = step->extra;
	h.atomic.compare = 3;
	h.immdt.imm = 0x5678;
	h.deth.qkey = step->extra;
	h.deth.src_qp = 0x4321;
	h.aeth.syndrome = step->extra & 255;
	h.atomic_ack.original = 99;
	text_addf(&out, " psn %d\n", step->psn);
	send_as_peer(&h, bytes, step->length);
}

static void await_packet(void)
{
	struct pollfd ready = { .fd = peer, .events = POLLIN };

	text_addf(&out, "\n");
	assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
}

static void take_step(const struct step *step, int i)
{
	struct ibv_qp_attr attr = { .qp_state = (enum ibv_qp_state)step->opcode };

	text_addf(&out, "\t%s", step->name);
	if (step->length)
		text_addf(&out, " of %u", step->length);
	if (step->kind == POST) {
		post_request(step, i);
	} else if (step->kind == TELL) {
		tell_device(step);
	} else if (step->kind == AWAIT) {
		await_packet();
	} else if (step->kind == MODIFY) {
		text_addf(&out, " returns %d\n", ibv_modify_qp(end.qp, &attr, IBV_QP_STATE));
	} else {
		text_addf(&out, "\n");
		post_recv_on(end.qp, 8, step->length);
	}
}

static void show_memory(void)
{
	text_addf(&out, "\tstate %d memory %x\n", qp_state(), sum_bytes(end.buf, PART));
}

static void hold_conversation(const struct conversation *c)
{
	struct ibv_qp *was = end.qp;
	struct header h;

	end.qp = make_qp_of(&end, c->type, NULL);
	for (int i = 0; i < PART; i++)
		end.buf[i] = (uint8_t)(i * 7 + i / 256);
	connect_qp(end.qp);
	wait_until_taken();
	while (take_answer(&h))
		;
	text_addf(&out, "%s\n", c->name);
	for (int i = 0; i < STEPS && c->steps[i].kind; i++) {
		take_step(&c->steps[i], i);
		wait_until_taken();
		if (i + 1 == STEPS || c->steps[i + 1].kind != AWAIT)
			show_packets();
	}
	show_memory();
	assert_int_equal(ibv_destroy_qp(end.qp), 0);
	end.qp = was;
}

static void hold_conversations(size_t n)
{
	static uint8_t long_buf[64 * MTU];
	struct ibv_ah_attr path = path_to("::ffff:127.0.0.2");

	settings.timeout = 0;
	settings.retry_cnt = settings.rnr_retry = 1;
	meet_completion = show_completion;
	for (size_t i = 0; i < sizeof(long_buf); i++)
		long_buf[i] = (uint8_t)(i * 5 + i / MTU);
	ah = ibv_create_ah(end.pd, &path);
	long_mr = ibv_reg_mr(end.pd, long_buf, sizeof(long_buf), IBV_ACCESS_LOCAL_WRITE);
	for (size_t i = 0; i < n; i++)
		hold_conversation(&conversations[i]);
	assert_int_equal(ibv_dereg_mr(long_mr), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

/* This program again, with a link that loses and changes packets. */
static void show_impaired(const char *model)
{
	char *const argv[] = { "conversation_test", "impaired", NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], status;
	char text[4096];
	ssize_t n;
	pid_t pid;

	text_addf(&out, "\n%s\n", model);
	setenv(LINK_ENV, model, 1);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	while ((n = read(ends[0], text, sizeof(text))) > 0)
		text_add(&out, text, (size_t)n);
	close(ends[0]);
	unsetenv(LINK_ENV);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

TEST(conversations_are_as_they_were)
{
	NEEDS_NETWORK();
	hold_conversations(sizeof(conversations) / sizeof(*conversations));
	show_impaired("loss=20% seed=3");
	show_impaired("duplicate=30% seed=4");
	show_impaired("corrupt=30% seed=5");
	transcript_expect(__FILE__, &out);
}

int main(int argc, char **argv)
{
	if (argc != 2 || strcmp(argv[1], "impaired"))
		return test_run(argv);
	open_device(NULL);
	hold_conversations(IMPAIRED);
	fwrite(out.at, 1, out.used, stdout);
	return close_device(NULL);
}
