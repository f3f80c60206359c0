/*
 * replay/synth/synth_message.c: messages of the other end, and when they are sent
 *
 * QP is connected to such an end, UD has one for number 5, XRC an exclusive one. What is posted is
 * written into a log.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "replay/device/dispatch.h"
#include "replay/process/process.h"
#include "replay/state/translate.h"
#include "replay/synth/synth_priv.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { QP = 1, UD, XRC, CQ, SRQ, MR, SHORT_MR, OTHER, NOBJECTS, LONGEST = 64 };

static char log_text[1024];
static char buffer[2 * LONGEST];
static struct replay replay;
static struct replay_options options;
static struct synthesized far;
static struct synth_plan plan_list[4], *plans[NOBJECTS];
static struct replica replicas[NOBJECTS];
static struct replica_qp queue_pair;
static struct request requests[2];
static struct synth_host host;
static struct synth_end end, datagram_end;
static struct ibv_context context;
static struct ibv_qp qp, number_qp;
static struct ibv_mr buffer_mr = { .lkey = 0x11 }, mr, short_mr;
static struct ibv_ah ah;
static struct ibv_send_wr sent;
static struct ibv_sge sent_sge;
static int post_result, payload_result, dispatch_result;
static unsigned int nfull, ndrained, nwaits;
static struct payload payload;
static struct synth_early early[3];
static struct synth_due dues[4];
static struct synth_dues due_list;
static struct synth_break breaks[2];
static bool is_async;
static struct wc wcs[4];
static struct poll poll;
static struct trace_event event;

static void __attribute__((format(printf, 1, 2))) log_line(const char *format, ...)
{
	size_t used = strlen(log_text);
	va_list args;

	if (used)
		used += (size_t)snprintf(log_text + used, sizeof(log_text) - used, "; ");
	va_start(args, format);
	vsnprintf(log_text + used, sizeof(log_text) - used, format, args);
	va_end(args);
}

static void expect_log(const char *expected)
{
	assert_string_equal(log_text, expected);
	*log_text = 0;
}

struct synth_end *synth_datagram_end(struct replay *r, struct synth_plan *of, uint32_t qpn)
{
	(void)r;
	assert_ptr_equal(of, plans[UD]);
	return qpn == 5 ? &datagram_end : NULL;
}

void synth_drain(struct synth_end *of)
{
	assert_true(of == &end || of == &datagram_end);
	ndrained++;
}

int64_t synth_now(void)
{
	return 100;
}

/* One of the sends under way ends. */
bool synth_wait(int64_t deadline)
{
	assert_int_equal(deadline, 125);
	nwaits++;
	end.unsent -= end.unsent > 0;
	return nwaits < 4;
}

uint32_t translate_rkey(struct replay *r, uint32_t process, uint32_t key)
{
	(void)r;
	return process == 3 ? key + 0x1000 : 0;
}

int64_t dispatch_call(enum verb verb, const uint64_t *args)
{
	assert_int_equal(verb, VERB_get_srq_num);
	assert_ptr_equal((void *)(uintptr_t)args[0], &post_result);
	*(uint32_t *)(uintptr_t)args[1] = 77;
	return dispatch_result;
}

bool process_has_async_event(struct ibv_context *of)
{
	assert_ptr_equal(of, &context);
	return is_async;
}

int trace_payload(struct trace *trace, struct event_id id, uint32_t i, struct payload *ret_payload)
{
	(void)trace;
	assert_int_equal(id.n, 7);
	assert_int_equal(i, 0);
	*ret_payload = payload;
	return payload_result;
}

static const char *flags_of(const struct ibv_send_wr *wr)
{
	assert_int_equal(wr->send_flags & ~IBV_SEND_SOLICITED, 0);
	return wr->send_flags ? " solicited" : "";
}

static int post_send(struct ibv_qp *of, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	static const char *const names[] = {
		[IBV_WR_RDMA_WRITE] = "write",
		[IBV_WR_RDMA_WRITE_WITH_IMM] = "write_imm",
		[IBV_WR_SEND] = "send",
		[IBV_WR_SEND_WITH_IMM] = "send_imm",
		[IBV_WR_RDMA_READ] = "read",
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = "add",
		[IBV_WR_SEND_WITH_INV] = "send_inv",
	};

	(void)bad;
	assert_true(of == &qp || of == &number_qp);
	assert_int_equal(wr->wr_id, 1);
	sent = *wr;
	sent_sge = *wr->sg_list;
	log_line("%s %u%s", names[wr->opcode], wr->num_sge ? wr->sg_list->length : 0, flags_of(wr));
	if (nfull) {
		nfull--;
		return ENOMEM;
	}
	return post_result;
}

static int begin_messages(void **state)
{
	static uint32_t made[] = { QP, MR, SHORT_MR };
	static const enum ibv_qp_type types[] = { 0, IBV_QPT_RC, IBV_QPT_UD, IBV_QPT_XRC_RECV };

	(void)state;
	*log_text = 0;
	nobjects = 0;
	post_result = payload_result = dispatch_result = 0;
	nfull = ndrained = nwaits = 0;
	is_async = false;
	memset(replicas, 0, sizeof(replicas));
	memset(wcs, 0, sizeof(wcs));
	memset(early, 0, sizeof(early));
	memset(dues, 0, sizeof(dues));
	memset(breaks, 0, sizeof(breaks));
	due_list = (struct synth_dues){ 0 };
	memset(buffer, 0, sizeof(buffer));
	for (uint32_t i = QP; i < NOBJECTS; i++)
		add_object(i >= MR && i <= SHORT_MR ? OBJECT_mr : OBJECT_qp, 3, 0)->parent = 50;
	for (uint32_t i = QP; i <= XRC; i++) {
		plan_list[i] = (struct synth_plan){
			.object = i, .process = 3, .type = types[i], .needed = true
		};
		plans[i] = &plan_list[i];
		replicas[i].number = 90 + i;
		replicas[i].qp = &queue_pair;
		replicas[i].handle = &qp;
	}
	queue_pair = (struct replica_qp){ 0 };
	mr = (struct ibv_mr){ .addr = buffer, .length = 32, .rkey = 0x22 };
	short_mr = (struct ibv_mr){ .addr = buffer + 1, .length = 8, .rkey = 0x23 };
	replicas[MR].handle = &mr;
	replicas[SHORT_MR].handle = &short_mr;
	replicas[SRQ].handle = &post_result;
	context.ops.post_send = post_send;
	qp = number_qp = (struct ibv_qp){ .context = &context };
	host = (struct synth_host){ .buffer = buffer, .longest = LONGEST, .buffer_mr = &buffer_mr };
	end = (struct synth_end){ .host = &host, .qp = &qp };
	datagram_end = (struct synth_end){ .host = &host, .qp = &number_qp, .ah = &ah };
	plan_list[QP].ends = plan_list[XRC].ends = &end;
	plan_list[UD].qkey = 0x44;
	options = (struct replay_options){ .timeout = 25 };
	far = (struct synthesized){ .plans = plans,
				    .early = early,
				    .dues = dues,
				    .due_lists = &due_list,
				    .breaks = breaks };
	replay = (struct replay){ .options = &options,
				  .far = &far,
				  .replicas = replicas,
				  .nreplicas = NOBJECTS,
				  .made = made,
				  .nmade = 3 };
	poll = (struct poll){ .nwc = 1, .wc = wcs, .object = CQ };
	event = (struct trace_event){ .kind = TRACE_POLL, .id = { 1, 7 }, .poll = &poll };
	wcs[0] = (struct wc){ .qp = QP, .opcode = IBV_WC_RECV, .byte_len = 10 };
	return 0;
}

static int end_messages(void **state)
{
	(void)state;
	map_fini(&far.taken);
	map_fini(&far.early_of);
	map_fini(&far.due_at);
	map_fini(&far.access);
	map_fini(&far.exclusives);
	return 0;
}

FIXTURE(begin_messages, end_messages);

static void expect_poll(const char *expected)
{
	assert_int_equal(synth_before_poll(&replay, &event), 0);
	expect_log(expected);
}

TEST(a_received_message_is_sent)
{
	(void)state;
	expect_poll("send 10");
	assert_int_equal(ndrained, 1);
	assert_int_equal(sent_sge.addr, (uintptr_t)buffer);
	assert_int_equal(sent_sge.lkey, 0x11);
	assert_int_equal(end.unsent, 1);
	assert_int_equal(host.messages, 1);
	assert_int_equal(host.placed, 0);
	wcs[0].byte_len = 0;
	expect_poll("send 0");
	wcs[0].byte_len = LONGEST;
	expect_poll("send 64");
	wcs[0].byte_len = LONGEST + 1; /* no receive was as long */
	expect_poll("");
	assert_int_equal(host.messages, 3);
}

TEST(each_completion_of_a_poll_is_a_message)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		wcs[i] = (struct wc){ .qp = QP, .opcode = IBV_WC_RECV, .byte_len = 1u + i };
	wcs[1].opcode = IBV_WC_SEND;
	wcs[2].qp = OTHER; /* the other end of this queue pair is in the trace */
	poll.nwc = 4;
	expect_poll("send 1; send 4");
	post_result = EINVAL;
	assert_int_equal(synth_before_poll(&replay, &event), -EINVAL);
	expect_log("send 1");
}

TEST(immediate_data_and_keys_go_with_it)
{
	(void)state;
	wcs[0].wc_flags = IBV_WC_WITH_IMM;
	wcs[0].imm = 0x01020304;
	expect_poll("send_imm 10");
	assert_int_equal(sent.imm_data, htonl(0x01020304));
	wcs[0].wc_flags = IBV_WC_WITH_INV;
	wcs[0].imm = 0x55;
	expect_poll("send_inv 10");
	assert_int_equal(sent.invalidate_rkey, 0x1055);
}

static void expect_target(uint64_t addr, uint32_t rkey)
{
	expect_poll("write_imm 10");
	assert_int_equal(sent.wr.rdma.remote_addr, addr);
	assert_int_equal(sent.wr.rdma.rkey, rkey);
}

TEST(a_write_goes_into_a_region_that_allows_it)
{
	(void)state;
	wcs[0].opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	wcs[0].wc_flags = IBV_WC_WITH_IMM;
	expect_target(0, 0);
	map_put(&far.access, SHORT_MR, IBV_ACCESS_REMOTE_WRITE);
	expect_target(0, 0);
	map_put(&far.access, MR, IBV_ACCESS_REMOTE_READ);
	expect_target(0, 0);
	map_put(&far.access, MR, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE);
	expect_target((uintptr_t)buffer, 0x22);
	mr.length = 10;
	expect_target((uintptr_t)buffer, 0x22);
	mr.length = 9;
	expect_target(0, 0);
	mr.length = 32;
	objects[MR].process = 4;
	expect_target(0, 0);
	objects[MR].process = 3;
	objects[MR].parent = 51;
	expect_target(0, 0);
	objects[MR].parent = 50;
	replicas[MR].handle = NULL;
	expect_target(0, 0);
	assert_int_equal(host.placed, 9);
	wcs[0].byte_len = 0;
	expect_poll("write_imm 0");
	assert_int_equal(host.placed, 9);
}

TEST(a_datagram_comes_from_its_number)
{
	(void)state;
	wcs[0].qp = UD;
	wcs[0].src_qp = 5;
	wcs[0].byte_len = 48; /* with the header of 40 */
	expect_poll("send 8");
	assert_ptr_equal(sent.wr.ud.ah, &ah);
	assert_int_equal(sent.wr.ud.remote_qpn, 92);
	assert_int_equal(sent.wr.ud.remote_qkey, 0x44);
	wcs[0].byte_len = 39;
	expect_poll("send 0");
	wcs[0].src_qp = 6; /* the sender is in the trace */
	expect_poll("");
}

TEST(an_exclusive_message_is_for_the_queue_of_its_completions)
{
	(void)state;
	wcs[0].qp = XRC;
	expect_poll("send 10");
	assert_int_equal(sent.qp_type.xrc.remote_srqn, 0);
	map_put(&far.exclusives, CQ, SRQ);
	expect_poll("send 10");
	assert_int_equal(sent.qp_type.xrc.remote_srqn, 77);
	dispatch_result = -1;
	expect_poll("send 10");
	assert_int_equal(sent.qp_type.xrc.remote_srqn, 0);
	map_put(&far.exclusives, CQ, NOBJECTS);
	expect_poll("send 10");
	assert_int_equal(sent.qp_type.xrc.remote_srqn, 0);
}

TEST(recorded_bytes_are_sent)
{
	static struct contents *const contents = (struct contents *)(void *)&payload;

	(void)state;
	payload = (struct payload){ .bytes = "..abcdef", .nbytes = 8, .before = 2 };
	payload_result = 1;
	expect_poll("send 10"); /* the replay does not compare them */
	assert_string_equal(buffer, "");
	replay.contents = contents;
	end.unsent = 1;
	expect_poll("send 10");
	assert_string_equal(buffer, "abcdef");
	assert_int_equal(nwaits, 2); /* the buffer is used again */
	wcs[0].byte_len = 3;
	payload.bytes = "..ABCDEF";
	expect_poll("send 3");
	assert_string_equal(buffer, "ABCdef");
	payload.before = 9;
	expect_poll("send 3");
	payload_result = 0;
	payload.before = 0;
	expect_poll("send 3");
	payload_result = -EIO;
	assert_int_equal(synth_before_poll(&replay, &event), -EIO);
	expect_log("");
	assert_string_equal(buffer, "ABCdef");
}

TEST(a_full_queue_is_waited_for)
{
	(void)state;
	nfull = 1;
	end.unsent = 3;
	expect_poll("send 10; send 10");
	assert_int_equal(nwaits, 3);
	assert_int_equal(end.unsent, 1);
	nfull = 2;
	assert_int_equal(synth_before_poll(&replay, &event), -ENOMEM);
	expect_log("send 10; send 10");
	end.unsent = 3;
	nwaits = 2;
	nfull = 1;
	expect_poll("send 10; send 10"); /* after its time, too */
	assert_int_equal(nwaits, 4);
}

TEST(a_dead_end_sends_nothing)
{
	(void)state;
	end.dead = true;
	expect_poll("");
	plan_list[QP].ends = NULL;
	expect_poll("");
}

static void expect_error(enum ibv_wc_status status, const char *expected)
{
	wcs[0].status = status;
	map_put(&far.taken, event_part_key(event.id, 0), 1);
	expect_poll(expected);
}

TEST(an_error_has_a_message_that_causes_it)
{
	(void)state;
	wcs[0].status = IBV_WC_WR_FLUSH_ERR;
	expect_poll(""); /* no cause is known */
	wcs[0].wc_flags = IBV_WC_WITH_IMM;
	wcs[0].opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	expect_error(IBV_WC_LOC_PROT_ERR, "send 1");
	expect_error(IBV_WC_LOC_LEN_ERR, "send 1"); /* its request is not known */
	replicas[QP].qp = NULL;
	expect_error(IBV_WC_LOC_LEN_ERR, "");
}

TEST(a_message_that_was_too_long_is_longer_than_its_receive)
{
	struct requests *out = &queue_pair.out[SIDE_RECV];

	(void)state;
	*out = (struct requests){ .cells = requests, .size = 2, .head = 3, .tail = 5 };
	requests[0] = (struct request){ .event = { 1, 4 }, .length = 30 }; /* number 4 */
	requests[1] = (struct request){ .event = { 1, 3 }, .length = 20 }; /* number 3 */
	wcs[0].request = (struct event_id){ 1, 4 };
	expect_error(IBV_WC_LOC_LEN_ERR, "send 31");
	wcs[0].request = (struct event_id){ 1, 3 };
	expect_error(IBV_WC_LOC_LEN_ERR, "send 21");
	requests[1].done = true;
	expect_error(IBV_WC_LOC_LEN_ERR, "send 1");
	wcs[0].request = (struct event_id){ 1, 5 };
	expect_error(IBV_WC_LOC_LEN_ERR, "send 1");
}

static void expect_due(const char *expected)
{
	assert_int_equal(synth_before_due(&replay, &event), 0);
	expect_log(expected);
}

/* Before the event: @n messages, then the failure breaks[0], if @fails. */
static void list_due(uint32_t n, bool fails)
{
	for (uint32_t i = 0; i < n; i++)
		dues[i] = (struct synth_due){ .message = i + 1, .next = i + 2 };
	dues[n] = (struct synth_due){ .cause = 1 };
	if (!fails && n)
		dues[n - 1].next = 0;
	due_list.first = n || fails ? 1 : 0;
	map_put(&far.due_at, event_key(event.id), 1);
}

TEST(a_queue_pair_fails_by_what_it_refuses)
{
	(void)state;
	breaks[0].qp = QP;
	list_due(0, true);
	expect_due("read 8");
	assert_int_equal(sent.wr.rdma.rkey, 0);
	assert_int_equal(sent.wr.rdma.remote_addr, 4);
	assert_int_equal(sent_sge.addr, (uintptr_t)buffer + LONGEST);
	assert_int_equal(nwaits, 1);
	assert_true(end.dead);
	expect_due("");
	end.dead = end.stuck = false;
	plan_list[QP].access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	expect_due("write 8");
	end.dead = end.stuck = false;
	plan_list[QP].breaks = IBV_EVENT_QP_REQ_ERR;
	expect_due("add 8");
	assert_int_equal(sent.wr.atomic.remote_addr, 4);
	end.dead = end.stuck = false;
	post_result = EINVAL;
	assert_int_equal(synth_before_due(&replay, &event), -EINVAL);
	expect_log("add 8");
	assert_false(end.dead);
	breaks[0].needless = true; /* it fails by itself */
	expect_due("");
}

static void announce_all(void)
{
	for (uint32_t i = 0; i < 3; i++)
		early[i] = (struct synth_early){
			.qp = QP, .length = 10 + i, .poll = { 1, 7 }, .solicited = i == 1
		};
	list_due(3, false);
	map_put(&far.early_of, event_part_key(event.id, 0), 1);
}

TEST(messages_come_before_the_failure_that_follows_them)
{
	(void)state;
	announce_all();
	breaks[0].qp = QP;
	list_due(3, true);
	early[1].sent = true;
	expect_due("send 10; send 12; read 8");
}

TEST(a_failure_comes_after_all_events_before_it)
{
	(void)state;
	assert_false(synth_needs_all_before(&replay, event.id));
	announce_all();
	assert_false(synth_needs_all_before(&replay, event.id));
	dues[1].awaited = true;
	assert_true(synth_needs_all_before(&replay, event.id));
	dues[1].awaited = false;
	list_due(3, true);
	assert_true(synth_needs_all_before(&replay, event.id));
	replay.far = NULL;
	assert_false(synth_needs_all_before(&replay, event.id));
	replay.far = &far;
}

TEST(a_failure_may_be_that_of_a_message)
{
	(void)state;
	announce_all();
	early[2].status = IBV_WC_LOC_PROT_ERR;
	breaks[0] = (struct synth_break){ .qp = QP, .message = 3 };
	list_due(2, true);
	expect_due("send 10; send 11 solicited; send 1");
	assert_true(early[2].sent);
}

TEST(messages_that_must_have_arrived_are_awaited)
{
	(void)state;
	announce_all();
	dues[0].awaited = dues[1].awaited = true;
	expect_due("send 10; send 11 solicited; send 12");
	assert_int_equal(nwaits, 3);
	assert_false(end.stuck);
	early[0].sent = early[1].sent = false;
	expect_due("send 10; send 11 solicited");
	assert_int_equal(nwaits, 4);
	assert_true(end.stuck); /* in vain: and not again */
	early[0].sent = early[1].sent = false;
	expect_due("send 10; send 11 solicited");
	assert_int_equal(nwaits, 4);
}

TEST(announced_messages_are_sent_before_the_event)
{
	(void)state;
	announce_all();
	early[2].flags = IBV_WC_WITH_IMM;
	early[2].imm = 9;
	early[2].write = true;
	expect_due("send 10; send 11 solicited; write_imm 12");
	assert_int_equal(sent.imm_data, htonl(9));
	expect_due("");
	expect_poll(""); /* before the poll nothing is sent either */
}

TEST(a_message_that_was_polled_is_not_announced)
{
	(void)state;
	announce_all();
	expect_poll("send 10");
	assert_true(early[0].sent);
	expect_due("send 11 solicited; send 12");
}

TEST(announced_datagrams_are_without_their_header)
{
	(void)state;
	announce_all();
	early[0].qp = early[1].qp = early[2].qp = UD;
	early[0].src_qp = early[2].src_qp = 5;
	early[0].length = 39;
	early[2].length = 41;
	expect_due("send 0; send 1");
	assert_false(early[1].sent);
}

TEST(messages_are_sent_until_the_limit_is_reached)
{
	(void)state;
	announce_all();
	dues[1].limit = true;
	is_async = true;
	expect_due("send 10");
	assert_false(early[1].sent);
	is_async = false;
	expect_due("send 11 solicited; send 12");
	early[1].sent = false;
	is_async = true;
	replicas[QP].handle = NULL; /* a destroyed queue pair has no events */
	expect_due("send 11 solicited");
}

TEST(the_first_error_ends_the_announced_messages)
{
	(void)state;
	announce_all();
	post_result = EINVAL;
	assert_int_equal(synth_before_due(&replay, &event), -EINVAL);
	expect_log("send 10");
}

TEST(an_event_may_tell_of_a_queue_pair_that_failed)
{
	(void)state;
	expect_due("");
	breaks[0].qp = QP;
	list_due(0, true);
	expect_due("read 8");
	breaks[0].qp = OTHER;
	expect_due("");
}
