/*
 * replay/data/held_requests.c: requests wait where the replay's queue is shorter than the recorded
 * one.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/data/held_requests.h"
#include "replay/data/posting.h"
#include "replay/report/differ.h"
#include "replay/state/translate.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { QP = 1, SRQ, NREPLICAS, REQUESTS = 4 };

static struct replay replay;
static struct replica replicas[NREPLICAS];
static struct replica_qp queues;
static struct requests shared;
static struct ibv_context context;
static struct ibv_qp qp = { .context = &context };
static struct ibv_srq srq = { .context = &context };
static struct ibv_mw window;
static struct ibv_send_wr sends[REQUESTS];
static struct ibv_recv_wr recvs[REQUESTS];
static struct request_memory prepared = { .send = sends, .recv = recvs };
static struct post post;
static struct trace_event event = { .id = { 1, 40 } };
static struct post_in_progress posting;

/* The results of device functions, and their arguments. */
static struct {
	unsigned int room;
	int refusal; /* if there is room */
	unsigned int n;
	uint64_t posted[16];
	char bytes[16];
	int num_sge;
} device;
static const void *gone;
static char told[64];

static int take_request(uint64_t wr_id)
{
	if (!device.room)
		return ENOMEM;
	if (device.refusal)
		return device.refusal;
	device.room--;
	device.posted[device.n++] = wr_id;
	return 0;
}

static int post_send(struct ibv_qp *to, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)bad;
	assert_ptr_equal(to, &qp);
	assert_null(wr->next);
	device.num_sge = wr->num_sge;
	if (wr->send_flags & IBV_SEND_INLINE)
		memcpy(device.bytes, (void *)(uintptr_t)wr->sg_list[0].addr, wr->sg_list[0].length);
	return take_request(wr->wr_id);
}

static int post_recv(struct ibv_qp *to, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)bad;
	assert_ptr_equal(to, &qp);
	assert_null(wr->next);
	device.num_sge = wr->num_sge;
	return take_request(100 + wr->wr_id);
}

static int post_srq_recv(struct ibv_srq *to, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)bad;
	assert_ptr_equal(to, &srq);
	return take_request(200 + wr->wr_id);
}

bool translate_has_object(const struct replay *r, const void *handle, enum object_kind kind)
{
	assert_ptr_equal(r, &replay);
	assert_true(kind == OBJECT_ah || kind == OBJECT_mw || kind == OBJECT_mr);
	return handle != gone;
}

void differ_check_texts(struct outcome *outcome, struct event_id at, enum verb verb,
			uint32_t object, const char *field, const char *there, const char *here)
{
	(void)outcome;
	assert_int_equal(at.n, 40);
	assert_int_equal(verb, post.verb);
	snprintf(told, sizeof(told), "%u %s %s %s", object, field, there, here);
}

const char *errno_text(int64_t err, char text[64])
{
	snprintf(text, 64, "%d", (int)err);
	return text;
}

static int begin_queues(void **state)
{
	(void)state;
	memset(&device, 0, sizeof(device));
	memset(sends, 0, sizeof(sends));
	memset(recvs, 0, sizeof(recvs));
	context.ops.post_send = post_send;
	context.ops.post_recv = post_recv;
	context.ops.post_srq_recv = post_srq_recv;
	told[0] = '\0';
	gone = &gone;
	queues = (struct replica_qp){ .type = IBV_QPT_RC };
	shared = (struct requests){ 0 };
	replicas[QP] = (struct replica){ .handle = &qp, .qp = &queues };
	replicas[SRQ] = (struct replica){ .handle = &srq, .requests = &shared };
	replay = (struct replay){ .replicas = replicas, .nreplicas = NREPLICAS };
	for (int i = 0; i < REQUESTS; i++) {
		sends[i].wr_id = recvs[i].wr_id = 1 + (uint64_t)i;
		sends[i].next = i + 1 < REQUESTS ? &sends[i + 1] : NULL;
		recvs[i].next = i + 1 < REQUESTS ? &recvs[i + 1] : NULL;
	}
	return 0;
}

static int end_queues(void **state)
{
	(void)state;
	for (int side = 0; side < SIDES; side++)
		held_drop_all(&queues.out[side]);
	held_drop_all(&shared);
	map_fini(&replay.left_out);
	return 0;
}

FIXTURE(begin_queues, end_queues);

/* Hold those from @from on of a post of REQUESTS. */
static void hold_from(enum verb verb, uint32_t from)
{
	bool is_shared = verb == VERB_post_srq_recv;
	enum side side = verb == VERB_post_send ? SIDE_SEND : SIDE_RECV;

	post = (struct post){ .verb = verb, .nwr = REQUESTS };
	posting = (struct post_in_progress){ .r = &replay,
					     .event = &event,
					     .post = &post,
					     .replica = &replicas[is_shared ? SRQ : QP],
					     .requests = is_shared ? &shared : &queues.out[side],
					     .wrs = &prepared,
					     .side = side };
	assert_int_equal(held_add_requests(&posting, from), 0);
}

TEST(requests_wait_in_order)
{
	hold_from(VERB_post_send, 2);
	assert_int_equal(held_count_requests(&queues.out[SIDE_SEND]), 2);
	hold_from(VERB_post_send, 3);
	assert_int_equal(held_count_requests(&queues.out[SIDE_SEND]), 3);
	assert_int_equal(held_count_requests(&queues.out[SIDE_RECV]), 0);
	assert_int_equal(held_post_all(&replay), 0);
	device.room = 2;
	assert_int_equal(held_post_all(&replay), 2);
	assert_ptr_equal(replay.holders, &replicas[QP]);
	assert_true(replicas[QP].holds);
	device.room = 2;
	assert_int_equal(held_post_all(&replay), 1);
	assert_null(replay.holders);
	assert_false(replicas[QP].holds);
	assert_int_equal(device.n, 3);
	assert_int_equal(device.posted[0], 3);
	assert_int_equal(device.posted[1], 4);
	assert_int_equal(device.posted[2], 4);
	assert_string_equal(told, "");
}

TEST(each_queue_has_requests_of_its_own)
{
	hold_from(VERB_post_send, 3);
	hold_from(VERB_post_srq_recv, 2);
	hold_from(VERB_post_recv, 3);
	assert_int_equal(held_count_requests(&shared), 2);
	assert_ptr_equal(replay.holders, &replicas[SRQ]);
	assert_ptr_equal(replicas[SRQ].next_holder, &replicas[QP]);
	assert_null(replicas[QP].next_holder);
	device.room = 3;
	assert_int_equal(held_post_all(&replay), 3);
	assert_ptr_equal(replay.holders, &replicas[QP]);
	device.room = 9;
	assert_int_equal(held_post_all(&replay), 1);
	assert_null(replay.holders);
	assert_int_equal(device.posted[0], 203);
	assert_int_equal(device.posted[1], 204);
	assert_int_equal(device.posted[2], 4);
	assert_int_equal(device.posted[3], 104);
}

/* The application's buffers may change meanwhile. */
TEST(elements_and_inline_bytes_are_copied)
{
	char first[] = "abc", second[] = "de";
	struct ibv_sge sges[] = { { (uintptr_t)first, 3, 0 }, { (uintptr_t)second, 2, 0 } };

	sends[3].sg_list = sges;
	sends[3].num_sge = 2;
	sends[3].send_flags = IBV_SEND_INLINE;
	hold_from(VERB_post_send, 3);
	memset(first, 'x', 3);
	memset(sges, 0, sizeof(sges));
	device.room = 1;
	assert_int_equal(held_post_all(&replay), 1);
	assert_string_equal(device.bytes, "abcde");
	assert_int_equal(device.num_sge, 1);

	recvs[3].num_sge = 2;
	recvs[3].sg_list = sges;
	hold_from(VERB_post_recv, 3);
	recvs[3].num_sge = 0;
	device.room = 1;
	assert_int_equal(held_post_all(&replay), 1);
	assert_int_equal(device.num_sge, 2);
	recvs[3].num_sge = -1;
	hold_from(VERB_post_recv, 3);
	device.room = 1;
	assert_int_equal(held_post_all(&replay), 1);
	assert_int_equal(device.num_sge, -1);
}

TEST(a_single_inline_element_is_copied)
{
	char bytes[] = "abc";
	struct ibv_sge sge = { (uintptr_t)bytes, 3, 0 };

	sends[3].sg_list = &sge;
	sends[3].num_sge = 1;
	sends[3].send_flags = IBV_SEND_INLINE;
	hold_from(VERB_post_send, 3);
	memset(bytes, 'x', 3);
	device.room = 1;
	assert_int_equal(held_post_all(&replay), 1);
	assert_string_equal(device.bytes, "abc");
}

TEST(a_refusal_is_reported_and_the_next_one_posted)
{
	uint64_t left_out = 0;

	hold_from(VERB_post_send, 2);
	device.room = 1;
	device.refusal = EINVAL;
	assert_int_equal(held_post_all(&replay), 2);
	assert_string_equal(told, "1 ret success 22");
	assert_int_equal(device.n, 0);
	assert_true(map_get(&replay.left_out, event_key(event.id), &left_out));
	assert_int_equal(left_out, 4);
}

TEST(a_request_whose_objects_are_gone_is_refused)
{
	sends[2].opcode = sends[3].opcode = IBV_WR_BIND_MW;
	sends[2].bind_mw.mw = &window;
	sends[3].bind_mw.mw = &window;
	sends[3].bind_mw.bind_info.mr = (void *)&shared;
	gone = &shared;
	device.room = 9;
	hold_from(VERB_post_send, 2);
	assert_int_equal(held_post_all(&replay), 2);
	assert_int_equal(device.n, 1);
	assert_int_equal(device.posted[0], 3);
	gone = &window;
	hold_from(VERB_post_send, 2);
	assert_int_equal(held_post_all(&replay), 2);
	assert_int_equal(device.n, 1);
}

TEST(a_datagram_needs_its_address_handle)
{
	gone = &window;
	sends[3].wr.ud.ah = (void *)&window;
	device.room = 9;
	hold_from(VERB_post_send, 3);
	assert_int_equal(held_post_all(&replay), 1);
	assert_int_equal(device.n, 1);
	queues.type = IBV_QPT_UD;
	hold_from(VERB_post_send, 3);
	assert_int_equal(held_post_all(&replay), 1);
	assert_int_equal(device.n, 1);
	hold_from(VERB_post_recv, 3);
	assert_int_equal(held_post_all(&replay), 1);
	assert_int_equal(device.n, 2);
}

TEST(requests_of_a_destroyed_queue_are_refused)
{
	hold_from(VERB_post_send, 3);
	replicas[QP].handle = NULL;
	device.room = 9;
	assert_int_equal(held_post_all(&replay), 1);
	assert_int_equal(device.n, 0);
}

TEST(the_last_ones_are_withdrawn)
{
	hold_from(VERB_post_send, 0);
	assert_int_equal(held_withdraw(&queues.out[SIDE_SEND], 3), 3);
	assert_int_equal(held_count_requests(&queues.out[SIDE_SEND]), 1);
	device.room = 9;
	assert_int_equal(held_post_all(&replay), 1);
	assert_int_equal(device.posted[0], 1);
	hold_from(VERB_post_send, 2);
	assert_int_equal(held_withdraw(&queues.out[SIDE_SEND], 3), 2);
	assert_int_equal(held_count_requests(&queues.out[SIDE_SEND]), 0);
	assert_int_equal(held_withdraw(&queues.out[SIDE_SEND], 1), 0);
}

TEST(a_queue_is_shorter_if_both_lengths_are_known)
{
	assert_false(held_queue_is_shorter(&(struct requests){ .length = 4, .length_there = 4 }));
	assert_true(held_queue_is_shorter(&(struct requests){ .length = 3, .length_there = 4 }));
	assert_false(held_queue_is_shorter(&(struct requests){ .length_there = 4 }));
	assert_false(held_queue_is_shorter(&(struct requests){ .length = 4 }));
}

/* At least one of each half of the queue. */
TEST(some_requests_of_a_short_queue_are_signaled)
{
	struct requests requests = { .length = 5, .length_there = 9 };

	assert_false(held_must_signal(&requests, false));
	assert_false(held_must_signal(&requests, false));
	assert_true(held_must_signal(&requests, false));
	assert_false(held_must_signal(&requests, false));
	assert_false(held_must_signal(&requests, false));
	assert_false(held_must_signal(&requests, true));
	assert_false(held_must_signal(&requests, false));
	assert_false(held_must_signal(&requests, false));
	assert_true(held_must_signal(&requests, false));
	requests.length = 9;
	for (int i = 0; i < 9; i++)
		assert_false(held_must_signal(&requests, false));
}

static void note_lengths(uint32_t replica, enum verb verb, const char *out, const void *attr)
{
	struct args *args = args_new(out, strlen(out));
	struct call call = { .verb = verb, .out = args };

	assert_int_equal(args_parse(args), 0);
	held_note_lengths(&replicas[replica], &call, (uint64_t[]){ 0, (uintptr_t)attr });
	args_unref(args);
}

TEST(lengths_of_a_queue_pair_are_noted)
{
	const struct ibv_qp_init_attr attr = { .cap = { 10, 20, 1, 1, 0 }, .sq_sig_all = 1 };
	const struct ibv_qp_init_attr_ex ex = { .cap = { 11, 21, 1, 1, 0 } };
	const struct requests *out = queues.out;

	note_lengths(QP, VERB_create_qp,
		     "{\"qp_init_attr\":{\"cap\":{\"max_send_wr\":30,\"max_recv_wr\":40}}}", &attr);
	assert_int_equal(out[SIDE_SEND].length, 10);
	assert_int_equal(out[SIDE_RECV].length, 20);
	assert_int_equal(out[SIDE_SEND].length_there, 30);
	assert_int_equal(out[SIDE_RECV].length_there, 40);
	assert_true(queues.signals_all);
	note_lengths(QP, VERB_create_qp_ex,
		     "{\"qp_init_attr_ex\":{\"cap\":{\"max_send_wr\":31,\"max_recv_wr\":41}}}",
		     &ex);
	assert_int_equal(out[SIDE_SEND].length, 11);
	assert_int_equal(out[SIDE_RECV].length, 21);
	assert_int_equal(out[SIDE_SEND].length_there, 31);
	assert_int_equal(out[SIDE_RECV].length_there, 41);
	assert_false(queues.signals_all);
	note_lengths(QP, VERB_create_srq, "{}", &attr);
	note_lengths(QP, VERB_create_qp, "{}", NULL);
	assert_int_equal(out[SIDE_SEND].length, 11);
}

TEST(lengths_of_a_shared_queue_are_noted)
{
	const struct ibv_srq_init_attr attr = { .attr = { .max_wr = 10 } };
	const struct ibv_srq_init_attr_ex ex = { .attr = { .max_wr = 11 } };

	note_lengths(SRQ, VERB_create_srq, "{\"srq_init_attr\":{\"attr\":{\"max_wr\":30}}}", &attr);
	assert_int_equal(shared.length, 10);
	assert_int_equal(shared.length_there, 30);
	note_lengths(SRQ, VERB_create_srq_ex, "{\"srq_init_attr_ex\":{\"attr\":{\"max_wr\":31}}}",
		     &ex);
	assert_int_equal(shared.length, 11);
	assert_int_equal(shared.length_there, 31);
	note_lengths(SRQ, VERB_create_qp, "{}", &attr);
	assert_int_equal(shared.length, 11);
}
