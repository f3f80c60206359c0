/*
 * Requests of builders that are held back: as ibv_post_send() gets them. The device is a function
 * that notes what it gets; each test is in a child, where the thread is its own.
 */
#include "shim/trace/faults/held.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "shim/trace/faults/original.h"
#include "shim/trace/ring/recording.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

static struct ibv_context context;
static struct ibv_qp_ex qp = { .qp_base = { .context = &context, .qp_num = 1 } };
static struct ibv_send_wr got[4];
static char data[4][16], header[16];
static atomic_int ngot;
static struct held_batch held;

static int note_send(struct ibv_qp *of, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int i = atomic_load(&ngot);

	(void)of, (void)bad;
	got[i] = *wr;
	if (wr->send_flags & IBV_SEND_INLINE)
		memcpy(data[i], (const void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
	if (wr->opcode == IBV_WR_TSO)
		memcpy(header, wr->tso.hdr, wr->tso.hdr_sz);
	atomic_store(&ngot, i + 1);
	return 0;
}

static void begin_device(void)
{
	recording_lock();
	original_add_context(&context)->ops.post_send = note_send;
	recording_unlock();
}

static void finish_batch(int n)
{
	HOLDS(held_postpone(&held, &qp.qp_base) == 0);
	held_drop(&held);
	HOLDS(!held.on && !held.first);
	while (atomic_load(&ngot) < n)
		sched_yield();
}

static struct ibv_send_wr *add_request(uint64_t wr_id, unsigned int flags, int opcode)
{
	qp.wr_id = wr_id;
	qp.wr_flags = flags;
	return held_add(&held, &qp, opcode);
}

static void order_body(void)
{
	const struct ibv_sge sges[] = { { 0x1000, 8, 7 }, { 0x2000, 16, 8 } };
	char text[] = "before";

	begin_device();
	held.ns = 2000000;
	add_request(1, IBV_SEND_SIGNALED, IBV_WR_SEND);
	held_set_data(&held, 1, &(const struct ibv_data_buf){ text, sizeof(text) });
	held.ns = 0;
	add_request(2, IBV_SEND_FENCE, IBV_WR_RDMA_WRITE)->wr.rdma.rkey = 99;
	held_set_sges(&held, 2, sges);
	strcpy(text, "behind");
	finish_batch(2);
	HOLDS(got[0].wr_id == 1 && got[0].send_flags == (IBV_SEND_SIGNALED | IBV_SEND_INLINE));
	HOLDS(!strcmp(data[0], "before"));
	HOLDS(got[1].wr_id == 2 && got[1].send_flags == IBV_SEND_FENCE && got[1].num_sge == 2);
	HOLDS(got[1].opcode == IBV_WR_RDMA_WRITE && got[1].wr.rdma.rkey == 99);
}

TEST(requests_of_a_batch_keep_their_order_and_data)
{
	in_child(order_body);
}

static void address_body(void)
{
	struct ibv_ah *ah = (struct ibv_ah *)&context;

	begin_device();
	add_request(1, 0, IBV_WR_SEND);
	held_set_address(&held, ah, 5, 6);
	add_request(2, 0, IBV_WR_SEND);
	held_set_srqn(&held, 77);
	finish_batch(2);
	HOLDS(got[0].wr.ud.ah == ah && got[0].wr.ud.remote_qpn == 5 &&
	      got[0].wr.ud.remote_qkey == 6);
	HOLDS(got[1].qp_type.xrc.remote_srqn == 77);
}

TEST(addresses_belong_to_the_last_request)
{
	in_child(address_body);
}

static void header_body(void)
{
	char text[] = "ethernet";

	begin_device();
	held_set_header(&held, add_request(1, 0, IBV_WR_TSO), text, sizeof(text), 1400);
	strcpy(text, "changed");
	finish_batch(1);
	HOLDS(!strcmp(header, "ethernet") && got[0].tso.mss == 1400);
}

TEST(header_is_copied)
{
	in_child(header_body);
}
