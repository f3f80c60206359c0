/*
 * Promises of a reliable connection for each send request
 *
 * Sources: InfiniBand specification 9.7.4 to 9.9.3 (what responders check,
 * and which failure the two sides see), 10.7.3 (local checks), 11.6.3
 * (events); ibv_post_send(3), ibv_poll_cq(3).
 */
#include "tests/shim/soft/model/model.h"

#include <stdlib.h>
#include <string.h>

enum { WAITS = -1, NOBODY = -2, GRH = 40, DATAGRAM_MAX = 4096 };

bool model_has_objects(int type, int opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return true;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return type != IBV_QPT_UD;
	default:
		return type == IBV_QPT_RC;
	}
}

static bool is_reliable(const struct model_qp *qp)
{
	return qp->type == IBV_QPT_RC;
}

static bool has_imm(const struct request *wr)
{
	return wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_atomic(const struct request *wr)
{
	return wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool brings_data(const struct request *wr)
{
	return wr->opcode == IBV_WR_RDMA_READ || is_atomic(wr);
}

enum { ATOMIC_BYTES = 8 };

/* An atomic returns 8 bytes, whatever room there is for them. */
static uint32_t length_of(const struct request *wr)
{
	uint32_t length = piece_total(wr->sge, wr->num_sge);

	return is_atomic(wr) && length > ATOMIC_BYTES ? ATOMIC_BYTES : length;
}

bool model_mr_allows(const struct model *m, int proc, int pd, uint32_t access,
		     const struct piece *piece, bool remote)
{
	const struct model_mr *mr = &m->mr[proc][piece->mr];

	(void)remote;
	return piece->key == KEY_RIGHT && mr->live && !mr->broken &&
	       piece->generation == mr->generation && mr->pd == pd &&
	       (mr->access & access) == access && piece->off >= mr->off &&
	       piece->off + piece->len <= mr->off + mr->len;
}

/* May the first @length bytes be used? */
static bool all_allowed(const struct model *m, int proc, int pd, uint32_t access,
			const struct request *wr, uint32_t length)
{
	struct piece piece;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		piece = wr->sge[i];
		if (piece.len > length)
			piece.len = length;
		if (piece.len && !model_mr_allows(m, proc, pd, access, &piece, false))
			return false;
		length -= piece.len;
	}
	return true;
}

static int check_local(const struct model *m, const struct model_qp *qp, const struct request *wr)
{
	if (qp->type == IBV_QPT_UD && length_of(wr) > DATAGRAM_MAX)
		return IBV_WC_LOC_LEN_ERR;
	if (!(wr->flags & IBV_SEND_INLINE) &&
	    !all_allowed(m, qp->proc, qp->pd, brings_data(wr) ? IBV_ACCESS_LOCAL_WRITE : 0, wr,
			 length_of(wr)))
		return IBV_WC_LOC_PROT_ERR;
	if (is_atomic(wr) && length_of(wr) != ATOMIC_BYTES)
		return IBV_WC_LOC_LEN_ERR;
	if (brings_data(wr) && !qp->max_rd)
		return IBV_WC_LOC_QP_OP_ERR;
	return IBV_WC_SUCCESS;
}

static bool can_receive(const struct model_qp *qp)
{
	return qp->state >= IBV_QPS_RTR && qp->state <= IBV_QPS_SQE;
}

/* The other end, if it exists and is connected to us. */
static struct model_qp *peer_of(struct model *m, const struct model_qp *qp)
{
	struct model_qp *peer = &m->qp[qp->dest];
	int me = qp - m->qp;

	if (!peer->live || peer->type != qp->type || peer->life != qp->dest_life ||
	    peer->epoch != qp->dest_epoch || peer->dest != me || peer->dest_life != qp->life ||
	    peer->dest_epoch != qp->epoch)
		return NULL;
	return can_receive(peer) ? peer : NULL;
}

struct model_rq *model_rq_of(struct model *m, struct model_qp *qp)
{
	return qp->srq == NONE ? &qp->rq : &m->srq[qp->proc][qp->srq].rq;
}

static struct request *first_request(struct model *m, struct model_qp *peer)
{
	struct model_rq *rq = model_rq_of(m, peer);

	return rq->taken == rq->head ? NULL : &rq->wr[rq->taken % RQ_MAX];
}

/* The completion of @peer's first receive request, which is consumed. */
static struct model_wc take_request(struct model *m, struct model_qp *peer, int status)
{
	struct model_srq *srq = peer->srq == NONE ? NULL : &m->srq[peer->proc][peer->srq];
	struct model_rq *rq = model_rq_of(m, peer);
	struct request *wr = first_request(m, peer);
	struct model_wc wc = { .recv = true, .srq = peer->srq, .where = *wr };

	wc.wc.wr_id = wr->wr_id;
	wc.wc.status = status;
	wc.wc.qp = peer - m->qp;
	wc.wc.opcode = IBV_WC_RECV;
	wc.retire = ++rq->taken;
	if (srq && srq->limit && (int)(rq->head - rq->taken) < srq->limit) {
		srq->limit = 0;
		model_process_event(m, peer->proc, IBV_EVENT_SRQ_LIMIT_REACHED, peer->srq);
	}
	return wc;
}

static void complete_recv(struct model *m, struct model_qp *peer, struct model_wc wc,
			  bool solicited)
{
	model_complete(m, peer->proc, peer->recv_cq, wc, solicited);
}

static int fail_recv(struct model *m, struct model_qp *peer, int recv_status, int status)
{
	complete_recv(m, peer, take_request(m, peer, recv_status), true);
	model_fail(m, peer, NONE);
	return status;
}

/* An unreliable one loses the message, which consumes a shared request. */
static int too_long(struct model *m, struct model_qp *peer)
{
	if (is_reliable(peer))
		return fail_recv(m, peer, IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR);
	if (peer->srq != NONE)
		complete_recv(m, peer, take_request(m, peer, IBV_WC_LOC_LEN_ERR), true);
	return IBV_WC_REM_INV_REQ_ERR;
}

static void describe_wc(struct model_wc *wc, const struct request *wr)
{
	if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wc->wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	if (has_imm(wr)) {
		wc->wc.wc_flags = IBV_WC_WITH_IMM;
		wc->wc.imm = wr->imm;
	}
	wc->wc.byte_len = length_of(wr);
}

/* @wr's bytes, for @to; not known if they lie in the same place. */
static struct payload outgoing_payload(struct model *m, struct model_qp *qp,
				       const struct request *wr, struct where to)
{
	struct where from = { qp->proc, wr->sge, wr->num_sge };
	struct payload p;

	if (wr->flags & IBV_SEND_INLINE)
		return payload_copy(&qp->inlined[wr - qp->sq]);
	p = memory_gather(m, from, length_of(wr));
	if (memory_overlaps(from, to))
		payload_forget(&p);
	return p;
}

/*
 * An unreliable one loses it, a reliable one gives up. That may take a while if the receiver posts
 * requests: it may have waited for a processor.
 */
static int not_ready(struct model *m, struct model_qp *qp, struct model_qp *peer)
{
	bool posts = model_rq_of(m, peer)->head;

	if (is_reliable(qp))
		m->lags += qp->rnr_retry != 7 && (posts || peer->proc != qp->proc);
	else
		m->lags += posts;
	return WAITS;
}

/* The bytes of a GRH that was not sent are not known. */
static void prepend_grh(struct payload *p)
{
	struct payload whole = { .len = p->len + GRH,
				 .bytes = calloc(1, p->len + GRH),
				 .unknown = calloc(1, p->len + GRH) };

	memset(whole.unknown, 1, GRH);
	memcpy(whole.bytes + GRH, p->bytes, p->len);
	memcpy(whole.unknown + GRH, p->unknown, p->len);
	payload_free(p);
	*p = whole;
}

static int do_send(struct model *m, struct model_qp *qp, struct model_qp *peer,
		   const struct request *wr)
{
	bool datagram = peer->type == IBV_QPT_UD;
	struct request *to = first_request(m, peer);
	uint32_t length = length_of(wr) + (datagram ? GRH : 0);
	struct model_wc wc;
	int pd;

	if (!to)
		return not_ready(m, qp, peer);
	if (length > length_of(to))
		return too_long(m, peer);
	pd = peer->srq == NONE ? peer->pd : m->srq[peer->proc][peer->srq].pd;
	if (!all_allowed(m, peer->proc, pd, IBV_ACCESS_LOCAL_WRITE, to, length))
		return fail_recv(m, peer, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
	wc = take_request(m, peer, IBV_WC_SUCCESS);
	describe_wc(&wc, wr);
	wc.payload =
		outgoing_payload(m, qp, wr, (struct where){ peer->proc, to->sge, to->num_sge });
	if (datagram) {
		prepend_grh(&wc.payload);
		wc.wc.byte_len = length;
		wc.datagram = true;
		wc.src_life = qp->life;
		wc.wc.src_qp = qp - m->qp;
	}
	memory_deliver(m, &wc);
	complete_recv(m, peer, wc, wr->flags & IBV_SEND_SOLICITED);
	return IBV_WC_SUCCESS;
}

/* May @peer answer? Else it fails, and *@ret_status is the requester's. */
static bool check_remote(struct model *m, struct model_qp *peer, const struct request *wr,
			 uint32_t access, int *ret_status)
{
	if (!(peer->access & access) || (brings_data(wr) && !peer->max_dest_rd) ||
	    (is_atomic(wr) && wr->remote.off % 8)) {
		if (is_reliable(peer))
			model_fail(m, peer, IBV_EVENT_QP_REQ_ERR);
		*ret_status = IBV_WC_REM_INV_REQ_ERR;
		return false;
	}
	/* without bytes the key is not looked at (C9-88) */
	if (wr->remote.len &&
	    !model_mr_allows(m, peer->proc, peer->pd, access, &wr->remote, true)) {
		if (is_reliable(peer))
			model_fail(m, peer, IBV_EVENT_QP_ACCESS_ERR);
		*ret_status = IBV_WC_REM_ACCESS_ERR;
		return false;
	}
	return true;
}

static int do_write(struct model *m, struct model_qp *qp, struct model_qp *peer,
		    const struct request *wr)
{
	struct where to = { peer->proc, &wr->remote, 1 };
	struct model_wc wc;
	struct payload p;
	int status;

	if (!check_remote(m, peer, wr, IBV_ACCESS_REMOTE_WRITE, &status))
		return status;
	if (has_imm(wr) && !first_request(m, peer))
		return not_ready(m, qp, peer);
	p = outgoing_payload(m, qp, wr, to);
	memory_scatter(m, to, &p);
	payload_free(&p);
	if (has_imm(wr)) {
		wc = take_request(m, peer, IBV_WC_SUCCESS);
		describe_wc(&wc, wr);
		complete_recv(m, peer, wc, wr->flags & IBV_SEND_SOLICITED);
	}
	return IBV_WC_SUCCESS;
}

static int do_read(struct model *m, struct model_qp *qp, struct model_qp *peer,
		   const struct request *wr)
{
	struct where from = { peer->proc, &wr->remote, 1 };
	struct where to = { qp->proc, wr->sge, wr->num_sge };
	struct payload p;
	int status;

	if (!check_remote(m, peer, wr, IBV_ACCESS_REMOTE_READ, &status))
		return status;
	p = memory_gather(m, from, wr->remote.len);
	if (memory_overlaps(from, to))
		payload_forget(&p);
	memory_scatter(m, to, &p);
	payload_free(&p);
	return IBV_WC_SUCCESS;
}

static uint64_t changed_value(const struct request *wr, uint64_t old)
{
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return old + wr->compare_add;
	return old == wr->compare_add ? wr->swap : old;
}

static int do_atomic(struct model *m, struct model_qp *qp, struct model_qp *peer,
		     const struct request *wr)
{
	struct where there = { peer->proc, &wr->remote, 1 };
	struct where here = { qp->proc, wr->sge, wr->num_sge };
	struct payload old, new;
	uint64_t value;
	int status;

	if (!check_remote(m, peer, wr, IBV_ACCESS_REMOTE_ATOMIC, &status))
		return status;
	old = memory_gather(m, there, 8);
	new = memory_gather(m, there, 8);
	memcpy(&value, old.bytes, 8);
	value = changed_value(wr, value);
	memcpy(new.bytes, &value, 8);
	if (memchr(new.unknown, 1, 8))
		payload_forget(&new);
	if (memory_overlaps(here, there)) {
		payload_forget(&old);
		payload_forget(&new);
	}
	memory_scatter(m, there, &new);
	memory_scatter(m, here, &old);
	payload_free(&old);
	payload_free(&new);
	return IBV_WC_SUCCESS;
}

static void establish_qp(struct model *m, struct model_qp *peer)
{
	if (!peer->established && peer->state == IBV_QPS_RTR)
		model_process_event(m, peer->proc, IBV_EVENT_COMM_EST, peer - m->qp);
	peer->established = true;
}

/* Lost, unless a queue pair with that key has room for it. */
static void do_datagram(struct model *m, struct model_qp *qp, const struct request *wr)
{
	struct model_qp *peer = &m->qp[wr->dest];

	if (peer->live && peer->life == wr->dest_life && peer->type == IBV_QPT_UD &&
	    can_receive(peer) && !wr->other_qkey)
		do_send(m, qp, peer, wr);
}

static int do_connected(struct model *m, struct model_qp *qp, const struct request *wr)
{
	struct model_qp *peer = peer_of(m, qp);

	if (!peer)
		return NOBODY;
	establish_qp(m, peer);
	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return do_send(m, qp, peer, wr);
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return do_write(m, qp, peer, wr);
	case IBV_WR_RDMA_READ:
		return do_read(m, qp, peer, wr);
	default:
		return do_atomic(m, qp, peer, wr);
	}
}

/* The request's status, WAITS for a receive request, or NOBODY if there is no receiver. */
static int carry_out(struct model *m, struct model_qp *qp, const struct request *wr)
{
	int status = check_local(m, qp, wr);

	if (status)
		return status;
	switch (qp->type) {
	case IBV_QPT_UD:
		do_datagram(m, qp, wr);
		return IBV_WC_SUCCESS;
	case IBV_QPT_UC:
		do_connected(m, qp, wr); /* nobody tells */
		return IBV_WC_SUCCESS;
	default:
		return do_connected(m, qp, wr);
	}
}

/* clang-format off */
static const int16_t wc_opcode[] = {
	[IBV_WR_RDMA_WRITE]		= IBV_WC_RDMA_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM]	= IBV_WC_RDMA_WRITE,
	[IBV_WR_SEND]			= IBV_WC_SEND,
	[IBV_WR_SEND_WITH_IMM]		= IBV_WC_SEND,
	[IBV_WR_RDMA_READ]		= IBV_WC_RDMA_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP]	= IBV_WC_COMP_SWAP,
	[IBV_WR_ATOMIC_FETCH_AND_ADD]	= IBV_WC_FETCH_ADD,
};
/* clang-format on */

static void complete_send(struct model *m, struct model_qp *qp, int status)
{
	uint32_t at = qp->next++ % SQ_MAX;
	const struct request *wr = &qp->sq[at];
	struct model_wc wc = { .srq = NONE, .retire = qp->next };

	payload_free(&qp->inlined[at]);
	qp->waits = false;
	if (status == IBV_WC_SUCCESS && !qp->sig_all && !(wr->flags & IBV_SEND_SIGNALED))
		return;
	wc.wc.wr_id = wr->wr_id;
	wc.wc.status = status;
	wc.wc.opcode = wc_opcode[wr->opcode];
	wc.wc.qp = qp - m->qp;
	wc.wc.byte_len = length_of(wr);
	model_complete(m, qp->proc, qp->send_cq, wc, status != IBV_WC_SUCCESS);
}

static void flush_sq(struct model *m, struct model_qp *qp)
{
	while (qp->next != qp->head)
		complete_send(m, qp, IBV_WC_WR_FLUSH_ERR);
}

void model_flush_rq(struct model *m, struct model_qp *qp)
{
	while (qp->srq == NONE && first_request(m, qp))
		complete_recv(m, qp, take_request(m, qp, IBV_WC_WR_FLUSH_ERR), true);
}

/* The unsent requests of the queue pair are flushed when it runs. */
void model_fail(struct model *m, struct model_qp *qp, int event)
{
	bool again = qp->state == IBV_QPS_ERR;

	qp->state = IBV_QPS_ERR;
	model_flush_rq(m, qp);
	if (event != NONE)
		model_process_event(m, qp->proc, event, qp - m->qp);
	if (qp->srq != NONE && !again)
		model_process_event(m, qp->proc, IBV_EVENT_QP_LAST_WQE_REACHED, qp - m->qp);
}

/* Receives of an unreliable one are not affected. */
static void stop_sq(struct model *m, struct model_qp *qp)
{
	if (is_reliable(qp))
		model_fail(m, qp, NONE);
	else if (qp->state == IBV_QPS_RTS)
		qp->state = IBV_QPS_SQE;
	flush_sq(m, qp);
}

static void run_one(struct model *m, struct model_qp *qp)
{
	int lags = m->lags;
	int status = carry_out(m, qp, &qp->sq[qp->next % SQ_MAX]);
	bool alone = m->alone;

	if (m->lags != lags)
		m->alone = qp->ran = true;

	if (status == WAITS && qp->rnr_retry == 7) {
		qp->waits = true;
		return;
	}
	/* these take their time */
	if (status == WAITS || status == NOBODY) {
		m->alone = qp->ran = true;
		status = status == WAITS ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_RETRY_EXC_ERR;
	}
	complete_send(m, qp, status);
	if (status != IBV_WC_SUCCESS)
		stop_sq(m, qp);
	m->alone = alone;
}

void model_run(struct model *m, struct model_qp *qp)
{
	uint32_t before;

	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_SQE)
		flush_sq(m, qp);
	do {
		before = qp->next;
		if (qp->state == IBV_QPS_RTS && qp->next != qp->head)
			run_one(m, qp);
	} while (qp->next != before);
}
