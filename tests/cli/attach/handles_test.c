#include <rdma/rdma_user_rxe.h>
#include <stdlib.h>

#include "cli/attach/facts.h"
#include "cli/attach/handles.h"
#include "tests/test.h"

/* A program's memory: its objects, at page 1 of a mapping that is followed by others. */
static struct memory_of_program {
	uint64_t before[512];
	struct ibv_device device;
	struct ibv_context context;
	struct ibv_pd pd;
	struct ibv_comp_channel channel;
	struct ibv_cq cq[2];
	struct ibv_qp qp;
	struct ibv_mr mr;
	char data[256];
	uint64_t after[1024];
} original, program __attribute__((aligned(4096)));

/* Queues of rxe, in mappings of their own. */
static struct rings_of_rxe {
	struct rxe_queue_buf head;
	uint8_t elements[4096];
} rings[2] __attribute__((aligned(4096)));

static struct memory_range ranges[2];
static struct facts facts;
static struct handles handles;

static size_t read_program(const struct memory *memory, uint64_t at, void *to, size_t n)
{
	uintptr_t from = (uintptr_t)&program, end = from + sizeof(program);

	(void)memory;
	if (at >= (uintptr_t)rings && at < (uintptr_t)(rings + 2)) {
		from = (uintptr_t)rings;
		end = (uintptr_t)(rings + 2);
	}
	if (at < from || at >= end)
		return 0;
	if (n > end - at)
		n = end - at;
	memcpy(to, (void *)(uintptr_t)at, n);
	return n;
}

static int set_up(void **state)
{
	struct memory_of_program *p = &program;

	(void)state;
	memset(p, 0, sizeof(*p));
	strcpy(p->device.name, "mlx5_0");
	strcpy(p->device.dev_name, "uverbs0");
	p->context = (struct ibv_context){ .device = &p->device,
					   .cmd_fd = 3,
					   .async_fd = 4,
					   .num_comp_vectors = 1,
					   .abi_compat = __VERBS_ABI_IS_EXTENDED };
	p->pd.context = p->channel.context = &p->context;
	p->channel.fd = 5;
	p->channel.refcnt = 1;
	for (int i = 0; i < 2; i++)
		p->cq[i] = (struct ibv_cq){ .context = &p->context, .cqe = 63 + i };
	p->cq[1].channel = &p->channel;
	p->cq[1].comp_events_completed = 7;
	p->qp = (struct ibv_qp){ .context = &p->context,
				 .pd = &p->pd,
				 .send_cq = &p->cq[0],
				 .recv_cq = &p->cq[1],
				 .qp_num = 0x1234,
				 .state = IBV_QPS_RTS,
				 .qp_type = IBV_QPT_RC };
	p->mr = (struct ibv_mr){ .context = &p->context,
				 .pd = &p->pd,
				 .addr = p->data,
				 .length = sizeof(p->data),
				 .lkey = 1,
				 .rkey = 2 };
	ranges[0] = (struct memory_range){ (uintptr_t)p, (uintptr_t)(p + 1), true, false };
	facts = (struct facts){
		.is_core = true, .memory = { .read = read_program, .ranges = ranges, .nranges = 1 }
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	handles_fini(&handles);
	return 0;
}
FIXTURE(set_up, tear_down);

TEST(objects_are_found)
{
	assert_int_equal(handles_find(&facts, &handles), 0);
	assert_int_equal(handles.ncontexts, 1);
	assert_string_equal(handles.contexts[0].name, "mlx5_0");
	assert_int_equal(handles.contexts[0].cmd_fd, 3);
	assert_int_equal(handles.nqps, 1);
	assert_int_equal(handles.qps[0].qpn, 0x1234);
	assert_int_equal(handles.qps[0].state, IBV_QPS_RTS);
	assert_false(handles.qps[0].gone || handles.qps[0].sq.known);
	assert_int_equal(handles.ncqs, 2);
	assert_int_equal(handles.nmrs, 1);
	assert_int_equal(handles.mrs[0].rkey, 2);
	assert_non_null(handles_qp(&handles, 0x1234));
	assert_null(handles_qp(&handles, 0x1235));
}

TEST(events_and_channel_of_a_queue)
{
	const struct handle_cq *cq;

	assert_int_equal(handles_find(&facts, &handles), 0);
	cq = handles.cqs[0].channel ? &handles.cqs[0] : &handles.cqs[1];
	assert_int_equal(cq->fd, 5);
	assert_int_equal(cq->events_acked, 7);
	assert_int_equal(cq->slot, -1);
}

static void put_ring(int i, uint32_t bits, uint32_t produced, uint32_t consumed)
{
	struct rxe_queue_buf *head = &rings[i].head;

	*head = (struct rxe_queue_buf){ .log2_elem_size = bits,
					.index_mask = 7,
					.producer_index = produced,
					.consumer_index = consumed };
	for (int k = 0; k < 8; k++)
		((struct rxe_send_wr *)&rings[i].elements[k << bits])->opcode = IBV_WR_SEND;
}

TEST(queues_that_rxe_shares_with_the_program)
{
	struct target_map maps[2];
	struct rings_of_rxe *pointers[] = { &rings[0], &rings[1] };

	for (int i = 0; i < 2; i++)
		maps[i] = (struct target_map){ .start = (uintptr_t)&rings[i],
					       .end = (uintptr_t)(&rings[i] + 1),
					       .path = (char *)"/dev/infiniband/uverbs0" };
	facts.process.maps = maps;
	facts.process.nmaps = 2;
	memcpy(program.data, pointers, sizeof(pointers));
	put_ring(0, 6, 3, 1);
	put_ring(1, 8, 1, 7);
	assert_int_equal(handles_find(&facts, &handles), 0);
	assert_true(handles.qps[0].rings.known && handles.qps[0].rings.needs_receive);
	assert_int_equal(handles.qps[0].rings.receives, 2);
	assert_int_equal(handles.qps[0].rings.receives_most, 7);
	assert_int_equal(handles.qps[0].rings.sends, 2);
	handles_fini(&handles);
	rings[1].head.index_mask = 8; /* no power of two less one */
	assert_int_equal(handles_find(&facts, &handles), 0);
	assert_false(handles.qps[0].rings.known);
}

TEST(queue_pair_that_the_kernel_does_not_have_is_gone)
{
	struct kernel_object object = { .kind = KERNEL_QP, .number = 0x99 };

	facts.kernel.objects = &object;
	facts.kernel.n = 1;
	assert_int_equal(handles_find(&facts, &handles), 0);
	assert_true(handles.qps[0].gone);
	assert_null(handles_qp(&handles, 0x1234));
}

static void change_mark(void)
{
	program.context.abi_compat = NULL;
}
static void change_fd(void)
{
	program.context.cmd_fd = -1;
}
static void change_vectors(void)
{
	program.context.num_comp_vectors = 0;
}
static void change_name(void)
{
	strcpy(program.device.name, "\033[2J");
}
static void empty_name(void)
{
	program.device.name[0] = '\0';
}
static void endless_name(void)
{
	memset(program.device.name, 'x', sizeof(program.device.name));
}
static void change_device(void)
{
	program.context.device = (void *)8;
}
static void share_memory(void)
{
	ranges[0].shared = true;
}
static void protect_memory(void)
{
	ranges[0].writable = false;
}

static const struct change {
	const char *name;
	void (*change)(void);
} changes[] = {
	{ "no_context_without_mark", change_mark },
	{ "no_context_without_descriptor", change_fd },
	{ "no_context_without_vectors", change_vectors },
	{ "no_context_with_a_foreign_name", change_name },
	{ "no_context_with_an_empty_name", empty_name },
	{ "no_context_with_an_endless_name", endless_name },
	{ "no_context_without_device", change_device },
	{ "no_context_in_shared_memory", share_memory },
	{ "no_context_in_protected_memory", protect_memory },
};

static void finds_nothing(void **state)
{
	const struct change *change = *state;

	set_up(NULL);
	change->change();
	assert_int_equal(handles_find(&facts, &handles), 0);
	assert_int_equal(handles.ncontexts + handles.nqps + handles.ncqs, 0);
	handles_fini(&handles);
}
TEST_ROWS(changes, finds_nothing);

TEST(object_that_is_none)
{
	program.qp.state = 7;
	program.mr.length = 1 << 30; /* beyond the mapping */
	program.cq[1].cqe = -1;
	assert_int_equal(handles_find(&facts, &handles), 0);
	assert_int_equal(handles.ncontexts, 1);
	assert_int_equal(handles.nqps + handles.nmrs + handles.ncqs, 0);
}

/* Whatever a word of the memory is, nothing else is read (with SAN=address), and it ends. */
TEST(any_word_may_be_anything)
{
	uint64_t values[] = { 0,
			      1,
			      UINT64_MAX,
			      UINT64_MAX / 2,
			      (uintptr_t)&program.context,
			      (uintptr_t)&program.qp,
			      (uintptr_t)(&program + 1) - 8 };
	size_t from = offsetof(struct memory_of_program, context) / 8,
	       to = offsetof(struct memory_of_program, after) / 8;

	original = program;
	for (size_t i = from; i < to; i++) {
		for (size_t k = 0; k < sizeof(values) / sizeof(*values); k++) {
			memcpy((char *)&program + i * 8, &values[k], 8);
			assert_int_equal(handles_find(&facts, &handles), 0);
			handles_fini(&handles);
			program = original;
		}
	}
}
