/*
 * Lists that a program may post, and that payload capture must not trip over
 */
#include <unistd.h>
#include <sys/mman.h>

#include "core/wire/payload.h"
#include "shim/trace/objects/endpoints.h"
#include "shim/trace/payload/payload.h"
#include "tests/test.h"

static struct ibv_context context;
static struct ibv_cq cq = { .context = &context };
static struct ibv_qp qp = {
	.context = &context, .qp_num = 5, .send_cq = &cq, .recv_cq = &cq, .qp_type = IBV_QPT_RC
};
static const struct ibv_qp_cap cap = {
	.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2
};

static int begin_payload(void **state)
{
	(void)state;
	alarm(60); /* for an endless list */
	payload_begin(&(struct payload_rule){ .keep = PAYLOAD_FULL }, false);
	endpoints_add_qp(&qp, &cap, true, true);
	return 0;
}

static int end_payload(void **state)
{
	(void)state;
	queue_begin(&endpoints_find(&qp)->send, 0, 0, false);
	queue_begin(&endpoints_find(&qp)->recv, 0, 0, false);
	payload_begin(&(struct payload_rule){ .keep = PAYLOAD_NONE }, false);
	return 0;
}

FIXTURE(begin_payload, end_payload);

/* The elements of such operations mean nothing to the device, so they may be anything. */
TEST(operations_without_buffers_have_none)
{
	struct ibv_send_wr wr = { .sg_list = (void *)8, .num_sge = 1, .opcode = IBV_WR_LOCAL_INV };
	struct wr_list list;

	wr_list_init(&list, __builtin_frame_address(0));
	assert_false(payload_capture_sends(&list, &qp, &wr, false));
	payload_forget_sends(&list, &qp, &wr);
	wr.opcode = IBV_WR_BIND_MW;
	assert_false(payload_capture_sends(&list, &qp, &wr, false));
}

/* As many as no device has: the verb refuses it, and does not look at them. */
TEST(more_elements_than_there_can_be_are_not_read)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_sge *last = (void *)(two + page - sizeof(*last));
	struct ibv_send_wr wr = { .sg_list = last,
				  .num_sge = INT32_MAX,
				  .opcode = IBV_WR_RDMA_READ };
	struct ibv_recv_wr recv = { .sg_list = last, .num_sge = INT32_MAX };
	struct wr_list list;

	wr_list_init(&list, __builtin_frame_address(0));
	assert_int_equal(mprotect(two, page, PROT_READ | PROT_WRITE), 0);
	assert_false(payload_capture_sends(&list, &qp, &wr, false));
	payload_forget_sends(&list, &qp, &wr);
	assert_int_equal(queue_has(&endpoints_find(&qp)->send, 0), 0);
	payload_note_receives(&list, &qp, &recv);
	payload_forget_receives(&list, &qp, &recv);
	assert_int_equal(queue_has(&endpoints_find(&qp)->recv, 0), 0);
	munmap(two, 2 * page);
}

/* The verb ends when the queue is full, somewhere in it. */
TEST(a_list_that_runs_in_a_circle_ends)
{
	struct ibv_send_wr b = { .opcode = IBV_WR_RDMA_READ },
			   a = { .opcode = IBV_WR_RDMA_READ, .next = &b };
	struct ibv_recv_wr d = { .wr_id = 1 }, c = { .next = &d };
	struct wr_list list;

	wr_list_init(&list, __builtin_frame_address(0));
	b.next = &a;
	d.next = &c;
	payload_capture_sends(&list, &qp, &a, false);
	payload_forget_sends(&list, &qp, &a);
	payload_note_receives(&list, &qp, &c);
	payload_forget_receives(&list, &qp, &c);
}
