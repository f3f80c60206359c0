#pragma once
/*
 * A recorded example: two processes, each with a device, a region and a queue pair, which are
 * connected. All numbers are known, so that tests can compare whole outputs.
 *
 * Included by one test program at a time. Not thread-safe.
 */
#include <errno.h>

#include "core/store/open.h"
#include "core/wire/desc.h"
#include "core/wire/hash.h"

/* Numbers of verbs change when the list of verbs does: outputs would change with them. */
#define MAKE_FRAME(verb) (0x401000 + 16 * strlen(verb_infos[verb].name))
#include "tests/core/store/make_events.h"
#include "tests/test.h"

enum { EXAMPLE_ENDS = 2, EXAMPLE_MOST = 8, EXAMPLE_PORT_ATTR = 52 };
#define EXAMPLE_REALTIME 1700000000123456789ull /* ns since 1970 when it began */

/* Process 100 + 100 * its index, thread 101 + 100 * its index. */
struct example_end {
	struct maker m;
	struct ibv_device device;
	struct ibv_context context;
	struct ibv_pd pd;
	struct ibv_mr mr; /* 64 KB at 0x10000 or 0x20000, lkey 0x11 or 0x21, rkey 0x12 or 0x22 */
	struct ibv_cq cq;
	struct ibv_srq srq;
	struct ibv_qp qp; /* 0x111 or 0x222 */
};

static struct example {
	char path[256];
	struct writer *writer;
	struct trace *trace;
	struct example_end ends[EXAMPLE_ENDS];
} example;

/* Have the next posts payloads before them? */
static bool example_carries;
static uint16_t example_site; /* their place; 0: not known */

/* Bytes of the next payload before the message. */
static uint8_t example_before;

/* Can the next recording be cut? */
static bool example_cuts;

/* A work request; the parts of its opcode are written. */
struct example_wr {
	uint64_t wr_id;
	int opcode;
	unsigned int flags;
	uint32_t imm;
	uint32_t lengths[3]; /* of its elements, up to the first 0 */
	struct event_rdma rdma;
	struct event_atomic atomic;
	struct event_ud ud;
	struct event_xrc xrc;
	struct event_bind bind;
	struct event_flush flush;
	unsigned int parts; /* enum event_wr_part */
};

/* The next event happens at @us microseconds of the recording. */
static inline void example_at(uint64_t us)
{
	assert_true(make_now <= us * 1000);
	make_now = us * 1000;
}

/* fe80::1 and fe80::2 for @v6, else ::ffff:10.0.0.1 and ::ffff:10.0.0.2 */
static inline union ibv_gid example_gid(int i, bool v6)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 10 } };

	if (v6)
		gid = (union ibv_gid){ .raw = { 0xfe, 0x80 } };
	gid.raw[15] = (uint8_t)(1 + i);
	return gid;
}

/* What a program does before it has queue pairs. */
static inline void example_start(struct example *x, int i)
{
	struct example_end *end = &x->ends[i];
	struct ibv_device *list[2] = { &end->device, NULL };
	struct ibv_port_attr port = { .state = IBV_PORT_ACTIVE, .lid = (uint16_t)(7 + 2 * i) };
	union ibv_gid gid = example_gid(i, false);
	int count = 1, pid = 100 * (i + 1);
	uint64_t addr = 0x10000ull * (unsigned int)(i + 1);
	uint32_t key = 0x10 * (uint32_t)(i + 1);

	snprintf(end->device.name, sizeof(end->device.name), "dev%d", i);
	end->context.device = &end->device;
	end->pd.context = &end->context;
	end->mr = (struct ibv_mr){ .context = &end->context,
				   .pd = &end->pd,
				   .lkey = key + 1,
				   .rkey = key + 2,
				   .addr = (void *)(uintptr_t)addr,
				   .length = 1 << 16 };
	end->cq = (struct ibv_cq){ .context = &end->context, .cqe = 32 };
	make_thread(&end->m, x->writer, (uint32_t)i, pid, pid + 1);
	make_process(&end->m, 1, 0, 0, 0);
	make_verb(&end->m, VERB_get_device_list, MAKE_ARGS(MAKE_PTR(&count)),
		  (int64_t)MAKE_PTR(list), 0);
	make_verb(&end->m, VERB_open_device, MAKE_ARGS(MAKE_PTR(&end->device)),
		  (int64_t)MAKE_PTR(&end->context), 0);
	make_verb(&end->m, VERB_query_port,
		  MAKE_ARGS(MAKE_PTR(&end->context), 1, MAKE_PTR(&port), EXAMPLE_PORT_ATTR), 0, 0);
	make_verb(&end->m, VERB_query_gid, MAKE_ARGS(MAKE_PTR(&end->context), 1, 3, MAKE_PTR(&gid)),
		  0, 0);
	make_verb(&end->m, VERB_alloc_pd, MAKE_ARGS(MAKE_PTR(&end->context)),
		  (int64_t)MAKE_PTR(&end->pd), 0);
	make_verb(&end->m, VERB_reg_mr, MAKE_ARGS(MAKE_PTR(&end->pd), addr, 1 << 16, 15),
		  (int64_t)MAKE_PTR(&end->mr), 0);
	make_verb(&end->m, VERB_create_cq, MAKE_ARGS(MAKE_PTR(&end->context), 32, 0, 0, 0),
		  (int64_t)MAKE_PTR(&end->cq), 0);
}

static inline void example_create_qp(struct example_end *end, enum ibv_qp_type type,
				     uint32_t number, bool srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = &end->cq,
		.recv_cq = &end->cq,
		.srq = srq ? &end->srq : NULL,
		.qp_type = type,
		.cap = { .max_send_wr = 16, .max_recv_wr = 8, .max_send_sge = 3, .max_recv_sge = 2 }
	};

	end->qp = (struct ibv_qp){ .context = &end->context,
				   .pd = &end->pd,
				   .send_cq = &end->cq,
				   .recv_cq = &end->cq,
				   .srq = init.srq,
				   .qp_num = number,
				   .qp_type = type };
	make_verb(&end->m, VERB_create_qp, MAKE_ARGS(MAKE_PTR(&end->pd), MAKE_PTR(&init)),
		  (int64_t)MAKE_PTR(&end->qp), 0);
}

static inline void example_create_srq(struct example_end *end)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 32, .max_sge = 2 } };

	end->srq = (struct ibv_srq){ .context = &end->context, .pd = &end->pd };
	make_verb(&end->m, VERB_create_srq, MAKE_ARGS(MAKE_PTR(&end->pd), MAKE_PTR(&init)),
		  (int64_t)MAKE_PTR(&end->srq), 0);
}

static inline void example_modify(struct example_end *end, struct ibv_qp_attr *attr, int mask)
{
	make_verb(&end->m, VERB_modify_qp,
		  MAKE_ARGS(MAKE_PTR(&end->qp), MAKE_PTR(attr), (uint64_t)mask), 0, 0);
}

/* The attributes that connect end @i to the other; a global path if @v4 or @v6. */
static inline struct ibv_qp_attr example_attr(struct example *x, int i, bool v4, bool v6)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = 15,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = x->ends[!i].qp.qp_num,
		.rq_psn = 0x100u + 0x100u * (unsigned int)!i,
		.sq_psn = 0x100u + 0x100u * (unsigned int)i,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 3,
		.qkey = 0x1234,
		.ah_attr = { .dlid = (uint16_t)(7 + 2 * !i), .is_global = v4 || v6, .port_num = 1 }
	};

	attr.ah_attr.grh = (struct ibv_global_route){
		.dgid = example_gid(!i, v6), .sgid_index = 3, .hop_limit = 33, .traffic_class = 5
	};
	return attr;
}

/* From RESET to RTS, as an RC queue pair, or as another. */
static inline void example_connect(struct example *x, int i, struct ibv_qp_attr *attr)
{
	struct example_end *end = &x->ends[i];
	bool rc = end->qp.qp_type == IBV_QPT_RC, ud = end->qp.qp_type == IBV_QPT_UD;

	attr->qp_state = IBV_QPS_INIT;
	example_modify(end, attr,
		       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
	attr->qp_state = IBV_QPS_RTR;
	example_modify(end, attr,
		       ud ? IBV_QP_STATE
			  : IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN |
				       (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
	attr->qp_state = IBV_QPS_RTS;
	example_modify(end, attr,
		       IBV_QP_STATE | IBV_QP_SQ_PSN |
			       (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						IBV_QP_MAX_QP_RD_ATOMIC
				   : 0));
}

static inline char *example_put(char *at, const void *part, size_t bytes)
{
	memcpy(at, part, bytes);
	return at + bytes;
}

/* The elements are in the region, one after the other. */
static inline char *example_put_wr(char *at, const struct ibv_mr *mr, const struct example_wr *wr)
{
	struct event_wr head = { .wr_id = wr->wr_id,
				 .opcode = (uint8_t)wr->opcode,
				 .flags = (uint8_t)wr->flags,
				 .parts = (uint8_t)wr->parts,
				 .imm = wr->imm };
	uint64_t addr = (uintptr_t)mr->addr + wr->wr_id * 64;

	for (; head.nsge < 3 && wr->lengths[head.nsge]; head.nsge++)
		;
	at = example_put(at, &head, sizeof(head));
	if (wr->parts & WR_RDMA)
		at = example_put(at, &wr->rdma, sizeof(wr->rdma));
	if (wr->parts & WR_ATOMIC)
		at = example_put(at, &wr->atomic, sizeof(wr->atomic));
	if (wr->parts & WR_UD)
		at = example_put(at, &wr->ud, sizeof(wr->ud));
	if (wr->parts & WR_XRC)
		at = example_put(at, &wr->xrc, sizeof(wr->xrc));
	if (wr->parts & WR_BIND)
		at = example_put(at, &wr->bind, sizeof(wr->bind));
	if (wr->parts & WR_FLUSH)
		at = example_put(at, &wr->flush, sizeof(wr->flush));
	for (int i = 0; i < head.nsge; addr += wr->lengths[i++])
		at = example_put(at, &(struct event_sge){ addr, wr->lengths[i], mr->lkey },
				 sizeof(struct event_sge));
	return at;
}

/* Post @n requests with one call, which refuses them from number @bad on; 0: none. Returns N. */
static inline uint32_t example_post_list(struct example_end *end, enum verb verb,
					 const void *handle, const struct example_wr *wrs,
					 uint16_t n, unsigned int bad)
{
	char bytes[2048], *at = bytes;
	struct event_post *e;

	for (uint16_t i = 0; i < n; i++)
		at = example_put_wr(at, &end->mr, &wrs[i]);
	e = make_room(&end->m, EVENT_POST, example_carries ? EVENT_CARRIES : 0,
		      sizeof(*e) + (size_t)(at - bytes));
	e->object = MAKE_PTR(handle);
	e->verb = (uint16_t)verb;
	e->nwr = n;
	e->site = example_site;
	e->bad = bad;
	e->ret = bad ? ENOMEM : 0;
	memcpy(e + 1, bytes, (size_t)(at - bytes));
	return make_done(&end->m, e, sizeof(*e) + (size_t)(at - bytes));
}

static inline uint32_t example_post(struct example_end *end, struct example_wr wr)
{
	return example_post_list(end, VERB_post_send, &end->qp, &wr, 1, 0);
}

static inline uint32_t example_receive(struct example_end *end, uint64_t wr_id, uint32_t length)
{
	struct example_wr wr = { .wr_id = wr_id, .lengths = { length } };

	return example_post_list(end, end->qp.srq ? VERB_post_srq_recv : VERB_post_recv,
				 end->qp.srq ? (void *)end->qp.srq : (void *)&end->qp, &wr, 1, 0);
}

static inline struct event_wc example_wc(const struct example_end *end, uint64_t wr_id, int status,
					 int opcode, uint32_t bytes)
{
	struct event_wc wc = make_wc(wr_id, status, opcode, end->qp.qp_num);

	wc.byte_len = bytes;
	return wc;
}

/* Poll one completion. */
static inline uint32_t example_poll(struct example_end *end, uint64_t wr_id, int status, int opcode,
				    uint32_t bytes)
{
	struct event_wc wc = example_wc(end, wr_id, status, opcode, bytes);

	return make_poll(&end->m, &end->cq, 0, &wc, 1);
}

/*
 * A payload: of the request @index of a post on @object, which follows, and has EVENT_CARRIES; or
 * for NULL of a completion of event @of.
 */
static inline void example_payload(struct example_end *end, const void *object, uint32_t of,
				   uint32_t index, enum payload_kind kind, const void *payload,
				   uint32_t n)
{
	size_t bytes = make_round(sizeof(struct event_payload) + n);
	struct event_payload *e = make_room(&end->m, EVENT_PAYLOAD, 0, bytes);

	e->object = MAKE_PTR(object);
	e->total = e->bytes = n;
	e->hash = hash_of((const char *)payload + example_before, n - example_before, 0);
	e->before = example_before;
	e->of = of;
	e->index = index;
	e->kind = (uint8_t)kind;
	e->flags = PAYLOAD_LAST;
	memcpy(e + 1, payload, n);
	make_done(&end->m, e, bytes);
}

/* A recording with both processes, before they have queue pairs. */
static inline void example_begin(struct example *x)
{
	const struct clock clock = { .kind = CLOCK_KIND_MONOTONIC,
				     .shift = 32,
				     .mult = 1ull << 32,
				     .realtime = EXAMPLE_REALTIME };
	const struct writer_info info = {
		.clock = &clock, .command = "app --flag", .device = "soft", .cuts = example_cuts
	};
	static int number;
	char name[32];

	memset(x, 0, sizeof(*x));
	example_carries = false;
	make_now = 1000;
	snprintf(name, sizeof(name), "example%d.db", number++);
	snprintf(x->path, sizeof(x->path), "%s", make_path(name));
	assert_int_equal(writer_create(x->path, &info, &x->writer), 0);
	for (int i = 0; i < EXAMPLE_ENDS; i++)
		example_start(x, i);
}

/* The same, with connected queue pairs of @type; a global path if @v4 or @v6. */
static inline void example_begin_connected(struct example *x, enum ibv_qp_type type, bool v4,
					   bool v6)
{
	example_begin(x);
	for (int i = 0; i < EXAMPLE_ENDS; i++)
		example_create_qp(&x->ends[i], type, 0x111u * (unsigned int)(i + 1), false);
	for (int i = 0; i < EXAMPLE_ENDS; i++) {
		struct ibv_qp_attr attr = example_attr(x, i, v4, v6);

		example_connect(x, i, &attr);
	}
}

static inline void example_finish(struct example *x)
{
	for (int i = 0; i < EXAMPLE_ENDS; i++)
		make_end(&x->ends[i].m);
	assert_int_equal(writer_finish(x->writer), 0);
}

/* End the recording, and open its trace. */
static inline void example_open(struct example *x)
{
	example_finish(x);
	assert_int_equal(trace_open(x->path, &x->trace), 0);
}

static inline void example_end(struct example *x)
{
	trace_close(x->trace);
	unlink(x->path);
}

static inline void example_mark(struct example_end *end, unsigned int kind, const char *mark)
{
	size_t n = strlen(mark), bytes = make_round(sizeof(struct event_mark) + n);
	struct event_mark *e = make_room(&end->m, EVENT_MARK, 0, bytes);

	e->kind = (uint16_t)kind;
	e->bytes = (uint16_t)n;
	memcpy(e + 1, mark, n);
	make_done(&end->m, e, bytes);
}

static inline void example_release(struct example_end *end, uint64_t addr, uint64_t length)
{
	struct event_memory *e = make_room(&end->m, EVENT_MEMORY, 0, sizeof(*e));

	e->addr = addr;
	e->length = length;
	e->what = MEMORY_MUNMAP;
	make_done(&end->m, e, sizeof(*e));
}

static inline void example_misuse(struct example_end *end)
{
	struct event_misuse *e = make_room(&end->m, EVENT_MISUSE, 0, sizeof(*e));

	e->object = MAKE_PTR(&end->qp);
	e->what = MISUSE_OVERLAP;
	e->verb = VERB_post_send;
	e->other_verb = VERB_modify_qp;
	e->ring = 1;
	e->tid = 201;
	make_done(&end->m, e, sizeof(*e));
}

/*
 * Two connected processes, at 100 us and later: messages, a write, a read and atomics of the first,
 * a phase; a failed call; a write that the second refuses; flushes.
 */
static inline void example_story(struct example *x)
{
	struct example_end *one = &x->ends[0], *two = &x->ends[1];
	const struct event_rdma remote = { 0x20408, 0x22 }, wrong = { 0x30000, 0x23 };
	const struct example_wr wrs[] = {
		{ 1, IBV_WR_SEND, IBV_SEND_SIGNALED, .lengths = { 100, 28 } },
		{ 2, IBV_WR_SEND_WITH_IMM, IBV_SEND_SIGNALED, .imm = 0x1234, .lengths = { 64 } },
		{ 3, IBV_WR_RDMA_WRITE, IBV_SEND_FENCE, .lengths = { 4096 }, .rdma = remote,
		  .parts = WR_RDMA },
		{ 4, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, .lengths = { 512 }, .rdma = remote,
		  .parts = WR_RDMA },
		{ 5, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_SEND_SIGNALED, .lengths = { 8 }, .rdma = remote,
		  .atomic = { 7, 8 }, .parts = WR_RDMA | WR_ATOMIC },
	};
	const struct example_wr bad = { 6,
					IBV_WR_RDMA_WRITE,
					IBV_SEND_SIGNALED,
					.lengths = { 16 },
					.rdma = wrong,
					.parts = WR_RDMA };

	example_at(100);
	example_receive(two, 10, 256);
	example_receive(two, 11, 256);
	example_receive(two, 12, 256);
	example_mark(one, 1, "load");
	example_at(200);
	example_post_list(one, VERB_post_send, &one->qp, wrs, 5, 0);
	make_notify(&two->m, &two->cq);
	example_at(250);
	make_poll(&two->m, &two->cq, 4,
		  (const struct event_wc[]){ example_wc(two, 10, 0, IBV_WC_RECV, 128),
					     example_wc(two, 11, 0, IBV_WC_RECV, 64) },
		  2);
	example_at(300);
	make_poll(&one->m, &one->cq, 9,
		  (const struct event_wc[]){ example_wc(one, 1, 0, IBV_WC_SEND, 0),
					     example_wc(one, 2, 0, IBV_WC_SEND, 0),
					     example_wc(one, 4, 0, IBV_WC_RDMA_READ, 512),
					     example_wc(one, 5, 0, IBV_WC_COMP_SWAP, 8) },
		  4);
	example_mark(one, 2, "load");
	example_mark(one, 0, "a point");
	example_at(400);
	make_verb(&two->m, VERB_dealloc_pd, MAKE_ARGS(MAKE_PTR(&two->pd)), EBUSY, EBUSY);
	example_release(two, 0x20000, 4096);
	example_misuse(one);
	example_at(500);
	example_post(one, bad);
	example_at(600);
	example_poll(one, 6, IBV_WC_REM_ACCESS_ERR, IBV_WC_RDMA_WRITE, 0);
	example_at(700);
	example_poll(two, 12, IBV_WC_WR_FLUSH_ERR, IBV_WC_RECV, 0);
	example_at(800);
	make_verb(&one->m, VERB_destroy_qp, MAKE_ARGS(MAKE_PTR(&one->qp)), 0, 0);
	make_call(&one->m, VERB_close_device, 0, 0, MAKE_ARGS(MAKE_PTR(&one->context)));
}
