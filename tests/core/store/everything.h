#pragma once
/*
 * A recording with each kind of event, some of them damaged
 *
 * Included by one test program at a time. Not thread-safe.
 */
#include <signal.h>

#include "core/store/db/finding.h"
#include "tests/core/store/example.h"

enum { EVERYTHING_MAIN = 100, EVERYTHING_CHILD = 300 };

static bool everything_loses; /* Were events lost, too? Then completions are not matched. */

static struct example_end *const one = &example.ends[0];

/* An event of only its head and @n bytes of @body behind it. */
static inline void put_event(enum event_type type, unsigned int flags, const void *body, size_t n)
{
	size_t bytes = make_round(sizeof(struct event_head) + n);
	struct event_head *head = make_room(&one->m, type, flags, bytes);

	if (n)
		memcpy(head + 1, body, n);
	make_done(&one->m, head, bytes);
}

#define PUT(type, flags, name, ...)                                                          \
	do {                                                                                 \
		struct name event = { __VA_ARGS__ };                                         \
                                                                                             \
		put_event(type, flags, &event.head + 1, sizeof(event) - sizeof(event.head)); \
	} while (0)

/* The same with @tail behind the structure. */
#define PUT_WITH(type, name, tail, ...)                                                    \
	do {                                                                               \
		struct {                                                                   \
			struct name event;                                                 \
			char rest[sizeof(tail)];                                           \
		} whole = { { __VA_ARGS__ }, { 0 } };                                      \
                                                                                           \
		memcpy((char *)&whole + sizeof(struct name), tail, sizeof(tail));          \
		put_event(type, 0, &whole.event.head + 1,                                  \
			  sizeof(struct name) + sizeof(tail) - sizeof(struct event_head)); \
	} while (0)

/* Each frame is in another file; the second file is mapped where the first one was. */
static inline void put_modules(void)
{
	make_module(&one->m, 0x400000, 0x400000, 0x410000, "/usr/bin/app");
	make_module(&one->m, 0x500000, 0x500000, 0x500800, "/usr/lib/liba.so");
	make_module(&one->m, 0x500000, 0x500400, 0x501000, "/usr/lib/libb.so");
}

static inline void put_children(void)
{
	static const uint64_t frames[] = { 0x400123, 0x500456 };

	for (uint16_t how = 0; how < FORK_HOWS; how++) {
		PUT_WITH(EVENT_FORK, event_fork, frames, .fork_seq = how + 1u, .nframes = 2,
			 .how = how, .modules = how);
		if (how != FORK_EXEC)
			PUT(EVENT_SPAWNED, 0, event_spawned, .fork_seq = how + 1u,
			    .pid = how ? 400 + how : EVERYTHING_CHILD,
			    .error = how == FORK_POPEN ? EAGAIN : 0);
	}
	PUT(EVENT_SPAWNED, 0, event_spawned, .fork_seq = 99, .pid = 7);
}

static inline void put_descriptors(void)
{
	struct event_descriptor open[] = { { MAKE_PTR(&one->context), 5, 0 },
					   { MAKE_PTR(&one->cq), 6, 0 } };

	PUT_WITH(EVENT_FORK, event_fork, open, .fork_seq = 50, .how = FORK_EXEC, .ndescriptors = 2);
}

/* Another thread uses the ring of @m from now on. */
static inline void put_next_thread(struct maker *m, uint32_t tid)
{
	struct {
		struct event_thread thread;
		struct ring_polls polls;
	} *next = make_room(m, EVENT_THREAD, 0, sizeof(*next));

	next->thread.tid = tid;
	next->thread.npolls = 1;
	memcpy(next->thread.comm, "next", sizeof("next"));
	if (everything_loses) {
		next->thread.dropped = 3;
		next->thread.drop_first = make_now - 3;
		next->thread.drop_last = make_now - 2;
	}
	next->thread.in_handlers = 4;
	next->thread.uncounted = 5;
	next->thread.filtered = 6;
	next->thread.ended = make_now;
	next->polls = (struct ring_polls){ .cq = MAKE_PTR(&one->cq), .empty = 7 };
	make_done(m, next, sizeof(*next));
}

/* A child that was forked from it, and one of another recording's process. */
static inline void make_child(struct writer *writer)
{
	static const char environ[] =
		"RDMAV_FORK_SAFE=1\0MLX5_SINGLE_THREADED=\0NOVALUE\0=x\0MLX5_SHUT_UP_BF=0\0HOME=/x\0";
	struct event_process *e;
	struct maker m;

	make_thread(&m, writer, 5, EVERYTHING_CHILD, EVERYTHING_CHILD + 1);
	e = make_room(&m, EVENT_PROCESS, 0, make_round(sizeof(*e) + 8 + sizeof(environ) - 1));
	e->pid = EVERYTHING_CHILD;
	e->ppid = EVERYTHING_MAIN;
	e->forked_from = EVERYTHING_MAIN;
	e->fork_seq = 1;
	e->fork_ticks = make_now - 5;
	e->exe_bytes = 3;
	e->cmd_bytes = 5;
	e->environ_bytes = sizeof(environ) - 1;
	e->ipc_lock = IPC_LOCK_HELD;
	e->memlock = 1 << 16;
	e->memlock_most = EVENT_UNLIMITED;
	e->nofile = 1024;
	e->nofile_most = 4096;
	e->page_size = 8192;
	memcpy(e + 1, "/cha\0b c", 8);
	memcpy((char *)(e + 1) + 8, environ, sizeof(environ) - 1);
	make_done(&m, e, make_round(sizeof(*e) + 8 + sizeof(environ) - 1));
	make_verb(&m, VERB_dealloc_pd, MAKE_ARGS(MAKE_PTR(&one->pd)), 0, 0);
	put_next_thread(&m, EVERYTHING_CHILD + 3);
	make_verb(&m, VERB_query_gid, MAKE_ARGS(MAKE_PTR(&one->context), 1, 0, 0), -1, EINVAL);
	make_end(&m);
}

/* A thread whose ring cannot be read from the first event on. */
static inline void make_silent(struct writer *writer)
{
	struct maker m;

	make_thread(&m, writer, 6, EVERYTHING_CHILD, EVERYTHING_CHILD + 2);
	writer_note_damage(writer, m.thread, 8, 1);
	make_end(&m);
}

static inline void put_blind(void)
{
	for (uint32_t what = 0; what < BLIND_KINDS; what++)
		PUT(EVENT_BLIND, 0, event_blind, .what = what,
		    .object = what == BLIND_EXTENDED_CQ ? MAKE_PTR(&one->cq) : what);
	for (uint32_t need = 1; need < NEED_ALL; need <<= 1)
		PUT(EVENT_BLIND, 0, event_blind, .what = BLIND_SANDBOX, .object = need);
	PUT(EVENT_BLIND, 0, event_blind, .what = BLIND_SANDBOX, .object = NEED_ALL);
	PUT(EVENT_BLIND, 0, event_blind, .what = BLIND_KINDS);
}

static inline void put_marks(void)
{
	for (uint16_t kind = 0; kind <= MARK_KINDS; kind++)
		PUT_WITH(EVENT_MARK, event_mark, "a mark ...", .kind = kind,
			 .bytes = (uint16_t)(6 + kind));
	PUT_WITH(EVENT_MARK, event_mark, "12345678", .bytes = 17);
}

static inline void put_memory(void)
{
	static const uint64_t frames[] = { 0x500789 };

	for (uint16_t what = 0; what <= MEMORY_WHATS; what++)
		PUT_WITH(EVENT_MEMORY, event_memory, frames, .addr = 0x10000u + what,
			 .length = 100u + what, .what = what, .nframes = 1, .modules = 1);
}

static inline void put_waits(void)
{
	for (uint32_t why = 0; why <= WAITED_WHYS; why++)
		PUT(EVENT_WAITED, 0, event_waited, .ticks = 70 + why, .times = 2 + why, .why = why);
}

static inline void put_direct(void)
{
	PUT_WITH(EVENT_DIRECT, event_direct, "mlx5dv_init_obj", .how = DIRECT_CALLED, .bytes = 15);
	PUT_WITH(EVENT_DIRECT, event_direct, "mlx5dv_init_obj", .how = DIRECT_CALLED, .bytes = 15);
	PUT_WITH(EVENT_DIRECT, event_direct, "efadv_query", .how = DIRECT_LINKED, .bytes = 11);
	PUT_WITH(EVENT_DIRECT, event_direct, "efadv_query", .how = DIRECT_HOWS, .bytes = 11);
}

static inline void put_misuses(void)
{
	for (uint16_t what = 0; what <= MISUSES; what++)
		PUT(EVENT_MISUSE, 0, event_misuse, .object = MAKE_PTR(&one->cq),
		    .of = what & 1 ? MAKE_PTR(&one->qp) : 0, .what = what, .field = what,
		    .verb = VERB_post_send, .other_verb = VERB_poll_cq, .ring = 0, .tid = 101,
		    .status = what);
}

/* Called by another verb, never returned, ours, failed. */
static inline void put_calls(void)
{
	uint32_t outer = make_call(&one->m, VERB_dealloc_pd, 0, 0, MAKE_ARGS(MAKE_PTR(&one->pd)));
	uint32_t inner = make_call(&one->m, VERB_dereg_mr, 1, 0, MAKE_ARGS(MAKE_PTR(&one->mr)));

	make_return(&one->m, inner, VERB_dereg_mr, MAKE_ARGS(MAKE_PTR(&one->mr)), EINVAL, EINVAL);
	make_return(&one->m, outer, VERB_dealloc_pd, MAKE_ARGS(MAKE_PTR(&one->pd)), EBUSY, 0);
	outer = make_call(&one->m, VERB_query_gid, 0, EVENT_OURS,
			  MAKE_ARGS(MAKE_PTR(&one->context), 1, 0, 0));
	make_return(&one->m, outer, VERB_query_gid, MAKE_ARGS(MAKE_PTR(&one->context), 1, 0, 0), -1,
		    EINVAL);
	make_return(&one->m, 12345, VERB_query_gid, MAKE_ARGS(MAKE_PTR(&one->context), 1, 0, 0), -1,
		    EINVAL);
	make_verb(&one->m, VERB_alloc_pd, MAKE_ARGS(MAKE_PTR(&one->context)), 0, ENOMEM);
	make_verb(&one->m, VERB_destroy_cq, MAKE_ARGS(MAKE_PTR(&one->cq)), EBUSY, EBUSY);
	make_call(&one->m, VERB_close_device, 0, 0, MAKE_ARGS(MAKE_PTR(&one->context)));
}

static inline void put_posts(void)
{
	static const uint64_t site[] = { 0x400321, 0x500654 };
	static const struct example_wr wrs[] = {
		{ 1, IBV_WR_SEND, IBV_SEND_SIGNALED, .lengths = { 10, 20, 30 } },
		{ 2, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_INLINE, .imm = 0x55, .lengths = { 40 },
		  .rdma = { 0x777, 0x88 }, .parts = WR_RDMA },
		{ 3, IBV_WR_ATOMIC_CMP_AND_SWP, .lengths = { 8 }, .rdma = { 0x999, 0xaa },
		  .atomic = { 11, 22 }, .parts = WR_RDMA | WR_ATOMIC },
		{ 4, IBV_WR_SEND, .ud = { 33, 44, 55 }, .parts = WR_UD },
		{ 5, IBV_WR_SEND, .xrc = { 66 }, .parts = WR_XRC },
		{ 6, 14, .rdma = { 0xbbb, 0xcc }, .flush = { 77, 88, 99 },
		  .parts = WR_RDMA | WR_FLUSH },
	};

	PUT_WITH(EVENT_SITE, event_site, site, .site = 1, .nframes = 2, .modules = 1);
	example_site = 1;
	example_post_list(one, VERB_post_send, &one->qp, wrs, 6, 0);
	example_site = 2;
	example_post_list(one, VERB_post_send, &one->qp, wrs, 2, 2);
	example_post_list(one, VERB_post_recv, &one->qp, wrs, 1, 0);
	example_post_list(one, VERB_post_recv, (void *)0x5555, wrs, 1, 0);
	example_post_list(one, VERB_wr_abort, &one->qp, wrs, 1, 0);
	example_site = 0;
}

static inline void put_polls(void)
{
	struct event_wc wc = { 1, 0, 128, 3, 4, 5, 0x111, 7, 8, 9, 10, 11, 12, 0 };
	struct event_wc_extra extra = { 21, 22, 23, 31, 25, 26, 27, 0 };

	make_poll(&one->m, &one->cq, 3, &wc, 1);
	make_poll_by(&one->m, VERB_start_poll, &one->cq, 5, &wc, 1, &extra);
	extra = (struct event_wc_extra){ .timestamp = 28, .parts = WC_TIMESTAMP };
	make_poll_by(&one->m, VERB_next_poll, &one->cq, 5, &wc, 1, &extra);
	make_poll(&one->m, &one->cq, 9, NULL, 0);
	make_poll(&one->m, (void *)0x6666, 2, &wc, 1);
	PUT(EVENT_COUNT, 0, event_count, .ring = 0, .tid = 101, .cq = MAKE_PTR(&one->cq),
	    .empty = 12);
	make_notify(&one->m, &one->cq);
	make_notify(&one->m, (void *)0x6666);
}

/* For two requests, and for two completions, one of which is a datagram with a GRH. */
static inline void put_payloads(void)
{
	static const struct example_wr wrs[] = { { 8, IBV_WR_SEND, .lengths = { 5 } },
						 { 9, IBV_WR_SEND, .lengths = { 3, 4 } } };
	struct event_wc wcs[] = { example_wc(one, 8, 0, IBV_WC_SEND, 5),
				  example_wc(one, 70, 0, IBV_WC_RECV, 44) };
	char datagram[44] = { [39] = 1, [40] = 'd', 'a', 't', 'a' };
	uint32_t poll;

	example_payload(one, &one->qp, 1, 0, PAYLOAD_SEND, "first", 5);
	example_payload(one, &one->qp, 1, 1, PAYLOAD_SEND, "second", 7);
	example_carries = true;
	example_post_list(one, VERB_post_send, &one->qp, wrs, 2, 0);
	example_carries = false;
	poll = make_poll(&one->m, &one->cq, 0, wcs, 2);
	example_payload(one, NULL, poll, 0, PAYLOAD_READ, "read", 4);
	example_before = 40;
	example_payload(one, NULL, poll, 1, PAYLOAD_RECV, datagram, 44);
	example_before = 0;
	wcs[0].status = IBV_WC_RETRY_EXC_ERR;
	wcs[1].status = IBV_WC_WR_FLUSH_ERR;
	make_poll(&one->m, &one->cq, 1, wcs, 2);
}

/* Events that cannot be read are counted, and the others are kept. */
static inline void put_damaged(void)
{
	for (unsigned int type = 1; type < EVENT_TYPES; type++)
		put_event(type, 0, NULL, 0);
}

static inline void write_everything(void)
{
	static const struct stored_counter counter = { "dev0", 1, "hw_counters", "retries", 5, 9 };
	static const struct stored_counter_sample sample = { "dev0",    1,    "hw_counters",
							     "retries", 4000, 7 };
	static const struct writer_note_withheld withheld = { 1, 2, 3, 4 };
	static const struct stored_finding finding = { "RULE-1",  "name",  "error", { 1, 2 },
						       3,         1,       "place", "object",
						       "message", "print", 4 };

	writer_note_late_thread(example.writer, one->m.thread, 0);
	put_modules();
	put_children();
	put_descriptors();
	make_child(example.writer);
	make_silent(example.writer);
	put_blind();
	put_marks();
	put_memory();
	put_waits();
	put_direct();
	put_posts();
	put_polls();
	put_misuses();
	put_calls();
	put_payloads();
	put_damaged();
	writer_note_damage(example.writer, one->m.thread, 64, 2);
	writer_note_ringless(example.writer, 3);
	writer_note_withheld(example.writer, &withheld);
	writer_note_session_gone(example.writer, 5000);
	if (everything_loses)
		writer_note_discarded(example.writer, 6);
	writer_store_counter(example.writer, &counter);
	writer_store_counter_sample(example.writer, &sample);
	writer_store_finding(example.writer, &finding);
	writer_describe(example.writer, "another command", "another device");
	PUT(EVENT_EXIT, 0, event_exit, .how = EXIT_AT_ONCE, .status = 7);
	writer_end_process(example.writer, 200, 6000, SIGKILL);
	writer_end_process(example.writer, EVERYTHING_CHILD, 7000, 3 << 8);
}

/* The whole recording, open. */
static inline void open_everything(void)
{
	example_begin_connected(&example, IBV_QPT_RC, true, false);
	write_everything();
	example_open(&example);
}
