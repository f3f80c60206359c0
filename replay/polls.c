/*
 * What comes off a completion queue here
 *
 * A completion queue mixes completions of several queue pairs in an order that
 * depends on the network. So completions that come here are sorted by queue pair
 * and side, and each recorded one is compared with the next of its own (expect.c):
 *
 *	here:  CQ -> poll -> qp1 send | qp1 recv | qp2 send | ...
 *	there: poll of n  ->  qp2 send? qp1 recv? ...
 */
#include "replay/polls.h"

#include <errno.h>

#include "core/wire/log.h"
#include "replay/full.h"
#include "replay/state.h"

enum { BATCH = 32 };

/* The queue pair of a completion. */
static struct replica_qp *queue_pair_of(struct replay *r, struct replica *owner,
					const struct ibv_wc *wc)
{
	struct replica *replica;
	uint64_t id;

	if (owner && owner->qp)
		return owner->qp;
	if (!map_get(&r->numbers, wc->qp_num, &id))
		return NULL;
	replica = replica_of(r, (uint32_t)id);
	return replica ? replica->qp : NULL;
}

/* The post of what the peer of @qp sent: connected queue pairs receive in order. */
static void find_sender(struct replay *r, const struct replica_qp *qp, struct arrival *arrival)
{
	struct replica *peer = replica_of(r, qp->peer);
	struct request sent;

	if (!peer || !peer->qp || !requests_next(&peer->qp->sent, &sent))
		return;
	arrival->sender = sent.event;
	arrival->sender_index = sent.index;
}

/* @tag: of the flow rule, or NULL where the CQ does not tell. */
static int sort_in(struct replay *r, const struct ibv_wc *wc, const uint32_t *tag)
{
	struct replica *owner = replica_of(r, (uint32_t)(wc->wr_id >> 33));
	unsigned int side = wc->wr_id >> 32 & 1;
	struct replica_qp *qp = queue_pair_of(r, owner, wc);
	struct requests *requests = !owner      ? NULL
				    : owner->qp ? &owner->qp->out[side]
						: owner->requests;
	const struct request *request =
		requests ? requests_get(requests, (uint32_t)wc->wr_id) : NULL;
	struct arrival arrival = { .wc = *wc, .tagged = tag, .flow_tag = tag ? *tag : 0 };

	if (request)
		arrival.request = *request;
	else
		arrival.request.wr_id = wc->wr_id;
	if (requests)
		requests_complete(requests, (uint32_t)wc->wr_id, side == SIDE_SEND);
	if (arrival.request.forced && wc->status == IBV_WC_SUCCESS)
		return 0;
	if (qp && side == SIDE_RECV && wc->status == IBV_WC_SUCCESS)
		find_sender(r, qp, &arrival);
	return qp ? arrivals_put(&qp->in[side], &arrival) : 0;
}

/* Sort in the completion on which the iterator stands. */
static int sort_in_current(struct replay *r, struct ibv_cq_ex *cq)
{
	struct ibv_wc wc = { .wr_id = cq->wr_id, .status = cq->status };
	uint32_t tag = 0;

	wc.qp_num = cq->read_qp_num(cq);
	if (cq->read_src_qp)
		wc.src_qp = cq->read_src_qp(cq);
	if (wc.status != IBV_WC_SUCCESS) {
		wc.vendor_err = cq->read_vendor_err(cq);
		return sort_in(r, &wc, NULL);
	}
	wc.opcode = cq->read_opcode(cq);
	wc.wc_flags = cq->read_wc_flags(cq);
	if (cq->read_byte_len)
		wc.byte_len = cq->read_byte_len(cq);
	if (cq->read_imm_data)
		wc.imm_data = cq->read_imm_data(cq);
	tag = cq->read_flow_tag(cq);
	return sort_in(r, &wc, &tag);
}

/* Poll by the iterator: the number of completions, or -errno. */
static int take_extended(struct replay *r, struct ibv_cq_ex *cq, int max)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int n = 0, kept = 0, err = ibv_start_poll(cq, &attr);

	if (err)
		return err == ENOENT ? 0 : -EIO;
	do {
		kept = sort_in_current(r, cq);
		n++;
	} while (!kept && n < max && !(err = ibv_next_poll(cq)));
	ibv_end_poll(cq);
	return kept ? kept : err && err != ENOENT ? -EIO : n;
}

/* Only the iterator tells flow tags. Without queue pair numbers ibv_poll_cq() must be used. */
static bool tells_tags(const struct replica *cq)
{
	const struct ibv_cq_ex *ex = cq->extended ? cq->handle : NULL;

	return ex && ex->read_flow_tag && ex->read_qp_num && ex->start_poll;
}

int polls_take(struct replay *r, struct replica *cq, int max)
{
	struct ibv_wc wcs[BATCH];
	int n, err;

	if (!cq->handle)
		return 0;
	if (tells_tags(cq)) {
		n = take_extended(r, cq->handle, max < BATCH ? max : BATCH);
		cq->fresh += n > 0 ? (unsigned int)n : 0;
		if (!n && r->holders)
			polls_make_room(r);
		return n;
	}
	n = ibv_poll_cq(cq->handle, max < BATCH ? max : BATCH, wcs);
	for (int i = 0; i < n; i++) {
		err = sort_in(r, &wcs[i], NULL);
		if (err)
			return err;
	}
	if (n > 0)
		cq->fresh += (unsigned int)n;
	if (!n && r->holders)
		polls_make_room(r);
	return n < 0 ? -EIO : n;
}

static struct replica *replica_at(struct replay *r, void *handle)
{
	uint64_t id;

	return handle && map_get(&r->handles, (uintptr_t)handle, &id) ? replica_of(r, (uint32_t)id)
								      : NULL;
}

void polls_drain(struct replay *r, struct replica *replica)
{
	struct ibv_qp *qp = replica->handle;
	struct replica *send = replica_at(r, qp->send_cq), *recv = replica_at(r, qp->recv_cq);

	while (send && polls_take(r, send, BATCH) > 0)
		;
	while (recv && polls_take(r, recv, BATCH) > 0)
		;
}

unsigned int polls_make_room(struct replay *r)
{
	struct replica *holder = r->resuming ? NULL : r->holders;

	if (!holder)
		return 0;
	r->resuming = true; /* polls_take() comes here, too */
	for (; holder; holder = holder->next_holder)
		if (holder->qp && holder->handle)
			polls_drain(r, holder);
	r->resuming = false;
	return full_resume(r);
}
