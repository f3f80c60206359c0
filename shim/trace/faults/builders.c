/*
 * Faults of requests that are built
 *
 * 	ibv_wr_send()      the request is to fail: it is built, and from then on
 * 	ibv_wr_set_sge()   its memory is exchanged for some that it may not access
 *
 * A request without memory (LOCAL_INV, BIND_MW) is built as a SEND, which has it. In other respects
 * it is as in posts.c.
 */
#include "shim/trace/faults/builders.h"

#include "shim/trace/faults/async.h"
#include "shim/trace/faults/behind.h"
#include "shim/trace/faults/doomed.h"
#include "shim/trace/faults/enter.h"
#include "shim/trace/faults/plan.h"
#include "shim/trace/faults/posts.h"
#include "shim/trace/faults/postponed.h"
#include "shim/trace/ring/recording.h"

struct faulty_qp {
	struct known known;
	struct ibv_qp_ex behind; /* only its function pointers are set */
	bool live;               /* it has builders: the address is not that of another by now */
	bool doomed;             /* the request that is being built is to fail */
	bool bare;               /* and has no memory yet */
	unsigned int ndoomed;    /* in this batch */
	uint64_t wr_id;          /* of the last of them */
};

static struct faulty_qp *find_qp(const struct ibv_qp_ex *qp)
{
	return known_find(qp, KNOWN_FAULTY_QP);
}

static void set_memory(struct faulty_qp *f, struct ibv_qp_ex *qp, uint64_t addr, size_t length)
{
	if (f->bare)
		f->behind.wr_set_sge(qp, DOOMED_KEY, addr, length ? (uint32_t)length : 1);
	f->bare = false;
}

/* The request that is being built is complete. */
static void end_request(struct faulty_qp *f, struct ibv_qp_ex *qp)
{
	set_memory(f, qp, 0x1000, 1);
	f->doomed = false;
}

/* Begin a request of @opcode: is it to fail? Then it is a SEND. */
static bool begin_request(struct faulty_qp *f, struct ibv_qp_ex *qp, int opcode)
{
	struct planned planned = plan_request(qp->qp_base.qp_num, opcode, 0);
	unsigned int flags = qp->wr_flags;

	end_request(f, qp);
	postponed_release(&qp->qp_base); /* those of ibv_post_send() */
	if (planned.fault.kind == FAULT_DELAY) {
		posts_note_delay(&planned, qp->qp_base.qp_num);
		plan_wait(planned.fault.ns);
	}
	if (planned.fault.kind == FAULT_EVENT)
		async_make(&planned, &qp->qp_base);
	if (planned.fault.kind == FAULT_DISCONNECT)
		posts_disconnect(&planned, &qp->qp_base);
	if (planned.fault.kind != FAULT_STATUS)
		return false;
	posts_note_status(&planned, qp->qp_base.qp_num);
	if (planned.fault.value == IBV_WC_WR_FLUSH_ERR) {
		behind_fail_qp(&qp->qp_base);
		return false;
	}
	if (!f->behind.wr_send ||
	    doomed_add(&qp->qp_base, qp->qp_base.qp_num, qp->wr_id, &planned.fault))
		return false;
	f->doomed = f->bare = true;
	f->ndoomed++;
	f->wr_id = qp->wr_id;
	qp->wr_flags = flags | IBV_SEND_SIGNALED;
	f->behind.wr_send(qp);
	qp->wr_flags = flags;
	return true;
}

/* The requests of the batch are not posted. */
static void forget_batch(struct faulty_qp *f, struct ibv_qp_ex *qp)
{
	if (f->ndoomed)
		doomed_take_back(&qp->qp_base, f->wr_id);
	f->ndoomed = 0;
	f->doomed = f->bare = false;
}

/* clang-format off */
/* name, opcode, parameters, arguments */
#define OPERATIONS(_)                                                                             \
	_(wr_atomic_cmp_swp, IBV_WR_ATOMIC_CMP_AND_SWP,                                           \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare, uint64_t swap),  \
	  (qp, rkey, addr, compare, swap))                                                        \
	_(wr_atomic_fetch_add, IBV_WR_ATOMIC_FETCH_AND_ADD,                                       \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add),                     \
	  (qp, rkey, addr, add))                                                                  \
	_(wr_bind_mw, IBV_WR_BIND_MW,                                                             \
	  (struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,                                \
	   const struct ibv_mw_bind_info *info), (qp, mw, rkey, info))                            \
	_(wr_local_inv, IBV_WR_LOCAL_INV, (struct ibv_qp_ex *qp, uint32_t rkey), (qp, rkey))      \
	_(wr_rdma_read, IBV_WR_RDMA_READ,                                                         \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr), (qp, rkey, addr))                 \
	_(wr_rdma_write, IBV_WR_RDMA_WRITE,                                                       \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr), (qp, rkey, addr))                 \
	_(wr_rdma_write_imm, IBV_WR_RDMA_WRITE_WITH_IMM,                                          \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm),                       \
	  (qp, rkey, addr, imm))                                                                  \
	_(wr_send, IBV_WR_SEND, (struct ibv_qp_ex *qp), (qp))                                     \
	_(wr_send_imm, IBV_WR_SEND_WITH_IMM, (struct ibv_qp_ex *qp, __be32 imm), (qp, imm))       \
	_(wr_send_inv, IBV_WR_SEND_WITH_INV, (struct ibv_qp_ex *qp, uint32_t rkey), (qp, rkey))   \
	_(wr_send_tso, IBV_WR_TSO,                                                                \
	  (struct ibv_qp_ex *qp, void *hdr, uint16_t hdr_sz, uint16_t mss),                       \
	  (qp, hdr, hdr_sz, mss))

/* name, parameters, arguments, the first address, bytes */
#define SETTERS(_)                                                                                \
	_(wr_set_inline_data, (struct ibv_qp_ex *qp, void *addr, size_t length),                  \
	  (qp, addr, length), (uintptr_t)addr, length)                                            \
	_(wr_set_inline_data_list,                                                                \
	  (struct ibv_qp_ex *qp, size_t n, const struct ibv_data_buf *bufs), (qp, n, bufs),       \
	  n ? (uintptr_t)bufs->addr : 0, n ? bufs->length : 1)                                    \
	_(wr_set_sge, (struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length),      \
	  (qp, lkey, addr, length), addr, length)                                                 \
	_(wr_set_sge_list, (struct ibv_qp_ex *qp, size_t n, const struct ibv_sge *sges),          \
	  (qp, n, sges), n ? sges->addr : 0, n ? sges->length : 1)
/* clang-format on */

#define OPERATION(name, opcode, params, args)      \
	static void faulty_##name params           \
	{                                          \
		struct faulty_qp *f = find_qp(qp); \
                                                   \
		if (!begin_request(f, qp, opcode)) \
			f->behind.name args;       \
	}
OPERATIONS(OPERATION)
#undef OPERATION

#define SETTER(name, params, args, addr, length)         \
	static void faulty_##name params                 \
	{                                                \
		struct faulty_qp *f = find_qp(qp);       \
                                                         \
		if (f->doomed)                           \
			set_memory(f, qp, addr, length); \
		else                                     \
			f->behind.name args;             \
	}
SETTERS(SETTER)
#undef SETTER

static int faulty_wr_complete(struct ibv_qp_ex *qp)
{
	struct faulty_qp *f = find_qp(qp);
	int ret = enter_call(VERB_wr_complete);

	if (ret) {
		f->behind.wr_abort(qp);
	} else {
		end_request(f, qp);
		ret = f->behind.wr_complete(qp);
	}
	if (!ret)
		f->ndoomed = 0;
	forget_batch(f, qp);
	return ret;
}

static void faulty_wr_abort(struct ibv_qp_ex *qp)
{
	struct faulty_qp *f = find_qp(qp);

	f->behind.wr_abort(qp);
	forget_batch(f, qp);
}

/* Only what the provider has set since @was: the rest is the recorder's by now. */
#define PATCH(name)                                                           \
	if (qp->name && qp->name != faulty_##name && qp->name != was->name) { \
		f->behind.name = qp->name;                                    \
		qp->name = faulty_##name;                                     \
	}

static void patch_pointers(struct faulty_qp *f, struct ibv_qp_ex *qp, const struct ibv_qp_ex *was)
{
#define OPERATION(name, opcode, params, args) PATCH(name)
	OPERATIONS(OPERATION)
#undef OPERATION
#define SETTER(name, params, args, addr, length) PATCH(name)
	SETTERS(SETTER)
#undef SETTER
	PATCH(wr_complete)
	PATCH(wr_abort)
}

void builders_patch(struct ibv_qp_ex *qp)
{
	const struct ibv_qp_ex none = { 0 };
	struct faulty_qp *f;

	recording_lock();
	f = behind_add_object(qp, KNOWN_FAULTY_QP, sizeof(*f));
	if (f) {
		f->doomed = f->bare = false;
		f->ndoomed = 0;
		f->live = true;
		patch_pointers(f, qp, &none);
	}
	recording_unlock();
}

bool builders_save(struct ibv_qp *qp, struct ibv_qp_ex *ret_was)
{
	const struct ibv_qp_ex *ex = (const struct ibv_qp_ex *)qp;
	const struct faulty_qp *f = find_qp(ex);
	bool has = f && f->live;

	if (has)
		*ret_was = *ex;
	return has;
}

void builders_again(struct ibv_qp *qp, const struct ibv_qp_ex *was)
{
	struct ibv_qp_ex *ex = (struct ibv_qp_ex *)qp;

	patch_pointers(find_qp(ex), ex, was);
}

void builders_forget(const struct ibv_qp *qp)
{
	struct faulty_qp *f = find_qp((const struct ibv_qp_ex *)qp);

	if (f)
		f->live = false;
}
