/*
 * Posts that reach the device late: their order, copies and end. The device is two functions
 * that note what they get; each test is in a child, where the thread is its own.
 */
#include "shim/trace/faults/postponed.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

enum { MS = 1000000, FAR = 1000 /* s */ };

static struct ibv_qp a = { .qp_num = 1 }, b = { .qp_num = 2 };
static uint64_t posted[8];
static char sent[8];
static atomic_int nposted, refusals;

static int note_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp, (void)bad;
	if (atomic_load(&refusals)) {
		atomic_fetch_sub(&refusals, 1);
		return ENOMEM;
	}
	if (wr->num_sge)
		memcpy(sent, (const void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
	posted[atomic_load(&nposted)] = wr->wr_id;
	atomic_fetch_add(&nposted, 1);
	return 0;
}

static int note_recv(void *queue, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)queue, (void)bad;
	posted[atomic_load(&nposted)] = wr->wr_id;
	atomic_fetch_add(&nposted, 1);
	return 0;
}

static void add_send(struct ibv_qp *qp, uint64_t wr_id, uint64_t ns)
{
	const struct ibv_send_wr wr = { .wr_id = wr_id };

	HOLDS(postponed_add_send(qp, &wr, ns, note_send) == 0);
}

static void await_posts(int n)
{
	while (atomic_load(&nposted) < n)
		sched_yield();
}

static void order_body(void)
{
	add_send(&a, 1, 20 * MS);
	add_send(&a, 2, 0);
	add_send(&b, 3, 0);
	HOLDS(postponed_has_key(&a));
	await_posts(3);
	HOLDS(posted[0] == 3 && posted[1] == 1 && posted[2] == 2);
	HOLDS(!postponed_has_key(&a) && !postponed_has_key(&b));
}

TEST(order_within_a_queue_is_kept)
{
	in_child(order_body);
}

static void recv_body(void)
{
	const struct ibv_recv_wr wr = { .wr_id = 5 };

	HOLDS(postponed_add_recv(&a, postponed_recvs_of(&a), &wr, FAR * 1000ull * MS, note_recv) ==
	      0);
	add_send(&a, 1, 0);
	await_posts(1);
	HOLDS(posted[0] == 1 && postponed_has_key(postponed_recvs_of(&a)));
}

TEST(receives_are_another_queue)
{
	in_child(recv_body);
}

static void inline_body(void)
{
	char text[8] = "before";
	struct ibv_sge sge = { (uintptr_t)text, sizeof(text), 0 };
	const struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_INLINE
	};

	HOLDS(postponed_add_send(&a, &wr, MS, note_send) == 0);
	memcpy(text, "behind", 7);
	sge.length = 0;
	await_posts(1);
	HOLDS(!strcmp(sent, "before"));
}

TEST(inline_data_and_elements_are_copied)
{
	in_child(inline_body);
}

static void full_body(void)
{
	atomic_store(&refusals, 3);
	add_send(&a, 1, 0);
	add_send(&a, 2, 0);
	await_posts(2);
	HOLDS(posted[0] == 1 && posted[1] == 2 && !atomic_load(&refusals));
}

TEST(full_queue_is_tried_again)
{
	in_child(full_body);
}

static void end_body(void)
{
	add_send(&a, 1, FAR * 1000ull * MS);
	add_send(&b, 2, FAR * 1000ull * MS);
	add_send(&b, 3, 0);
	postponed_release(&b);
	HOLDS(atomic_load(&nposted) == 2 && posted[0] == 2 && posted[1] == 3);
	postponed_forget(&a);
	HOLDS(!postponed_has_key(&a) && atomic_load(&nposted) == 2);
}

TEST(release_posts_and_forget_does_not)
{
	in_child(end_body);
}

/* What waited in the parent is not posted, and the child has a thread of its own. */
static void forked_body(void)
{
	int status;
	pid_t pid;

	add_send(&a, 1, FAR * 1000ull * MS);
	pid = fork();
	if (!pid) {
		HOLDS(!postponed_has_key(&a));
		add_send(&b, 2, 0);
		await_posts(1);
		HOLDS(posted[0] == 2);
		_exit(0);
	}
	HOLDS(waitpid(pid, &status, 0) == pid && status == 0);
	HOLDS(postponed_has_key(&a));
}

TEST(child_posts_what_is_its_own)
{
	in_child(forked_body);
}

/* The thread's clock is that of the times at which requests are due. */
static void idle_body(void)
{
	clock_t before = clock();

	add_send(&a, 1, 200 * MS);
	while (poll(NULL, 0, 10) == 0 && !atomic_load(&nposted))
		;
	HOLDS(clock() - before < CLOCKS_PER_SEC / 100);
}

TEST(thread_sleeps_until_a_request_is_due)
{
	in_child(idle_body);
}
