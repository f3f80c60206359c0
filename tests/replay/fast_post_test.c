/*
 * replay/data/fast_post.c: posts that go as recorded, without the slow path
 *
 * QP of process 1 is connected to one of process 2; MR and MR2 are regions of the first, FAR is one
 * of the second. What the device gets is in @sent and @received.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "replay/data/fast.h"
#include "replay/data/faults.h"
#include "replay/data/held_requests.h"
#include "replay/data/posting.h"
#include "replay/schedule/bytecode.h"
#include "replay/state/sent.h"
#include "replay/state/state.h"
#include "replay/state/translate.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { QP = 1, MR, MR2, FAR, CQ, NOBJECTS, PLAYER = 3 };

static struct replay replay;
static struct replay_options options;
static struct replica replicas[NOBJECTS];
static struct replica_qp queue_pair;
static struct memory *memories[3];
static struct ibv_context context;
static struct ibv_qp qp;
static struct ibv_send_wr sent;
static struct ibv_recv_wr received;
static struct ibv_sge buffers[2];
static unsigned int nposts, nsettled;
static int post_error;
static bool is_due, is_shorter;
static uint64_t counts[OUTCOME_COUNTS];
static struct wr wr;
static struct sge sges[2];
static struct post post;
static struct ready_step ready;

bool held_queue_is_shorter(const struct requests *requests)
{
	assert_ptr_equal(requests, &queue_pair.out[post.verb == VERB_post_recv]);
	return is_shorter;
}

bool faults_are_due(const struct replay *r, const struct trace_event *event)
{
	(void)r;
	assert_ptr_equal(event->post, &post);
	return is_due;
}

void sent_remove_counted_of(struct replay *r, const struct replica_qp *sender)
{
	(void)r;
	assert_ptr_equal(sender, &queue_pair);
	nsettled++;
}

uint32_t translate_peer_process(const struct replay *r, const struct replica_qp *of,
				uint32_t process)
{
	(void)r;
	assert_ptr_equal(of, &queue_pair);
	assert_int_equal(process, 1);
	return 2;
}

void *memory_span(const struct memory *memory, uint64_t addr, uint64_t length)
{
	assert_ptr_equal(memory, memories[1]);
	return addr == 0x1000 && length <= 8 ? (void *)(uintptr_t)0x7000 : NULL;
}

_Thread_local struct outcome_tally outcome_tally;

void outcome_count_first(struct outcome *outcome, enum outcome_count what, uint64_t n)
{
	(void)outcome;
	counts[what] += n;
}

static void take_buffers(const struct ibv_sge *list, int n)
{
	assert_in_range(n, 0, 2);
	memcpy(buffers, list, (size_t)n * sizeof(*list));
	nposts++;
}

static int post_send(struct ibv_qp *to, struct ibv_send_wr *of, struct ibv_send_wr **bad)
{
	(void)bad;
	assert_ptr_equal(to, &qp);
	sent = *of;
	take_buffers(of->sg_list, of->num_sge);
	return post_error;
}

static int post_recv(struct ibv_qp *to, struct ibv_recv_wr *of, struct ibv_recv_wr **bad)
{
	(void)bad;
	assert_ptr_equal(to, &qp);
	received = *of;
	take_buffers(of->sg_list, of->num_sge);
	return post_error;
}

static void add_region(uint32_t object, uint32_t process, uint32_t key)
{
	replicas[object] = (struct replica){ .region = true,
					     .number = 0x100 + key,
					     .rkey = 0x200 + key,
					     .recorded_base = 0x1000,
					     .replayed_base = 0x51000 };
	map_put(&replay.lkeys, process_key(process, key), object);
	map_put(&replay.rkeys, process_key(process, key), object);
}

static int begin_posts(void **state)
{
	static const enum object_kind kinds[] = { OBJECT_qp, OBJECT_mr, OBJECT_mr, OBJECT_mr,
						  OBJECT_cq };

	(void)state;
	nobjects = nposts = nsettled = 0;
	post_error = 0;
	is_due = is_shorter = false;
	memset(counts, 0, sizeof(counts));
	memset(replicas, 0, sizeof(replicas));
	for (uint32_t i = QP; i < NOBJECTS; i++)
		add_object(kinds[i - 1], i == FAR ? 2 : 1, 0);
	options = (struct replay_options){ 0 };
	replay = (struct replay){ .options = &options,
				  .replicas = replicas,
				  .nreplicas = NOBJECTS,
				  .memory = memories,
				  .nprocesses = 3,
				  .changes = 1,
				  .outcome = (struct outcome *)(void *)counts };
	add_region(MR, 1, 7);
	add_region(MR2, 1, 8);
	add_region(FAR, 2, 9);
	context.ops = (struct ibv_context_ops){ .post_send = post_send, .post_recv = post_recv };
	qp = (struct ibv_qp){ .context = &context };
	queue_pair = (struct replica_qp){ .type = IBV_QPT_RC };
	replicas[QP] = (struct replica){
		.handle = &qp, .qp = &queue_pair, .number = 0x55, .owner = PLAYER
	};
	sges[0] = (struct sge){ .addr = 0x1010, .length = 6, .lkey = 7 };
	sges[1] = (struct sge){ .addr = 0x1020, .length = 4, .lkey = 8 };
	wr = (struct wr){ .wr_id = 5, .opcode = IBV_WR_SEND, .num_sge = 1, .nsge = 1, .sge = sges };
	post = (struct post){ .verb = VERB_post_send, .object = QP, .nwr = 1, .wr = &wr };
	ready = (struct ready_step){
		.event = { .kind = TRACE_POST, .id = { 1, 4 }, .process = 1, .post = &post },
		.player = PLAYER
	};
	return 0;
}

static int end_posts(void **state)
{
	(void)state;
	free(ready.kept);
	map_fini(&replay.lkeys);
	map_fini(&replay.rkeys);
	requests_fini(&queue_pair.out[SIDE_SEND]);
	requests_fini(&queue_pair.out[SIDE_RECV]);
	requests_fini(&queue_pair.sent);
	return 0;
}

FIXTURE(begin_posts, end_posts);

static bool post_alone(void)
{
	return fast_post(&replay, &ready, true);
}

/* The next event of the shape is another. */
static bool post_changed(void)
{
	ready.changed = true;
	ready.event.id.n++;
	return post_alone();
}

static const struct request *last_of(const struct requests *requests)
{
	assert_int_not_equal(requests_count(requests), 0);
	return &requests->cells[(requests->tail - 1) & (requests->size - 1)];
}

TEST(a_send_goes_as_recorded)
{
	const struct request *request;

	(void)state;
	wr.nsge = wr.num_sge = 2;
	wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
	assert_true(post_alone());
	assert_int_equal(nposts, 1);
	assert_int_equal(sent.opcode, IBV_WR_SEND);
	assert_int_equal(sent.send_flags, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	assert_int_equal(sent.wr_id, 5);
	assert_int_equal(sent.num_sge, 2);
	assert_int_equal(buffers[0].addr, 0x51010);
	assert_int_equal(buffers[0].length, 6);
	assert_int_equal(buffers[0].lkey, 0x107);
	assert_int_equal(buffers[1].addr, 0x51020);
	assert_int_equal(buffers[1].lkey, 0x108);
	request = last_of(&queue_pair.out[SIDE_SEND]);
	assert_int_equal(request->wr_id, 5);
	assert_int_equal(request->posted, 5);
	assert_int_equal(request->event.thread, 1);
	assert_int_equal(request->event.n, 4);
	assert_int_equal(request->length, 10);
	assert_true(request->signaled);
	assert_false(request->done);
	assert_false(request->forced);
	assert_int_equal(queue_pair.out[SIDE_SEND].last_wr_id, 5);
	request = last_of(&queue_pair.sent);
	assert_int_equal(request->wr_id, 0x55);
	assert_int_equal(request->length, 10);
	assert_int_equal(request->event.thread, 1);
	assert_int_equal(request->event.n, 4);
	assert_int_equal(counts[OUTCOME_POSTS], 1);
	assert_int_equal(counts[OUTCOME_REQUESTS], 1);
}

TEST(a_receive_goes_as_recorded)
{
	(void)state;
	post.verb = VERB_post_recv;
	wr.opcode = -1;
	queue_pair.signals_all = true;
	assert_true(post_alone());
	assert_int_equal(received.wr_id, 5);
	assert_int_equal(received.num_sge, 1);
	assert_int_equal(buffers[0].addr, 0x51010);
	assert_false(last_of(&queue_pair.out[SIDE_RECV])->signaled);
	assert_int_equal(requests_count(&queue_pair.sent), 0);
	sges[0].addr++;
	wr.opcode = 99; /* receives have none */
	assert_true(post_changed());
	assert_int_equal(buffers[0].addr, 0x51011);
}

static bool is_signaled(void)
{
	assert_true(post_changed());
	return last_of(&queue_pair.out[SIDE_SEND])->signaled;
}

TEST(sends_are_signaled_as_recorded)
{
	(void)state;
	assert_false(is_signaled());
	wr.send_flags = IBV_SEND_SIGNALED;
	assert_true(is_signaled());
	wr.send_flags = 0;
	queue_pair.signals_all = true;
	assert_true(is_signaled());
}

TEST(each_operation_has_its_operands)
{
	(void)state;
	wr = (struct wr){ .opcode = IBV_WR_SEND_WITH_IMM, .imm = 0x01020304 };
	assert_true(post_changed());
	assert_int_equal(sent.imm_data, htonl(0x01020304));
	assert_int_equal(requests_count(&queue_pair.sent), 1);
	wr = (struct wr){ .opcode = IBV_WR_RDMA_WRITE, .remote_addr = 0x1100, .rkey = 9 };
	assert_true(post_changed());
	assert_int_equal(sent.wr.rdma.remote_addr, 0x51100);
	assert_int_equal(sent.wr.rdma.rkey, 0x209);
	assert_int_equal(requests_count(&queue_pair.sent), 1);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.remote_addr++;
	assert_true(post_changed());
	assert_int_equal(sent.opcode, IBV_WR_RDMA_READ);
	assert_int_equal(sent.wr.rdma.remote_addr, 0x51101);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.imm = 7;
	assert_true(post_changed());
	assert_int_equal(sent.imm_data, htonl(7));
	assert_int_equal(sent.wr.rdma.rkey, 0x209);
	assert_int_equal(requests_count(&queue_pair.sent), 2);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.compare_add = 21;
	wr.swap = 22;
	assert_true(post_changed());
	assert_int_equal(sent.wr.atomic.compare_add, 21);
	assert_int_equal(sent.wr.atomic.swap, 22);
	assert_int_equal(sent.wr.atomic.remote_addr, 0x51101);
	assert_int_equal(sent.wr.atomic.rkey, 0x209);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.swap = 23;
	assert_true(post_changed());
	assert_int_equal(sent.wr.atomic.swap, 23);
	assert_int_equal(requests_count(&queue_pair.sent), 2);
	wr.opcode = IBV_WR_SEND_WITH_INV; /* needs more than a look-up */
	assert_false(post_changed());
	assert_int_equal(nposts, 6);
}

TEST(operands_that_change_are_translated_again)
{
	(void)state;
	wr = (struct wr){ .opcode = IBV_WR_RDMA_WRITE, .remote_addr = 0x1100, .rkey = 9 };
	assert_true(post_changed());
	wr.remote_addr = 0x1200;
	wr.wr_id = 6;
	assert_true(post_changed());
	assert_int_equal(sent.wr.rdma.remote_addr, 0x51200);
	assert_int_equal(sent.wr_id, 6);
	wr.rkey = 7; /* of the first process: the peer has none */
	assert_false(post_changed());
	wr.rkey = 9;
	assert_true(post_changed());
}

TEST(inline_bytes_need_no_key)
{
	(void)state;
	sges[0] = (struct sge){ .addr = 0x1000, .length = 8, .lkey = 99 };
	wr.send_flags = IBV_SEND_INLINE;
	assert_true(post_changed());
	assert_int_equal(buffers[0].addr, 0x7000);
	assert_int_equal(buffers[0].length, 8);
	sges[0].length = 9; /* it is not all in memory */
	assert_false(post_changed());
	sges[0].length = 7;
	assert_true(post_changed());
	wr.send_flags = 0;
	assert_false(post_changed()); /* now it does */
}

TEST(a_buffer_that_moves_is_followed)
{
	(void)state;
	assert_true(post_alone());
	sges[0] = (struct sge){ .addr = 0x1030, .length = 3, .lkey = 7 };
	wr.wr_id = 9;
	assert_true(post_changed());
	assert_int_equal(buffers[0].addr, 0x51030);
	assert_int_equal(buffers[0].length, 3);
	assert_int_equal(sent.wr_id, 9);
	assert_int_equal(last_of(&queue_pair.out[SIDE_SEND])->length, 3);
	sges[0].lkey = 8;
	assert_true(post_changed());
	assert_int_equal(buffers[0].lkey, 0x108);
	sges[0].lkey = 6;
	assert_false(post_changed());
}

TEST(an_event_like_the_last_one_is_not_looked_up)
{
	(void)state;
	assert_true(post_alone());
	sges[0].addr = 0x1040; /* the player is not notified of this change */
	assert_true(post_alone());
	assert_int_equal(buffers[0].addr, 0x51010);
	replicas[MR].replayed_base += 0x100;
	replay.changes++;
	assert_true(post_alone());
	assert_int_equal(buffers[0].addr, 0x51140);
	map_remove(&replay.lkeys, process_key(1, 7)); /* it was deregistered */
	replay.changes++;
	assert_false(post_alone());
}

TEST(regions_of_the_whole_address_space_are_not_cached)
{
	(void)state;
	replicas[MR].implicit = true;
	assert_false(post_alone());
	replicas[MR].implicit = false;
	replicas[MR].region = false; /* a window, or by a damaged trace something else */
	assert_false(post_changed());
	replicas[MR].region = true;
	assert_true(post_changed());
}

/* What the slow path must do: a member is set, and the fast path is impossible. */
#define EXPECT_SLOW(member, value)              \
	do {                                    \
		typeof(member) before = member; \
		member = (value);               \
		replay.changes++;               \
		assert_false(post_changed());   \
		member = before;                \
		assert_true(post_changed());    \
	} while (0)

static void *const some = counts;

TEST(the_slow_path_does_what_is_not_as_recorded)
{
	(void)state;
	map_put(&replay.lkeys, process_key(0, 7), MR); /* of a process that does not exist */
	map_put(&replay.lkeys, process_key(3, 7), MR);
	EXPECT_SLOW(replay.far, some);
	EXPECT_SLOW(replay.pair, some);
	EXPECT_SLOW(replay.contents, some);
	EXPECT_SLOW(replay.needs, some);
	EXPECT_SLOW(replay.nlacking, 1);
	EXPECT_SLOW(options.processes, true);
	EXPECT_SLOW(ready.event.inner, true);
	EXPECT_SLOW(ready.event.process, 0);
	EXPECT_SLOW(ready.event.process, 3);
	EXPECT_SLOW(post.object, 0);
	EXPECT_SLOW(post.object, MR);
	EXPECT_SLOW(post.object, NOBJECTS);
	EXPECT_SLOW(post.verb, VERB_wr_complete);
	EXPECT_SLOW(post.ret, EINVAL);
	EXPECT_SLOW(post.nwr, 2);
	EXPECT_SLOW(replicas[QP].handle, NULL);
	EXPECT_SLOW(queue_pair.cut, "why");
	EXPECT_SLOW(queue_pair.type, IBV_QPT_UD);
	EXPECT_SLOW(wr.num_sge, 2);
	EXPECT_SLOW(is_shorter, true);
	queue_pair.type = IBV_QPT_UC;
	replay.changes++;
	assert_true(post_changed());
}

/* The same without a change of keys and objects: the last translation was usable. */
#define EXPECT_SLOW_NEXT(member, value)         \
	do {                                    \
		typeof(member) before = member; \
		assert_true(post_changed());    \
		member = (value);               \
		assert_false(post_changed());   \
		member = before;                \
	} while (0)

TEST(a_translation_is_used_only_while_all_is_as_recorded)
{
	(void)state;
	for (wr.nsge = 1; wr.nsge <= 2; wr.nsge++) { /* a buffer may move, two are looked up */
		free(ready.kept);
		ready.kept = NULL;
		wr.num_sge = (int)wr.nsge;
		EXPECT_SLOW_NEXT(post.ret, EINVAL);
		EXPECT_SLOW_NEXT(queue_pair.cut, "why");
		EXPECT_SLOW_NEXT(replay.nlacking, 1);
		EXPECT_SLOW_NEXT(wr.num_sge, 3);
		EXPECT_SLOW_NEXT(sges[0].lkey, 77);
	}
}

TEST(flags_that_change_are_not_those_of_the_last_one)
{
	(void)state;
	assert_true(post_changed());
	wr.send_flags = IBV_SEND_FENCE;
	assert_true(post_changed());
	assert_int_equal(sent.send_flags, IBV_SEND_FENCE);
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm = 3;
	assert_true(post_changed());
	assert_int_equal(sent.opcode, IBV_WR_SEND_WITH_IMM);
	wr.imm = 4;
	assert_true(post_changed());
	assert_int_equal(sent.imm_data, htonl(4));
}

TEST(posts_of_several_requests_are_not_prepared)
{
	(void)state;
	post.nwr = 2;
	assert_false(post_alone());
	assert_null(ready.kept);
}

TEST(a_queue_of_another_player_needs_the_replay_alone)
{
	(void)state;
	assert_true(fast_post(&replay, &ready, false));
	ready.player = PLAYER + 1;
	replay.changes++;
	assert_false(fast_post(&replay, &ready, false));
	assert_true(fast_post(&replay, &ready, true));
}

TEST(faults_are_left_to_the_slow_path)
{
	(void)state;
	is_due = true;
	assert_true(post_alone());
	replay.failing = true;
	assert_false(post_alone());
	is_due = false;
	assert_true(post_alone());
}

TEST(requests_that_wait_for_room_go_first)
{
	(void)state;
	queue_pair.out[SIDE_SEND].held = some;
	assert_false(post_alone());
	queue_pair.out[SIDE_SEND].held = NULL;
	assert_true(post_alone());
}

TEST(a_post_that_fails_leaves_nothing)
{
	(void)state;
	assert_true(post_alone());
	post_error = ENOMEM;
	assert_false(post_alone());
	assert_int_equal(nposts, 2);
	assert_int_equal(requests_count(&queue_pair.out[SIDE_SEND]), 1);
	assert_int_equal(requests_count(&queue_pair.sent), 1);
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.rkey = 9;
	assert_false(post_changed());
	assert_int_equal(requests_count(&queue_pair.out[SIDE_SEND]), 1);
	assert_int_equal(requests_count(&queue_pair.sent), 1);
	assert_int_equal(counts[OUTCOME_POSTS], 1);
}

TEST(a_wr_id_that_may_be_of_another_request_is_replaced)
{
	(void)state;
	assert_true(post_alone());
	assert_int_equal(sent.wr_id, 5);
	assert_true(post_alone()); /* the one before was not signaled */
	assert_int_equal(sent.wr_id, request_cookie(QP, SIDE_SEND, 1));
	assert_int_equal(last_of(&queue_pair.out[SIDE_SEND])->wr_id, 5);
	assert_int_equal(last_of(&queue_pair.out[SIDE_SEND])->posted, sent.wr_id);
}

TEST(a_list_of_messages_is_settled_before_it_grows)
{
	uint32_t size;

	(void)state;
	assert_true(post_changed());
	nsettled = 0;
	size = queue_pair.sent.size;
	while (requests_count(&queue_pair.sent) < size)
		assert_true(post_changed());
	assert_int_equal(nsettled, 0);
	assert_true(fast_post(&replay, &ready, false)); /* it is not alone */
	assert_int_equal(nsettled, 0);
	while (requests_count(&queue_pair.sent) < queue_pair.sent.size)
		assert_true(post_changed());
	assert_true(post_alone());
	assert_int_equal(nsettled, 1);
	while (requests_count(&queue_pair.sent) < SENT_MOST)
		assert_true(fast_post(&replay, &ready, false));
	assert_false(fast_post(&replay, &ready, false));
	assert_int_equal(requests_count(&queue_pair.sent), SENT_MOST);
	assert_int_equal(requests_count(&queue_pair.out[SIDE_SEND]), SENT_MOST);
	assert_int_equal(nposts, SENT_MOST);
}
