/*
 * Polling completions in the replay
 *
 * Each is assigned to its queue pair and side, with the request that it completes:
 *
 *	CQ -> poll -> qp1 send | qp1 recv | qp2 send | ...
 *
 * A queue pair's own queues complete in order: on a receive queue the oldest request, on a send
 * queue the oldest signaled one, or an earlier one that failed. So requests are posted with their
 * recorded wr_ids, and the device and its driver see the program's values. The replay uses its own
 * number (request_cookie()) if the order is not sufficient: in shared receive queues, and if wr_ids
 * repeat so that a failed request could be one of several (posts_fill.c).
 *
 * An extended CQ is polled by its iterator.
 */
#include "replay/data/polls.h"

#include <errno.h>

#include "replay/data/held_requests.h"
#include "replay/state/sent.h"
#include "replay/state/state.h"

/* The queue pair, side and request of a completion. */
struct owner {
	struct replica *replica;
	struct replica_qp *qp;
	struct requests *requests; /* NULL: unknown */
	uint32_t number;
	enum side side;
};

/* The queue pair with that QP number; most often that of the CQ's last completion. */
static struct replica *find_queue_pair(struct replay *r, struct replica *cq, uint32_t number)
{
	struct replica *replica = cq->last;
	uint64_t id;

	if (replica && replica->number == number && replica->handle)
		return replica;
	if (!map_get(&r->numbers, number, &id))
		return NULL;
	replica = replica_of(r, (uint32_t)id);
	cq->last = replica;
	return replica;
}

static bool is_request_at(const struct requests *requests, uint32_t number, uint64_t wr_id)
{
	const struct request *request = &requests->cells[number & (requests->size - 1)];

	return request->posted == wr_id && !request->done;
}

/* The oldest request with that wr_id. */
static bool find_in_order(struct owner *o, enum side side, uint64_t wr_id)
{
	struct requests *requests = &o->qp->out[side];

	for (uint32_t at = requests->head; at != requests->tail; at++) {
		if (!is_request_at(requests, at, wr_id))
			continue;
		o->requests = requests;
		o->number = at;
		o->side = side;
		return true;
	}
	return false;
}

/* The oldest signaled request of a send queue. */
static bool find_signaled(struct owner *o, uint64_t wr_id)
{
	struct requests *requests = &o->qp->out[SIDE_SEND];

	for (uint32_t at = requests->head; at != requests->tail; at++) {
		if (!requests->cells[at & (requests->size - 1)].signaled)
			continue;
		if (!is_request_at(requests, at, wr_id))
			break;
		o->requests = requests;
		o->number = at;
		return true;
	}
	return find_in_order(o, SIDE_SEND, wr_id);
}

/* Find a request of a shared queue by the cookie in its wr_id. */
static bool find_by_cookie(struct replay *r, struct owner *o, uint64_t wr_id)
{
	struct replica *shared = replica_of(r, (uint32_t)(wr_id >> 33));
	const struct request *request =
		shared && shared->requests ? requests_get(shared->requests, (uint32_t)wr_id) : NULL;

	if (!request || request->posted != wr_id)
		return false;
	o->requests = shared->requests;
	o->number = (uint32_t)wr_id;
	o->side = SIDE_RECV;
	return true;
}

/* Can only a send request end with that status? */
static bool is_of_sender(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_MW_BIND_ERR:
	case IBV_WC_BAD_RESP_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_OP_ERR:
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return true;
	default:
		return false;
	}
}

/* Find a failed request: only wr_id and the queues show its side. Not for shared queues. */
static void find_failed(struct owner *o, const struct replica *cq, const struct ibv_wc *wc)
{
	const struct ibv_qp *qp = o->replica->handle;
	bool sends = qp && qp->send_cq == cq->handle, receives = qp && qp->recv_cq == cq->handle;

	if (is_of_sender(wc->status) || (sends && !receives)) {
		o->side = SIDE_SEND;
		find_in_order(o, SIDE_SEND, wc->wr_id);
	} else if (receives && !sends) {
		o->side = SIDE_RECV;
		find_in_order(o, SIDE_RECV, wc->wr_id);
	} else if (!find_in_order(o, SIDE_SEND, wc->wr_id)) {
		find_in_order(o, SIDE_RECV, wc->wr_id);
	}
}

/* Find the request that @wc completes in the queue pair's own queues. */
static void find_request(struct replay *r, struct owner *o, const struct replica *cq,
			 const struct ibv_wc *wc)
{
	bool success = wc->status == IBV_WC_SUCCESS;

	if (success && !(wc->opcode & IBV_WC_RECV)) {
		o->side = SIDE_SEND;
		find_signaled(o, wc->wr_id);
		return;
	}
	o->side = SIDE_RECV;
	if (success)
		find_in_order(o, SIDE_RECV, wc->wr_id);
	else
		find_failed(o, cq, wc);
	if (!o->requests)
		find_by_cookie(r, o, wc->wr_id);
}

enum { GRH = 40, KEPT_MAX = 1 << 16 };

/* The post of datagram @wc; posts before it by the same sender count as lost. */
static bool find_datagram(struct replica_qp *qp, const struct ibv_wc *wc, struct request *ret_sent)
{
	struct requests *sent = &qp->sent;

	for (uint32_t at = sent->head; at != sent->tail; at++) {
		struct request *request = &sent->cells[at & (sent->size - 1)];

		if (request->done || request->wr_id != wc->src_qp)
			continue;
		*ret_sent = *request;
		requests_complete(sent, at, false);
		if (ret_sent->length + GRH == wc->byte_len)
			return true;
	}
	while (requests_count(sent) > KEPT_MAX) /* datagrams to a queue pair without receives */
		requests_complete(sent, sent->head, false);
	return false;
}

/* The post of a message from the peer of @qp: connected queue pairs receive in order. */
static void find_sender(struct replay *r, struct replica_qp *qp, struct arrival *arrival)
{
	struct replica *peer = replica_of(r, qp->peer);
	struct request sent;

	sent_remove_counted(r, qp);
	if (qp->type == IBV_QPT_UD) {
		if (!find_datagram(qp, &arrival->wc, &sent))
			return;
	} else if (!peer || !peer->qp || !requests_next(&peer->qp->sent, &sent)) {
		return;
	}
	while (qp->type == IBV_QPT_UC && sent.length != arrival->wc.byte_len)
		if (!requests_next(&peer->qp->sent, &sent)) /* earlier ones were lost */
			return;
	arrival->sender = sent.event;
	arrival->sender_index = sent.index;
}

/* Store a completion. @tag: of the flow rule; NULL: the CQ does not report it. */
static int assign_completion(struct replay *r, struct replica *cq, const struct ibv_wc *wc,
			     const uint32_t *tag)
{
	struct owner o = { .replica = find_queue_pair(r, cq, wc->qp_num) };
	const struct request *request = NULL;
	struct arrival *arrival;

	o.qp = o.replica ? o.replica->qp : NULL;
	if (!o.qp)
		return 0;
	find_request(r, &o, cq, wc);
	if (o.requests) {
		request = &o.requests->cells[o.number & (o.requests->size - 1)];
		requests_complete(o.requests, o.number, o.side == SIDE_SEND);
		if (request->forced && wc->status == IBV_WC_SUCCESS)
			return 0;
	}
	arrival = arrivals_add(&o.qp->in[o.side]);
	if (!arrival)
		return -ENOMEM;
	*arrival = (struct arrival){ .wc = *wc,
				     .tagged = tag,
				     .flow_tag = tag ? *tag : 0,
				     .cq = (uint32_t)(cq - r->replicas),
				     .time = r->last,
				     .polled = cq->polled,
				     .empty = cq->empty,
				     .unasked = r->leaving };
	if (request) /* the entry remains valid until another request is posted */
		arrival->request = *request;
	else
		arrival->request.wr_id = wc->wr_id;
	if (o.side == SIDE_RECV && wc->status == IBV_WC_SUCCESS)
		find_sender(r, o.qp, arrival);
	return 0;
}

/* Assign the iterator's current completion to its queue pair and request. */
static int assign_current(struct replay *r, struct replica *replica, struct ibv_cq_ex *cq)
{
	struct ibv_wc wc = { .wr_id = cq->wr_id, .status = cq->status };
	uint32_t tag = 0;

	wc.qp_num = cq->read_qp_num(cq);
	if (cq->read_src_qp)
		wc.src_qp = cq->read_src_qp(cq);
	if (wc.status != IBV_WC_SUCCESS) {
		wc.vendor_err = cq->read_vendor_err(cq);
		return assign_completion(r, replica, &wc, NULL);
	}
	wc.opcode = cq->read_opcode(cq);
	wc.wc_flags = cq->read_wc_flags(cq);
	if (cq->read_byte_len)
		wc.byte_len = cq->read_byte_len(cq);
	if (cq->read_imm_data)
		wc.imm_data = cq->read_imm_data(cq);
	if (cq->read_slid)
		wc.slid = (uint16_t)cq->read_slid(cq);
	if (cq->read_sl)
		wc.sl = cq->read_sl(cq);
	if (cq->read_dlid_path_bits)
		wc.dlid_path_bits = cq->read_dlid_path_bits(cq);
	if (!cq->read_flow_tag)
		return assign_completion(r, replica, &wc, NULL);
	tag = cq->read_flow_tag(cq);
	return assign_completion(r, replica, &wc, &tag);
}

/* Poll by the iterator: the number of completions, or -errno. */
static int poll_extended(struct replay *r, struct replica *replica, int max)
{
	struct ibv_cq_ex *cq = replica->handle;
	struct ibv_poll_cq_attr attr = { 0 };
	int n = 0, kept = 0, err = ibv_start_poll(cq, &attr);

	if (err)
		return err == ENOENT ? 0 : -EIO;
	do {
		kept = assign_current(r, replica, cq);
		n++;
	} while (!kept && n < max && !(err = ibv_next_poll(cq)));
	ibv_end_poll(cq);
	return kept ? kept : err && err != ENOENT ? -EIO : n;
}

static int poll_classic(struct replay *r, struct replica *cq, int max)
{
	struct ibv_wc wcs[POLLS_BATCH];
	int err, n = ibv_poll_cq(cq->handle, max, wcs);

	for (int i = 0; i < n; i++) {
		err = assign_completion(r, cq, &wcs[i], NULL);
		if (err)
			return err;
	}
	return n < 0 ? -EIO : n;
}

bool polls_by_iterator(const struct replica *cq)
{
	const struct ibv_cq_ex *ex = cq->extended ? cq->handle : NULL;

	return ex && ex->read_qp_num && ex->start_poll;
}

/* Assign the completions that fast_poll() has polled but could not handle. */
static int assign_unsorted(struct replay *r, struct replica *cq)
{
	int err = 0, n = (int)cq->nunsorted;

	cq->nunsorted = 0;
	for (int i = 0; i < n && !err; i++)
		err = assign_completion(r, cq, &cq->unsorted[i], NULL);
	cq->fresh += (unsigned int)n;
	return err ? err : n;
}

int polls_take(struct replay *r, struct replica *cq, int max)
{
	int n;

	if (!cq->handle)
		return 0;
	if (cq->nunsorted)
		return assign_unsorted(r, cq);
	max = max < POLLS_BATCH ? max : POLLS_BATCH;
	n = polls_by_iterator(cq) ? poll_extended(r, cq, max) : poll_classic(r, cq, max);
	if (n > 0)
		cq->fresh += (unsigned int)n;
	if (!n && r->holders)
		polls_make_room(r);
	return n;
}

static struct replica *queue_at(struct replay *r, void *handle)
{
	uint64_t id;

	if (!handle || !map_get(&r->handles, (uintptr_t)handle, &id))
		return NULL;
	return replica_as(r, (uint32_t)id, OBJECT_cq);
}

static void drain_queue(struct replay *r, struct replica *cq)
{
	while (cq && !cq->half_gone && polls_take(r, cq, POLLS_BATCH) > 0)
		;
}

void polls_drain(struct replay *r, struct replica *replica)
{
	const struct ibv_qp *qp = replica->handle;

	if (!qp)
		return;
	drain_queue(r, queue_at(r, qp->send_cq));
	drain_queue(r, queue_at(r, qp->recv_cq));
}

/* Drain queue pair @holder; if it is a shared queue, all queue pairs that receive from it. */
static void drain_holding_queue(struct replay *r, struct replica *holder)
{
	if (!holder->handle)
		return;
	if (holder->qp)
		polls_drain(r, holder);
	for (uint32_t i = 0; !holder->qp && i < r->nmade; i++) {
		struct replica *replica = &r->replicas[r->made[i]];

		if (replica->qp && replica->handle &&
		    ((struct ibv_qp *)replica->handle)->srq == holder->handle)
			polls_drain(r, replica);
	}
}

unsigned int polls_make_room(struct replay *r)
{
	struct replica *holder = r->resuming ? NULL : r->holders;

	if (!holder)
		return 0;
	r->resuming = true; /* polls_take() calls this, too */
	for (; holder; holder = holder->next_holder)
		drain_holding_queue(r, holder);
	r->resuming = false;
	return held_post_all(r);
}
