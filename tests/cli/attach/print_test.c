/*
 * What attach concludes and prints: print_test.txt
 *
 * A process with one object of each kind is printed in each state of each of these objects, then
 * whole processes: with all that is known, with nothing, and a core.
 */
#include <infiniband/verbs.h>
#include <string.h>
#include <sys/syscall.h>

#include "cli/attach/facts.h"
#include "cli/attach/print.h"
#include "cli/attach/reason.h"
#include "tests/printed.h"
#include "tests/test.h"
#include "tests/transcript.h"

enum { MANY = 18 };

static struct text out;

/* One process, of which all tables have rows. */
static struct {
	struct target_thread threads[MANY];
	struct unwind_stack stacks[MANY];
	struct stop stops[MANY];
	struct target_fd fds[6];
	struct fabric_qp qps[4];
	struct fabric_cq cqs[4];
	struct fabric_srq srq;
	struct fabric_mr mrs[2];
	struct handle_context context;
	struct handle_qp handle_qps[3];
	struct handle_cq handle_cqs[2];
	struct handle_mr handle_mr;
	struct kernel_object objects[KERNEL_KINDS];
	struct core_ring rings[3];
	struct facts facts;
} all;

static void put_frame(size_t thread, const char *function, const char *module)
{
	struct unwind_stack *stack = &all.stacks[thread];
	struct unwind_frame *frame = &stack->frames[stack->n++];

	frame->pc = 0x401000 + stack->n;
	strcpy(frame->function, function);
	strcpy(frame->module, module);
}

static void put_threads(void)
{
	for (int i = 0; i < MANY; i++)
		all.threads[i] = (struct target_thread){ .tid = 100 + i,
							 .state = i == 4 ? '\0' : "RSDZ"[i % 4],
							 .syscall = -2 };
	strcpy(all.threads[0].name, "main");
	strcpy(all.threads[1].wchan, "futex_wait_queue");
	all.stops[0].ns = 81000;
	all.stops[2].ns = 2500000;
	all.stops[3].why = "it has ended";
	put_frame(0, "rdma_get_recv_comp", "librdmacm.so.1");
	put_frame(0, "main", "server");
	put_frame(1, "futex", "libc.so.6");
	put_frame(1, "ibv_get_cq_event@@IBVERBS_1.1", "libibverbs.so.1");
	put_frame(1, "", "");
	for (int i = 0; i < 14; i++)
		put_frame(2, "recurse\033", "server");
	put_frame(17, "__ibv_destroy_cq_1_1", "libibverbs.so.1");
}

static void put_process(void)
{
	static const enum target_fd_kind kinds[] = { TARGET_FD_UVERBS,     TARGET_FD_RDMA_CM,
						     TARGET_FD_COMP_EVENT, TARGET_FD_ASYNC_EVENT,
						     TARGET_FD_SOFT_PIPE,  TARGET_FD_OTHER };

	for (int i = 0; i < 6; i++)
		all.fds[i] = (struct target_fd){ .fd = i, .kind = kinds[i] };
	all.facts.process = (struct target){ .pid = 4711,
					     .name = "server\n",
					     .pinned = 5 << 12,
					     .memlock_soft = 65536,
					     .nofile_soft = 1024,
					     .threads = all.threads,
					     .nthreads = MANY,
					     .fds = all.fds,
					     .nfds = 6 };
}

static void put_fabric(void)
{
	struct fabric_peer peer = { true, 99, false, true, IBV_QPS_RTS, 0x11, false, { 3, 8 }, 1 };

	all.qps[0] = (struct fabric_qp){ 0x11, IBV_QPS_RTS, IBV_QPT_RC, 0x12, 1,
					 0,    false,       { 2, 16 },  peer };
	peer.ended = true;
	all.qps[1] = (struct fabric_qp){ 0x13, IBV_QPS_ERR, IBV_QPT_UC, 0x14, 1,
					 0,    true,        { 0, 0 },   peer };
	peer.known = peer.seen = false;
	all.qps[2] = (struct fabric_qp){ 0x15, IBV_QPS_RTR, IBV_QPT_RC, 0x16, 1,
					 0,    false,       { 0, 4 },   peer };
	all.qps[3] = (struct fabric_qp){ .qpn = 0x17, .state = IBV_QPS_INIT, .type = IBV_QPT_UD };
	for (uint32_t i = 0; i < 4; i++)
		all.cqs[i] = (struct fabric_cq){ 7 + i, 64, i, i, 2 * i, i != 1, i == 2 };
	all.srq = (struct fabric_srq){ 5, { 6, 32 } };
	all.mrs[0] = (struct fabric_mr){ 1, 2, 0, 1, 0x10000, 4096 };
	all.mrs[1] = (struct fabric_mr){ 3, 4, 0, 1, 0x20fff, 2 };
	all.facts.fabric = (struct fabric){ .joined = true,
					    .instance = 3,
					    .qps = all.qps,
					    .nqps = 4,
					    .cqs = all.cqs,
					    .ncqs = 4,
					    .srqs = &all.srq,
					    .nsrqs = 1,
					    .mrs = all.mrs,
					    .nmrs = 2 };
}

static void put_handles(void)
{
	all.context = (struct handle_context){ 0x7000, "soft0", "uverbs0", 3, 4, 2 };
	for (int i = 0; i < 3; i++)
		all.handle_qps[i] = (struct handle_qp){ .at = 0x7100 + 16u * (unsigned int)i,
							.send_cq = 0x7200,
							.recv_cq = 0x7210,
							.srq = i ? 0 : 0x7300,
							.qpn = 0x11 + 2 * (unsigned int)i,
							.state = i == 1 ? IBV_QPS_ERR : IBV_QPS_RTS,
							.type = IBV_QPT_RC,
							.gone = i == 2,
							.sq = { i != 2, 4 + (unsigned int)i, 16, 2,
								1, 0, 0, 0 } };
	all.handle_cqs[0] = (struct handle_cq){
		.at = 0x7200, .cqe = 63, .fd = 5, .slot = 7, .events_acked = 2, .events_got = 3
	};
	all.handle_cqs[1] = (struct handle_cq){ .at = 0x7210, .cqe = 7, .fd = -1, .slot = -1 };
	all.handle_mr = (struct handle_mr){ 0x7400, 0x7000, 0x10000, 4096, 0x101, 0x102 };
	all.facts.searched = true;
	all.facts.handles = (struct handles){ .contexts = &all.context,
					      .ncontexts = 1,
					      .qps = all.handle_qps,
					      .nqps = 3,
					      .cqs = all.handle_cqs,
					      .ncqs = 2,
					      .mrs = &all.handle_mr,
					      .nmrs = 1 };
}

static void put_kernel(void)
{
	for (int i = 0; i < KERNEL_KINDS; i++) {
		all.objects[i] = (struct kernel_object){ .kind = (enum kernel_kind)i,
							 .number = 20 + (unsigned int)i,
							 .pd = 2,
							 .peer = 0x99,
							 .type = IBV_QPT_RC,
							 .state = IBV_QPS_SQE,
							 .cqe = 128,
							 .users = 3,
							 .iova = 0xab000,
							 .length = 8192 };
		strcpy(all.objects[i].device, "mlx5_0");
	}
	all.facts.kernel = (struct kernel){ .objects = all.objects, .n = KERNEL_KINDS };
}

static void put_rings(void)
{
	all.rings[0] = (struct core_ring){ 100, "main", 12345, 0, true };
	all.rings[1] = (struct core_ring){ 101, "poller", 1, 1, false };
	all.rings[2] = (struct core_ring){ 102, "idle", 0, -1, false };
	all.facts.rings = (struct core_rings){ .rings = all.rings, .n = 3, .mapped = 3 };
}

static void begin_process(void)
{
	memset(&all, 0, sizeof(all));
	put_threads();
	put_process();
	put_fabric();
	put_handles();
	put_kernel();
	put_rings();
	all.facts.stops = all.stops;
	all.facts.stacks = all.stacks;
}

/* Nothing is left but what functions put_...() add again. */
static void clear_process(void)
{
	begin_process();
	all.facts = (struct facts){ .process = { .pid = 4711,
						 .memlock_soft = UINT64_MAX,
						 .nofile_soft = UINT64_MAX,
						 .threads = all.threads } };
	strcpy(all.facts.process.name, "server");
}

static void show_all(const char *name)
{
	struct reasons reasons;

	reasons_find(&all.facts, &reasons);
	text_addf(&out, "== %s\n", name);
	printed_begin(false);
	print_facts(&all.facts, &reasons, false);
	printed_end(&out);
	text_addf(&out, "== %s, for programs\n", name);
	printed_begin(false);
	print_facts(&all.facts, &reasons, true);
	printed_end(&out);
}

static void show_reasons(const char *name, long a, long b)
{
	struct reasons reasons;

	reasons_find(&all.facts, &reasons);
	text_addf(&out, "%s %ld %ld\n", name, a, b);
	for (size_t i = 0; i < reasons.n; i++)
		text_addf(&out, "\t%s %d: %s\n", reason_name(reasons.at[i].kind),
			  (int)reasons.at[i].tid, reasons.at[i].text);
}

/* Whole processes */

static void show_core(void)
{
	clear_process();
	put_handles();
	put_rings();
	all.facts.is_core = true;
	all.facts.signal = 11;
	all.facts.missing = 4097;
	all.facts.rings.mapped = 5;
	all.facts.handles.skipped = 3 << 20;
	all.facts.no_stacks = "it has no registers";
	all.facts.process.nthreads = 1;
	show_all("core");
}

static void show_unknown(void)
{
	clear_process();
	strcpy(all.facts.kernel.why, "the kernel does not tell");
	show_all("nothing known");
	strcpy(all.facts.fabric.why, "it is of another version");
	all.facts.searched = true;
	show_all("searched in vain");
	all.facts.fabric.joined = true;
	put_handles();
	show_all("of a fabric that cannot be read");
}

static void show_stacks(void)
{
	for (size_t n = 16; n <= 17; n++) {
		struct reasons reasons;

		begin_process();
		all.facts.process.nthreads = n;
		reasons_find(&all.facts, &reasons);
		printed_begin(false);
		print_facts(&all.facts, &reasons, false);
		printed_end(&out);
	}
}

static void show_processes(void)
{
	begin_process();
	show_all("all");
	show_core();
	show_unknown();
	show_stacks();
}

/* Queues */

static void begin_one_queue(void)
{
	begin_process();
	all.facts.process.nthreads = 1;
	all.stacks[0].n = 0;
	all.facts.fabric.nqps = 1;
	all.facts.fabric.ncqs = 0;
	all.facts.handles.nqps = 1;
	all.facts.handles.ncqs = 0;
	all.facts.kernel.n = 0;
	all.facts.process.memlock_soft = UINT64_MAX;
}

static void show_queue_states(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
						  IBV_QPT_XRC_RECV };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		for (int state = IBV_QPS_RESET; state <= IBV_QPS_UNKNOWN; state++) {
			begin_one_queue();
			all.qps[0].type = types[i];
			all.qps[0].state = (uint32_t)state;
			show_reasons("type and state of a queue pair", types[i], state);
			all.facts.fabric.nqps = 0;
			all.facts.handles.nqps = 0;
			all.facts.kernel.n = 1;
			all.objects[0] = all.objects[KERNEL_QP];
			all.objects[0].type = (uint8_t)types[i];
			all.objects[0].state = (uint8_t)state;
			show_reasons("the same, of the kernel", types[i], state);
		}
}

static void show_peers(void)
{
	for (int known = 0; known < 16; known++)
		for (uint32_t posted = 0; posted < 2; posted++) {
			begin_one_queue();
			all.facts.handles.nqps = 0;
			all.qps[0].peer.known = known & 1;
			all.qps[0].peer.ended = known & 2;
			all.qps[0].peer.seen = known & 4;
			all.qps[0].peer.rq.posted = posted;
			if (known & 8)
				put_frame(0, "run_retries", "libverbatim-soft.so");
			show_reasons("peer known, ended, seen, retried; receives", known, posted);
		}
	for (uint32_t state = 0; state <= IBV_QPS_ERR; state++) {
		begin_one_queue();
		all.facts.handles.nqps = 0;
		put_frame(0, "run_retries", "libverbatim-soft.so");
		all.qps[0].peer.rq.posted = 0;
		all.qps[0].peer.state = state;
		show_reasons("state of the peer of a retried request", state, 0);
	}
}

static void show_sends(void)
{
	for (unsigned int wait = HANDLE_RUNS; wait <= HANDLE_WAITS; wait++)
		for (uint32_t n = 0; n < 5; n++) {
			struct handle_sq sq = { true, n ? n + 12 : 1, 16, n, n & 1, wait, 0, 0 };

			begin_one_queue();
			all.handle_qps[0].sq = sq;
			show_reasons("wait and requests", (long)wait, sq.outstanding);
		}
}

static void show_completions(void)
{
	static const char *const functions[] = { "main",  "ibv_get_cq_event", "poll",
						 "ppoll", "epoll_wait",       "select" };

	for (int i = 0; i < 6; i++)
		for (uint32_t n = 0; n < 8; n++) {
			begin_one_queue();
			put_frame(0, functions[i], "server");
			all.facts.fabric.nqps = 0;
			all.facts.fabric.ncqs = 1;
			all.cqs[0].waiting = n & 1 ? n / 2 : 0;
			all.cqs[0].channel = n & 2;
			all.cqs[0].armed = n & 4 ? 2 : 0;
			show_reasons(functions[i], n, all.cqs[0].waiting);
		}
}

static void show_limits(void)
{
	static const uint64_t pinned[] = { 0, 49151, 49152, 65536, 70000 };

	for (size_t i = 0; i < sizeof(pinned) / sizeof(*pinned); i++)
		for (long how = 0; how < 16; how++) {
			begin_one_queue();
			all.facts.fabric.nqps = 0;
			all.facts.fabric.joined = how & 1;
			all.facts.process.soft_memlock = how & 2;
			all.facts.process.ipc_lock = how & 4;
			all.facts.process.memlock_soft = 65536;
			all.facts.process.pinned = pinned[i];
			if (how & 8)
				put_frame(0, "ibv_reg_mr", "libibverbs.so.1");
			show_reasons("joined, limit, privilege, in ibv_reg_mr; pinned", how,
				     (long)pinned[i]);
		}
}

static void show_destroyed(void)
{
	for (uint32_t got = 0; got < 4; got++)
		for (uint32_t acked = 0; acked <= got; acked++) {
			begin_one_queue();
			put_frame(0, "ibv_destroy_cq", "libibverbs.so.1");
			all.facts.fabric.nqps = 0;
			all.facts.handles.ncqs = 1;
			all.handle_cqs[0].events_got = got;
			all.handle_cqs[0].events_acked = acked;
			show_reasons("events got, acknowledged", got, acked);
		}
	all.handle_cqs[0].slot = 0;
	show_reasons("of the first CQ", 3, 2);
	all.handle_cqs[0].slot = -1;
	show_reasons("of no CQ that is known", 3, 2);
}

static void show_queues(void)
{
	show_queue_states();
	show_peers();
	show_sends();
	show_completions();
	show_limits();
	show_destroyed();
}

/* Threads */

static void show_functions(void)
{
	static const char *const functions[] = {
		"ibv_destroy_cq",
		"__ibv_destroy_qp_1_0",
		"ibv_destroy_srq@IBVERBS_1.0",
		"rdma_destroy_id",
		"rdma_get_cm_event",
		"rdma_get_request",
		"rdma_resolve_addr",
		"rdma_connect",
		"rdma_accept",
		"ibv_get_cq_event",
		"rdma_get_recv_comp",
		"rdma_get_send_comp",
		"ibv_get_async_event",
		"ibv_x",
		"ibv",
		"rdma_x",
		"rdma",
		"_1_1",
		"x_1_1",
		"__",
		"main",
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		begin_one_queue();
		all.facts.fabric.nqps = 0;
		put_frame(0, functions[i], "server");
		show_reasons(functions[i], 0, 0);
		all.stacks[0].n = 0;
		put_frame(0, "run_device", "libverbatim-soft.so");
		put_frame(0, functions[i], "server");
		show_reasons("the same, in the device", 0, 0);
	}
}

static void show_thread_states(void)
{
	for (const char *at = "RSDTtZ";; at++) {
		begin_one_queue();
		all.facts.fabric.nqps = 0;
		all.threads[0].state = *at;
		show_reasons("thread in state", *at, 0);
		strcpy(all.threads[0].wchan, "hrtimer_nanosleep");
		show_reasons("the same, its function known", *at, 0);
		all.facts.stacks = NULL;
		show_reasons("without stacks", *at, 0);
		if (!*at)
			break;
	}
}

TEST(processes_and_reasons_are_those_of_the_transcript)
{
	show_processes();
	show_queues();
	show_functions();
	show_thread_states();
	transcript_expect(__FILE__, &out);
}
