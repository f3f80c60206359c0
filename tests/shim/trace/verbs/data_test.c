/*
 * The data path of the recorder, over a provider that does nothing
 *
 * Each child makes a session, calls verbs, and reads its own rings.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <infiniband/verbs.h>

#include "core/wire/desc.h"
#include "shim/trace/process/process.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/stack/stack.h"
#include "shim/trace/verbs/wrappers.h"
#include "shim/trace/verbs/data.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

#ifdef __SANITIZE_THREAD__
#define THREAD_SANITIZER true
#else
#define THREAD_SANITIZER false
#endif

static struct ibv_context context;
static struct ibv_qp qp = { .context = &context, .qp_type = IBV_QPT_RC };
static struct ibv_cq cq = { .context = &context };
static int next_ret;
static int next_errno;
static struct ibv_send_wr *bad_wr; /* NULL: the second */
static struct ibv_wc next_wc;
static void (*during)(void); /* called inside the provider's post_send */

static int fake_post_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)q;
	if (during)
		during();
	if (next_ret)
		*bad = bad_wr ? bad_wr : wr->next;
	if (next_errno)
		errno = next_errno;
	return next_ret;
}

static int fake_post_recv(struct ibv_qp *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)q, (void)wr, (void)bad;
	return next_ret;
}

static int fake_poll_cq(struct ibv_cq *c, int n, struct ibv_wc *wc)
{
	(void)c;
	if (next_ret > 0 && n > 0)
		wc[0] = next_wc;
	return next_ret;
}

static int fake_notify(struct ibv_cq *c, int solicited)
{
	(void)c, (void)solicited;
	return 0;
}

static void begin_data(uint64_t ring_bytes, enum session_on_full on_full)
{
	session_begin(ring_bytes, on_full);
	context.ops.post_send = fake_post_send;
	context.ops.post_recv = fake_post_recv;
	context.ops.poll_cq = fake_poll_cq;
	context.ops.req_notify_cq = fake_notify;
	HOLDS(data_patch(&context.ops) == 0);
}

static int send_one(uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = 0x1000, .length = 64, .lkey = 7 };
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	return ibv_post_send(&qp, &wr, &bad);
}

static void post_body(void)
{
	struct ring ring;
	const struct event_post *post;
	const struct event_wr *wr;
	const struct event_sge *sge;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(send_one(42) == 0);
	ring = session_ring(0);
	post = expect_event(&ring, EVENT_POST);
	HOLDS(post && post->verb == VERB_post_send && post->nwr == 1 && post->ret == 0);
	HOLDS(post->object == (uintptr_t)&qp && post->head.words == 8);
	wr = (const void *)(post + 1);
	HOLDS(wr->wr_id == 42 && wr->opcode == IBV_WR_SEND && wr->nsge == 1 && !wr->parts);
	HOLDS(wr->flags == IBV_SEND_SIGNALED);
	sge = (const void *)(wr + 1);
	HOLDS(sge->addr == 0x1000 && sge->length == 64 && sge->lkey == 7);
}

TEST(post_is_one_event_of_64_bytes)
{
	in_child(post_body);
}

static void failed_post_body(void)
{
	struct ibv_send_wr second = { .wr_id = 2 }, first = { .wr_id = 1, .next = &second }, *bad;
	struct ring ring;
	const struct event_post *post;

	begin_data(RING_MIN, ON_FULL_WAIT);
	next_ret = ENOMEM;
	next_errno = EIO;
	errno = 0;
	HOLDS(ibv_post_send(&qp, &first, &bad) == ENOMEM && errno == EIO && bad == &second);
	ring = session_ring(0);
	post = expect_event(&ring, EVENT_POST);
	HOLDS(post && post->nwr == 2 && post->ret == ENOMEM && post->bad == 2);
}

TEST(failed_post_keeps_result_errno_and_bad_wr)
{
	in_child(failed_post_body);
}

static struct ibv_send_wr *posted;

/* what another thread does that polls the completion and frees the request */
static void free_posted(void)
{
	posted->next = (void *)0x10;
}

static void freed_post_body(void)
{
	struct ibv_send_wr second = { .wr_id = 2 }, first = { .wr_id = 1, .next = &second }, *bad;
	struct ring ring;
	const struct event_post *post;

	begin_data(RING_MIN, ON_FULL_WAIT);
	next_ret = ENOMEM;
	bad_wr = &second;
	posted = &first;
	during = free_posted;
	HOLDS(ibv_post_send(&qp, &first, &bad) == ENOMEM && bad == &second);
	ring = session_ring(0);
	post = expect_event(&ring, EVENT_POST);
	HOLDS(post && post->nwr == 2 && post->ret == ENOMEM && post->bad == 2);
}

TEST(failed_post_does_not_look_at_what_was_posted)
{
	in_child(freed_post_body);
}

static void rdma_body(void)
{
	struct ibv_send_wr wr = { .wr_id = 9,
				  .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .imm_data = htobe32(0x11223344),
				  .wr.rdma = { .remote_addr = 0xabc0, .rkey = 77 } },
			   *bad;
	struct ring ring;
	const struct event_post *post;
	const struct event_wr *got;
	const struct event_rdma *rdma;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!ibv_post_send(&qp, &wr, &bad));
	ring = session_ring(0);
	post = expect_event(&ring, EVENT_POST);
	got = (const void *)(post + 1);
	rdma = (const void *)(got + 1);
	HOLDS(got->parts == WR_RDMA && got->imm == 0x11223344);
	HOLDS(rdma->remote_addr == 0xabc0 && rdma->rkey == 77);
}

TEST(remote_address_and_immediate_are_recorded)
{
	in_child(rdma_body);
}

static void bogus_sges_body(void)
{
	struct ibv_send_wr wr = { .num_sge = 1 << 20, .sg_list = (void *)8 }, *bad;
	struct ring ring;
	const struct event_post *post;
	const struct event_wr *got;
	const struct event_odd *odd;

	begin_data(RING_MIN, ON_FULL_WAIT);
	next_ret = EINVAL;
	wr.opcode = IBV_WR_SEND;
	HOLDS(ibv_post_send(&qp, &wr, &bad) == EINVAL);
	ring = session_ring(0);
	post = expect_event(&ring, EVENT_POST);
	got = (const void *)(post + 1);
	odd = (const void *)(got + 1);
	HOLDS(got->nsge == 0 && got->parts == WR_ODD && odd->num_sge == 1 << 20);
}

TEST(impossible_number_of_sges_is_not_followed)
{
	in_child(bogus_sges_body);
}

static void no_sges_body(void)
{
	struct ibv_send_wr inv = { .opcode = IBV_WR_LOCAL_INV, .num_sge = 3, .sg_list = (void *)8 };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .num_sge = 2, .next = &inv }, *bad;
	struct ibv_recv_wr recv = { .num_sge = 1 }, *bad_recv;
	const struct event_post *post;
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!ibv_post_send(&qp, &send, &bad));
	HOLDS(!ibv_post_recv(&qp, &recv, &bad_recv));
	ring = session_ring(0);
	post = expect_event(&ring, EVENT_POST);
	HOLDS(post && post->nwr == 2);
	post = expect_event(&ring, EVENT_POST);
	HOLDS(post && post->nwr == 1 && ((const struct event_wr *)(post + 1))->nsge == 0);
}

TEST(sges_that_are_not_there_are_not_read)
{
	in_child(no_sges_body);
}

static void long_list_body(void)
{
	enum { N = 3000 };
	static struct ibv_send_wr wr[N];
	struct ibv_send_wr *bad;
	struct ring ring;
	const struct event_post *post;
	unsigned int total = 0;

	begin_data(1 << 20, ON_FULL_WAIT);
	for (int i = 0; i < N; i++) {
		wr[i].wr_id = (uint64_t)i;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].next = i + 1 < N ? &wr[i + 1] : NULL;
	}
	HOLDS(!ibv_post_send(&qp, wr, &bad));
	ring = session_ring(0);
	do {
		post = expect_event(&ring, EVENT_POST);
		HOLDS(post);
		total += post->nwr;
	} while (post->head.flags & EVENT_PART);
	HOLDS(total == N && !expect_event(&ring, EVENT_POST));
}

TEST(long_list_goes_on_in_parts)
{
	in_child(long_list_body);
}

static void polls_body(void)
{
	struct ibv_wc wc;
	struct ring ring;
	const struct event_poll *poll;
	const struct event_wc *got;

	begin_data(RING_MIN, ON_FULL_WAIT);
	next_ret = 0;
	for (int i = 0; i < 1000; i++)
		HOLDS(ibv_poll_cq(&cq, 1, &wc) == 0);
	next_ret = 1;
	next_wc = (struct ibv_wc){ .wr_id = 5, .status = IBV_WC_RETRY_EXC_ERR, .qp_num = 17 };
	HOLDS(ibv_poll_cq(&cq, 1, &wc) == 1);
	ring = session_ring(0);
	poll = expect_event(&ring, EVENT_POLL);
	HOLDS(poll && poll->empty == 1000 && poll->ret == 1 && poll->nwc == 1);
	got = (const void *)(poll + 1);
	HOLDS(got->wr_id == 5 && got->status == IBV_WC_RETRY_EXC_ERR && got->qp_num == 17);
	HOLDS(!expect_event(&ring, EVENT_POLL));
}

TEST(empty_polls_are_counted_not_recorded)
{
	in_child(polls_body);
}

static void many_cqs_body(void)
{
	enum { N = 40 };
	static struct ibv_cq cqs[N];
	struct ibv_wc wc;
	struct ring ring;
	unsigned int found = 0;

	begin_data(RING_MIN, ON_FULL_WAIT);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < N; i++) {
			cqs[i].context = &context;
			ibv_poll_cq(&cqs[i], 1, &wc);
		}
	}
	ring = session_ring(0);
	for (int i = 0; i < RING_POLLS; i++) {
		if (!atomic_load(&ring.head->polls[i].cq))
			continue;
		HOLDS(atomic_load(&ring.head->polls[i].empty) == 10);
		found++;
	}
	HOLDS(found == N);
}

static void more_cqs_body(void)
{
	static struct ibv_cq cqs[RING_POLLS + 7];
	struct ibv_wc wc;
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_WAIT);
	for (int i = 0; i < RING_POLLS + 7; i++) {
		cqs[i].context = &context;
		ibv_poll_cq(&cqs[i], 1, &wc);
	}
	ring = session_ring(0);
	HOLDS(atomic_load(&ring.head->uncounted) == 7);
}

TEST(each_cq_has_its_own_counter)
{
	in_child(many_cqs_body);
}

TEST(polls_of_more_cqs_than_counters_are_told)
{
	in_child(more_cqs_body);
}

static void post_in_handler(int sig)
{
	(void)sig;
	during = NULL;
	send_one(2);
}

static void raise_usr1(void)
{
	raise(SIGUSR1);
}

static void nested_body(void)
{
	struct ring ring;
	const struct event_post *post;

	begin_data(RING_MIN, ON_FULL_WAIT);
	signal(SIGUSR1, post_in_handler);
	during = raise_usr1;
	HOLDS(!send_one(1) && !send_one(3));
	ring = session_ring(0);
	for (uint64_t id = 1; id <= 3; id++) {
		post = expect_event(&ring, EVENT_POST);
		HOLDS(post && ((const struct event_wr *)(post + 1))->wr_id == id);
	}
}

TEST(post_in_a_signal_handler_inside_a_post_is_kept)
{
	in_child(nested_body);
}

static jmp_buf away;

static void jump_away(void)
{
	longjmp(away, 1);
}

static void left_body(void)
{
	const struct event_post *post;
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_WAIT);
	during = jump_away;
	if (!setjmp(away))
		send_one(1);
	during = NULL;
	HOLDS(!send_one(2));
	ring = session_ring(0);
	for (uint64_t id = 1; id <= 2; id++) {
		post = expect_event(&ring, EVENT_POST);
		HOLDS(post && ((const struct event_wr *)(post + 1))->wr_id == id);
	}
}

TEST(post_left_by_longjmp_holds_nothing_back)
{
	in_child(left_body);
}

static void drop_body(void)
{
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_DROP);
	for (int i = 0; i < 100000; i++)
		HOLDS(!send_one((uint64_t)i));
	ring = session_ring(0);
	HOLDS(atomic_load(&ring.head->dropped) > 90000);
	HOLDS(atomic_load(&ring.head->drop_first) < atomic_load(&ring.head->drop_last));
}

TEST(full_ring_drops_and_counts)
{
	in_child(drop_body);
}

static void orphan_body(void)
{
	int status;
	pid_t gone = fork();

	if (!gone)
		_exit(0);
	waitpid(gone, &status, 0);
	begin_data(RING_MIN, ON_FULL_WAIT);
	session.page->collector = (uint32_t)gone;
	for (int i = 0; i < 100000; i++)
		HOLDS(!send_one((uint64_t)i));
	HOLDS(atomic_load(&session.page->state) == SESSION_ORPHAN);
}

static void *send_while_cancelled(void *done)
{
	pthread_cancel(pthread_self());
	for (int i = 0; i < 100000; i++)
		send_one((uint64_t)i);
	*(bool *)done = true;
	return NULL;
}

static void cancelled_body(void)
{
	bool done = false;
	pthread_t thread;
	int status;
	pid_t gone = fork();

	if (!gone)
		_exit(0);
	waitpid(gone, &status, 0);
	begin_data(RING_MIN, ON_FULL_WAIT);
	session.page->collector = (uint32_t)gone;
	HOLDS(!pthread_create(&thread, NULL, send_while_cancelled, &done));
	pthread_join(thread, NULL);
	HOLDS(done);
}

TEST(dead_collector_does_not_stop_the_program)
{
	in_child(orphan_body);
}

TEST(waiting_for_room_is_no_cancellation_point)
{
	in_child(cancelled_body);
}

static void child_body(void)
{
	struct ring ring;
	const struct event_process *process;
	const struct event_head *event;
	pid_t pid;
	int status;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	pid = fork();
	if (!pid) {
		send_one(2);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ring = session_ring(1);
	HOLDS(ring.head->pid == (uint32_t)pid);
	HOLDS(ring_peek(&ring, &event) > 0 && event->type == EVENT_PROCESS);
	process = (const void *)event;
	HOLDS(process->forked_from == (uint32_t)getpid() && process->fork_seq == 1);
	ring_close(&ring);
	ring = session_ring(0);
	HOLDS(expect_event(&ring, EVENT_POST));
	HOLDS(expect_event(&ring, EVENT_FORK) && !expect_event(&ring, EVENT_POST));
}

TEST(forked_child_has_a_ring_of_its_own)
{
	in_child(child_body);
}

static void vfork_body(void)
{
	const struct event_fork *fork_event;
	const struct event_blind *blind;
	struct ring ring;
	pid_t pid;
	int status;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	pid = vfork();
	if (!pid) {
		send_one(2);
		send_one(3);
		_exit(0);
	}
	HOLDS(waitpid(pid, &status, 0) == pid);
	HOLDS(!send_one(4));
	ring = session_ring(0);
	HOLDS(expect_event(&ring, EVENT_POST));
	fork_event = expect_event(&ring, EVENT_FORK);
	HOLDS(fork_event->how == FORK_VFORK && fork_event->nframes > 0);
	blind = expect_event(&ring, EVENT_BLIND);
	HOLDS(blind->what == BLIND_VFORK && blind->object == (uint64_t)pid);
	HOLDS(expect_event(&ring, EVENT_POST) && !expect_event(&ring, EVENT_POST));
	HOLDS(atomic_load(&session.page->rings) == 1);
}

TEST(child_of_vfork_is_reported_and_not_recorded)
{
	if (THREAD_SANITIZER)
		skip(); /* it makes vfork() a fork() */
	in_child(vfork_body);
}

static void exec_body(void)
{
	char *argv[] = { (char *)"none", NULL };
	const struct event_spawned *spawned;
	const struct event_fork *event;
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	errno = 0;
	HOLDS(execv("/nothing/there", argv) == -1 && errno == ENOENT);
	ring = session_ring(0);
	HOLDS(expect_event(&ring, EVENT_POST));
	event = expect_event(&ring, EVENT_FORK);
	HOLDS(event->how == FORK_EXEC);
	spawned = expect_event(&ring, EVENT_SPAWNED);
	HOLDS(spawned->fork_seq == event->fork_seq && spawned->error == ENOENT);
}

TEST(failed_exec_is_told)
{
	in_child(exec_body);
}

static atomic_bool stop;

static void *fork_and_send(void *ret_status)
{
	pid_t pid = fork();

	if (!pid) {
		send_one(2);
		_exit(3);
	}
	waitpid(pid, ret_status, 0);
	return NULL;
}

static void quiet_fork_body(void)
{
	const struct event_exit *end;
	struct ring ring;
	pthread_t thread;
	int status = -1;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	HOLDS(!pthread_create(&thread, NULL, fork_and_send, &status));
	pthread_join(thread, NULL);
	HOLDS(WEXITSTATUS(status) == 3);
	ring = session_ring(1);
	HOLDS(ring.head->pid == (uint32_t)getpid() && expect_event(&ring, EVENT_FORK));
	ring_close(&ring);
	ring = session_ring(2);
	HOLDS(ring.head->pid != (uint32_t)getpid() && expect_event(&ring, EVENT_POST));
	end = expect_event(&ring, EVENT_EXIT);
	HOLDS(end && end->how == EXIT_AT_ONCE && end->status == 3);
}

TEST(child_of_a_thread_without_a_ring_is_recorded)
{
	if (THREAD_SANITIZER)
		skip(); /* it has given the thread up when libunwind's destructor takes a lock */
	in_child(quiet_fork_body);
}

/* Fork @n times while @busy runs in a thread; each child does @verb in time. */
static void fork_beside(int n, void *(*busy)(void *), void (*verb)(void))
{
	pthread_t thread;
	int status = 0;

	stop = false;
	HOLDS(!pthread_create(&thread, NULL, busy, NULL));
	for (int i = 0; i < n && !status; i++) {
		pid_t pid = fork();

		if (!pid) {
			alarm(5);
			verb();
			_exit(0);
		}
		waitpid(pid, &status, 0);
	}
	stop = true;
	pthread_join(thread, NULL);
	HOLDS(status == 0);
}

static void *take_stacks(void *unused)
{
	struct stack stack;

	send_one(1);
	while (!stop)
		stack_take(&stack);
	return unused;
}

static void take_stack(void)
{
	struct stack stack;

	stack_take(&stack);
	HOLDS(stack.nframes > 1);
}

static void unwinding_body(void)
{
	begin_data(RING_MIN, ON_FULL_DROP);
	HOLDS(!send_one(1));
	fork_beside(300, take_stacks, take_stack);
}

TEST(a_child_of_who_unwinds_unwinds)
{
	in_child(unwinding_body);
}

static void *patch_contexts(void *unused)
{
	struct ibv_context other;

	while (!stop) {
		memset(&other, 0, sizeof(other));
		wrappers_patch(&other);
	}
	return unused;
}

static void patch_once(void)
{
	struct ibv_context other = { 0 };

	wrappers_patch(&other);
}

static void context_lock_body(void)
{
	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	fork_beside(300, patch_contexts, patch_once);
}

TEST(fork_waits_until_contexts_are_patched)
{
	in_child(context_lock_body);
}

static void *send_first(void *unused)
{
	send_one(1);
	while (!stop)
		sched_yield();
	return unused;
}

static void send_second(void)
{
	send_one(2);
}

static void joining_body(void)
{
	begin_data(RING_MIN, ON_FULL_WAIT);
	fork_beside(4, send_first, send_second);
}

TEST(child_of_a_process_about_to_join_joins)
{
	if (THREAD_SANITIZER)
		skip(); /* it takes a lock of its own in dlopen(), which another thread had */
	for (int i = 0; i < 100; i++)
		in_child(joining_body);
}

static void *first_verb(void *barrier)
{
	pthread_barrier_wait(barrier);
	send_one(1);
	return NULL;
}

static void start_together(void)
{
	pthread_barrier_t barrier;
	pthread_t threads[2];

	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 2; i++)
		HOLDS(!pthread_create(&threads[i], NULL, first_verb, &barrier));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void child_threads_body(void)
{
	enum { N = 50 };
	const struct event_head *event;
	unsigned int processes = 0;
	struct ring ring;
	int status;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	for (int i = 0; i < N; i++) {
		pid_t pid = fork();

		if (!pid) {
			start_together();
			_exit(0);
		}
		waitpid(pid, &status, 0);
		HOLDS(status == 0);
	}
	HOLDS(atomic_load(&session.page->rings) <= 1 + 2 * N);
	for (uint32_t i = 1; i < atomic_load(&session.page->rings); i++) {
		ring = session_ring(i);
		processes += ring_peek(&ring, &event) > 0 && event->type == EVENT_PROCESS;
		ring_close(&ring);
	}
	HOLDS(processes == N);
}

TEST(threads_of_a_child_make_one_process)
{
	in_child(child_threads_body);
}

static void *thread_main(void *unused)
{
	send_one(1);
	return unused;
}

static void thread_body(void)
{
	pthread_t thread;
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!pthread_create(&thread, NULL, thread_main, NULL));
	pthread_join(thread, NULL);
	ring = session_ring(0);
	HOLDS(atomic_load(&ring.head->idle) && !atomic_load(&ring.head->closed));
	HOLDS(ring.head->pid == (uint32_t)getpid() && ring.head->tid != ring.head->pid);
}

/* Its counters go with the event, and the next thread begins without them. */
static void hand_on_body(void)
{
	const struct event_thread *event;
	const struct ring_polls *polls;
	pthread_t thread;
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!pthread_create(&thread, NULL, thread_main, NULL));
	pthread_join(thread, NULL);
	ring = session_ring(0);
	ring.head->polls[7].cq = 0x1000;
	ring.head->polls[7].empty = 5;
	ring.head->dropped = 3;
	ring.head->in_handlers = 2;
	HOLDS(!send_one(2));
	HOLDS(atomic_load(&session.page->rings) == 1 && !atomic_load(&ring.head->idle));
	HOLDS(ring.head->owner == (uint32_t)gettid() && ring.head->tid != ring.head->owner);
	HOLDS(expect_event(&ring, EVENT_POST));
	event = expect_event(&ring, EVENT_THREAD);
	HOLDS(event->tid == (uint32_t)gettid() && event->dropped == 3 && event->npolls == 1);
	HOLDS(event->in_handlers == 2 && !ring.head->in_handlers);
	polls = (const void *)(event + 1);
	HOLDS(polls->cq == 0x1000 && polls->empty == 5);
	HOLDS(!ring.head->dropped && !ring.head->polls[7].cq);
	HOLDS(expect_event(&ring, EVENT_POST));
}

static void *ends_while_writing(void *unused)
{
	send_one(1);
	HOLDS(record_reserve(64));
	return unused;
}

static void torn_body(void)
{
	pthread_t thread;
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!pthread_create(&thread, NULL, ends_while_writing, NULL));
	pthread_join(thread, NULL);
	ring = session_ring(0);
	HOLDS(!atomic_load(&ring.head->idle) && atomic_load(&ring.head->closed));
	HOLDS(atomic_load(&ring.head->dropped) == 1);
	HOLDS(expect_event(&ring, EVENT_POST) && !expect_event(&ring, EVENT_POST));
	HOLDS(!send_one(2) && atomic_load(&session.page->rings) == 2);
}

/* Whoever writes wakes the collector at its first event, and each time a quarter is full. */
static void wake_body(void)
{
	const struct event_head *event;
	struct ring ring;
	int n = 0, bytes, woken = 0;

	begin_data(RING_MIN, ON_FULL_WAIT);
	session_lie_down(&session);
	HOLDS(!send_one(1) && !atomic_load(&session.page->asleep));
	ring = session_ring(0);
	for (; n < 3 * RING_MIN / 64; n++) {
		if (!atomic_load(&session.page->asleep)) {
			woken++;
			while ((bytes = ring_peek(&ring, &event)) > 0)
				ring_step(&ring, (size_t)bytes);
			HOLDS(!bytes);
			ring_consume(&ring);
			session_lie_down(&session);
		}
		HOLDS(!send_one(2));
		HOLDS(atomic_load(&ring.head->tail) - ring.reserved <= RING_MIN / 2);
	}
	HOLDS(woken >= 8 && woken <= 24); /* more often while the ring was narrow */
}

TEST(sleeping_collector_is_woken_in_time)
{
	in_child(wake_body);
}

TEST(thread_that_ends_leaves_its_ring_to_the_next)
{
	in_child(thread_body);
}

TEST(torn_ring_is_not_handed_on)
{
	in_child(torn_body);
}

TEST(ring_is_handed_on_with_its_counters)
{
	in_child(hand_on_body);
}

static void no_room_body(void)
{
	struct rlimit limit = { RING_NARROW, RLIM_INFINITY };

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!setrlimit(RLIMIT_FSIZE, &limit));
	for (int i = 0; i < 100; i++)
		HOLDS(!send_one(1));
	HOLDS(atomic_load(&session.page->ringless) == 1);
	HOLDS(atomic_load(&session.page->rings) == 1);
}

TEST(ring_that_cannot_be_made_is_tried_once)
{
	in_child(no_room_body);
}

static void no_session_body(void)
{
	begin_data(RING_MIN, ON_FULL_WAIT);
	unsetenv(SESSION_ENV);
	next_ret = ENOMEM;
	HOLDS(send_one(1) == ENOMEM);
	HOLDS(atomic_load(&session.page->rings) == 0);
}

TEST(nothing_is_recorded_without_a_session)
{
	in_child(no_session_body);
}
