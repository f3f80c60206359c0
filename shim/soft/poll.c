/*
 * Polling: take an entry, bring its payload in, give its request back
 *
 * An empty queue costs one load, of the next entry's sequence number. Polls
 * exclude each other with a lock of this process; those who add entries are
 * not held up.
 *
 * Not here: how entries are added (cqring.c).
 */
#include "shim/soft/poll.h"

#include <errno.h>
#include <time.h>

#include "shim/soft/copy.h"
#include "shim/soft/noise.h"
#include "shim/soft/pending.h"

static struct shm_cqe *entry_at(struct soft_cq *cq, uint32_t pos)
{
	return &cq->ring.entries[pos & cq->ring.mask];
}

/* pairs with the store_release of cqring_commit() */
static bool is_valid(const struct shm_cqe *cqe, uint32_t pos)
{
	return __atomic_load_n(&cqe->seq, __ATOMIC_ACQUIRE) == pos + 1;
}

static struct soft_qp *qp_of(const struct shm_cqe *cqe)
{
	struct soft_qp *qp = cqe->qp < SHM_QP_MAX ?
		__atomic_load_n(&soft_qps[cqe->qp], __ATOMIC_ACQUIRE) : NULL;

	return qp && qp->shm->qpn == cqe->qpn ? qp : NULL;
}

static struct soft_srq *srq_of(const struct shm_cqe *cqe)
{
	return cqe->srq < SHM_SRQ_MAX ?
		__atomic_load_n(&soft_srqs[cqe->srq], __ATOMIC_ACQUIRE) : NULL;
}

/* So many bytes of the message, the first, did not travel. */
static uint32_t absent(const struct shm_cqe *cqe)
{
	return unlikely(cqe->flags & SHM_CQE_DATAGRAM) &&
		!(cqe->wc_flags & IBV_WC_GRH) ? sizeof(struct ibv_grh) : 0;
}

/* Where it lies; NULL if a peer wrote nonsense. */
static const uint8_t *payload(struct soft_cq *cq, const struct shm_cqe *cqe)
{
	uint32_t len = cqe->byte_len - absent(cqe);
	uint32_t at = cqe->bounce % SHM_BOUNCE;

	if (cqe->where != SHM_BOUNCED)
		return len <= SHM_CQE_INLINE ? cqe->data : NULL;
	return len <= SHM_BOUNCE - at ? cq->ring.bounce + at : NULL;
}

/* The payload to the buffers of the receive request. */
static void land_in(const struct rq *rq, uint32_t pd, const struct shm_cqe *cqe,
		    const uint8_t *from)
{
	struct shm_wqe *wqe = rq_wqe(rq, cqe->retire);
	uint32_t num = wqe->num_sge < rq->max_sge ? wqe->num_sge : rq->max_sge;
	struct copy_list to;

	if (!copy_check(fabric_seg, pd, IBV_ACCESS_LOCAL_WRITE, wqe->sge,
			num, cqe->byte_len, &to))
		return;
	if (absent(cqe))
		copy_skip(&to, absent(cqe));
	copy_scatter(&to, from, cqe->byte_len - absent(cqe));
}

/* A shared queue may grow meanwhile, and its requests move. */
static void land_shared(struct soft_srq *srq, const struct shm_cqe *cqe,
			const uint8_t *from)
{
	lock_take(&srq->posting);
	land_in(&srq->rq, srq->shm->pd, cqe, from);
	lock_drop(&srq->posting);
}

static void land(struct soft_cq *cq, struct shm_cqe *cqe)
{
	const uint8_t *from = payload(cq, cqe);
	struct soft_srq *srq;
	struct soft_qp *qp;

	if (!from)
		return;
	if (cqe->flags & SHM_CQE_SRQ) {
		srq = srq_of(cqe);
		if (srq)
			land_shared(srq, cqe, from);
		return;
	}
	qp = qp_of(cqe);
	if (qp)
		land_in(&qp->rq, qp->shm->pd, cqe, from);
}

static void land_once(struct soft_cq *cq, struct shm_cqe *cqe)
{
	if (cqe->where == SHM_LANDED ||
	    (cqe->flags & (SHM_CQE_LANDED | SHM_CQE_DEAD)))
		return;
	land(cq, cqe);
	cqe->flags |= SHM_CQE_LANDED;
}

static void retire_shared(struct soft_srq *srq, uint32_t slot)
{
	lock_take(&srq->posting);
	if (srq->num_free < srq->slots)
		srq->free[srq->num_free++] = slot;
	lock_drop(&srq->posting);
}

/* Give the request's slot back; only grows, whichever queue was polled. */
static void retire(struct shm_cqe *cqe)
{
	struct soft_qp *qp = qp_of(cqe);
	struct soft_srq *srq;

	if (cqe->flags & SHM_CQE_SRQ) {
		srq = srq_of(cqe);
		if (srq)
			retire_shared(srq, cqe->retire);
	} else if (qp && cqe->flags & SHM_CQE_RECV)
		__atomic_store_n(&qp->rq_retired, cqe->retire + 1,
				 __ATOMIC_RELEASE);
	else if (qp)
		__atomic_store_n(&qp->sq.retired, cqe->retire,
				 __ATOMIC_RELEASE);
}

static void fill(const struct shm_cqe *cqe, struct ibv_wc *wc)
{
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->imm;
	wc->qp_num = cqe->qpn;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = 0;
	wc->slid = cqe->slid;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = 0;
	if (unlikely(wc->status != IBV_WC_SUCCESS))
		noise_wc(wc);
}

/* The entry was read: its place, and its bytes, are free. */
static void step(struct soft_cq *cq, const struct shm_cqe *cqe)
{
	uint32_t len = cqe->byte_len - absent(cqe);
	uint32_t room = (len + SHM_LINE - 1) & ~(SHM_LINE - 1u);

	if (cqe->where == SHM_BOUNCED)
		__atomic_store_n(&cq->shm->bounce_cons, cqe->bounce + room,
				 __ATOMIC_RELEASE);
	cq->cons++;
	__atomic_store_n(&cq->shm->cons, cq->cons, __ATOMIC_RELEASE);
}

/* The next entry that is alive, or NULL; under the polling lock. */
static struct shm_cqe *next_entry(struct soft_cq *cq)
{
	struct shm_cqe *cqe;

	for (;;) {
		cqe = entry_at(cq, cq->cons);
		if (!is_valid(cqe, cq->cons))
			return NULL;
		if (likely(!(cqe->flags & SHM_CQE_DEAD)))
			return cqe;
		step(cq, cqe);
	}
}

static bool looks_empty(struct soft_cq *cq)
{
	uint32_t pos = __atomic_load_n(&cq->cons, __ATOMIC_RELAXED);

	return !is_valid(entry_at(cq, pos), pos);
}

static int take_entries(struct soft_cq *cq, int max, struct ibv_wc *wc)
{
	struct shm_cqe *cqe;
	int n;

	for (n = 0; n < max; n++) {
		cqe = next_entry(cq);
		if (!cqe)
			break;
		land_once(cq, cqe);
		fill(cqe, &wc[n]);
		retire(cqe);
		step(cq, cqe);
	}
	return n;
}

int soft_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct soft_cq *cq = to_cq(ibcq);
	int n;
	int err;

	err = soft_enter(ibcq->context, "poll_cq");
	if (unlikely(err)) {
		errno = err;
		return -1;
	}
	if (looks_empty(cq)) {
		if (!pending_any())
			return 0;
		pending_try();
	}
	lock_take(&cq->polling);
	n = take_entries(cq, num_entries, wc);
	lock_drop(&cq->polling);
	return n;
}

/*
 * Armed before the program polls once more: an entry that it misses then
 * finds the queue armed (fire() in cqring.c).
 */
int soft_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct soft_cq *cq = to_cq(ibcq);
	uint32_t arm = solicited_only ? SHM_ARM_SOLICITED : SHM_ARM_ANY;
	uint32_t *armed;
	int err;

	err = soft_enter(ibcq->context, "req_notify_cq");
	if (unlikely(err))
		return err;
	armed = &cq->shm->armed;
	if (arm == SHM_ARM_SOLICITED &&
	    __atomic_load_n(armed, __ATOMIC_SEQ_CST) == SHM_ARM_ANY)
		return 0;	/* the wider one stays */
	__atomic_store_n(armed, arm, __ATOMIC_SEQ_CST);
	return 0;
}

static void finish_current(struct soft_cq *cq)
{
	if (!cq->current)
		return;
	step(cq, cq->current);
	cq->current = NULL;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct soft_cq *cq = (struct soft_cq *)ex;
	struct shm_cqe *cqe;

	finish_current(cq);
	cqe = next_entry(cq);
	if (!cqe)
		return ENOENT;
	land_once(cq, cqe);
	retire(cqe);	/* the program may post again before it ends the poll */
	cq->current = cqe;
	ex->wr_id = cqe->wr_id;
	ex->status = cqe->status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct soft_cq *cq = (struct soft_cq *)ex;
	int err;

	if (attr->comp_mask)
		return EINVAL;
	err = soft_enter(ex->context, "start_poll");
	if (unlikely(err))
		return err;
	if (looks_empty(cq)) {
		if (!pending_any())
			return ENOENT;
		pending_try();
	}
	lock_take(&cq->polling);
	err = next_poll(ex);
	if (err)
		lock_drop(&cq->polling);
	else
		__atomic_store_n(&cq->poller, pthread_self(), __ATOMIC_RELAXED);
	return err;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct soft_cq *cq = (struct soft_cq *)ex;

	finish_current(cq);
	__atomic_store_n(&cq->poller, 0, __ATOMIC_RELAXED);
	lock_drop(&cq->polling);
}

static const struct shm_cqe *current(struct ibv_cq_ex *ex)
{
	return ((struct soft_cq *)ex)->current;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return current(ex)->opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return current(ex)->vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return current(ex)->byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return current(ex)->imm;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return current(ex)->qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return current(ex)->src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return current(ex)->wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return current(ex)->slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return current(ex)->sl;
}

static uint8_t read_nothing(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return current(ex)->stamp;
}

static uint64_t read_wallclock(struct ibv_cq_ex *ex)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec -
		(process_now() - current(ex)->stamp);
}

void poll_init_ex(struct soft_cq *cq)
{
	struct ibv_cq_ex *ex = &cq->ex;

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_wc_flags = read_wc_flags;
	ex->read_slid = read_slid;
	ex->read_sl = read_sl;
	ex->read_dlid_path_bits = read_nothing;
	ex->read_completion_ts = read_completion_ts;
	ex->read_completion_wallclock_ns = read_wallclock;
}

typedef void visit_fn(struct soft_cq *cq, struct shm_cqe *cqe, void *arg);

/*
 * Visit all entries that were not polled yet. Programs destroy things
 * between ibv_start_poll() and ibv_end_poll(), where they hold the lock.
 */
static void visit(struct soft_cq *cq, visit_fn *fn, void *arg)
{
	bool holds = __atomic_load_n(&cq->poller, __ATOMIC_RELAXED) ==
		pthread_self();
	struct shm_cqe *cqe;
	uint32_t pos;

	if (!holds)
		lock_take(&cq->polling);
	for (pos = cq->cons;; pos++) {
		cqe = entry_at(cq, pos);
		if (!is_valid(cqe, pos))
			break;
		fn(cq, cqe, arg);
	}
	if (!holds)
		lock_drop(&cq->polling);
}

static void purge_qp(struct soft_cq *cq, struct shm_cqe *cqe, void *arg)
{
	(void)cq;
	if (cqe->qpn != *(uint32_t *)arg || cqe->flags & SHM_CQE_DEAD)
		return;
	if (cqe->flags & SHM_CQE_SRQ)
		retire(cqe);
	cqe->flags |= SHM_CQE_DEAD;
}

static void purge_srq(struct soft_cq *cq, struct shm_cqe *cqe, void *arg)
{
	(void)cq;
	if (cqe->flags & SHM_CQE_SRQ && srq_of(cqe) == arg)
		cqe->flags |= SHM_CQE_DEAD;
}

static void land_one(struct soft_cq *cq, struct shm_cqe *cqe, void *arg)
{
	(void)arg;
	land_once(cq, cqe);
}

void poll_purge(struct soft_cq *cq, uint32_t qpn)
{
	visit(cq, purge_qp, &qpn);
}

void poll_purge_srq(struct soft_cq *cq, struct soft_srq *srq)
{
	visit(cq, purge_srq, srq);
}

void poll_land_all(struct soft_cq *cq)
{
	visit(cq, land_one, NULL);
}
