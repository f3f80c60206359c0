/*
 * Reads the send queues and CQs of the software device from the memory of a process
 *
 * A queue pair of the software device is a struct soft_qp, which begins as struct ibv_qp. Its @shm
 * points into the segment that the process has mapped: if that is the entry of this queue pair, the
 * layout is ours. The program may write anything into its objects, so every number is checked.
 */
#include "cli/attach/soft.h"

#include <stddef.h>

#include "cli/attach/facts.h"
#include "shim/soft/transport/objects.h"

/* The index of address @at in a table of the segment; -1: it is none. */
static int64_t find_slot(const struct facts *facts, uint64_t at, size_t table, size_t each,
			 uint32_t n)
{
	uint64_t from = facts->fabric.mapped_at + table;

	if (!facts->fabric.instance || at < from || (at - from) % each || (at - from) / each >= n)
		return -1;
	return (int64_t)((at - from) / each);
}

static enum handle_wait translate_wait(enum soft_wait wait)
{
	switch (wait) {
	case WAIT_NONE:
		return HANDLE_RUNS;
	case WAIT_RNR:
		return HANDLE_WAITS_RECEIVER;
	case WAIT_PEER:
		return HANDLE_WAITS_PEER;
	case WAIT_COPY:
		return HANDLE_WAITS_COPY;
	case WAIT_HELD:
		return HANDLE_WAITS_FAULT;
	case WAIT_STATE:
		return HANDLE_WAITS_STATE;
	}
	return HANDLE_WAITS;
}

/* How many of @n requests, from the first one that is not retired, are signalled. */
static uint32_t count_signalled(const struct facts *facts, const struct soft_qp *qp, uint32_t n)
{
	struct soft_wr wr;
	uint32_t count = 0;

	if (qp->init.sq_sig_all)
		return n;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = (uintptr_t)qp->sq.wrs +
			      (uint64_t)((qp->sq.retired + i) & qp->sq.mask) * qp->sq.stride;

		if (!memory_get(&facts->memory, at, &wr, sizeof(wr)))
			break;
		count += !!(wr.flags & IBV_SEND_SIGNALED);
	}
	return count;
}

void soft_read_sq(const struct facts *facts, struct handle_qp *qp)
{
	struct soft_qp soft;
	uint32_t n;

	if (!facts->fabric.instance || !memory_get(&facts->memory, qp->at, &soft, sizeof(soft)) ||
	    find_slot(facts, (uintptr_t)soft.shm, offsetof(struct shm_seg, qp), sizeof(*soft.shm),
		      SHM_QP_MAX) < 0)
		return;
	n = soft.sq.head - soft.sq.retired;
	if (soft.sq.depth > SHM_WR_MAX || n > soft.sq.depth)
		return;
	qp->sq = (struct handle_sq){
		.known = true,
		.outstanding = n,
		.depth = soft.sq.depth,
		.executed =
			soft.sq.next - soft.sq.retired <= n ? soft.sq.next - soft.sq.retired : 0,
		.signalled = count_signalled(facts, &soft, n),
		.wait = translate_wait(soft.sq.wait),
		.rnr_tries = soft.sq.rnr_tries,
		.tries = soft.sq.tries,
	};
}

void soft_read_cq(const struct facts *facts, struct handle_cq *cq)
{
	struct soft_cq soft;

	if (!facts->fabric.instance || !memory_get(&facts->memory, cq->at, &soft, sizeof(soft)))
		return;
	cq->slot = find_slot(facts, (uintptr_t)soft.shm, offsetof(struct shm_seg, cq),
			     sizeof(*soft.shm), SHM_CQ_MAX);
	if (cq->slot >= 0)
		cq->events_got = soft.events;
}
