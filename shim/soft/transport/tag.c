/*
 * Tag matching
 *
 *	message	| TMH: operation, tag | data |		EAGER
 *		| TMH: operation, tag | RVH: address, key, length |	RNDV
 *
 * A message matches the oldest tagged buffer for which TMH.tag & mask == tag. The buffer gets the
 * data of the message or, with a rendezvous, data that the receiver reads from the address in the
 * RVH; then the sender gets its TMH back in a message (FIN). A message that matches no buffer, or
 * has no tag, is delivered to a receive request, with its header.
 *
 * A message without a match is unexpected. When the program adds a buffer, it may not have searched
 * all unexpected messages yet. So the buffer can match only after the program has acknowledged all
 * of them (IBV_OPS_TM_SYNC). Unexpected messages are counted in 16 bits, as mlx5 does.
 *
 * The sending process does the matching, and reads for the receiver. The FIN is delivered to the
 * sender's own queue when the request is completed and the peer's locks are dropped; without a
 * receive request it waits, and later requests do not wait for it.
 *
 * Source: ibv_post_srq_ops(3), <infiniband/tm_types.h>; undefined details like mlx5.
 */
#include "shim/soft/transport/tag.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/soft/fabric/segment.h"
#include "shim/soft/transport/count.h"
#include "shim/soft/transport/tag_list.h"
#include "shim/soft/transport/window.h"

/* maximum number of unexpected messages that the program has not acknowledged */
enum { MAX_LAG = 0x3fff };

_Static_assert(sizeof(struct ibv_wc_tm_info) <= SHM_CQE_INLINE, "it fits an entry");

/* Begin the completion of a tagged buffer; NULL if the queue overruns. */
static struct shm_cqe *begin_matched(struct soft_remote *r, uint32_t slot, int status)
{
	struct shm_cqe *cqe = cqring_begin_sure(&r->cq);

	if (!cqe)
		return NULL;
	cqe->status = status;
	cqe->opcode = IBV_WC_TM_RECV;
	cqe->flags = SHM_CQE_RECV | SHM_CQE_SRQ | SHM_CQE_MATCHING;
	cqe->wr_id = r->tm->tag[slot].wr_id;
	cqe->qpn = r->shm->qpn;
	cqe->qp = r->slot;
	cqe->srq = r->srq - r->peer->seg->srq;
	cqe->retire = slot;
	memset(cqe->data, 0, sizeof(struct ibv_wc_tm_info));
	return cqe;
}

/*
 * Commit the completion that ends a tag. The process may die meanwhile: so tm->doing has the slot
 * and the position of the completion, plus one each. The tag is in the list until the completion is
 * published.
 */
static bool finish_tag(struct soft_remote *r, uint32_t slot, struct shm_cqe *cqe, bool solicited)
{
	if (!cqe)
		return false;
	r->tm->doing_cq = r->cq.index;
	__atomic_store_n(&r->tm->doing, (uint64_t)(slot + 1) << 32 | (r->cq.shm->prod + 1),
			 __ATOMIC_RELEASE);
	cqring_commit(&r->cq, cqe, solicited);
	tag_list_remove(r->tm, r->num_tags, slot);
	__atomic_store_n(&r->tm->doing, 0, __ATOMIC_RELEASE);
	return true;
}

static bool was_published(const struct cqring *cq, uint32_t seq, uint32_t slot)
{
	const struct shm_cqe *cqe = &cq->entries[(seq - 1) & cq->mask];

	if (cqe->seq != seq)
		return (int32_t)(cqe->seq - seq) > 0; /* overwritten long ago: it was published */
	return cqe->flags & SHM_CQE_MATCHING && cqe->retire == slot;
}

/* If the last consumer has died: remove the tag that it has completed. */
static void repair_list(struct soft_remote *r)
{
	uint64_t doing = r->tm->doing;
	uint32_t slot = (doing >> 32) - 1;
	struct cqring cq = { 0 };

	if (likely(!doing))
		return;
	if (slot < r->num_tags && cqring_find(r->peer->seg, r->tm->doing_cq, &cq) == 0) {
		if (cqring_lock(&cq) && was_published(&cq, doing, slot))
			tag_list_remove(r->tm, r->num_tags, slot);
		lock_drop(&cq.shm->lock);
	}
	r->tm->doing = 0;
}

/* The completion queue overruns: fail the sender's request, as with any receive queue. */
static int fail_overrun(struct soft_remote *r)
{
	return deliver_fail_responder(r, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
}

/* Fail a tag that has matched. */
static int fail_matched(struct soft_remote *r, uint32_t slot, int recv_status, int status)
{
	count_request(r->peer->seg, r->shm, SHM_COUNT_RECV, recv_status, 0);
	if (!finish_tag(r, slot, begin_matched(r, slot, recv_status), true))
		return fail_overrun(r);
	return deliver_fail_responder(r, -1, status);
}

static void fill_matched(struct shm_cqe *cqe, const struct message *m, const struct ibv_tmh *tmh,
			 uint8_t wc_flags)
{
	struct ibv_wc_tm_info info = { 0 };

	if (tmh) {
		info.tag = be64toh(tmh->tag);
		info.priv = be32toh(tmh->app_ctx);
	}
	memcpy(cqe->data, &info, sizeof(info));
	cqe->wc_flags = wc_flags;
	cqe->byte_len = m->length;
	cqe->src_qp = m->src_qp;
	if (wc_flags & IBV_WC_WITH_IMM)
		cqe->imm = m->imm;
}

/* List the buffers of a tag. False if its keys do not allow @length bytes to be written. */
static bool list_buffers(struct soft_remote *r, uint32_t slot, uint32_t length,
			 struct copy_list *to)
{
	const struct shm_tag *t = &r->tm->tag[slot];
	uint32_t num = __atomic_load_n(&t->num_sge, __ATOMIC_RELAXED);

	return copy_list_check(r->peer->seg, r->rq_pd, IBV_ACCESS_LOCAL_WRITE, t->sge,
			       num < SHM_TAG_SGE ? num : SHM_TAG_SGE, length, to);
}

/*
 * Write the data after the header of @m to the buffers of a tag. Returns a status for the sender.
 */
static int put_matched(struct soft_remote *r, struct message *m, uint32_t slot)
{
	struct copy_list to;
	int err;

	copy_list_skip(m->from, sizeof(struct ibv_tmh));
	m->length -= sizeof(struct ibv_tmh);
	if (m->length > r->tm->tag[slot].length)
		return fail_matched(r, slot, IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR);
	if (!list_buffers(r, slot, m->length, &to))
		return fail_matched(r, slot, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
	if (m->wc_flags & IBV_WC_WITH_INV && !window_invalidate(r->peer->seg, r->shm, m->imm))
		return fail_matched(r, slot, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR);
	if (m->has_forced_status)
		return EXECUTE_FORCED;
	err = copy_put(r->peer, m->from, &to);
	if (err == -EFAULT)
		return fail_matched(r, slot, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
	return deliver_copy_error(err);
}

/*
 * Deliver a message to the tag that it matches, with its data. @status: the message's status;
 * TM_RNDV_INCOMPLETE for a rendezvous whose data was not read.
 */
static int deliver_matched(struct soft_remote *r, struct message *m, const struct ibv_tmh *tmh,
			   uint32_t slot, int status)
{
	struct shm_cqe *cqe;
	int err = put_matched(r, m, slot);

	if (err)
		return err;
	cqe = begin_matched(r, slot, status);
	if (!cqe)
		return fail_overrun(r);
	fill_matched(cqe, m, tmh, m->wc_flags | IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID);
	count_request(r->peer->seg, r->shm, SHM_COUNT_RECV, status, m->length);
	finish_tag(r, slot, cqe, m->solicited);
	return IBV_WC_SUCCESS;
}

/* Copy the first @len bytes of a message to @header. */
static void read_header(const struct copy_list *from, void *header, uint32_t len)
{
	uint8_t *to = header;
	unsigned int i;
	size_t n;

	for (i = 0; i < from->count && len; i++) {
		n = from->iov[i].iov_len < len ? from->iov[i].iov_len : len;
		if (copy_list_is_null(from, i))
			memset(to, 0, n);
		else
			memcpy(to, from->iov[i].iov_base, n);
		to += n;
		len -= n;
	}
}

/* List the source of a rendezvous; its access is checked as for RDMA reads. */
static bool list_source(const struct soft_qp *qp, const struct ibv_rvh *rvh, uint32_t length,
			struct copy_list *from)
{
	return qp->shm->access & IBV_ACCESS_REMOTE_READ && qp->shm->max_dest_rd &&
	       copy_list_check_remote(segment_own, qp->shm->pd, qp->shm->qpn,
				      IBV_ACCESS_REMOTE_READ, be64toh(rvh->va), be32toh(rvh->rkey),
				      length, from);
}

/* Read the source for the receiver. Returns the completion status of its read, or CARRY_*. */
static int read_source(struct soft_qp *qp, struct soft_remote *r, const struct ibv_rvh *rvh,
		       uint32_t length, uint32_t slot)
{
	struct copy_list from, to;
	int err;

	if (!list_buffers(r, slot, length, &to))
		return IBV_WC_LOC_PROT_ERR;
	if (!list_source(qp, rvh, length, &from) ||
	    (from.paged && !copy_list_populate(&from, false)))
		return IBV_WC_REM_ACCESS_ERR;
	err = copy_put(r->peer, &from, &to);
	return err == -EFAULT ? IBV_WC_LOC_PROT_ERR : deliver_copy_error(err);
}

static void queue_fin(struct soft_sq *sq, struct soft_fin *fin, const struct ibv_tmh *tmh,
		      bool refused)
{
	struct soft_fin **p = &sq->fins;

	while (*p)
		p = &(*p)->next;
	*fin = (struct soft_fin){ .refused = refused, .tmh = *tmh };
	fin->tmh.opcode = IBV_TMH_FIN;
	*p = fin;
}

/* Add two completions: the match, then the end of the read. */
static bool complete_read(struct soft_remote *r, const struct message *m, const struct ibv_tmh *tmh,
			  uint32_t length, uint32_t slot, int status)
{
	struct message all = { .src_qp = m->src_qp, .length = length };
	struct shm_cqe *cqe = begin_matched(r, slot, IBV_WC_SUCCESS);

	if (!cqe)
		return false;
	fill_matched(cqe, m, tmh, m->wc_flags | IBV_WC_TM_MATCH);
	cqring_commit(&r->cq, cqe, m->solicited);
	count_request(r->peer->seg, r->shm, SHM_COUNT_RECV, status, length);
	cqe = begin_matched(r, slot, status);
	if (!cqe)
		return false;
	fill_matched(cqe, &all, NULL, IBV_WC_TM_DATA_VALID);
	return finish_tag(r, slot, cqe, m->solicited);
}

static int deliver_rendezvous(struct soft_qp *qp, struct soft_remote *r, struct message *m,
			      const struct ibv_tmh *tmh, const struct ibv_rvh *rvh, uint32_t slot)
{
	struct soft_fin *fin = malloc(sizeof(*fin));
	uint32_t length = be32toh(rvh->len);
	int status = m->has_forced_status ? EXECUTE_FORCED : EXECUTE_LATER;

	if (fin && !m->has_forced_status)
		status = read_source(qp, r, rvh, length, slot);
	if (status < 0) {
		free(fin);
		return status;
	}
	if (!complete_read(r, m, tmh, length, slot, status)) {
		free(fin);
		return fail_overrun(r);
	}
	queue_fin(&qp->sq, fin, tmh, status == IBV_WC_REM_ACCESS_ERR);
	if (status != IBV_WC_SUCCESS)
		deliver_fail_responder(r, -1, 0);
	return IBV_WC_SUCCESS;
}

/* Deliver a rendezvous that the device cannot execute: the program must finish it. */
static int deliver_request(struct soft_qp *qp, struct soft_remote *r, struct message *m,
			   const struct ibv_tmh *tmh, uint32_t slot)
{
	struct {
		struct ibv_tmh tmh;
		struct ibv_rvh rvh;
	} header;

	if (m->length < sizeof(header) || m->length > SHM_TAG_RNDV)
		return deliver_matched(r, m, tmh, slot, IBV_WC_TM_RNDV_INCOMPLETE);
	read_header(m->from, &header, sizeof(header));
	if (be32toh(header.rvh.len) > r->tm->tag[slot].length)
		return deliver_matched(r, m, tmh, slot, IBV_WC_TM_RNDV_INCOMPLETE);
	return deliver_rendezvous(qp, r, m, tmh, &header.rvh, slot);
}

static int deliver_unexpected(struct soft_remote *r, struct message *m)
{
	uint16_t lag = r->tm->unexpected + 1 - r->tm->synced;
	int status;

	m->opcode = IBV_WC_TM_RECV;
	if (lag > MAX_LAG)
		m->wc_flags |= IBV_WC_TM_SYNC_REQ;
	status = deliver_message(r, m);
	if (status == IBV_WC_SUCCESS)
		r->tm->unexpected++;
	return status;
}

int tag_deliver(struct soft_qp *qp, struct soft_remote *r, struct message *m)
{
	struct ibv_tmh tmh = { .opcode = IBV_TMH_NO_TAG };
	uint32_t slot;

	repair_list(r);
	if (m->length >= sizeof(tmh))
		read_header(m->from, &tmh, sizeof(tmh));
	if (tmh.opcode != IBV_TMH_EAGER && tmh.opcode != IBV_TMH_RNDV) {
		m->opcode = IBV_WC_TM_NO_TAG;
		return deliver_message(r, m);
	}
	slot = tag_list_match(r->tm, r->num_tags, be64toh(tmh.tag));
	if (slot == TAG_LIST_NONE)
		return deliver_unexpected(r, m);
	return tmh.opcode == IBV_TMH_EAGER ? deliver_matched(r, m, &tmh, slot, IBV_WC_SUCCESS)
					   : deliver_request(qp, r, m, &tmh, slot);
}

/* Deliver a FIN to the receive queue of @qp, whose locks the caller holds. */
static int deliver_fin(struct soft_qp *qp, struct peer *self, struct soft_fin *fin)
{
	struct copy_list from = { .count = 1, .iov = { { &fin->tmh, sizeof(fin->tmh) } } };
	struct message m = { .from = &from,
			     .length = sizeof(fin->tmh),
			     .src_qp = qp->shm->dest_qpn,
			     .opcode = IBV_WC_RECV };
	struct soft_srq *srq = qp->srq;
	struct soft_remote r = { .peer = self,
				 .shm = qp->shm,
				 .rq = srq ? srq->rq : qp->rq,
				 .slot = qp->ex.qp_base.handle,
				 .pd = qp->shm->pd,
				 .rq_pd = srq ? srq->shm->pd : qp->shm->pd,
				 .srq = srq ? srq->shm : NULL };

	r.rq.seen = r.rq.shm->taken;
	if (!srq || !srq->tags) {
		cqring_copy(&r.cq, &qp->recv_cq->ring);
		return deliver_message(&r, &m);
	}
	cqring_copy(&r.cq, &srq->cq->ring);
	r.tm = srq->tags->shm;
	r.num_tags = srq->tags->max;
	return tag_deliver(qp, &r, &m);
}

static int deliver_fin_locked(struct soft_qp *qp, struct soft_fin *fin)
{
	struct peer self = { .seg = segment_own };
	struct lock *shared = qp->srq ? &qp->srq->shm->rq.lock : NULL;
	uint32_t state;
	int status;

	lock_take(&qp->shm->rq.lock);
	state = __atomic_load_n(&qp->shm->state, __ATOMIC_SEQ_CST);
	if (shared)
		lock_take(shared);
	/* a failed queue pair receives no messages */
	status = state == IBV_QPS_ERR ? IBV_WC_WR_FLUSH_ERR : deliver_fin(qp, &self, fin);
	if (shared)
		lock_drop(shared);
	lock_drop(&qp->shm->rq.lock);
	return status;
}

bool tag_deliver_fins(struct soft_qp *qp)
{
	struct soft_fin *fin;
	bool refused;

	while ((fin = qp->sq.fins)) {
		refused = fin->refused;
		if (!refused && deliver_fin_locked(qp, fin) < 0)
			return true;
		qp->sq.fins = fin->next;
		free(fin);
		if (refused)
			return false;
	}
	return true;
}

void tag_forget_fins(struct soft_sq *sq)
{
	struct soft_fin *fin;

	while ((fin = sq->fins)) {
		sq->fins = fin->next;
		free(fin);
	}
}
