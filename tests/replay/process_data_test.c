/*
 * replay/process/process_data.c and process_event.c: the command that each function of verbs.h
 * sends about a copy, and what it makes of the answer
 *
 * Copies are of objects at ORIGINAL + n in process 1; the test answers the commands.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/text.h"
#include "replay/device/dispatch.h"
#include "replay/process/process.h"
#include "replay/process/process_data.h"
#include "replay/process/process_priv.h"
#include "tests/test.h"

enum { PROCESS = 1, ROOM = 16384, ORIGINAL = 0x1000, MOST = 4 };

#define W(pointer) ((uint64_t)(uintptr_t)(pointer))

static struct mirrors *mirrors;
static _Alignas(16) char room[ROOM];
static struct channel channel = { .room = room, .size = ROOM };
static struct mirror *locked; /* the mirror whose channel is in use */
static struct text said;
static bool lost, are_used;
static int64_t ret;
static uint64_t refused; /* args[2] of the answer */
static char mapped[16];  /* memory that all processes share */
static struct ibv_wc completions[40];

static struct ibv_context *context;
static struct ibv_qp *qp, *ud;
static struct ibv_srq *srq;
static struct ibv_wq *wq;
static struct ibv_cq *cq;
static struct ibv_cq_ex *cq_ex;
static struct ibv_mw *mw;
static struct ibv_mr *mr;
static struct ibv_ah *ah;
static struct ibv_comp_channel *comp;
static uint64_t nobjects;

/* Requests as they are sent */

static bool is_in_room(const void *at)
{
	return (const char *)at >= room + ROOM / 2 && (const char *)at < room + ROOM;
}

static void print_sges(const struct ibv_sge *sges, int n)
{
	for (int i = 0; i < n; i++) {
		const char *at = (const char *)(uintptr_t)sges[i].addr;

		assert_true(is_in_room(&sges[i]));
		text_addf(&said, " [%u %u ", sges[i].length, sges[i].lkey);
		if (is_in_room(at))
			text_addf(&said, "%.*s]", (int)sges[i].length, at);
		else
			text_addf(&said, "%s]", at == mapped ? "mapped" : "address");
	}
}

static void print_sends(const struct ibv_send_wr *wr)
{
	for (; wr; wr = wr->next) {
		assert_true(is_in_room(wr));
		text_addf(&said, " %llu", (unsigned long long)wr->wr_id);
		print_sges(wr->sg_list, wr->num_sge);
		if (wr->opcode == IBV_WR_BIND_MW)
			text_addf(&said, " mw %d mr %d", (int)(W(wr->bind_mw.mw) - ORIGINAL),
				  (int)(W(wr->bind_mw.bind_info.mr) - ORIGINAL));
		else if (wr->wr.ud.ah)
			text_addf(&said, " ah %d", (int)(W(wr->wr.ud.ah) - ORIGINAL));
	}
}

static void print_receives(const struct ibv_recv_wr *wr)
{
	for (; wr; wr = wr->next) {
		assert_true(is_in_room(wr));
		text_addf(&said, " %llu", (unsigned long long)wr->wr_id);
		print_sges(wr->sg_list, wr->num_sge);
	}
}

static const struct ibv_async_event *print_event(uint64_t at)
{
	const struct ibv_async_event *event = (void *)(uintptr_t)at;

	assert_true(is_in_room(event));
	text_addf(&said, " %d of %d", event->event_type,
		  W(event->element.qp) >= ORIGINAL ? (int)(W(event->element.qp) - ORIGINAL)
						   : event->element.port_num - 100);
	return event;
}

/* Answers */

static void answer_completions(struct channel *c)
{
	assert_true(is_in_room((void *)(uintptr_t)c->args[2]));
	text_addf(&said, " most %d", (int)c->args[1]);
	if (c->ret > 0)
		memcpy((void *)(uintptr_t)c->args[2], completions,
		       (size_t)c->ret * sizeof(*completions));
}

static void answer_iteration(struct channel *c)
{
	struct process_wc *to = (void *)(uintptr_t)c->args[2];

	assert_true(is_in_room(to));
	text_addf(&said, " most %d", (int)c->args[1]);
	for (int i = 0; i < c->ret; i++)
		to[i] = (struct process_wc){ completions[i], 90 + (uint32_t)i };
	refused = 0;
}

static void answer_event(struct channel *c)
{
	struct ibv_async_event *event = (void *)(uintptr_t)c->args[1];

	assert_true(is_in_room(event));
	event->event_type = (enum ibv_event_type)refused;
	event->element.qp = (void *)(uintptr_t)(ORIGINAL + 1);
}

static int answer_command(struct channel *c, enum process_command command)
{
	assert_ptr_equal(c, &channel);
	assert_non_null(locked);
	text_addf(&said, "command %d of %d:", command, (int)(c->args[0] - ORIGINAL));
	if (lost)
		return -ESRCH;
	c->ret = ret;
	if (command == PROCESS_POST_SEND || (command == PROCESS_BUILD && c->args[2]))
		print_sends((void *)(uintptr_t)c->args[1]);
	else if (command == PROCESS_POST_RECV)
		print_receives((void *)(uintptr_t)c->args[1]);
	else if (command == PROCESS_POLL)
		answer_completions(c);
	else if (command == PROCESS_ITERATE)
		answer_iteration(c);
	else if (command == PROCESS_ASYNC)
		answer_event(c);
	else if (command == PROCESS_RAISE)
		print_event(c->args[1]);
	else if (command != PROCESS_BUILD)
		text_addf(&said, " %d", (int)c->args[1]);
	if (command == PROCESS_BUILD)
		text_addf(&said, " (%d, %d)", (int)c->args[2], (int)c->args[4]);
	if (command == PROCESS_POST_SEND || command == PROCESS_POST_RECV)
		c->args[2] = refused;
	if (command == PROCESS_CQ_EVENT) {
		c->args[1] = ORIGINAL + 5;
		c->args[2] = 77;
	}
	return 0;
}

static int answer_ack(struct channel *c, enum process_command command)
{
	assert_int_equal(command, PROCESS_ACK_ASYNC);
	assert_ptr_equal(c, &channel);
	print_event(c->args[0]);
	return 0;
}

static struct channel *lock_channel(const struct mirror *mirror)
{
	assert_null(locked);
	locked = (struct mirror *)mirror;
	memset(channel.args, 0, sizeof(channel.args));
	return &channel;
}

static void unlock_channel(struct channel *c)
{
	assert_ptr_equal(c, &channel);
	assert_non_null(locked);
	locked = NULL;
}

static bool is_mapped(uint64_t address)
{
	return address == W(mapped);
}

static bool owns_object(const struct channel *c, const struct mirror *mirror)
{
	assert_ptr_equal(c, &channel);
	return mirror_has(mirrors, PROCESS, mirror);
}

static const struct process_data_callbacks doors = { lock_channel, answer_command, unlock_channel,
						     is_mapped, owns_object };
static const struct process_data_callbacks ack_doors = { lock_channel, answer_ack, unlock_channel,
							 is_mapped, owns_object };

/* What the modules call besides */

void *process_object(const struct channel *c, uint64_t real)
{
	assert_ptr_equal(c, &channel);
	return mirror_at(mirrors, PROCESS, real);
}

bool processes_are_used(void)
{
	return are_used;
}

int64_t dispatch_call(enum verb verb, const uint64_t *args)
{
	assert_int_equal(verb, VERB_ack_cq_events);
	text_addf(&said, "dispatched %d %d", args[0] == W(cq), (int)args[1]);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *of, struct ibv_cq **ret_cq, void **ret_context)
{
	(void)ret_cq;
	(void)ret_context;
	text_addf(&said, "event of %d", of->fd);
	return 3;
}

int ibv_get_async_event(struct ibv_context *of, struct ibv_async_event *event)
{
	(void)event;
	text_addf(&said, "asynchronous event of %d", of->async_fd);
	return 4;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	text_addf(&said, "acknowledged %d", event->event_type);
}

void ibv_ack_cq_events(struct ibv_cq *of, unsigned int n)
{
	text_addf(&said, "%u acknowledged of %d", n, of->cqe);
}

/* Objects */

static void *put_object(enum object_kind kind, bool extended, const void *object, size_t size)
{
	struct process_copy copy = { .real = ORIGINAL + nobjects++,
				     .kind = kind,
				     .extended = extended };
	void *made;

	memcpy(copy.bytes, object, size);
	made = mirror_put(mirrors, PROCESS, &copy, true, NULL);
	assert_non_null(made);
	return made;
}

static int start_nothing(struct ibv_cq_ex *of, struct ibv_poll_cq_attr *attr)
{
	(void)of;
	(void)attr;
	return EIO;
}

static uint32_t read_nothing(struct ibv_cq_ex *of)
{
	(void)of;
	return 0;
}

static int begin_objects(void **state)
{
	const struct ibv_context none = { 0 };
	const struct ibv_qp a_qp = { .context = (void *)(uintptr_t)ORIGINAL,
				     .qp_type = IBV_QPT_RC };
	const struct ibv_qp a_ud = { .context = a_qp.context, .qp_type = IBV_QPT_UD };
	const struct ibv_srq a_srq = { .context = a_qp.context };
	const struct ibv_wq a_wq = { .context = a_qp.context };
	const struct ibv_cq a_cq = { .context = a_qp.context };
	const struct ibv_cq_ex an_iterator = { .context = a_qp.context,
					       .start_poll = start_nothing,
					       .read_byte_len = read_nothing,
					       .read_flow_tag = read_nothing };
	const char bytes[128] = "";

	(void)state;
	nobjects = 0;
	if (mirrors_new(process_data_hook, &mirrors))
		return -1;
	context = put_object(OBJECT_context, false, &none, sizeof(none));
	qp = put_object(OBJECT_qp, false, &a_qp, sizeof(a_qp));
	ud = put_object(OBJECT_qp, false, &a_ud, sizeof(a_ud));
	srq = put_object(OBJECT_srq, false, &a_srq, sizeof(a_srq));
	wq = put_object(OBJECT_wq, false, &a_wq, sizeof(a_wq));
	cq = put_object(OBJECT_cq, false, &a_cq, sizeof(a_cq));
	cq_ex = put_object(OBJECT_cq, true, &an_iterator, sizeof(an_iterator));
	mw = put_object(OBJECT_mw, false, bytes, sizeof(*mw));
	mr = put_object(OBJECT_mr, false, bytes, sizeof(*mr));
	ah = put_object(OBJECT_ah, false, bytes, sizeof(*ah));
	comp = put_object(OBJECT_comp_channel, false, bytes, sizeof(*comp));
	process_data_open(&doors);
	lost = are_used = false;
	ret = 0;
	refused = 0;
	for (int i = 0; i < 40; i++)
		completions[i] = (struct ibv_wc){ .wr_id = 1 + (uint64_t)i,
						  .status = i == 1 ? IBV_WC_REM_OP_ERR : 0,
						  .byte_len = 40 + (uint32_t)i };
	return 0;
}

static int end_objects(void **state)
{
	(void)state;
	process_data_open(NULL);
	mirrors_free(mirrors);
	text_fini(&said);
	return locked != NULL;
}

FIXTURE(begin_objects, end_objects);

static void expect_said(const char *wanted)
{
	assert_string_equal(said.at ?: "", wanted);
	assert_null(locked);
	text_cut(&said, 0);
}

/* Requests */

static char inlined[] = "some bytes";
static struct ibv_sge sges[3] = { { 0, 4, 8 }, { 0, 3, 9 }, { 0, 0, 10 } };

TEST(requests_are_copied)
{
	struct ibv_send_wr *bad = NULL, wrs[3] = {
		{ .wr_id = 1, .next = &wrs[1], .sg_list = sges, .num_sge = 3 },
		{ .wr_id = 2, .next = &wrs[2], .sg_list = sges, .num_sge = 3 },
		{ .wr_id = 3, .num_sge = 0 },
	};

	(void)state;
	sges[0].addr = W(inlined);
	sges[1].addr = W(mapped);
	sges[2].addr = W(inlined);
	wrs[1].send_flags = IBV_SEND_INLINE;
	assert_int_equal(ibv_post_send(qp, wrs, &bad), 0);
	expect_said("command 8 of 1: 1 [4 8 address] [3 9 mapped] [0 10 address]"
		    " 2 [4 8 some] [3 9 mapped] [0 10 address] 3");
	assert_null(bad);
	ret = ENOMEM;
	refused = 2;
	assert_int_equal(ibv_post_send(qp, wrs, &bad), ENOMEM);
	assert_ptr_equal(bad, &wrs[1]);
	refused = 1;
	assert_int_equal(ibv_post_send(qp, wrs, &bad), ENOMEM);
	assert_ptr_equal(bad, &wrs[0]);
	lost = true;
	bad = NULL;
	assert_int_equal(ibv_post_send(qp, wrs, &bad), EIO);
	assert_ptr_equal(bad, &wrs[0]);
	text_cut(&said, 0);
	lost = false;
	ret = 0;
	refused = 0;
	assert_int_equal(ibv_post_send(qp, NULL, &bad), 0);
	expect_said("command 8 of 1:");
	assert_null(bad);
}

TEST(receives_are_copied)
{
	struct ibv_recv_wr *bad = NULL, wrs[2] = {
		{ .wr_id = 1, .next = &wrs[1], .sg_list = sges, .num_sge = 2 },
		{ .wr_id = 2 },
	};

	(void)state;
	sges[0].addr = W(inlined);
	sges[1].addr = W(mapped);
	assert_int_equal(ibv_post_recv(qp, wrs, &bad), 0);
	assert_int_equal(channel.verb, VERB_post_recv);
	expect_said("command 9 of 1: 1 [4 8 address] [3 9 mapped] 2");
	assert_int_equal(ibv_post_srq_recv(srq, wrs, &bad), 0);
	assert_int_equal(channel.verb, VERB_post_srq_recv);
	expect_said("command 9 of 3: 1 [4 8 address] [3 9 mapped] 2");
	assert_int_equal(ibv_post_wq_recv(wq, wrs, &bad), 0);
	assert_int_equal(channel.verb, VERB_post_wq_recv);
	expect_said("command 9 of 4: 1 [4 8 address] [3 9 mapped] 2");
	assert_null(bad);
	ret = ENOMEM;
	refused = 2;
	assert_int_equal(ibv_post_recv(qp, wrs, &bad), ENOMEM);
	assert_ptr_equal(bad, &wrs[1]);
	lost = true;
	assert_int_equal(ibv_post_recv(qp, wrs, &bad), EIO);
	assert_ptr_equal(bad, &wrs[0]);
	text_cut(&said, 0);
	lost = false;
	ret = 0;
	refused = 0;
	assert_int_equal(ibv_post_recv(qp, NULL, &bad), 0);
	expect_said("command 9 of 1:");
}

TEST(requests_that_do_not_fit_are_refused)
{
	static struct ibv_send_wr wrs[100];
	static struct ibv_recv_wr recvs[200];
	struct ibv_send_wr *bad;
	struct ibv_recv_wr *bad_recv;

	(void)state;
	for (int i = 0; i < 100; i++)
		wrs[i] = (struct ibv_send_wr){ .next = i < 99 ? &wrs[i + 1] : NULL };
	for (int i = 0; i < 200; i++)
		recvs[i] = (struct ibv_recv_wr){ .next = i < 199 ? &recvs[i + 1] : NULL,
						 .sg_list = sges,
						 .num_sge = 1 };
	assert_int_equal(ibv_post_send(qp, wrs, &bad), EIO);
	assert_ptr_equal(bad, wrs);
	assert_int_equal(ibv_post_recv(qp, recvs, &bad_recv), EIO);
	assert_ptr_equal(bad_recv, recvs);
	expect_said("");
}

TEST(objects_of_requests_are_those_of_the_process)
{
	struct ibv_send_wr *bad, wr = { .wr_id = 5, .opcode = IBV_WR_BIND_MW };

	(void)state;
	wr.bind_mw.mw = mw;
	wr.bind_mw.bind_info.mr = mr;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	expect_said("command 8 of 1: 5 mw 7 mr 8");
	wr.bind_mw.bind_info.mr = NULL;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	expect_said("command 8 of 1: 5 mw 7 mr -4096");
	wr.bind_mw.bind_info.mr = mr;
	mirror_drop(mirrors, PROCESS, mirror_of(mr));
	assert_int_equal(ibv_post_send(qp, &wr, &bad), EIO);
	wr.bind_mw.bind_info.mr = NULL;
	wr.bind_mw.mw = NULL;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), EIO);
	wr = (struct ibv_send_wr){ .wr_id = 6 };
	wr.wr.ud.ah = ah;
	assert_int_equal(ibv_post_send(ud, &wr, &bad), 0);
	expect_said("command 8 of 2: 6 ah 9");
	wr.wr.ud.ah = NULL;
	assert_int_equal(ibv_post_send(ud, &wr, &bad), EIO);
	expect_said("");
}

TEST(requests_are_built)
{
	struct ibv_send_wr wrs[2] = { { .wr_id = 1, .sg_list = sges, .num_sge = 1 },
				      { .wr_id = 2, .sg_list = sges, .num_sge = 3 } };

	(void)state;
	wrs[0].next = &wrs[1];
	assert_int_equal(process_data_build(mirror_of(qp), wrs, 2, true), 0);
	expect_said("command 10 of 1: 1 [4 8 address] 2 [4 8 address] [3 9 mapped] [0 10 address]"
		    " (2, 1)");
	assert_true(is_in_room((void *)(uintptr_t)channel.args[3]));
	ret = 5;
	assert_int_equal(process_data_build(mirror_of(qp), wrs, 0, false), 5);
	expect_said("command 10 of 1: (0, 0)");
	lost = true;
	assert_int_equal(process_data_build(mirror_of(qp), wrs, 2, true), EIO);
}

/* Completions */

TEST(a_queue_is_polled)
{
	struct ibv_wc wcs[40] = { 0 };

	(void)state;
	ret = 2;
	assert_int_equal(ibv_poll_cq(cq, 3, wcs), 2);
	expect_said("command 11 of 5: most 3");
	assert_memory_equal(wcs, completions, 2 * sizeof(*wcs));
	assert_int_equal(wcs[2].wr_id, 0);
	ret = 32;
	assert_int_equal(ibv_poll_cq(cq, 40, wcs), 32);
	expect_said("command 11 of 5: most 32");
	assert_memory_equal(wcs, completions, 32 * sizeof(*wcs));
	ret = -1;
	assert_int_equal(ibv_poll_cq(cq, 40, wcs), -1);
	lost = true;
	assert_int_equal(ibv_poll_cq(cq, 40, wcs), -EIO);
}

TEST(a_queue_is_armed)
{
	(void)state;
	ret = 7;
	assert_int_equal(ibv_req_notify_cq(cq, 1), 7);
	expect_said("command 13 of 5: 1");
	lost = true;
	assert_int_equal(ibv_req_notify_cq(cq, 0), EIO);
}

TEST(an_iterator_gets_many_completions_at_a_time)
{
	struct ibv_poll_cq_attr attr = { 0 };

	(void)state;
	ret = 3;
	assert_int_equal(ibv_start_poll(cq_ex, &attr), 0);
	expect_said("command 12 of 6: most 32");
	assert_int_equal(cq_ex->wr_id, 1);
	assert_int_equal(cq_ex->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_byte_len(cq_ex), 40);
	assert_int_equal(ibv_wc_read_flow_tag(cq_ex), 90);
	assert_null(cq_ex->read_qp_num); /* it was created without */
	assert_int_equal(ibv_next_poll(cq_ex), 0);
	assert_int_equal(cq_ex->wr_id, 2);
	assert_int_equal(cq_ex->status, IBV_WC_REM_OP_ERR);
	assert_int_equal(ibv_wc_read_byte_len(cq_ex), 41);
	assert_int_equal(ibv_wc_read_flow_tag(cq_ex), 91);
	ibv_end_poll(cq_ex);
	assert_int_equal(ibv_start_poll(cq_ex, &attr), 0); /* the third one is left */
	assert_int_equal(cq_ex->wr_id, 3);
	expect_said("");
	ret = 0;
	assert_int_equal(ibv_next_poll(cq_ex), ENOENT);
	expect_said("command 12 of 6: most 32");
	ibv_end_poll(cq_ex);
	assert_int_equal(ibv_start_poll(cq_ex, &attr), ENOENT);
	expect_said("command 12 of 6: most 32");
	ret = 1;
	assert_int_equal(ibv_start_poll(cq_ex, &attr), 0);
	ret = 2;
	assert_int_equal(ibv_next_poll(cq_ex), 0);
	assert_int_equal(cq_ex->wr_id, 1);
	assert_int_equal(ibv_next_poll(cq_ex), 0);
	assert_int_equal(cq_ex->wr_id, 2);
	ret = -1;
	assert_int_equal(ibv_next_poll(cq_ex), EIO);
	ibv_end_poll(cq_ex);
	lost = true;
	assert_int_equal(ibv_start_poll(cq_ex, &attr), EIO);
}

TEST(every_reader_is_replaced)
{
	struct ibv_cq_ex all = { .context = (void *)(uintptr_t)ORIGINAL,
				 .start_poll = start_nothing };
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex *copy;

	(void)state;
	memset(&all.read_opcode, 0xff, (size_t)((char *)(&all + 1) - (char *)&all.read_opcode));
	completions[0] = (struct ibv_wc){ .wr_id = 1,
					  .qp_num = 2,
					  .src_qp = 3,
					  .vendor_err = 4,
					  .opcode = 5,
					  .wc_flags = 6,
					  .byte_len = 7,
					  .imm_data = 8,
					  .slid = 9,
					  .sl = 10,
					  .dlid_path_bits = 11 };
	copy = put_object(OBJECT_cq, true, &all, sizeof(all));
	ret = 1;
	assert_int_equal(ibv_start_poll(copy, &attr), 0);
	assert_int_equal(ibv_wc_read_qp_num(copy), 2);
	assert_int_equal(ibv_wc_read_src_qp(copy), 3);
	assert_int_equal(ibv_wc_read_vendor_err(copy), 4);
	assert_int_equal(ibv_wc_read_opcode(copy), 5);
	assert_int_equal(ibv_wc_read_wc_flags(copy), 6);
	assert_int_equal(ibv_wc_read_byte_len(copy), 7);
	assert_int_equal(ibv_wc_read_imm_data(copy), 8);
	assert_int_equal(ibv_wc_read_slid(copy), 9);
	assert_int_equal(ibv_wc_read_sl(copy), 10);
	assert_int_equal(ibv_wc_read_dlid_path_bits(copy), 11);
	assert_int_equal(ibv_wc_read_flow_tag(copy), 90);
}

/* Events */

TEST(a_waiting_event_is_asked_for)
{
	(void)state;
	ret = 1;
	assert_true(process_has_cq_event(comp));
	expect_said("command 14 of 10: 8");
	assert_true(process_has_async_event(context));
	expect_said("command 14 of 0: 1");
	ret = 0;
	assert_false(process_has_cq_event(comp));
	ret = 1;
	lost = true;
	assert_false(process_has_cq_event(comp));
}

TEST(objects_of_this_process_need_no_command)
{
	struct ibv_comp_channel own = { 0 };
	struct ibv_context mine = { 0 };
	struct ibv_async_event event = { .event_type = IBV_EVENT_PORT_ERR };
	struct ibv_cq queue = { .cqe = 12 };
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	own.fd = mine.async_fd = fds[0];
	assert_false(process_has_cq_event(&own));
	assert_false(process_has_async_event(&mine));
	assert_int_equal(write(fds[1], "", 1), 1);
	assert_true(process_has_cq_event(&own));
	assert_true(process_has_async_event(&mine));
	close(fds[0]);
	close(fds[1]);
	expect_said("");
	own.fd = mine.async_fd = 51;
	assert_int_equal(process_get_cq_event(&own, NULL, NULL), 3);
	expect_said("event of 51");
	assert_int_equal(process_get_async_event(&mine, &event), 4);
	expect_said("asynchronous event of 51");
	process_ack_async_event(&event);
	expect_said("acknowledged 10");
	are_used = true;
	process_ack_async_event(&event);
	expect_said("");
	process_ack_cq_events(&queue, 3);
	expect_said("3 acknowledged of 12");
	process_ack_cq_events(cq, 4);
	expect_said("dispatched 1 4");
}

TEST(a_completion_event_is_of_a_copy)
{
	struct ibv_cq *of = NULL;
	void *data = NULL;

	(void)state;
	assert_int_equal(process_get_cq_event(comp, &of, &data), 0);
	assert_ptr_equal(of, cq);
	assert_int_equal(W(data), 77);
	expect_said("command 15 of 10: 0");
	ret = -1;
	assert_int_equal(process_get_cq_event(comp, &of, &data), -1);
	lost = true;
	ret = 0;
	assert_int_equal(process_get_cq_event(comp, &of, &data), -1);
}

static bool names_object(enum ibv_event_type type)
{
	return type != IBV_EVENT_DEVICE_FATAL && type != IBV_EVENT_PORT_ACTIVE &&
	       type != IBV_EVENT_PORT_ERR && type != IBV_EVENT_LID_CHANGE &&
	       type != IBV_EVENT_PKEY_CHANGE && type != IBV_EVENT_SM_CHANGE &&
	       type != IBV_EVENT_CLIENT_REREGISTER && type != IBV_EVENT_GID_CHANGE;
}

TEST(an_asynchronous_event_is_of_a_copy)
{
	struct ibv_async_event event;

	(void)state;
	for (int type = IBV_EVENT_CQ_ERR; type <= IBV_EVENT_WQ_FATAL; type++) {
		refused = (uint64_t)type;
		assert_int_equal(process_get_async_event(context, &event), 0);
		assert_int_equal(event.event_type, type);
		if (names_object(event.event_type))
			assert_ptr_equal(event.element.qp, qp);
		else
			assert_int_equal(W(event.element.qp), ORIGINAL + 1);
	}
	refused = IBV_EVENT_COMM_EST;
	ret = -1;
	assert_int_equal(process_get_async_event(context, &event), -1);
	assert_int_equal(W(event.element.qp), ORIGINAL + 1);
	ret = 0;
	lost = true;
	assert_int_equal(process_get_async_event(context, &event), -1);
}

TEST(an_event_is_acknowledged_in_its_process)
{
	struct ibv_async_event event = { .event_type = IBV_EVENT_COMM_EST };

	(void)state;
	process_data_open(&ack_doors);
	event.element.qp = qp;
	process_ack_async_event(&event);
	expect_said(" 4 of 1");
	event.element.qp = NULL; /* not a copy */
	process_ack_async_event(&event);
	expect_said("acknowledged 4");
}

static int raise_here(struct ibv_context *of, const struct ibv_async_event *event)
{
	text_addf(&said, "raised %d of %d", event->event_type, of->async_fd);
	return 9;
}

TEST(an_event_is_raised_in_its_process)
{
	struct ibv_async_event event = { .event_type = IBV_EVENT_PORT_ERR, .element.port_num = 2 };
	struct ibv_context mine = { .async_fd = 51 };

	(void)state;
	assert_int_equal(process_raise(raise_here, &mine, &event), 9);
	expect_said("raised 10 of 51");
	ret = 6;
	assert_int_equal(process_raise(raise_here, context, &event), 6);
	expect_said("command 19 of 0: 10 of -98");
	event.event_type = IBV_EVENT_QP_FATAL;
	event.element.qp = qp;
	assert_int_equal(process_raise(raise_here, context, &event), 6);
	expect_said("command 19 of 0: 1 of 1");
	event.element.qp = NULL;
	assert_int_equal(process_raise(raise_here, context, &event), EINVAL);
	expect_said("");
	event.element.qp = qp;
	lost = true;
	assert_int_equal(process_raise(raise_here, context, &event), EINVAL);
}
