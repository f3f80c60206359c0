#pragma once
/*
 * Events as the recorder would write them, without a device: a maker is one
 * thread of a traced program with its ring, and drains into a writer.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "core/store/read/trace.h"
#include "core/store/write/writer.h"
#include "core/wire/codec.h"
#include "core/wire/ring.h"

struct maker {
	struct writer *writer; /* NULL: the events stay in the ring */
	struct ring in, out;
	char path[128];
	uint32_t thread;
	int pid;
};

/* One clock for all makers: a tick is a nanosecond. */
static uint64_t make_now = 1000;

static const struct clock make_clock = {
	.kind = CLOCK_KIND_MONOTONIC, .shift = 32, .mult = 1ull << 32, .start = 0
};

static inline const char *make_path(const char *name)
{
	static char path[4][256];
	static int turn;
	const char *dir = getenv("TMPDIR");

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/verbatim-test-%d-%s", dir ? dir : "/tmp",
		 (int)getpid(), name);
	return path[turn];
}

/* This number of calls of a shape are stored as rows; 0: the usual number. */
static uint32_t make_calls_plain;

static inline struct writer *make_writer(const char *path)
{
	struct writer_info info = { .clock = &make_clock,
				    .command = "app --flag",
				    .device = "soft",
				    .calls_plain = make_calls_plain };
	struct writer *writer = NULL;
	int err = writer_create(path, &info, &writer);

	assert(!err);
	return writer;
}

/* Events go to the writer as soon as they are made. */
static inline void make_drain(struct maker *m)
{
	const struct event_head *event;
	int bytes;

	while (m->writer && (bytes = ring_peek(&m->out, &event)) > 0) {
		if (event->type == EVENT_THREAD)
			writer_next_thread(m->writer, &m->thread, m->out.head, event);
		else
			writer_add_event(m->writer, m->thread, event);
		ring_step(&m->out, (size_t)bytes);
		ring_consume(&m->out);
	}
}

static inline void make_thread(struct maker *m, struct writer *writer, uint32_t index, int pid,
			       int tid)
{
	int err;

	*m = (struct maker){ .writer = writer, .pid = pid };
	snprintf(m->path, sizeof(m->path), "%s.ring%u", make_path("x"), index);
	unlink(m->path);
	err = ring_create(&m->in, m->path, RING_MIN, index, 0);
	assert(!err);
	m->in.head->pid = (uint32_t)pid;
	m->in.head->tid = (uint32_t)tid;
	m->in.head->ticks = make_now;
	snprintf(m->in.head->comm, sizeof(m->in.head->comm), "thread-%hd", (short)tid);
	err = ring_open(&m->out, m->path);
	assert(!err);
	if (writer) {
		err = writer_begin_thread(writer, m->out.head, &m->thread);
		assert(!err);
	}
}

static inline void make_end(struct maker *m)
{
	make_drain(m);
	if (m->writer)
		writer_end_thread(m->writer, m->thread, m->out.head);
	ring_close(&m->in);
	ring_close(&m->out);
	unlink(m->path);
}

/* Room for an event of @bytes bytes, with its head filled. */
static inline void *make_room(struct maker *m, enum event_type type, unsigned int flags,
			      size_t bytes)
{
	struct event_head *head;
	bool room = ring_has_room(&m->in, bytes);

	assert(room && bytes % 8 == 0);
	head = ring_next(&m->in);
	memset(head, 0, bytes);
	head->type = (uint8_t)type;
	head->flags = (uint8_t)flags;
	head->ticks = make_now++;
	return head;
}

static inline uint32_t make_done(struct maker *m, void *event, size_t bytes)
{
	ring_commit(&m->in, event, bytes / 8);
	make_drain(m);
	return m->in.seq;
}

static inline size_t make_round(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static inline void make_process(struct maker *m, int ppid, int forked_from, uint32_t fork_seq,
				uint64_t fork_ticks)
{
	static const char exe[] = "/usr/bin/app", cmd[] = "app\0--flag";
	size_t bytes = make_round(sizeof(struct event_process) + 12 + sizeof(cmd));
	struct event_process *e = make_room(m, EVENT_PROCESS, 0, bytes);

	e->pid = (uint32_t)m->pid;
	e->ppid = (uint32_t)ppid;
	e->forked_from = (uint32_t)forked_from;
	e->fork_seq = fork_seq;
	e->fork_ticks = fork_ticks;
	e->exe_bytes = 12;
	e->cmd_bytes = sizeof(cmd);
	memcpy(e + 1, exe, 12);
	memcpy((char *)(e + 1) + 12, cmd, sizeof(cmd));
	make_done(m, e, bytes);
}

static inline void make_module(struct maker *m, uint64_t base, uint64_t start, uint64_t end,
			       const char *path)
{
	size_t n = strlen(path), bytes = make_round(sizeof(struct event_module) + n + 4);
	struct event_module *e = make_room(m, EVENT_MODULE, 0, bytes);

	e->base = base;
	e->start = start;
	e->end = end;
	e->path_bytes = (uint16_t)n;
	e->build_id_bytes = 4;
	memcpy(e + 1, path, n);
	memcpy((char *)(e + 1) + n, "\xde\xad\xbe\xef", 4);
	make_done(m, e, bytes);
}

static inline uint32_t make_fork(struct maker *m, uint32_t fork_seq)
{
	size_t bytes = sizeof(struct event_fork) + 8;
	struct event_fork *e = make_room(m, EVENT_FORK, 0, bytes);

	e->fork_seq = fork_seq;
	e->nframes = 1;
	e->how = FORK_FORK;
	*(uint64_t *)(void *)(e + 1) = 0x401000;
	return make_done(m, e, bytes);
}

/* The innermost frame of each call; another one if this is defined before. */
#ifndef MAKE_FRAME
#define MAKE_FRAME(verb) (0x401010 + (verb))
#endif

/* A verb begins; two frames. Returns its number. */
static inline uint32_t make_call(struct maker *m, enum verb verb, unsigned int depth,
				 unsigned int flags, const uint64_t *args)
{
	static uint64_t words[8192];
	struct codec_out out = { .words = words, .size = 8000 };
	struct event_call *e;
	size_t bytes;

	codec_put_args(&out, verb, args, DIR_IN);
	bytes = sizeof(*e) + (2 + out.used) * 8;
	e = make_room(m, EVENT_CALL, flags | (depth ? EVENT_INNER : 0), bytes);
	e->verb = (uint16_t)verb;
	e->depth = (uint8_t)depth;
	e->nframes = 2;
	e->nargs = (uint32_t)out.used;
	((uint64_t *)(void *)(e + 1))[0] = MAKE_FRAME(verb);
	((uint64_t *)(void *)(e + 1))[1] = 0x402000;
	memcpy((uint64_t *)(void *)(e + 1) + 2, words, out.used * 8);
	return make_done(m, e, bytes);
}

static inline void make_return(struct maker *m, uint32_t call, enum verb verb, const uint64_t *args,
			       int64_t ret, int error)
{
	static uint64_t words[8192];
	struct codec_out out = { .words = words, .size = 8000, .ret = ret };
	struct event_return *e;
	size_t bytes;

	if (!verb_failed(verb, ret))
		codec_put_outputs(&out, verb, args);
	bytes = sizeof(*e) + out.used * 8;
	e = make_room(m, EVENT_RETURN, 0, bytes);
	e->call_seq = call;
	e->verb = (uint16_t)verb;
	e->ret = ret;
	e->error = error;
	e->nouts = (uint32_t)out.used;
	memcpy(e + 1, words, out.used * 8);
	make_done(m, e, bytes);
}

/* A verb that begins and returns. */
static inline uint32_t make_verb(struct maker *m, enum verb verb, const uint64_t *args, int64_t ret,
				 int error)
{
	uint32_t n = make_call(m, verb, 0, 0, args);

	make_return(m, n, verb, args, ret, error);
	return n;
}

#define MAKE_ARGS(...) ((const uint64_t[]){ __VA_ARGS__ })
#define MAKE_PTR(p)    ((uint64_t)(uintptr_t)(p))

/* One work request with one SGE; that of a write or read has an RDMA part. */
static inline uint32_t make_post(struct maker *m, enum verb verb, const void *handle,
				 uint64_t wr_id, int opcode, unsigned int send_flags)
{
	bool rdma = verb == VERB_post_send &&
		    (opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_READ);
	size_t bytes = sizeof(struct event_post) + sizeof(struct event_wr) +
		       (rdma ? sizeof(struct event_rdma) : 0) + sizeof(struct event_sge);
	struct event_post *e = make_room(m, EVENT_POST, 0, bytes);
	struct event_wr *wr = (void *)(e + 1);
	struct event_sge *sge = (void *)(wr + 1);

	e->object = MAKE_PTR(handle);
	e->verb = (uint16_t)verb;
	e->nwr = 1;
	*wr = (struct event_wr){
		.wr_id = wr_id, .opcode = (uint8_t)opcode, .flags = (uint8_t)send_flags, .nsge = 1
	};
	if (rdma) {
		struct event_rdma *r = (void *)(wr + 1);

		wr->parts = WR_RDMA;
		*r = (struct event_rdma){ 0x7f0000000000, 0x55 };
		sge = (void *)(r + 1);
	}
	*sge = (struct event_sge){ 0x7fff0000 + wr_id * 64, 64, 0x1234 };
	return make_done(m, e, bytes);
}

static inline struct event_wc make_wc(uint64_t wr_id, int status, int opcode, uint32_t qp_num)
{
	return (struct event_wc){ .wr_id = wr_id,
				  .status = (uint32_t)status,
				  .opcode = (uint32_t)opcode,
				  .qp_num = qp_num,
				  .byte_len = 64 };
}

/* Do the next polls of ibv_poll_cq() return as many completions as they asked for? */
static bool make_filled;

/* @extras: the same number, or NULL. */
static inline uint32_t make_poll_by(struct maker *m, enum verb verb, const void *cq, uint64_t empty,
				    const struct event_wc *wcs, uint32_t nwc,
				    const struct event_wc_extra *extras)
{
	size_t bytes = sizeof(struct event_poll) + nwc * sizeof(*wcs) +
		       (extras ? nwc * sizeof(*extras) : 0);
	struct event_poll *e = make_room(m, EVENT_POLL, 0, bytes);

	e->head.flags =
		(uint8_t)((verb == VERB_start_poll ? EVENT_START : 0) |
			  (verb == VERB_next_poll ? EVENT_NEXT : 0) | (extras ? EVENT_EXTRA : 0) |
			  (verb == VERB_poll_cq && make_filled ? EVENT_FILLED : 0));
	e->cq = MAKE_PTR(cq);
	e->empty = empty;
	e->ret = (int)nwc;
	e->nwc = nwc;
	if (nwc)
		memcpy(e + 1, wcs, nwc * sizeof(*wcs));
	if (extras)
		memcpy((struct event_wc *)(e + 1) + nwc, extras, nwc * sizeof(*extras));
	return make_done(m, e, bytes);
}

static inline uint32_t make_poll(struct maker *m, const void *cq, uint64_t empty,
				 const struct event_wc *wcs, uint32_t nwc)
{
	return make_poll_by(m, VERB_poll_cq, cq, empty, wcs, nwc, NULL);
}

static inline uint32_t make_notify(struct maker *m, const void *cq)
{
	struct event_notify *e = make_room(m, EVENT_NOTIFY, 0, sizeof(*e));

	e->cq = MAKE_PTR(cq);
	return make_done(m, e, sizeof(*e));
}

/* A device, a context, a PD, a CQ and a QP with its memory: most tests begin with these. */
struct make_world {
	struct ibv_device device;
	struct ibv_context context;
	struct ibv_pd pd;
	struct ibv_mr mr;
	struct ibv_cq cq;
	struct ibv_qp qp;
	struct ibv_qp_init_attr init;
	uint32_t open_n, pd_n, mr_n, cq_n, qp_n;
};

static inline void make_world(struct maker *m, struct make_world *w, uint32_t qp_num)
{
	struct ibv_device *list[2] = { &w->device, NULL };
	int count = 1;

	memset(w, 0, sizeof(*w));
	snprintf(w->device.name, sizeof(w->device.name), "soft0");
	w->context.device = &w->device;
	w->pd.context = &w->context;
	w->mr = (struct ibv_mr){ .context = &w->context,
				 .pd = &w->pd,
				 .lkey = 0x1234,
				 .rkey = 0x55,
				 .addr = (void *)0x7fff0000,
				 .length = 1 << 20 };
	w->cq.context = &w->context;
	w->cq.cqe = 256;
	w->init = (struct ibv_qp_init_attr){ .send_cq = &w->cq,
					     .recv_cq = &w->cq,
					     .qp_type = IBV_QPT_RC,
					     .cap = { .max_send_wr = 64, .max_recv_wr = 64 } };
	w->qp = (struct ibv_qp){ .context = &w->context,
				 .pd = &w->pd,
				 .send_cq = &w->cq,
				 .recv_cq = &w->cq,
				 .qp_num = qp_num,
				 .qp_type = IBV_QPT_RC };
	make_verb(m, VERB_get_device_list, MAKE_ARGS(MAKE_PTR(&count)), (int64_t)MAKE_PTR(list), 0);
	w->open_n = make_verb(m, VERB_open_device, MAKE_ARGS(MAKE_PTR(&w->device)),
			      (int64_t)MAKE_PTR(&w->context), 0);
	w->pd_n = make_verb(m, VERB_alloc_pd, MAKE_ARGS(MAKE_PTR(&w->context)),
			    (int64_t)MAKE_PTR(&w->pd), 0);
	w->mr_n =
		make_verb(m, VERB_reg_mr,
			  MAKE_ARGS(MAKE_PTR(&w->pd), 0x7fff0000, 1 << 20, IBV_ACCESS_LOCAL_WRITE),
			  (int64_t)MAKE_PTR(&w->mr), 0);
	w->cq_n = make_verb(m, VERB_create_cq, MAKE_ARGS(MAKE_PTR(&w->context), 256, 0, 0, 0),
			    (int64_t)MAKE_PTR(&w->cq), 0);
	w->qp_n = make_verb(m, VERB_create_qp, MAKE_ARGS(MAKE_PTR(&w->pd), MAKE_PTR(&w->init)),
			    (int64_t)MAKE_PTR(&w->qp), 0);
}

static inline void make_modify(struct maker *m, struct make_world *w, int state)
{
	struct ibv_qp_attr attr = { .qp_state = (enum ibv_qp_state)state };

	make_verb(m, VERB_modify_qp, MAKE_ARGS(MAKE_PTR(&w->qp), MAKE_PTR(&attr), IBV_QP_STATE), 0,
		  0);
}

/* A trace at @path of a program that posted @n sends; 0 or -errno. */
static inline int make_sends(const char *path, uint64_t n)
{
	struct writer *w = make_writer(path);
	struct make_world world;
	struct maker m;

	make_thread(&m, w, 0, 100, 101);
	make_process(&m, 1, 0, 0, 0);
	make_world(&m, &world, 17);
	for (uint64_t i = 0; i < n; i++)
		make_post(&m, VERB_post_send, &world.qp, i, IBV_WR_SEND, IBV_SEND_SIGNALED);
	make_end(&m);
	return writer_finish(w);
}
