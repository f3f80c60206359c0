/*
 * Recorded fields of a poll and of a request for notification
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#include "shim/trace/ring/record.h"
#include "shim/trace/verbs/data.h"
#include "shim/trace/verbs/poll.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

enum { MANY = 2500 }; /* several events */

static struct ibv_context context;
static struct ibv_cq cq = { .context = &context };

/* Recognised again, and different from the next and from another event's. */
static void fill_wc(struct ibv_wc *wc, int i)
{
	for (size_t at = 0; at < sizeof(*wc); at++)
		((unsigned char *)wc)[at] = (unsigned char)(i * 7 + (i >> 8) + (int)at);
}

static int fake_poll(struct ibv_cq *c, int n, struct ibv_wc *wc)
{
	(void)c;
	for (int i = 0; i < n; i++)
		fill_wc(wc + i, i);
	return n;
}

static int fake_notify(struct ibv_cq *c, int solicited)
{
	(void)c, (void)solicited;
	return ENOMEM;
}

static void begin_poll(void)
{
	session_begin(RING_MIN, ON_FULL_WAIT);
	context.ops.poll_cq = fake_poll;
	context.ops.req_notify_cq = fake_notify;
	HOLDS(data_patch(&context.ops) == 0);
}

static void poll_of(int n)
{
	static struct ibv_wc wc[MANY], wanted;
	const struct event_poll *poll;
	struct ring ring;
	int seen = 0;

	begin_poll();
	HOLDS(ibv_poll_cq(&cq, n, wc) == n);
	ring = session_ring(0);
	while ((poll = expect_event(&ring, EVENT_POLL))) {
		HOLDS(poll->cq == (uintptr_t)&cq && poll->ret == (int)poll->nwc && poll->nwc);
		for (uint32_t i = 0; i < poll->nwc; i++, seen++) {
			fill_wc(&wanted, seen);
			HOLDS(!memcmp((const struct ibv_wc *)(poll + 1) + i, &wanted,
				      sizeof(wanted)));
		}
	}
	HOLDS(seen == n);
}

static void one_body(void)
{
	poll_of(1);
}

static void two_body(void)
{
	poll_of(2);
}

static void many_body(void)
{
	poll_of(MANY);
}

TEST(one_completion_is_kept)
{
	in_child(one_body);
}

TEST(completions_are_kept)
{
	in_child(two_body);
}

TEST(more_than_an_event_holds_are_kept)
{
	in_child(many_body);
}

static int fake_empty(struct ibv_cq *c, int n, struct ibv_wc *wc)
{
	(void)c, (void)n, (void)wc;
	return 0;
}

/* The counts of empty polls of a destroyed CQ are written; another CQ may have its address then. */
static void forget_body(void)
{
	static struct ibv_cq other = { .context = &context };
	const struct event_count *count;
	struct ring ring;
	struct ibv_wc wc;

	session_begin(RING_MIN, ON_FULL_WAIT);
	context.ops.poll_cq = fake_empty;
	HOLDS(data_patch(&context.ops) == 0);
	for (int i = 0; i < 5; i++)
		HOLDS(ibv_poll_cq(&cq, 1, &wc) == 0);
	HOLDS(ibv_poll_cq(&other, 1, &wc) == 0);
	errno = EDOM;
	poll_forget(&cq);
	HOLDS(errno == EDOM);
	poll_forget(&cq);
	HOLDS(ibv_poll_cq(&cq, 1, &wc) == 0);
	poll_forget(&cq);
	ring = session_ring(0);
	count = expect_event(&ring, EVENT_COUNT);
	HOLDS(count && count->cq == (uintptr_t)&cq && count->empty == 5);
	HOLDS(count->ring == ring.head->index && count->tid == (uint32_t)gettid());
	count = expect_event(&ring, EVENT_COUNT);
	HOLDS(count && count->cq == (uintptr_t)&cq && count->empty == 1);
	HOLDS(!expect_event(&ring, EVENT_COUNT));
}

TEST(polls_of_a_destroyed_cq_are_counted)
{
	in_child(forget_body);
}

static enum ibv_wc_status statuses[4];

static int fake_errors(struct ibv_cq *c, int n, struct ibv_wc *wc)
{
	(void)c;
	for (int i = 0; i < n; i++)
		wc[i] = (struct ibv_wc){ .wr_id = 7 + (uint64_t)i, .status = statuses[i] };
	errno = EDOM;
	return n ? n : -EIO;
}

/* The frames of the stack of a poll of @n; -1 if its event has none. */
static int frames_of_poll(int n)
{
	const struct event_stack *stack;
	const struct event_poll *poll;
	struct ibv_wc wc[4];
	struct ring ring;
	int nframes;

	begin_poll();
	context.ops.poll_cq = fake_errors;
	HOLDS(data_patch(&context.ops) == 0);
	HOLDS(ibv_poll_cq(&cq, n, wc) == (n ? n : -EIO) && errno == EDOM);
	ring = session_ring(0);
	poll = expect_event(&ring, EVENT_POLL);
	HOLDS(poll && poll->nwc == (uint32_t)n && event_poll_fits(poll, poll->head.words * 8u));
	for (int i = 0; i < n; i++)
		HOLDS(((const struct event_wc *)(poll + 1))[i].wr_id == 7u + (unsigned int)i);
	stack = event_poll_stack(poll, poll->head.words * 8u);
	HOLDS(!stack || stack->modules);
	nframes = stack ? (int)stack->nframes : -1;
	HOLDS(!expect_event(&ring, EVENT_POLL)); /* the reader takes the event's memory back */
	return nframes;
}

static void error_body(void)
{
	statuses[2] = IBV_WC_REM_ACCESS_ERR;
	HOLDS(frames_of_poll(4) > 1);
}

TEST(error_has_one_stack)
{
	in_child(error_body);
}

static void failure_body(void)
{
	HOLDS(frames_of_poll(0) > 1);
}

TEST(failed_poll_has_a_stack)
{
	in_child(failure_body);
}

static void flush_body(void)
{
	for (int i = 1; i < 4; i++)
		statuses[i] = IBV_WC_WR_FLUSH_ERR;
	HOLDS(frames_of_poll(4) == -1);
}

TEST(flushes_have_no_stack)
{
	in_child(flush_body);
}

static void notify_body(void)
{
	const struct event_notify *notify;
	struct ring ring;

	begin_poll();
	HOLDS(ibv_req_notify_cq(&cq, 1) == ENOMEM);
	ring = session_ring(0);
	notify = expect_event(&ring, EVENT_NOTIFY);
	HOLDS(notify && notify->cq == (uintptr_t)&cq);
	HOLDS(notify->solicited_only == 1 && notify->ret == ENOMEM);
}

TEST(notification_is_kept)
{
	in_child(notify_body);
}
