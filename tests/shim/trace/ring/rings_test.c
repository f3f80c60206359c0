/* Rings that grow: those of a program without a collector, within the limit of its session. */
#include <infiniband/verbs.h>

#include "shim/trace/ring/record.h"
#include "shim/trace/verbs/data.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

static struct ibv_context context;
static struct ibv_qp qp = { .context = &context, .qp_type = IBV_QPT_RC };
static uint64_t limit; /* of the session, bytes */

static int take_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)q, (void)wr, (void)bad;
	return 0;
}

static void begin_growing(void)
{
	session_begin(4 * RING_MIN, ON_FULL_GROW);
	session.page->limit = limit;
	context.ops.post_send = take_send;
	HOLDS(data_patch(&context.ops) == 0);
}

static void send_one(void)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND }, *bad;

	HOLDS(!ibv_post_send(&qp, &wr, &bad));
}

static void recorded_body(void)
{
	struct ring ring;

	begin_growing();
	send_one();
	ring = session_ring(0);
	HOLDS(expect_event(&ring, EVENT_POST));
}

TEST(a_ring_grows_within_the_limit)
{
	limit = 1 << 30;
	in_child(recorded_body);
}

TEST(a_ring_is_small_if_there_is_no_room_for_another)
{
	limit = 2 * RING_PAGE + 2 * RING_MIN;
	in_child(recorded_body);
}

static void unrecorded_body(void)
{
	begin_growing();
	send_one();
	HOLDS(!record_ready());
}

TEST(without_room_nothing_is_recorded)
{
	limit = RING_PAGE;
	in_child(unrecorded_body);
}
