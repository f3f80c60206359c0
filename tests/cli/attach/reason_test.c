#include <sys/syscall.h>
#include <infiniband/verbs.h>

#include "cli/attach/facts.h"
#include "cli/attach/reason.h"
#include "tests/test.h"

/* A process of two threads, each with its stack, the innermost function first. */
static struct facts facts;
static struct target_thread threads[2];
static struct unwind_stack stacks[2];
static struct fabric_qp qp;
static struct fabric_cq cq;
static struct reasons reasons;

static int set_up(void **state)
{
	(void)state;
	memset(threads, 0, sizeof(threads));
	memset(stacks, 0, sizeof(stacks));
	threads[0] = (struct target_thread){ .tid = 10, .state = 'S', .syscall = -2 };
	threads[1] = (struct target_thread){ .tid = 11, .state = 'S', .syscall = -2 };
	qp = (struct fabric_qp){ .qpn = 0x11,
				 .state = IBV_QPS_RTS,
				 .type = IBV_QPT_RC,
				 .dest_qpn = 0x12,
				 .peer = { .known = true,
					   .seen = true,
					   .pid = 99,
					   .state = IBV_QPS_RTS,
					   .rq = { 1, 8 } } };
	cq = (struct fabric_cq){ .size = 8, .channel = true, .armed = 2 };
	facts = (struct facts){
		.process = { .threads = threads, .nthreads = 2, .memlock_soft = UINT64_MAX },
		.fabric = { .joined = true,
			    .instance = 1,
			    .qps = &qp,
			    .nqps = 1,
			    .cqs = &cq,
			    .ncqs = 1 },
		.stacks = stacks
	};
	return 0;
}
FIXTURE(set_up, NULL);

static void put_stack(int thread, const char *module, const char *const *functions)
{
	for (size_t i = 0; functions[i]; i++) {
		struct unwind_frame *frame = &stacks[thread].frames[stacks[thread].n++];

		strcpy(frame->function, functions[i]);
		strcpy(frame->module, module);
	}
}
#define PUT_STACK(thread, module, ...) \
	put_stack(thread, module, (const char *const[]){ __VA_ARGS__, NULL })

static void check_first(enum reason_kind kind, const char *words)
{
	reasons_find(&facts, &reasons);
	assert_string_equal(reason_name(reasons.at[0].kind), reason_name(kind));
	if (!strstr(reasons.at[0].text, words))
		fail_msg("no '%s' in '%s'", words, reasons.at[0].text);
}

TEST(thread_that_sleeps)
{
	strcpy(threads[0].wchan, "hrtimer_nanosleep");
	check_first(REASON_SLEEPS, "sleeps in hrtimer_nanosleep");
	assert_int_equal(reasons.at[0].tid, 10);
}

TEST(verb_with_a_version_is_named)
{
	PUT_STACK(0, "libibverbs.so.1", "futex", "__ibv_destroy_cq_1_1", "main");
	check_first(REASON_DESTROY, "waits in ibv_destroy_cq() until");
	set_up(NULL);
	PUT_STACK(0, "libibverbs.so.1", "ibv_modify_qp@@IBVERBS_1.1", "main");
	check_first(REASON_VERB, "is in ibv_modify_qp()");
}

TEST(outermost_verb_is_the_program_s)
{
	PUT_STACK(0, "librdmacm.so.1", "ibv_cmd", "ibv_destroy_qp", "rdma_connect", "main");
	stacks[0].n = 1;
	check_first(REASON_VERB, "ibv_cmd");
}

TEST(completion_in_the_queue_of_a_waiting_thread)
{
	PUT_STACK(0, "libverbatim-soft.so", "read", "ibv_get_cq_event", "main");
	check_first(REASON_EVENT, "for a completion event");
	cq.waiting = 2;
	check_first(REASON_LOST_WAKEUP, "2 completions are in CQ 0 of the fabric, which is armed");
}

TEST(queue_that_is_not_armed)
{
	PUT_STACK(0, "libverbatim-soft.so", "read", "ibv_get_cq_event", "main");
	cq.armed = 0;
	check_first(REASON_LOST_WAKEUP, "no CQ is armed");
}

TEST(completions_of_a_program_that_polls_not)
{
	cq.waiting = 1;
	check_first(REASON_NOT_POLLED, "1 completion is in CQ 0");
}

TEST(peer_that_has_ended)
{
	qp.peer.ended = true;
	check_first(REASON_PEER_ENDED, "0x12, whose process has ended");
	qp.peer.known = false;
	check_first(REASON_PEER_ENDED, "which does not exist any more");
}

TEST(receiver_is_not_ready_only_if_the_device_tries_again)
{
	qp.peer.rq.posted = 0;
	check_first(REASON_SLEEPS, "sleeps");
	PUT_STACK(1, "libverbatim-soft.so", "run_retries");
	check_first(REASON_NOT_READY, "process 99 has no receive posted for queue pair 0x12");
}

TEST(thread_of_the_device_is_no_reason)
{
	facts.process.nthreads = 1;
	PUT_STACK(0, "libverbatim-soft.so", "run_retries");
	check_first(REASON_NOTHING, "no reason");
}

TEST(state_of_a_queue_pair)
{
	qp.state = IBV_QPS_INIT;
	check_first(REASON_STATE, "in state INIT: it cannot send before RTS, nor receive");
	qp.state = IBV_QPS_ERR;
	check_first(REASON_STATE, "in state ERR: its requests are flushed");
}

TEST(state_that_nothing_has)
{
	qp.state = 4711;
	check_first(REASON_STATE, "in state ?");
}

TEST(message_that_does_not_come)
{
	qp.rq = (struct fabric_rq){ 3, 8 };
	check_first(REASON_MESSAGE, "3 of 8 receives posted, and nothing has arrived");
}

TEST(limit_of_memory)
{
	struct fabric_mr mr = { .lkey = 1, .addr = 4096, .length = 7 * 4096 };

	facts.fabric.mrs = &mr;
	facts.fabric.nmrs = 1;
	facts.process.memlock_soft = 8 * 4096;
	check_first(REASON_SLEEPS, "sleeps"); /* the software device has no limit */
	facts.process.soft_memlock = true;
	check_first(REASON_NEAR_LIMIT, "28 KiB are pinned and RLIMIT_MEMLOCK is 32 KiB");
	mr.length = 4096;
	check_first(REASON_SLEEPS, "sleeps");
	PUT_STACK(0, "libverbatim-soft.so", "ibv_reg_mr", "main");
	check_first(REASON_LIMIT, "4 KiB are pinned");
}

/* The send queue of the queue pair, as its memory has it. */
static void put_sends(uint32_t outstanding, uint32_t signalled, enum handle_wait wait)
{
	static struct handle_qp handle;

	handle = (struct handle_qp){ .qpn = qp.qpn,
				     .sq = { .known = true,
					     .outstanding = outstanding,
					     .depth = 8,
					     .signalled = signalled,
					     .executed = signalled,
					     .wait = wait } };
	facts.handles.qps = &handle;
	facts.handles.nqps = 1;
}

TEST(request_that_waits_for_its_receiver)
{
	put_sends(2, 0, HANDLE_WAITS_RECEIVER);
	check_first(REASON_NOT_READY, "has 2 requests outstanding, and process 99");
}

TEST(request_that_waits_for_its_peer)
{
	put_sends(1, 1, HANDLE_WAITS_PEER);
	check_first(REASON_PEER_ENDED, "does not answer: queue pair 0x11 has 1 request");
}

TEST(queue_is_full)
{
	put_sends(8, 0, HANDLE_RUNS);
	check_first(REASON_QUEUE_FULL, "8 of 8 requests are outstanding, and none of them is");
	put_sends(8, 3, HANDLE_RUNS);
	check_first(REASON_QUEUE_FULL, "3 of them executed: their completions are not polled");
	put_sends(7, 0, HANDLE_RUNS);
	check_first(REASON_SLEEPS, "sleeps");
}

TEST(retries_are_no_reason_if_the_queue_is_known)
{
	put_sends(0, 0, HANDLE_RUNS);
	qp.peer.rq.posted = 0;
	PUT_STACK(1, "libverbatim-soft.so", "run_retries");
	check_first(REASON_SLEEPS, "sleeps");
}

TEST(spare_queue_pair_of_the_kernel_is_no_reason)
{
	struct kernel_object objects[] = {
		{ .kind = KERNEL_QP, .number = 0x19, .type = IBV_QPT_RC, .state = IBV_QPS_RESET },
		{ .kind = KERNEL_QP, .number = 0x1a, .type = IBV_QPT_RC, .state = IBV_QPS_INIT },
	};

	facts.fabric.nqps = facts.fabric.ncqs = 0;
	facts.kernel.objects = objects;
	facts.kernel.n = 2;
	strcpy(threads[0].wchan, "hrtimer_nanosleep");
	check_first(REASON_STATE, "0x19");
	objects[1].state = IBV_QPS_RTS;
	check_first(REASON_SLEEPS, "hrtimer_nanosleep");
}

/* Both ends of a connection on rxe, in this process. */
static struct handle_qp ends[2];
static struct kernel_object kernel_ends[2];

static void put_on_rxe(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		ends[i] = (struct handle_qp){ .qpn = 0x11 + i, .rings = { .known = true } };
		kernel_ends[i] = (struct kernel_object){ .kind = KERNEL_QP,
							 .number = 0x11 + i,
							 .peer = 0x12 - i,
							 .type = IBV_QPT_RC,
							 .state = IBV_QPS_RTS };
	}
	facts.fabric.nqps = facts.fabric.ncqs = 0;
	facts.kernel.objects = kernel_ends;
	facts.kernel.n = 2;
	facts.handles.qps = ends;
	facts.handles.nqps = 2;
}

TEST(receiver_on_rxe_is_not_ready)
{
	put_on_rxe();
	ends[0].rings.sends = 1;
	ends[0].rings.sends_most = 15;
	ends[0].rings.needs_receive = true;
	check_first(REASON_NOT_READY, "0x11 has 1 request outstanding, and its peer 0x12 has no");
	ends[1].rings.receives = 1;
	check_first(REASON_MESSAGE, "queue pair 0x11 has 1 request outstanding");
	ends[0].rings.sends = 15;
	check_first(REASON_QUEUE_FULL, "15 of 15 requests");
}

TEST(peer_on_rxe_is_of_no_queue_pair_of_the_process)
{
	put_on_rxe();
	kernel_ends[0].peer = 0x99;
	check_first(REASON_MESSAGE, "0x99, the peer of 0x11, which belongs to another process");
}

TEST(completion_on_rxe_in_the_queue_of_a_waiting_thread)
{
	struct handle_cq one = { .at = 0x7000, .channel = 1, .counted = true, .waiting = 1 };

	put_on_rxe();
	facts.handles.cqs = &one;
	facts.handles.ncqs = 1;
	check_first(REASON_NOT_POLLED, "1 completion is in the CQ at 0x7000, not polled");
	PUT_STACK(0, "libibverbs.so.1", "read", "ibv_get_cq_event", "main");
	check_first(REASON_LOST_WAKEUP, "lost wake-up: waits for an event, but 1 completion");
}

TEST(events_of_a_queue_that_is_destroyed)
{
	struct handle_cq handle = { .slot = 3, .events_got = 5, .events_acked = 4 };

	facts.handles.cqs = &handle;
	facts.handles.ncqs = 1;
	PUT_STACK(0, "libverbatim-soft.so", "ibv_destroy_cq", "main");
	check_first(REASON_DESTROY, "ibv_destroy_cq() until");
	assert_string_equal(reasons.at[1].text,
			    "5 events taken from CQ 3 of the fabric, of which 1 is not "
			    "acknowledged");
}

/* Memory: the mutexes of two threads. */
static int32_t mutexes[2][4];

static size_t read_mutex(const struct memory *memory, uint64_t at, void *to, size_t n)
{
	(void)memory;
	if (at != 0x1000 && at != 0x2000)
		return 0;
	memcpy(to, mutexes[at / 0x1000 - 1], n);
	return n;
}

static void wait_for_mutexes(void)
{
	facts.memory.read = read_mutex;
	for (int i = 0; i < 2; i++) {
		threads[i].syscall = SYS_futex;
		threads[i].arguments[0] = 0x1000u * (unsigned int)(i + 1);
		mutexes[i][0] = 2;
		PUT_STACK(i, "libc.so.6", "pthread_mutex_lock", "main");
	}
}

TEST(threads_that_wait_for_each_other)
{
	wait_for_mutexes();
	mutexes[0][2] = 11;
	mutexes[1][2] = 10;
	check_first(REASON_DEADLOCK, "mutex at 0x1000, which thread 11 holds while");
}

TEST(thread_that_waits_for_a_holder_is_in_no_deadlock)
{
	wait_for_mutexes();
	mutexes[0][2] = 11;
	mutexes[1][2] = 4711; /* no thread of it */
	check_first(REASON_VERB, "which thread 11 holds");
	mutexes[1][2] = 11; /* itself */
	check_first(REASON_DEADLOCK, "which thread 11 holds");
	mutexes[0][2] = -1;
	mutexes[1][0] = 0;
	check_first(REASON_SLEEPS, "sleeps");
}

TEST(most_reasons_are_kept_and_the_best_come_first)
{
	static struct target_thread many[200];
	static struct unwind_stack sleeping[200];

	for (int i = 0; i < 200; i++)
		many[i] = (struct target_thread){ .tid = i + 1, .state = 'S' };
	facts.process.threads = many;
	facts.process.nthreads = 200;
	facts.stacks = sleeping;
	strcpy(sleeping[199].frames[0].function, "ibv_destroy_cq");
	sleeping[199].n = 1;
	check_first(REASON_DESTROY, "ibv_destroy_cq");
	assert_int_equal(reasons.n, REASONS_MAX);
	assert_int_equal(reasons.at[0].tid, 200);
}
