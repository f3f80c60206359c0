/*
 * In-flight payload, which RDMA must not overtake
 *
 * The payload of a short message is written to memory by the receiver's poll, or a little later
 * (land.c). A later request of the same queue pair that writes or reads those bytes must find them
 * in place. So the sender remembers the last CQ entry with payload, and one address range that
 * contains all destinations. Only a request for that range searches the entries that were not
 * polled yet. If the destination of one overlaps, the sender asks the receiver to copy the payload.
 */
#include "shim/soft/transport/travel.h"

#include <sched.h>

#include "shim/soft/fabric/process.h"

enum {
	PATIENCE_NS = 200000000, /* ns: limit of waiting for payload to be copied */
	PROCESS_CHECKS = 64,     /* one in this many checks also checks the receiving process */
};

/* Has all in-flight payload arrived? */
static bool has_payload_arrived(const struct soft_remote *r)
{
	const struct shm_cq *cq = r->cq.shm;

	/* pair with the stores of polls, and of poll_copy_new_payload() */
	return (int32_t)(__atomic_load_n(&cq->cons, __ATOMIC_ACQUIRE) - r->travels.pos) > 0 ||
	       (int32_t)(__atomic_load_n(&cq->landed, __ATOMIC_ACQUIRE) - r->travels.pos) > 0;
}

static bool do_ranges_overlap(const struct iovec *a, uintptr_t from, uintptr_t to)
{
	uintptr_t base = (uintptr_t)a->iov_base;

	return base < to && base + a->iov_len > from;
}

static bool do_lists_overlap(const struct copy_list *a, const struct copy_list *b)
{
	unsigned int i, k;
	uintptr_t from;

	for (i = 0; i < a->count; i++) {
		from = (uintptr_t)a->iov[i].iov_base;
		for (k = 0; k < b->count; k++)
			if (do_ranges_overlap(&b->iov[k], from, from + a->iov[i].iov_len))
				return true;
	}
	return false;
}

static bool overlaps_in_flight(const struct soft_remote *r, const struct copy_list *list)
{
	unsigned int i;

	for (i = 0; i < list->count; i++)
		if (do_ranges_overlap(&list->iov[i], r->travels.from, r->travels.to))
			return true;
	return false;
}

/* Is the payload of @cqe from this sender, and does it go to @list? */
static bool is_payload_for(struct soft_remote *r, const struct shm_cqe *cqe,
			   const struct copy_list *list)
{
	const struct shm_wqe *wqe = rq_wqe(&r->rq, cqe->retire);
	struct copy_list to;

	return cqe->qpn == r->shm->qpn && cqe->flags & SHM_CQE_RECV && cqe->where != SHM_LANDED &&
	       copy_list_check(r->peer->seg, r->rq_pd, IBV_ACCESS_LOCAL_WRITE, wqe->sge,
			       rq_num_sge(&r->rq, wqe), cqe->byte_len, &to) &&
	       do_lists_overlap(&to, list);
}

/*
 * Search the entries that were not polled. Meanwhile the receiver may poll an entry and reuse its
 * request; then the payload has arrived, and reading the new request instead is harmless.
 */
static bool has_payload_for(struct soft_remote *r, const struct copy_list *list)
{
	struct cqring cq = { 0 };
	uint32_t pos, n;

	if (cqring_find(r->peer->seg, r->cq.index, &cq) < 0)
		return false;
	pos = __atomic_load_n(&cq.shm->cons, __ATOMIC_ACQUIRE);
	for (n = 0; n <= cq.mask && (int32_t)(r->travels.pos - pos) >= 0; n++, pos++)
		if (is_payload_for(r, &cq.entries[pos & cq.mask], list))
			return true;
	return false;
}

/* Is the payload likely to arrive soon? The receiver may be waiting for a processor. */
static bool may_arrive_soon(struct soft_remote *r, uint64_t until)
{
	return process_now() < until && peer_is_alive(r->peer) && !process_is_stopped(r->peer->pid);
}

/* Ask the receiver to copy the payload. False: the request must be retried. */
static bool await_payload(struct soft_remote *r)
{
	uint64_t until = process_now() + PATIENCE_NS;
	unsigned int n;

	__atomic_add_fetch(&r->peer->seg->payload_asked, 1, __ATOMIC_RELAXED);
	cqring_wake_copy_thread(r->peer->seg);
	for (n = 1; !has_payload_arrived(r); n++) {
		sched_yield();
		if (n % PROCESS_CHECKS == 0 && !may_arrive_soon(r, until))
			return false;
	}
	return true;
}

bool in_flight_is_overtaken_by(struct soft_remote *r, const struct copy_list *list)
{
	if (!overlaps_in_flight(r, list))
		return false;
	if (has_payload_arrived(r)) {
		r->travels.to = 0;
		return false;
	}
	return has_payload_for(r, list) && !await_payload(r);
}
