/*
 * Polling: removing an entry, copying its payload, freeing the slot of its request
 *
 * An empty queue costs one load, of the next entry's sequence number. Polls exclude each other with
 * a lock of this process, which processes that add entries do not take.
 *
 * Not here: extended polls (poll_ex.c), how entries are added (cqring.c).
 */
#include "shim/soft/verbs/poll.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "shim/soft/fabric/copy.h"
#include "shim/soft/fabric/memcheck.h"
#include "shim/soft/fabric/noise.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/transport/pending.h"
#include "shim/soft/transport/tag_list.h"
#include "shim/soft/verbs/enter.h"

static inline struct shm_cqe *entry_at(struct soft_cq *cq, uint32_t pos)
{
	return &cq->ring.entries[pos & cq->ring.mask];
}

/* pairs with the store_release of cqring_commit() */
static inline bool is_valid(const struct shm_cqe *cqe, uint32_t pos)
{
	return __atomic_load_n(&cqe->seq, __ATOMIC_ACQUIRE) == pos + 1;
}

static inline struct soft_qp *qp_of(const struct shm_cqe *cqe)
{
	struct soft_qp *qp =
		cqe->qp < SHM_QP_MAX ? __atomic_load_n(&soft_qps[cqe->qp], __ATOMIC_ACQUIRE) : NULL;

	return qp && qp->shm->qpn == cqe->qpn ? qp : NULL;
}

static struct soft_srq *srq_of(const struct shm_cqe *cqe)
{
	return cqe->srq < SHM_SRQ_MAX ? __atomic_load_n(&soft_srqs[cqe->srq], __ATOMIC_ACQUIRE)
				      : NULL;
}

/* The number of bytes at the beginning of the message that the sender did not send. */
static uint32_t absent_bytes(const struct shm_cqe *cqe)
{
	return unlikely(cqe->flags & SHM_CQE_DATAGRAM) && !(cqe->wc_flags & IBV_WC_GRH)
		       ? sizeof(struct ibv_grh)
		       : 0;
}

/* The payload of an entry. Its fields are read once, since peers can write to them. */
struct payload {
	const uint8_t *from;
	uint32_t byte_len;
	uint32_t absent; /* number of bytes at the beginning that the sender did not send */
	bool unasked;    /* copied without a poll: the program may have unmapped the memory */
};

/* Find the payload of an entry. False if a peer has written invalid data. */
static bool find_payload(struct soft_cq *cq, const struct shm_cqe *cqe, struct payload *p)
{
	uint32_t at = __atomic_load_n(&cqe->bounce, __ATOMIC_RELAXED) % SHM_BOUNCE;
	uint32_t room = SHM_BOUNCE - at;

	p->byte_len = __atomic_load_n(&cqe->byte_len, __ATOMIC_RELAXED);
	p->absent = absent_bytes(cqe);
	p->from = cq->ring.bounce + at;
	if (cqe->where != SHM_BOUNCED) {
		p->from = cqe->data;
		room = SHM_CQE_INLINE;
	}
	return p->absent <= p->byte_len && p->byte_len - p->absent <= room;
}

/* Copy the payload to the buffers of the receive request. */
static void copy_payload_to(const struct rq *rq, uint32_t pd, uint32_t slot,
			    const struct payload *p)
{
	struct copy_list to;
	struct shm_wqe *wqe;

	if (unlikely(!rq->wqes))
		return;           /* invalid data from a peer: this QP uses a shared queue */
	if (unlikely(p->unasked)) /* pairs with the store of rq_publish(), in another thread */
		(void)__atomic_load_n(&rq->shm->prod, __ATOMIC_ACQUIRE);
	wqe = rq_wqe(rq, slot);
	if (!copy_list_check(segment_own, pd, IBV_ACCESS_LOCAL_WRITE, wqe->sge, rq_num_sge(rq, wqe),
			     p->byte_len, &to))
		return;
	if (p->absent)
		copy_list_skip(&to, p->absent);
	if (unlikely(p->unasked))
		copy_to_own_memory(&to, p->from, p->byte_len - p->absent);
	else
		copy_list_scatter(&to, p->from, p->byte_len - p->absent);
}

/* The same for a shared queue, whose requests may move meanwhile, since it may grow. */
static void copy_to_shared(struct soft_srq *srq, uint32_t slot, const struct payload *p)
{
	lock_take(&srq->posting);
	copy_payload_to(&srq->rq, srq->shm->pd, slot, p);
	lock_drop(&srq->posting);
}

/*
 * Copy the payload of an entry. @qp: its queue pair, or NULL. Not inline, since most entries have
 * no payload.
 */
static __attribute__((noinline)) void place_payload(struct soft_cq *cq, const struct shm_cqe *cqe,
						    struct soft_qp *qp, bool unasked)
{
	struct payload p = { .unasked = unasked };
	struct soft_srq *srq;

	if (!find_payload(cq, cqe, &p))
		return;
	if (unlikely(cqe->flags & SHM_CQE_SRQ)) {
		srq = srq_of(cqe);
		if (srq)
			copy_to_shared(srq, cqe->retire, &p);
	} else if (qp)
		copy_payload_to(&qp->rq, qp->shm->pd, cqe->retire, &p);
}

static inline bool is_payload_copied(const struct shm_cqe *cqe)
{
	return cqe->where == SHM_LANDED || cqe->flags & SHM_CQE_LANDED;
}

static void retire_shared(struct soft_srq *srq, uint32_t slot)
{
	lock_take(&srq->posting);
	if (srq->num_free < srq->slots)
		srq->free[srq->num_free++] = slot;
	lock_drop(&srq->posting);
}

static void retire_tag(struct soft_srq *srq, const struct shm_cqe *cqe)
{
	if (!srq->tags)
		return; /* invalid data from a peer */
	lock_take(&srq->posting);
	tag_list_retire(srq->tags, cqe);
	lock_drop(&srq->posting);
}

/*
 * Free the slot of the entry's request. The position only grows, whichever of several CQs is
 * polled.
 */
static inline void retire_request(const struct shm_cqe *cqe, struct soft_qp *qp)
{
	struct soft_srq *srq;

	if (unlikely(cqe->flags & SHM_CQE_SRQ)) {
		srq = srq_of(cqe);
		if (srq && unlikely(cqe->flags & SHM_CQE_MATCHING))
			retire_tag(srq, cqe);
		else if (srq)
			retire_shared(srq, cqe->retire);
	} else if (unlikely(!qp))
		return;
	else if (cqe->flags & SHM_CQE_RECV)
		__atomic_store_n(&qp->rq_retired, cqe->retire + 1, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&qp->sq.retired, cqe->retire, __ATOMIC_RELEASE);
}

static inline void fill_wc(const struct shm_cqe *cqe, struct ibv_wc *wc)
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
	if (unlikely(wc->status != IBV_WC_SUCCESS && noise_is_wanted()))
		noise_fill_wc(wc);
}

/* Free the bytes of the entry's payload in the bounce ring. */
static void free_bounced(struct soft_cq *cq, const struct shm_cqe *cqe)
{
	uint32_t len = cqe->byte_len - absent_bytes(cqe);
	uint32_t room = (len + SHM_LINE - 1) & ~(SHM_LINE - 1u);

	__atomic_store_n(&cq->shm->bounce_cons, cqe->bounce + room, __ATOMIC_RELEASE);
}

void poll_set_written(struct soft_cq *cq, bool written)
{
	__atomic_store_n(&cq->written, written, __ATOMIC_RELAXED);
	__atomic_store_n(&cq->shm->written, written, __ATOMIC_RELAXED);
}

static inline void set_cons(struct soft_cq *cq, uint32_t cons)
{
	/* is_empty_now() reads cons without the lock */
	__atomic_store_n(&cq->cons, cons, __ATOMIC_RELAXED);
	__atomic_store_n(&cq->shm->cons, cons, __ATOMIC_RELEASE);
}

static inline void consume_entry(struct soft_cq *cq, const struct shm_cqe *cqe)
{
	if (cqe->where == SHM_BOUNCED)
		free_bounced(cq, cqe);
	/* an entry that this process has written may contain undefined data of the program */
	memcheck_mark_defined(cqe, offsetof(struct shm_cqe, data));
	set_cons(cq, cq->cons + 1);
}

void poll_step(struct soft_cq *cq, const struct shm_cqe *cqe)
{
	consume_entry(cq, cqe);
}

static inline bool is_empty_now(struct soft_cq *cq)
{
	uint32_t pos = __atomic_load_n(&cq->cons, __ATOMIC_RELAXED);

	return !is_valid(entry_at(cq, pos), pos);
}

/* Retry the requests that wait. Returns whether there were any. */
static inline bool try_pending(void)
{
	if (likely(!pending_any()))
		return false;
	pending_try();
	return true;
}

/*
 * After this many empty polls, some microseconds, a thread yields. If there are few processors, the
 * peer for which the thread waits may itself be waiting for this processor, until the end of the
 * time slice.
 */
#define VAIN_POLLS    1024
#define VAIN_RECEIVES 32

static __thread unsigned int vain_polls __attribute__((tls_model("initial-exec")));

static __attribute__((noinline)) void yield_processor(void)
{
	vain_polls = 0;
	sched_yield();
}

bool poll_finds_none(struct soft_cq *cq)
{
	if (!is_empty_now(cq) || try_pending() || pending_network()) {
		vain_polls = 0;
		return false;
	}
	/* receiving packets takes longer than reading an entry */
	vain_polls += unlikely(pending_receive) ? VAIN_POLLS / VAIN_RECEIVES : 1;
	if (likely(vain_polls < VAIN_POLLS && !pending_receive))
		return true;
	if (vain_polls >= VAIN_POLLS)
		yield_processor();
	/* what another thread has received meanwhile comes before what it reports later */
	return is_empty_now(cq);
}

/* The next entry, or NULL. Callers hold the lock of polls. */
static ALWAYS_INLINE struct shm_cqe *next_entry(struct soft_cq *cq)
{
	struct shm_cqe *cqe = entry_at(cq, cq->cons);
	struct soft_qp *qp;

	if (!is_valid(cqe, cq->cons))
		return NULL;
	qp = qp_of(cqe);
	/* do not mark the entry as copied: that would take its cache line from the writer */
	if (!is_payload_copied(cqe))
		place_payload(cq, cqe, qp, false);
	retire_request(cqe, qp);
	return cqe;
}

struct shm_cqe *poll_entry(struct soft_cq *cq)
{
	return next_entry(cq);
}

static inline int take_entries(struct soft_cq *cq, int max, struct ibv_wc *wc)
{
	struct shm_cqe *cqe;
	int n;

	for (n = 0; n < max; n++) {
		cqe = next_entry(cq);
		if (!cqe)
			break;
		fill_wc(cqe, &wc[n]);
		consume_entry(cq, cqe);
	}
	return n;
}

/* Poll entries. Not inline, to keep the poll of an empty queue short. */
static __attribute__((noinline)) int poll_some(struct soft_cq *cq, int max, struct ibv_wc *wc)
{
	int n;

	if (unlikely(!poll_lock(cq))) {
		errno = EINVAL;
		return -1;
	}
	n = take_entries(cq, max, wc);
	poll_allow_payload(cq);
	lock_drop(&cq->polling);
	return n;
}

int soft_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct soft_cq *cq = to_cq(ibcq);
	int err, n;

	err = soft_enter(ibcq->context, "poll_cq");
	if (unlikely(err)) {
		errno = err;
		return -1;
	}
	if (poll_finds_none(cq))
		return 0;
	n = poll_some(cq, num_entries, wc);
	if (n > 0)
		memcheck_hide(wc, (size_t)n * sizeof(*wc));
	return n;
}

/*
 * Arm the queue. The program then polls once more: an entry that this poll does not see finds the
 * queue armed (fire_event() in cqring.c).
 */
int soft_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct soft_cq *cq = to_cq(ibcq);
	int err;

	err = soft_enter(ibcq->context, "req_notify_cq");
	if (unlikely(err))
		return err;
	cqring_arm(&cq->ring, solicited_only ? SHM_ARM_SOLICITED : SHM_ARM_ANY);
	return 0;
}

/*
 * Move an entry. Each position retains its sequence number, so that concurrent polls find a valid
 * one.
 */
static void move_cqe(struct soft_cq *cq, struct shm_cqe *cqe, struct shm_cqe *to)
{
	if (cqe == to)
		return;
	memcpy((char *)to + sizeof(to->seq), (char *)cqe + sizeof(cqe->seq),
	       sizeof(*cqe) - sizeof(cqe->seq));
	if (cq->current == cqe)
		cq->current = to;
}

/* Purged entries must not occupy space: move the others before @end together. */
static void close_gaps(struct soft_cq *cq, uint32_t end)
{
	struct shm_cqe last_dead = { .where = SHM_LANDED }, *cqe;
	bool bounced = false;
	uint32_t from, to = end;

	for (from = end; from != cq->cons;) {
		cqe = entry_at(cq, --from);
		if (!(cqe->flags & SHM_CQE_DEAD)) {
			bounced |= cqe->where == SHM_BOUNCED;
			move_cqe(cq, cqe, entry_at(cq, --to));
		} else if (cqe->where == SHM_BOUNCED && last_dead.where != SHM_BOUNCED)
			last_dead = *cqe;
	}
	if (!bounced && last_dead.where == SHM_BOUNCED)
		free_bounced(cq, &last_dead);
	set_cons(cq, to);
}

typedef void visit_fn(struct soft_cq *cq, struct shm_cqe *cqe, void *arg);

/*
 * Visit all entries that were not polled yet. Programs destroy objects between ibv_start_poll() and
 * ibv_end_poll(); then this thread already holds the lock.
 */
static void visit_entries(struct soft_cq *cq, visit_fn *fn, void *arg)
{
	bool taken = poll_lock(cq);
	struct shm_cqe *cqe;
	bool purged = false;
	uint32_t pos = cq->cons;

	if (cq->current)
		pos++; /* skip the current entry, which was polled */
	for (;; pos++) {
		cqe = entry_at(cq, pos);
		if (!is_valid(cqe, pos))
			break;
		fn(cq, cqe, arg);
		purged |= cqe->flags & SHM_CQE_DEAD;
	}
	if (purged)
		close_gaps(cq, pos);
	if (taken)
		lock_drop(&cq->polling);
}

static void copy_entry_payload(struct soft_cq *cq, struct shm_cqe *cqe, bool unasked)
{
	if (is_payload_copied(cqe))
		return;
	place_payload(cq, cqe, qp_of(cqe), unasked);
	cqe->flags |= SHM_CQE_LANDED;
}

/* Purge an entry. Its message has arrived, so its payload is copied first. */
static void purge_entry(struct soft_cq *cq, struct shm_cqe *cqe)
{
	copy_entry_payload(cq, cqe, true);
	cqe->flags |= SHM_CQE_DEAD;
}

static void purge_qp(struct soft_cq *cq, struct shm_cqe *cqe, void *arg)
{
	if (cqe->qpn != *(uint32_t *)arg)
		return;
	purge_entry(cq, cqe);
	if (cqe->flags & SHM_CQE_SRQ)
		retire_request(cqe, NULL);
}

static void purge_srq(struct soft_cq *cq, struct shm_cqe *cqe, void *arg)
{
	if (cqe->flags & SHM_CQE_SRQ && srq_of(cqe) == arg)
		purge_entry(cq, cqe);
}

static void copy_one_payload(struct soft_cq *cq, struct shm_cqe *cqe, void *arg)
{
	(void)arg;
	copy_entry_payload(cq, cqe, false);
}

void poll_purge(struct soft_cq *cq, uint32_t qpn)
{
	visit_entries(cq, purge_qp, &qpn);
}

void poll_purge_srq(struct soft_cq *cq, struct soft_srq *srq)
{
	visit_entries(cq, purge_srq, srq);
}

/*
 * For each region, this is called for all queues; in a program with thousands of them nearly all
 * are empty. If is_empty_now() sees that a thread has polled the last entry, its payload is already
 * copied; a thread between ibv_start_poll() and ibv_end_poll() holds the lock. Rings change only
 * under the object mutex, which the caller holds.
 */
void poll_copy_all_payload(struct soft_cq *cq)
{
	if (is_empty_now(cq) && !__atomic_load_n(&cq->polling.owner, __ATOMIC_ACQUIRE))
		return;
	visit_entries(cq, copy_one_payload, NULL);
}

void poll_copy_new_payload(struct soft_cq *cq)
{
	uint32_t pos = cq->shm->landed;

	if (!lock_try(&cq->polling))
		return;
	/* a peer can write any number to shm->landed */
	if ((int32_t)(pos - cq->cons) < 0 || pos - cq->cons > cq->ring.mask + 1)
		pos = cq->cons;
	for (; is_valid(entry_at(cq, pos), pos); pos++)
		copy_entry_payload(cq, entry_at(cq, pos), true);
	/* pairs with the load of has_payload_arrived() */
	__atomic_store_n(&cq->shm->landed, pos, __ATOMIC_RELEASE);
	lock_drop(&cq->polling);
}
