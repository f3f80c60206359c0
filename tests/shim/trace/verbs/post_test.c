/*
 * Recorded fields of a request: each that its operation and its queue pair have
 */
#include <string.h>
#include <infiniband/verbs.h>

#include "shim/trace/ring/record.h"
#include "shim/trace/verbs/data.h"
#include "shim/trace/verbs/filter.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

static struct ibv_context context;
static struct ibv_qp qp = { .context = &context };
static struct ibv_srq srq = { .context = &context };

static int take_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)q, (void)wr, (void)bad;
	return 0;
}

static int take_recv(struct ibv_qp *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)q, (void)wr, (void)bad;
	return 0;
}

static int take_srq_recv(struct ibv_srq *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)q, (void)wr, (void)bad;
	return 0;
}

static struct ibv_sge sges[3] = { { 0x1001, 2, 3 }, { 0x1004, 5, 6 }, { 0x1007, 8, 9 } };
static const struct event_sge kept_sges[3] = { { 0x1001, 2, 3 },
					       { 0x1004, 5, 6 },
					       { 0x1007, 8, 9 } };

/* The layout of a request in the buffer after the event, with any parts. */
struct kept {
	struct event_wr wr;
	char parts[256];
	size_t used;
};

static void add_part(struct kept *kept, const void *part, size_t bytes)
{
	memcpy(kept->parts + kept->used, part, bytes);
	kept->used += bytes;
}

static struct session_filter filter; /* of the next begin_posts() */

static void begin_posts(enum ibv_qp_type type)
{
	session_begin(RING_MIN, ON_FULL_WAIT);
	session.page->filter = filter;
	context.ops.post_send = take_send;
	context.ops.post_recv = take_recv;
	context.ops.post_srq_recv = take_srq_recv;
	qp.qp_type = type;
	HOLDS(data_patch(&context.ops) == 0);
}

static void is_kept(const void *object, const struct kept *kept)
{
	struct ring ring = session_ring(0);
	const struct event_post *post = expect_event(&ring, EVENT_POST);

	HOLDS(post && post->object == (uintptr_t)object && post->nwr == 1);
	HOLDS(post->head.words * 8 == sizeof(*post) + sizeof(kept->wr) + kept->used);
	HOLDS(!memcmp(post + 1, &kept->wr, sizeof(kept->wr)));
	HOLDS(!memcmp((const char *)(post + 1) + sizeof(kept->wr), kept->parts, kept->used));
}

static void check_sent(enum ibv_qp_type type, struct ibv_send_wr *wr, const struct kept *kept)
{
	struct ibv_send_wr *bad;

	begin_posts(type);
	HOLDS(!ibv_post_send(&qp, wr, &bad));
	is_kept(&qp, kept);
}

static void send_body(void)
{
	struct ibv_send_wr wr = { .wr_id = 1,
				  .opcode = IBV_WR_SEND_WITH_INV,
				  .num_sge = 3,
				  .sg_list = sges,
				  .send_flags = IBV_SEND_SOLICITED,
				  .invalidate_rkey = 0x12 };
	struct kept kept = { { 1, IBV_WR_SEND_WITH_INV, IBV_SEND_SOLICITED, 3, 0, 0x12 }, "", 0 };

	add_part(&kept, kept_sges, sizeof(kept_sges));
	check_sent(IBV_QPT_RC, &wr, &kept);
}

static void atomic_body(void)
{
	struct ibv_send_wr wr = { .wr_id = 2,
				  .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
				  .num_sge = 1,
				  .sg_list = sges + 1,
				  .wr.atomic = { 0x20, 0x21, 0x22, 0x23 } };
	struct kept kept = { { 2, IBV_WR_ATOMIC_CMP_AND_SWP, 0, 1, WR_RDMA | WR_ATOMIC, 0 },
			     "",
			     0 };

	add_part(&kept, &(struct event_rdma){ 0x20, 0x23 }, sizeof(struct event_rdma));
	add_part(&kept, &(struct event_atomic){ 0x21, 0x22 }, sizeof(struct event_atomic));
	add_part(&kept, kept_sges + 1, sizeof(kept_sges[0]));
	check_sent(IBV_QPT_RC, &wr, &kept);
}

static void datagram_body(void)
{
	struct ibv_send_wr wr = { .wr_id = 3,
				  .num_sge = 1,
				  .sg_list = sges,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .imm_data = htobe32(0x31),
				  .wr.ud = { (void *)0x32, 0x33, 0x34 } };
	struct kept kept = { { 3, IBV_WR_SEND_WITH_IMM, 0, 1, WR_UD, 0x31 }, "", 0 };

	add_part(&kept, &(struct event_ud){ 0x32, 0x33, 0x34 }, sizeof(struct event_ud));
	add_part(&kept, kept_sges, sizeof(kept_sges[0]));
	check_sent(IBV_QPT_UD, &wr, &kept);
}

static void xrc_body(void)
{
	struct ibv_send_wr wr = { .wr_id = 4,
				  .opcode = IBV_WR_RDMA_READ,
				  .num_sge = 2,
				  .sg_list = sges,
				  .wr.rdma = { 0x40, 0x41 },
				  .qp_type.xrc.remote_srqn = 0x42 };
	struct kept kept = { { 4, IBV_WR_RDMA_READ, 0, 2, WR_RDMA | WR_XRC, 0 }, "", 0 };

	add_part(&kept, &(struct event_rdma){ 0x40, 0x41 }, sizeof(struct event_rdma));
	add_part(&kept, &(uint64_t){ 0x42 }, 8);
	add_part(&kept, kept_sges, 2 * sizeof(kept_sges[0]));
	check_sent(IBV_QPT_XRC_SEND, &wr, &kept);
}

static void bind_body(void)
{
	struct ibv_send_wr wr = {
		.wr_id = 5,
		.opcode = IBV_WR_BIND_MW,
		.num_sge = 1,
		.sg_list = sges,
		.bind_mw = { .mw = (void *)0x50,
			     .rkey = 0x51,
			     .bind_info = { (void *)0x52, 0x53, 0x54, IBV_ACCESS_REMOTE_READ } },
	};
	struct kept kept = { { 5, IBV_WR_BIND_MW, 0, 0, WR_BIND, 0 }, "", 0 };

	add_part(&kept,
		 &(struct event_bind){ 0x50, 0x51, 0x52, 0x53, 0x54, IBV_ACCESS_REMOTE_READ },
		 sizeof(struct event_bind));
	check_sent(IBV_QPT_RC, &wr, &kept);
}

static void tso_body(void)
{
	struct ibv_send_wr wr = { .wr_id = 6,
				  .opcode = IBV_WR_TSO,
				  .num_sge = 1,
				  .sg_list = sges,
				  .tso = { (void *)0x60, 0x61, 0x62 } };
	struct kept kept = { { 6, IBV_WR_TSO, 0, 1, WR_TSO, 0 }, "", 0 };

	add_part(&kept, &(struct event_tso){ 0x60, 0x61, 0x62 }, sizeof(struct event_tso));
	add_part(&kept, kept_sges, sizeof(kept_sges[0]));
	check_sent(IBV_QPT_RAW_PACKET, &wr, &kept);
}

static void recv_body(void)
{
	struct ibv_recv_wr wr = { .wr_id = 7, .num_sge = 3, .sg_list = sges }, *bad;
	struct kept kept = { { 7, 0, 0, 3, 0, 0 }, "", 0 };

	add_part(&kept, kept_sges, sizeof(kept_sges));
	begin_posts(IBV_QPT_RC);
	HOLDS(!ibv_post_recv(&qp, &wr, &bad));
	is_kept(&qp, &kept);
}

static void srq_recv_body(void)
{
	struct ibv_recv_wr wr = { .wr_id = 8, .num_sge = 2, .sg_list = sges }, *bad;
	struct kept kept = { { 8, 0, 0, 2, 0, 0 }, "", 0 };

	add_part(&kept, kept_sges, 2 * sizeof(kept_sges[0]));
	begin_posts(IBV_QPT_RC);
	HOLDS(!ibv_post_srq_recv(&srq, &wr, &bad));
	is_kept(&srq, &kept);
}

#define BODIES(B) B(send) B(atomic) B(datagram) B(xrc) B(bind) B(tso) B(recv) B(srq_recv)

/* clang-format off */
#define B(name) TEST(name##_is_kept) { in_child(name##_body); }
BODIES(B)
#undef B
/* clang-format on */

static void begin_filtered(enum ibv_qp_type taken)
{
	filter = (struct session_filter){ .on = 1,
					  .some_qps = 1,
					  .qp_types = session_qp_type(taken) };
	begin_posts(IBV_QPT_RC);
	HOLDS(record_ready() && recorder.filter);
	filter_note_qp(&qp);
}

static void post_one_each(void)
{
	struct ibv_send_wr send = { .wr_id = 1, .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = { .wr_id = 2 }, *bad_recv;

	HOLDS(!ibv_post_recv(&qp, &recv, &bad_recv));
	HOLDS(!ibv_post_send(&qp, &send, &bad_send));
}

static void taken_body(void)
{
	struct ring ring;

	begin_filtered(IBV_QPT_RC);
	post_one_each();
	ring = session_ring(0);
	HOLDS(((const struct event_post *)expect_event(&ring, EVENT_POST))->verb == VERB_post_recv);
	HOLDS(((const struct event_post *)expect_event(&ring, EVENT_POST))->verb == VERB_post_send);
}

TEST(posts_that_a_filter_takes_are_recorded)
{
	in_child(taken_body);
}

static void left_out_body(void)
{
	struct ring ring;

	begin_filtered(IBV_QPT_UD);
	post_one_each();
	ring = session_ring(0);
	HOLDS(!expect_event(&ring, EVENT_POST));
}

TEST(posts_that_a_filter_leaves_out_are_not)
{
	in_child(left_out_body);
}
