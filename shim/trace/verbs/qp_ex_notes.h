#pragma once
/*
 * Recording of the builder calls of struct ibv_qp_ex in the current batch (builder.h), one function
 * for each kind of request, part and element. Called by the building thread; errno is preserved.
 *
 * Common calls have a fast form, note_quick_*(), which calls no function, so that its caller saves
 * no registers. It returns false, with nothing noted, if it cannot do the work: another queue pair
 * was used last, memory must be extended, flags are unusual, ...
 */
#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/trace/payload/payload.h"
#include "shim/trace/ring/builder.h"
#include "shim/trace/ring/record.h"

enum { OPCODE_FLUSH = 14 }; /* IBV_WR_FLUSH, which rdma-core 45 has appended */

static inline void note_start(const struct ibv_qp_ex *qp)
{
	if (record_ready())
		builder_start(qp);
}

static inline bool note_quick_start(const struct ibv_qp_ex *qp)
{
	struct builder *b = builder_now;

	if (__builtin_expect(recorder.generation != recording_generation() || b->qp != qp, 0))
		return false;
	builder_open(b);
	return true;
}

static inline void put_odd(struct builder *b, struct event_wr *wr, uint32_t flags, int num_sge)
{
	struct event_odd *odd = builder_add_part(b, wr, WR_ODD);

	*odd = (struct event_odd){ .opcode = wr->opcode, .flags = flags, .num_sge = num_sge };
}

/*
 * Write a request, for which there must be space. @imm: immediate data in host order, or the key to
 * invalidate.
 */
static inline struct event_wr *put_request(const struct ibv_qp_ex *qp, struct builder *b,
					   unsigned int opcode, unsigned int parts, uint32_t imm)
{
	struct event_wr *wr = builder_add(b);

	wr->wr_id = qp->wr_id;
	event_wr_put_word(wr, event_wr_word(opcode, qp->wr_flags, 0, parts, imm));
	return wr;
}

static inline struct event_wr *begin_wr(const struct ibv_qp_ex *qp, struct builder *b,
					enum ibv_wr_opcode opcode, uint32_t imm)
{
	struct event_wr *wr;

	if (!builder_has_room(b) && !builder_grow(b))
		return NULL;
	wr = put_request(qp, b, opcode, 0, imm);
	if (__builtin_expect(qp->wr_flags > 255, 0))
		put_odd(b, wr, qp->wr_flags, 0);
	return wr;
}

/* The builder of @qp, if a request with the flags of @qp can be written directly; else NULL. */
static inline struct builder *find_quick(const struct ibv_qp_ex *qp)
{
	struct builder *b = builder_now;

	return __builtin_expect(b->qp == qp, 1) && builder_has_room(b) &&
			       __builtin_expect(qp->wr_flags < 256, 1)
		       ? b
		       : NULL;
}

static inline bool note_quick_wr(const struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode,
				 uint32_t imm)
{
	struct builder *b = find_quick(qp);

	return b && put_request(qp, b, opcode, 0, imm);
}

static inline void note_wr(const struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t imm)
{
	struct builder *b = builder_find(qp);

	if (b)
		begin_wr(qp, b, opcode, imm);
}

static inline struct event_wr *begin_rdma(const struct ibv_qp_ex *qp, struct builder *b,
					  enum ibv_wr_opcode opcode, uint32_t imm, uint32_t rkey,
					  uint64_t remote_addr)
{
	struct event_wr *wr = begin_wr(qp, b, opcode, imm);

	if (wr)
		*(struct event_rdma *)builder_add_part(b, wr, WR_RDMA) =
			(struct event_rdma){ .remote_addr = remote_addr, .rkey = rkey };
	return wr;
}

static inline void note_rdma(const struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t imm,
			     uint32_t rkey, uint64_t remote_addr)
{
	struct builder *b = builder_find(qp);

	if (b)
		begin_rdma(qp, b, opcode, imm, rkey, remote_addr);
}

static inline bool note_quick_rdma(const struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode,
				   uint32_t imm, uint32_t rkey, uint64_t remote_addr)
{
	struct builder *b = find_quick(qp);
	struct event_rdma *rdma;

	if (!b)
		return false;
	rdma = (void *)(put_request(qp, b, opcode, WR_RDMA, imm) + 1);
	*rdma = (struct event_rdma){ .remote_addr = remote_addr, .rkey = rkey };
	b->next += sizeof(*rdma);
	return true;
}

static inline void note_atomic(const struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t rkey,
			       uint64_t remote_addr, uint64_t compare_add, uint64_t swap)
{
	struct builder *b = builder_find(qp);
	struct event_wr *wr = b ? begin_rdma(qp, b, opcode, 0, rkey, remote_addr) : NULL;

	if (wr)
		*(struct event_atomic *)builder_add_part(b, wr, WR_ATOMIC) =
			(struct event_atomic){ .compare_add = compare_add, .swap = swap };
}

/*
 * Add elements if there are more than are recorded, or if the request already has the odd part:
 * that part stores their number.
 */
static inline struct event_sge *add_odd_elements(struct builder *b, struct event_wr *wr, size_t n)
{
	struct event_odd *odd;

	builder_elements(b, wr, 0);
	if (!(wr->parts & WR_ODD))
		put_odd(b, wr, wr->flags, 0);
	odd = builder_add_part(b, wr, WR_ODD);
	odd->flags |= wr->flags;
	odd->num_sge = (int)n;
	return builder_elements(b, wr, n > BUILDER_SGES ? 0 : (unsigned int)n);
}

static inline struct event_sge *set_elements(struct builder *b, struct event_wr *wr, size_t n)
{
	if (__builtin_expect(n <= BUILDER_SGES && !(wr->parts & WR_ODD), 1))
		return builder_elements(b, wr, (unsigned int)n);
	return add_odd_elements(b, wr, n);
}

/* Note an atomic write, whose eight bytes are part of the request. */
static inline void note_atomic_write(const struct ibv_qp_ex *qp, uint32_t rkey,
				     uint64_t remote_addr, const void *data)
{
	struct builder *b = builder_find(qp);
	struct event_wr *wr =
		b ? begin_rdma(qp, b, IBV_WR_ATOMIC_WRITE, 0, rkey, remote_addr) : NULL;
	struct event_sge *sge;

	if (!wr)
		return;
	wr->flags |= IBV_SEND_INLINE;
	sge = set_elements(b, wr, 1);
	*sge = (struct event_sge){ (uint64_t)(uintptr_t)data, 8, 0 };
	if (__builtin_expect(payload_on, 0))
		payload_capture_inline(qp, b, sge);
}

static inline void note_flush(const struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
			      size_t length, uint8_t type, uint8_t level)
{
	struct builder *b = builder_find(qp);
	struct event_wr *wr =
		b ? begin_rdma(qp, b, (enum ibv_wr_opcode)OPCODE_FLUSH, 0, rkey, remote_addr)
		  : NULL;

	if (wr)
		*(struct event_flush *)builder_add_part(b, wr, WR_FLUSH) =
			(struct event_flush){ .length = length, .type = type, .level = level };
}

static inline void note_bind(const struct ibv_qp_ex *qp, const struct ibv_mw *mw, uint32_t rkey,
			     const struct ibv_mw_bind_info *info)
{
	struct builder *b = builder_find(qp);
	struct event_wr *wr = b ? begin_wr(qp, b, IBV_WR_BIND_MW, 0) : NULL;

	if (wr)
		*(struct event_bind *)builder_add_part(b, wr, WR_BIND) =
			(struct event_bind){ .mw = (uint64_t)(uintptr_t)mw,
					     .rkey = rkey,
					     .mr = (uint64_t)(uintptr_t)info->mr,
					     .addr = info->addr,
					     .length = info->length,
					     .access = info->mw_access_flags };
}

static inline void note_tso(const struct ibv_qp_ex *qp, const void *hdr, uint16_t hdr_sz,
			    uint16_t mss)
{
	struct builder *b = builder_find(qp);
	struct event_wr *wr = b ? begin_wr(qp, b, IBV_WR_TSO, 0) : NULL;

	if (wr)
		*(struct event_tso *)builder_add_part(b, wr, WR_TSO) = (struct event_tso){
			.hdr = (uint64_t)(uintptr_t)hdr, .hdr_sz = hdr_sz, .mss = mss
		};
}

static inline struct event_wr *find_last(const struct ibv_qp_ex *qp, struct builder **ret_builder)
{
	*ret_builder = builder_find(qp);
	return *ret_builder ? (*ret_builder)->last : NULL;
}

static inline void note_ud(const struct ibv_qp_ex *qp, const struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct builder *b;
	struct event_wr *wr = find_last(qp, &b);

	if (wr)
		*(struct event_ud *)builder_add_part(b, wr, WR_UD) =
			(struct event_ud){ .ah = (uint64_t)(uintptr_t)ah,
					   .remote_qpn = remote_qpn,
					   .remote_qkey = remote_qkey };
}

static inline void note_xrc(const struct ibv_qp_ex *qp, uint32_t remote_srqn)
{
	struct builder *b;
	struct event_wr *wr = find_last(qp, &b);

	if (wr)
		*(struct event_xrc *)builder_add_part(b, wr, WR_XRC) =
			(struct event_xrc){ .remote_srqn = remote_srqn };
}

/* Write the only element of a request that has none yet, and add @flags to the request. */
static inline bool put_only_element(const struct ibv_qp_ex *qp, struct event_sge sge,
				    unsigned int flags)
{
	const uint64_t others = event_wr_word(0, 0, 255, WR_ODD, 0);
	struct builder *b = builder_now;
	uint64_t word;

	if (__builtin_expect(b->qp != qp || !b->last, 0))
		return false;
	word = event_wr_get_word(b->last);
	if (__builtin_expect((word & others) != 0, 0))
		return false;
	event_wr_put_word(b->last, word | event_wr_word(0, flags, 1, 0, 0));
	memcpy(b->next, &sge, sizeof(sge));
	b->next += sizeof(sge);
	return true;
}

static inline void note_sge(const struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr,
			    uint32_t length)
{
	struct builder *b;
	struct event_wr *wr = find_last(qp, &b);

	if (wr)
		*set_elements(b, wr, 1) = (struct event_sge){ addr, length, lkey };
}

static inline bool note_quick_sge(const struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr,
				  uint32_t length)
{
	return put_only_element(qp, (struct event_sge){ addr, length, lkey }, 0);
}

static inline void note_sges(const struct ibv_qp_ex *qp, size_t n, const struct ibv_sge *from)
{
	struct builder *b;
	struct event_wr *wr = find_last(qp, &b);
	struct event_sge *sge;

	if (!wr)
		return;
	sge = set_elements(b, wr, n);
	for (unsigned int i = 0; i < wr->nsge; i++)
		sge[i] = (struct event_sge){ from[i].addr, from[i].length, from[i].lkey };
}

static inline void note_inlines(const struct ibv_qp_ex *qp, size_t n,
				const struct ibv_data_buf *from)
{
	struct builder *b;
	struct event_wr *wr = find_last(qp, &b);
	struct event_sge *sge;

	if (!wr)
		return;
	wr->flags |= IBV_SEND_INLINE;
	sge = set_elements(b, wr, n);
	for (unsigned int i = 0; i < wr->nsge; i++)
		sge[i] = (struct event_sge){ (uint64_t)(uintptr_t)from[i].addr,
					     (uint32_t)from[i].length, 0 };
	if (__builtin_expect(payload_on, 0))
		payload_capture_inline(qp, b, sge);
}

static inline void note_inline(const struct ibv_qp_ex *qp, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { addr, length };

	note_inlines(qp, 1, &buf);
}

static inline bool note_quick_inline(const struct ibv_qp_ex *qp, const void *addr, size_t length)
{
	return !payload_on &&
	       put_only_element(
		       qp, (struct event_sge){ (uint64_t)(uintptr_t)addr, (uint32_t)length, 0 },
		       IBV_SEND_INLINE);
}
