/*
 * Faults of requests that are posted by builders
 *
 *	ibv_wr_send()      if the request is to fail, it is built, and from then on
 *	ibv_wr_set_sge()   its memory is replaced by memory that it may not access
 *
 * A request without memory (LOCAL_INV, BIND_MW) is built as a SEND, which has memory.
 *
 * From the first request of a batch that is delayed, or must wait for others, requests are not
 * built, but stored for ibv_post_send(), and postponed when the batch is complete (held.c).
 * Everything else is as in posts.c.
 */
#include "shim/trace/faults/builders.h"

#include "shim/trace/faults/async.h"
#include "shim/trace/faults/original.h"
#include "shim/trace/faults/forced_status.h"
#include "shim/trace/faults/enter.h"
#include "shim/trace/faults/held.h"
#include "shim/trace/faults/plan.h"
#include "shim/trace/faults/posts.h"
#include "shim/trace/faults/postponed.h"
#include "shim/trace/ring/recording.h"

struct faulty_qp {
	struct known known;
	struct ibv_qp_ex behind; /* only its function pointers are set */
	bool live;               /* the queue pair at this address still has builders */
	bool must_fail;          /* the request that is being built must fail */
	bool bare;               /* the request that is being built has no memory yet */
	unsigned int ndoomed;    /* number of requests of this batch that must fail */
	uint64_t wr_id;          /* wr_id of the last of these requests */
	unsigned int built;      /* number of requests of this batch that the provider has */
	int refused;             /* errno with which the whole batch is refused; 0: it is not */
	bool holds;              /* the requests of this queue pair can be held back */
	struct held_batch held;  /* requests that are held back */
};

static struct faulty_qp *find_qp(const struct ibv_qp_ex *qp)
{
	return known_find(qp, KNOWN_FAULTY_QP);
}

static void set_memory(struct faulty_qp *f, struct ibv_qp_ex *qp, uint64_t addr, size_t length)
{
	const struct ibv_sge sge = { addr, length ? (uint32_t)length : 1, UNKNOWN_KEY };

	if (f->bare && f->held.on)
		held_set_sges(&f->held, 1, &sge);
	else if (f->bare)
		f->behind.wr_set_sge(qp, UNKNOWN_KEY, addr, length ? (uint32_t)length : 1);
	f->bare = false;
}

/* The request that is being built has all its parts. */
static void end_request(struct faulty_qp *f, struct ibv_qp_ex *qp)
{
	set_memory(f, qp, 0x1000, 1);
	f->must_fail = false;
}

/* Begin a request that must fail, as a SEND. */
static bool begin_failing(struct faulty_qp *f, struct ibv_qp_ex *qp, const struct fault *fault)
{
	unsigned int flags = qp->wr_flags;

	if (!f->behind.wr_send ||
	    forced_status_add(&qp->qp_base, qp->qp_base.qp_num, qp->wr_id, fault))
		return false;
	f->must_fail = f->bare = true;
	f->ndoomed++;
	f->wr_id = qp->wr_id;
	qp->wr_flags = flags | IBV_SEND_SIGNALED;
	if (f->held.on) {
		held_add(&f->held, qp, IBV_WR_SEND);
	} else {
		f->behind.wr_send(qp);
		f->built++;
	}
	qp->wr_flags = flags;
	return true;
}

static void delay_request(struct faulty_qp *f, struct ibv_qp_ex *qp,
			  const struct planned_fault *planned)
{
	posts_note_delay(planned, qp->qp_base.qp_num);
	if (f->holds) {
		f->held.on = true;
		f->held.ns = planned->fault.ns;
	} else {
		plan_wait(planned->fault.ns);
	}
}

/*
 * Begin a request of @opcode. True: this function has begun it, since it must fail. It posts
 * nothing: the provider may hold a lock of the queue until the batch is complete.
 */
static bool begin_request(struct faulty_qp *f, struct ibv_qp_ex *qp, int opcode)
{
	struct planned_fault planned = plan_request(qp->qp_base.qp_num, opcode, 0);

	end_request(f, qp);
	if (!f->holds)
		postponed_release(&qp->qp_base); /* requests that ibv_post_send() has postponed */
	f->held.on |= f->holds && (postponed_has_any() || planned.pacer);
	f->held.ns = 0;
	f->held.pacer = planned.pacer;
	if (planned.fault.kind == FAULT_DELAY)
		delay_request(f, qp, &planned);
	if (planned.fault.kind == FAULT_ERRNO)
		f->refused = posts_refuse(&planned, qp->qp_base.qp_num);
	if (planned.fault.kind == FAULT_EVENT)
		async_inject(&planned, &qp->qp_base, NULL);
	if (planned.fault.kind == FAULT_DISCONNECT)
		posts_disconnect(&planned, &qp->qp_base);
	if (planned.fault.kind != FAULT_STATUS)
		return false;
	posts_note_status(&planned, qp->qp_base.qp_num);
	if (planned.fault.value == IBV_WC_WR_FLUSH_ERR) {
		original_fail_qp(&qp->qp_base);
		return false;
	}
	return begin_failing(f, qp, &planned.fault);
}

/* Forget the requests of the batch, which is not posted. */
static void forget_batch(struct faulty_qp *f, struct ibv_qp_ex *qp)
{
	if (f->ndoomed)
		forced_status_take_back(&qp->qp_base, f->wr_id);
	f->ndoomed = f->built = 0;
	f->must_fail = f->bare = false;
	f->refused = 0;
	held_drop(&f->held);
}

/* clang-format off */
/* name, opcode, parameters, arguments, the fields in the form of ibv_post_send() */
#define OPERATIONS(_)                                                                             \
	_(wr_atomic_cmp_swp, IBV_WR_ATOMIC_CMP_AND_SWP,                                           \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare, uint64_t swap),  \
	  (qp, rkey, addr, compare, swap),                                                        \
	  wr->wr.atomic.rkey = rkey; wr->wr.atomic.remote_addr = addr;                            \
	  wr->wr.atomic.compare_add = compare; wr->wr.atomic.swap = swap)                         \
	_(wr_atomic_fetch_add, IBV_WR_ATOMIC_FETCH_AND_ADD,                                       \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add),                     \
	  (qp, rkey, addr, add),                                                                  \
	  wr->wr.atomic.rkey = rkey; wr->wr.atomic.remote_addr = addr;                            \
	  wr->wr.atomic.compare_add = add)                                                        \
	_(wr_bind_mw, IBV_WR_BIND_MW,                                                             \
	  (struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,                                \
	   const struct ibv_mw_bind_info *info), (qp, mw, rkey, info),                            \
	  wr->bind_mw.mw = mw; wr->bind_mw.rkey = rkey; wr->bind_mw.bind_info = *info)            \
	_(wr_local_inv, IBV_WR_LOCAL_INV, (struct ibv_qp_ex *qp, uint32_t rkey), (qp, rkey),      \
	  wr->invalidate_rkey = rkey)                                                             \
	_(wr_rdma_read, IBV_WR_RDMA_READ,                                                         \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr), (qp, rkey, addr),                 \
	  wr->wr.rdma.rkey = rkey; wr->wr.rdma.remote_addr = addr)                                \
	_(wr_rdma_write, IBV_WR_RDMA_WRITE,                                                       \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr), (qp, rkey, addr),                 \
	  wr->wr.rdma.rkey = rkey; wr->wr.rdma.remote_addr = addr)                                \
	_(wr_rdma_write_imm, IBV_WR_RDMA_WRITE_WITH_IMM,                                          \
	  (struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm),                       \
	  (qp, rkey, addr, imm),                                                                  \
	  wr->wr.rdma.rkey = rkey; wr->wr.rdma.remote_addr = addr; wr->imm_data = imm)            \
	_(wr_send, IBV_WR_SEND, (struct ibv_qp_ex *qp), (qp), (void)wr)                           \
	_(wr_send_imm, IBV_WR_SEND_WITH_IMM, (struct ibv_qp_ex *qp, __be32 imm), (qp, imm),       \
	  wr->imm_data = imm)                                                                     \
	_(wr_send_inv, IBV_WR_SEND_WITH_INV, (struct ibv_qp_ex *qp, uint32_t rkey), (qp, rkey),   \
	  wr->invalidate_rkey = rkey)                                                             \
	_(wr_send_tso, IBV_WR_TSO,                                                                \
	  (struct ibv_qp_ex *qp, void *hdr, uint16_t hdr_sz, uint16_t mss),                       \
	  (qp, hdr, hdr_sz, mss), held_set_header(&f->held, wr, hdr, hdr_sz, mss))

/* name, parameters, arguments, first address, bytes, how it is stored in a held request */
#define SETTERS(_)                                                                                \
	_(wr_set_inline_data, (struct ibv_qp_ex *qp, void *addr, size_t length),                  \
	  (qp, addr, length), (uintptr_t)addr, length, held_set_data(&f->held, 1,                 \
	  &(const struct ibv_data_buf){ addr, length }))                                          \
	_(wr_set_inline_data_list,                                                                \
	  (struct ibv_qp_ex *qp, size_t n, const struct ibv_data_buf *bufs), (qp, n, bufs),       \
	  n ? (uintptr_t)bufs->addr : 0, n ? bufs->length : 1, held_set_data(&f->held, n, bufs))  \
	_(wr_set_sge, (struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length),      \
	  (qp, lkey, addr, length), addr, length, held_set_sges(&f->held, 1,                      \
	  &(const struct ibv_sge){ addr, length, lkey }))                                         \
	_(wr_set_sge_list, (struct ibv_qp_ex *qp, size_t n, const struct ibv_sge *sges),          \
	  (qp, n, sges), n ? sges->addr : 0, n ? sges->length : 1, held_set_sges(&f->held, n, sges))
/* clang-format on */

#define OPERATION(name, opcode, params, args, fill)                 \
	static void faulty_##name params                            \
	{                                                           \
		struct faulty_qp *f = find_qp(qp);                  \
		struct ibv_send_wr *wr;                             \
                                                                    \
		if (begin_request(f, qp, opcode))                   \
			return;                                     \
		if (!f->held.on) {                                  \
			f->built++;                                 \
			f->behind.name args;                        \
		} else if ((wr = held_add(&f->held, qp, opcode))) { \
			fill;                                       \
		}                                                   \
	}
OPERATIONS(OPERATION)
#undef OPERATION

#define SETTER(name, params, args, addr, length, keep)   \
	static void faulty_##name params                 \
	{                                                \
		struct faulty_qp *f = find_qp(qp);       \
                                                         \
		if (f->must_fail)                        \
			set_memory(f, qp, addr, length); \
		else if (f->held.on)                     \
			keep;                            \
		else                                     \
			f->behind.name args;             \
	}
SETTERS(SETTER)
#undef SETTER

static void faulty_wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t qpn,
				  uint32_t qkey)
{
	struct faulty_qp *f = find_qp(qp);

	if (f->held.on)
		held_set_address(&f->held, ah, qpn, qkey);
	else
		f->behind.wr_set_ud_addr(qp, ah, qpn, qkey);
}

static void faulty_wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t srqn)
{
	struct faulty_qp *f = find_qp(qp);

	if (f->held.on)
		held_set_srqn(&f->held, srqn);
	else
		f->behind.wr_set_xrc_srqn(qp, srqn);
}

/* Post the requests that the provider has, then postpone those that are held. */
static int complete_batch(struct faulty_qp *f, struct ibv_qp_ex *qp)
{
	int ret = 0;

	if (f->built && !f->held.failed)
		ret = f->behind.wr_complete(qp);
	else
		f->behind.wr_abort(qp);
	return ret ?: held_postpone(&f->held, &qp->qp_base);
}

static int faulty_wr_complete(struct ibv_qp_ex *qp)
{
	struct faulty_qp *f = find_qp(qp);
	int ret = enter_call(VERB_wr_complete) ?: f->refused;

	if (ret) {
		f->behind.wr_abort(qp);
	} else {
		end_request(f, qp);
		ret = f->held.on ? complete_batch(f, qp) : f->behind.wr_complete(qp);
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

/*
 * Replace pointers that the provider has changed since @was was saved; unchanged ones are already
 * the recorder's.
 */
#define PATCH(name)                                                           \
	if (qp->name && qp->name != faulty_##name && qp->name != was->name) { \
		f->behind.name = qp->name;                                    \
		qp->name = faulty_##name;                                     \
	}

static void patch_pointers(struct faulty_qp *f, struct ibv_qp_ex *qp, const struct ibv_qp_ex *was)
{
#define OPERATION(name, opcode, params, args, fill) PATCH(name)
	OPERATIONS(OPERATION)
#undef OPERATION
#define SETTER(name, params, args, addr, length, keep) PATCH(name)
	SETTERS(SETTER)
#undef SETTER
	PATCH(wr_set_ud_addr)
	PATCH(wr_set_xrc_srqn)
	PATCH(wr_complete)
	PATCH(wr_abort)
}

/*
 * Can requests be held back? Only if ibv_post_send() has all operations of @flags, and the table
 * above has them, too. A vendor's own queue pairs have other operations.
 */
static bool can_hold_requests(const struct ibv_qp_ex *qp, uint64_t flags)
{
	const uint64_t known = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			       IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
			       IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
			       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
			       IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV |
			       IBV_QP_EX_WITH_TSO;

	return qp->qp_base.qp_type != IBV_QPT_DRIVER && !(flags & ~known);
}

void builders_patch(struct ibv_qp_ex *qp, uint64_t flags)
{
	const struct ibv_qp_ex none = { 0 };
	struct faulty_qp *f;

	recording_lock();
	f = original_add_object(qp, KNOWN_FAULTY_QP, sizeof(*f));
	if (f) {
		f->must_fail = f->bare = false;
		f->ndoomed = f->built = 0;
		f->refused = 0;
		held_drop(&f->held);
		f->holds = can_hold_requests(qp, flags);
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

void builders_repatch(struct ibv_qp *qp, const struct ibv_qp_ex *was)
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
