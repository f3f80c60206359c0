/*
 * Posts by the builders of struct ibv_qp_ex
 *
 * Each replacement adds to the batch that is being built (builder.h), then calls the provider's
 * function:
 *
 *	ibv_wr_start()     a builder for the queue pair
 *	ibv_wr_send() ...  a request, with the current wr_id and wr_flags
 *	ibv_wr_set_*()     its parts and elements
 *	ibv_wr_complete()  one EVENT_POST with all of them, like ibv_post_send()
 *	ibv_wr_abort()     the same, with another verb: nothing was posted
 *
 * ibv_wr_flush(), which rdma-core 45 has appended, exists only if the program requested it,
 * whatever headers were used to build the recorder.
 *
 * If a provider refuses a request, the whole ibv_wr_complete() fails: no request was posted, and
 * there is no *bad_wr.
 */
#include "shim/trace/verbs/qp_ex.h"

#include <endian.h>
#include <errno.h>

#include "shim/trace/objects/endpoints.h"
#include "shim/trace/objects/strict.h"
#include "shim/trace/payload/payload.h"
#include "shim/trace/ring/builder.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/verbs/post.h"
#include "shim/trace/verbs/qp_ex_notes.h"
#include "shim/trace/verbs/slots.h"

typedef void wr_flush_fn(struct ibv_qp_ex *, uint32_t rkey, uint64_t addr, size_t length,
			 uint8_t type, uint8_t level);

enum {
	WITH_FLUSH = 1 << 11, /* IBV_QP_EX_WITH_FLUSH */
	FLUSH_OFFSET = offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(void *),
};

/*
 * name, the flag that requests it (0: it always exists), parameters, arguments, the fast form of
 * the function that notes it (false: none), that function
 */
/* clang-format off */
#define BUILDER_VERBS(_, i)                                                                       \
	_(i, wr_start, 0, (struct ibv_qp_ex *qp), (qp),                                           \
	  note_quick_start(qp), note_start(qp))                                                   \
	_(i, wr_atomic_cmp_swp, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,                                \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare, uint64_t swap),  \
	  (qp, rkey, addr, compare, swap),                                                        \
	  false, note_atomic(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr, compare, swap))           \
	_(i, wr_atomic_fetch_add, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,                            \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add),                     \
	  (qp, rkey, addr, add),                                                                  \
	  false, note_atomic(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr, add, 0))                \
	_(i, wr_atomic_write, IBV_QP_EX_WITH_ATOMIC_WRITE,                                        \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, const void *data),                 \
	  (qp, rkey, addr, data), false, note_atomic_write(qp, rkey, addr, data))                 \
	_(i, wr_bind_mw, IBV_QP_EX_WITH_BIND_MW,                                                  \
	  (struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,                                \
	   const struct ibv_mw_bind_info *info), (qp, mw, rkey, info),                            \
	  false, note_bind(qp, mw, rkey, info))                                                   \
	_(i, wr_local_inv, IBV_QP_EX_WITH_LOCAL_INV, (struct ibv_qp_ex *qp, uint32_t rkey),       \
	  (qp, rkey), false, note_wr(qp, IBV_WR_LOCAL_INV, rkey))                                 \
	_(i, wr_rdma_read, IBV_QP_EX_WITH_RDMA_READ,                                              \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr), (qp, rkey, addr),                 \
	  note_quick_rdma(qp, IBV_WR_RDMA_READ, 0, rkey, addr),                                   \
	  note_rdma(qp, IBV_WR_RDMA_READ, 0, rkey, addr))                                         \
	_(i, wr_rdma_write, IBV_QP_EX_WITH_RDMA_WRITE,                                            \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr), (qp, rkey, addr),                 \
	  note_quick_rdma(qp, IBV_WR_RDMA_WRITE, 0, rkey, addr),                                  \
	  note_rdma(qp, IBV_WR_RDMA_WRITE, 0, rkey, addr))                                        \
	_(i, wr_rdma_write_imm, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,                               \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm),                       \
	  (qp, rkey, addr, imm),                                                                  \
	  note_quick_rdma(qp, IBV_WR_RDMA_WRITE_WITH_IMM, be32toh(imm), rkey, addr),              \
	  note_rdma(qp, IBV_WR_RDMA_WRITE_WITH_IMM, be32toh(imm), rkey, addr))                    \
	_(i, wr_send, IBV_QP_EX_WITH_SEND, (struct ibv_qp_ex *qp), (qp),                          \
	  note_quick_wr(qp, IBV_WR_SEND, 0),                                                      \
	  note_wr(qp, IBV_WR_SEND, 0))                                                            \
	_(i, wr_send_imm, IBV_QP_EX_WITH_SEND_WITH_IMM, (struct ibv_qp_ex *qp, __be32 imm),       \
	  (qp, imm),                                                                              \
	  note_quick_wr(qp, IBV_WR_SEND_WITH_IMM, be32toh(imm)),                                  \
	  note_wr(qp, IBV_WR_SEND_WITH_IMM, be32toh(imm)))                                        \
	_(i, wr_send_inv, IBV_QP_EX_WITH_SEND_WITH_INV, (struct ibv_qp_ex *qp, uint32_t rkey),    \
	  (qp, rkey), false, note_wr(qp, IBV_WR_SEND_WITH_INV, rkey))                             \
	_(i, wr_send_tso, IBV_QP_EX_WITH_TSO,                                                     \
	  (struct ibv_qp_ex *qp, void *hdr, uint16_t hdr_sz, uint16_t mss),                       \
	  (qp, hdr, hdr_sz, mss), false, note_tso(qp, hdr, hdr_sz, mss))                          \
	_(i, wr_set_ud_addr, 0,                                                                   \
	  (struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey),                 \
	  (qp, ah, qpn, qkey), false, note_ud(qp, ah, qpn, qkey))                                 \
	_(i, wr_set_xrc_srqn, 0, (struct ibv_qp_ex *qp, uint32_t srqn), (qp, srqn),               \
	  false, note_xrc(qp, srqn))                                                              \
	_(i, wr_set_inline_data, 0, (struct ibv_qp_ex *qp, void *addr, size_t length),            \
	  (qp, addr, length),                                                                     \
	  note_quick_inline(qp, addr, length), note_inline(qp, addr, length))                     \
	_(i, wr_set_inline_data_list, 0,                                                          \
	  (struct ibv_qp_ex *qp, size_t n, const struct ibv_data_buf *bufs), (qp, n, bufs),       \
	  false, note_inlines(qp, n, bufs))                                                       \
	_(i, wr_set_sge, 0,                                                                       \
	  (struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length),                  \
	  (qp, lkey, addr, length),                                                               \
	  note_quick_sge(qp, lkey, addr, length), note_sge(qp, lkey, addr, length))               \
	_(i, wr_set_sge_list, 0, (struct ibv_qp_ex *qp, size_t n, const struct ibv_sge *sges),    \
	  (qp, n, sges), false, note_sges(qp, n, sges))

enum {
#define V(i, name, flag, params, args, quick, noted) OP_##name,
	BUILDER_VERBS(V, 0)
#undef V
	OP_wr_complete,
	OP_wr_abort,
	OP_wr_flush,
	OPS,
};
/* clang-format on */

static void *originals[OPS][SLOTS];

#define ORIGINAL(name, i) ((typeof(((struct ibv_qp_ex *)0)->name))originals[OP_##name][i])

#define V(i, name, flag, params, args, quick, noted)                   \
	static __attribute__((noinline)) void name##_slowly_##i params \
	{                                                              \
		noted;                                                 \
		ORIGINAL(name, i) args;                                \
	}                                                              \
	static void name##_##i params                                  \
	{                                                              \
		if (__builtin_expect(quick, true))                     \
			ORIGINAL(name, i) args;                        \
		else                                                   \
			name##_slowly_##i args;                        \
	}

#define FUNCTIONS(i)                                                                             \
	BUILDER_VERBS(V, i)                                                                      \
	static int wr_complete_##i(struct ibv_qp_ex *qp)                                         \
	{                                                                                        \
		return post_complete_batch(qp, ORIGINAL(wr_complete, i),                         \
					   __builtin_frame_address(0));                          \
	}                                                                                        \
	static void wr_abort_##i(struct ibv_qp_ex *qp)                                           \
	{                                                                                        \
		post_discard_batch(qp, __builtin_frame_address(0));                              \
		ORIGINAL(wr_abort, i)(qp);                                                       \
	}                                                                                        \
	static void wr_flush_##i(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr,             \
				 size_t length, uint8_t type, uint8_t level)                     \
	{                                                                                        \
		note_flush(qp, rkey, addr, length, type, level);                                 \
		((wr_flush_fn *)originals[OP_wr_flush][i])(qp, rkey, addr, length, type, level); \
	}

EACH_SLOT(FUNCTIONS)
#undef V

/* Called after wr_start: if the provider has a lock, no other thread is in a batch now. */
static void note_batch(const struct ibv_qp_ex *qp)
{
	struct strict_object *o = strict_find(&qp->qp_base);

	if (o)
		atomic_store_explicit(&o->batch, strict_own_thread(), memory_order_relaxed);
}

/*
 * Called before a batch ends. A thread that ends another thread's batch stores its own number; the
 * thread that began the batch finds the number if it continues the batch.
 */
static void note_batch_end(const struct ibv_qp_ex *qp, enum verb verb)
{
	struct strict_object *o = strict_find(&qp->qp_base);
	const struct builder *b = builder_find(qp);
	bool began = b && atomic_load_explicit(&b->open, memory_order_relaxed);
	uint64_t me = strict_own_thread(), who;

	if (!o || !me)
		return;
	who = atomic_exchange_explicit(&o->batch, began ? 0 : me, memory_order_relaxed);
	if (began && who && who != me && !atomic_load_explicit(&o->single, memory_order_relaxed))
		strict_report(&(struct misuse){ .what = MISUSE_BATCH_SHARED,
						.object = &qp->qp_base,
						.verb = verb,
						.other = who });
}

/* With record --strict these replace wr_start, wr_complete and wr_abort. */
#define STRICT_FUNCTIONS(i)                                                      \
	static void strict_wr_start_##i(struct ibv_qp_ex *qp)                    \
	{                                                                        \
		struct strict_use use;                                           \
                                                                                 \
		strict_enter(&use, &qp->qp_base, VERB_wr_start, STRICT_SEND);    \
		wr_start_##i(qp);                                                \
		note_batch(qp);                                                  \
		strict_leave(&use);                                              \
	}                                                                        \
	static int strict_wr_complete_##i(struct ibv_qp_ex *qp)                  \
	{                                                                        \
		struct strict_use use;                                           \
		int ret;                                                         \
                                                                                 \
		note_batch_end(qp, VERB_wr_complete);                            \
		strict_enter(&use, &qp->qp_base, VERB_wr_complete, STRICT_SEND); \
		ret = post_complete_batch(qp, ORIGINAL(wr_complete, i),          \
					  __builtin_frame_address(0));           \
		strict_leave(&use);                                              \
		return ret;                                                      \
	}                                                                        \
	static void strict_wr_abort_##i(struct ibv_qp_ex *qp)                    \
	{                                                                        \
		note_batch_end(qp, VERB_wr_abort);                               \
		post_discard_batch(qp, __builtin_frame_address(0));              \
		ORIGINAL(wr_abort, i)(qp);                                       \
	}

EACH_SLOT(STRICT_FUNCTIONS)

/*
 * With record --strict these replace operations that were not requested, whose pointers are NULL in
 * the provider: the batch is recorded as one of which nothing was posted, and then the program
 * jumps to NULL, as without the recorder.
 */
#define V(i, name, flag, params, args, quick, noted)                \
	static void absent_##name params                            \
	{                                                           \
		noted;                                              \
		post_discard_batch(qp, __builtin_frame_address(0)); \
		((typeof(((struct ibv_qp_ex *)0)->name))0) args;    \
	}
BUILDER_VERBS(V, 0)
#undef V

/* clang-format off */
static void *const absent[OPS] = {
#define V(i, name, flag, params, args, quick, noted) [OP_##name] = (void *)absent_##name,
	BUILDER_VERBS(V, 0)
#undef V
};

static void *const ours[OPS][SLOTS] = {
#define V(i, name, flag, params, args, quick, noted) [OP_##name] = SLOT_NAMES(name),
	BUILDER_VERBS(V, 0)
#undef V
	[OP_wr_complete] = SLOT_NAMES(wr_complete),
	[OP_wr_abort] = SLOT_NAMES(wr_abort),
	[OP_wr_flush] = SLOT_NAMES(wr_flush),
};

static void *const strict_ours[OPS][SLOTS] = {
	[OP_wr_start] = SLOT_NAMES(strict_wr_start),
	[OP_wr_complete] = SLOT_NAMES(strict_wr_complete),
	[OP_wr_abort] = SLOT_NAMES(strict_wr_abort),
};

static const struct {
	size_t offset;
	uint64_t flag;
} ops_info[OPS] = {
#define V(i, name, flag, params, args, quick, noted) \
	[OP_##name] = { offsetof(struct ibv_qp_ex, name), flag },
	BUILDER_VERBS(V, 0)
#undef V
	[OP_wr_complete] = { offsetof(struct ibv_qp_ex, wr_complete), 0 },
	[OP_wr_abort] = { offsetof(struct ibv_qp_ex, wr_abort), 0 },
	[OP_wr_flush] = { FLUSH_OFFSET, WITH_FLUSH },
};
/* clang-format on */

/*
 * Is the operation in the first version of struct ibv_qp_ex? Later members may be data of the
 * provider.
 */
static bool has_always_existed(int op)
{
	return ops_info[op].offset <= offsetof(struct ibv_qp_ex, wr_abort);
}

static bool may_replace_op(int op, uint64_t asked)
{
	return asked == QP_EX_UNKNOWN ? has_always_existed(op)
				      : !ops_info[op].flag || (asked & ops_info[op].flag);
}

static void **op_pointer(struct ibv_qp_ex *qp, int op)
{
	return (void **)(void *)((char *)qp + ops_info[op].offset);
}

static void *const *our_op(int op)
{
	return strict_is_on() && strict_ours[op][0] ? strict_ours[op] : ours[op];
}

/* Replace all functions or none: with half of them, half of a batch would be recorded. */
static int patch_builders(struct ibv_qp_ex *qp, uint64_t asked)
{
	int slots[OPS];

	for (int op = 0; op < OPS; op++) {
		slots[op] = may_replace_op(op, asked)
				    ? slots_choose(originals[op], our_op(op), *op_pointer(qp, op))
				    : -ENOENT;
		if (slots[op] == -ENOSPC)
			return -ENOSPC;
	}
	for (int op = 0; op < OPS; op++) {
		if (slots[op] >= 0)
			slots_put(op_pointer(qp, op), originals[op], our_op(op), slots[op]);
	}
	return 0;
}

static uint64_t known_ops(void)
{
	uint64_t known = 0;

	for (int op = 0; op < OPS; op++)
		known |= ops_info[op].flag;
	return known;
}

static void set_absent_ops(struct ibv_qp_ex *qp, uint64_t asked)
{
	for (int op = 0; op < OPS; op++) {
		void **pointer = op_pointer(qp, op);

		if (absent[op] && has_always_existed(op) && ops_info[op].flag & ~asked && !*pointer)
			*pointer = absent[op];
	}
}

static int watch_builders(struct ibv_qp *qp, struct ibv_qp_ex *ex, uint64_t ops)
{
	struct endpoint *e = endpoints_get(qp);
	int err = patch_builders(ex, ops);

	if (strict_is_on())
		set_absent_ops(ex, ops);
	if (!e)
		return -ENOMEM; /* fail: a later ibv_modify_qp() could undo the patch unnoticed */
	e->ex = ex;
	e->ex_ops = ops;
	return !err && ops != QP_EX_UNKNOWN && ops & ~known_ops() ? -EOPNOTSUPP : err;
}

int qp_ex_watch(struct ibv_qp *qp, struct ibv_qp_ex *ex, uint64_t ops)
{
	int err;

	recording_lock();
	err = watch_builders(qp, ex, ops);
	recording_unlock();
	return err;
}

bool qp_ex_watched(const struct ibv_qp *qp)
{
	const struct endpoint *e = endpoints_find(qp);
	bool watched;

	recording_lock();
	watched = e && e->ex &&
		  slots_has(our_op(OP_wr_start), SLOTS, *op_pointer(e->ex, OP_wr_start));
	recording_unlock();
	return watched;
}

int qp_ex_repatch(const struct ibv_qp *qp)
{
	const struct endpoint *e = endpoints_find(qp);
	int err;

	recording_lock();
	err = e && e->ex ? patch_builders(e->ex, e->ex_ops) : 0;
	recording_unlock();
	return err;
}

void qp_ex_forget(const struct ibv_qp *qp)
{
	struct endpoint *e = endpoints_find(qp);

	recording_lock();
	if (e)
		e->ex = NULL;
	recording_unlock();
}
