/*
 * Requests of one packet that are answered by one packet
 *
 * A flush and an atomic write are answered like a read of 0 bytes. If such a request arrives again,
 * it is only answered again. Atomics are executed by end_execute_atomic().
 *
 * Source: InfiniBand specification, annex A19.
 */
#include "shim/soft/network/single.h"

#include <errno.h>

#include "shim/soft/fabric/flush.h"
#include "shim/soft/fabric/key.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/network/end.h"
#include "shim/soft/transport/deliver.h"

bool single_is(uint32_t opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	       opcode == FLUSH_WR || opcode == IBV_WR_ATOMIC_WRITE;
}

static uint8_t fill_atomic(const struct soft_wr *wr, struct header *h)
{
	bool add = wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	h->atomic.addr = wr->remote_addr;
	h->atomic.rkey = wr->rkey;
	h->atomic.swap_add = add ? wr->compare_add : wr->swap;
	h->atomic.compare = add ? 0 : wr->compare_add;
	return add ? OPCODE_FETCH_ADD : OPCODE_COMPARE_SWAP;
}

uint8_t single_fill(const struct soft_wr *wr, struct header *h)
{
	bool flush = wr->opcode == FLUSH_WR;

	if (!flush && wr->opcode != IBV_WR_ATOMIC_WRITE)
		return fill_atomic(wr, h);
	h->reth.addr = wr->remote_addr;
	h->reth.rkey = wr->rkey;
	h->reth.length = flush ? wr->compare_add : wr->length;
	if (flush) {
		h->feth.level = wr->swap >> 8;
		h->feth.type = wr->swap & 0xff;
	}
	return flush ? OPCODE_FLUSH_REQUEST : OPCODE_ATOMIC_WRITE_ONLY;
}

/*
 * Execute a flush. Written data is in place already, so there is nothing to do. The key is checked
 * even if the length is 0.
 */
static int flush_at(struct soft_remote *end, const struct header *h)
{
	struct shm_seg *seg = end->peer->seg;
	uint32_t access = (uint32_t)h->feth.type << FLUSH_ACCESS_SHIFT;
	uint64_t addr = h->reth.addr, length = h->reth.length;
	const struct shm_mr *mr = key_find(seg, h->reth.rkey, true);

	if ((end->shm->access & access) != access)
		return IBV_WC_REM_INV_REQ_ERR;
	if (mr && h->feth.level == FLUSH_MR) {
		addr = mr->iova;
		length = mr->length;
	}
	if (!key_check(seg, end->pd, end->shm->qpn, access, addr, length, h->reth.rkey, true))
		return IBV_WC_REM_ACCESS_ERR;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return IBV_WC_SUCCESS;
}

static int write_at(struct soft_remote *end, const struct arrival *a)
{
	const struct header *h = &a->header;
	struct copy_list from = { .count = 1 }, to;
	int err;

	if (!(end->shm->access & IBV_ACCESS_REMOTE_WRITE) || h->reth.addr % 8 || a->len != 8 ||
	    h->reth.length != 8)
		return IBV_WC_REM_INV_REQ_ERR;
	if (!copy_list_check_remote(end->peer->seg, end->pd, end->shm->qpn, IBV_ACCESS_REMOTE_WRITE,
				    h->reth.addr, h->reth.rkey, 8, &to))
		return IBV_WC_REM_ACCESS_ERR;
	if (end_would_overtake(end, &to) || lock_take_live(&end->peer->seg->atomics) == LOCK_STUCK)
		return EXECUTE_LATER;
	from.iov[0] = (struct iovec){ a->payload, a->len };
	err = end_put(end, &from, &to);
	lock_drop(&end->peer->seg->atomics);
	return deliver_copy_error(err);
}

int single_execute(struct soft_remote *end, const struct arrival *a)
{
	return opcode_info(a->header.bth.opcode)->kind == OPCODE_FLUSH ? flush_at(end, &a->header)
								       : write_at(end, a);
}
